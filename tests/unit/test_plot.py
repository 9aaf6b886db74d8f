"""plot: figures show the numbers of the trajectory, with units, and need matplotlib only when drawn."""

import subprocess
import sys

import numpy as np
import pytest
from matplotlib.figure import Figure

import leastaction as la
from leastaction import plot
from leastaction.drawing.runs import named_runs, thinned


@pytest.fixture(scope="module")
def run():
    return la.simulate(la.examples.chain(3).compile(), dt=1e-2, duration=1.0, q={"link1": 0.8})


@pytest.fixture(scope="module")
def other():
    return la.simulate(la.examples.chain(3).compile(), dt=2e-2, duration=1.0, q={"link1": 0.8})


@pytest.fixture(scope="module")
def mixed():
    """Every kind of coordinate: free, ball, planar, angle and length."""
    mech = la.Mechanism(name="mixed")
    body = {"mass": 1.0, "inertia": (0.1, 0.1, 0.1), "com": (0.1, 0, -0.2)}
    mech.add_body("base", joint=la.Free(), **body)
    mech.add_body("ball", "base", la.Spherical(), **body)
    mech.add_body("flat", "base", la.Planar(), **body)
    mech.add_body("tube", "flat", la.Cylindrical(), **body)
    return la.simulate(mech.compile(), dt=1e-2, duration=0.3)


def drawn(axes):
    return {line.get_label(): line.get_ydata() for line in axes.lines}


def test_energy_of_one_run_shows_its_parts_and_its_error(run):
    above, below = plot.energy(run).axes
    lines = drawn(above)
    np.testing.assert_array_equal(lines["total"], run.energy)
    np.testing.assert_array_equal(lines["kinetic"], run.kinetic)
    np.testing.assert_array_equal(lines["potential"], run.potential)
    np.testing.assert_array_equal(below.lines[0].get_ydata(), run.energy - run.energy[0])


@pytest.mark.parametrize("name", ["energy", "momentum", "joints", "reactions"])
@pytest.mark.parametrize("several", [False, True])
def test_every_panel_has_a_unit_and_every_figure_a_time_axis(run, other, name, several):
    figure = getattr(plot, name)([run, other] if several else run)
    assert isinstance(figure, Figure)
    assert all("(" in axes.get_ylabel() for axes in figure.axes)
    assert figure.axes[-1].get_xlabel() == "time t (s)"


def test_several_runs_are_named_and_coloured_differently(run, other):
    for figure in (plot.energy([run, other]), plot.momentum([run, other]), plot.joints([run, other])):
        lines = figure.axes[0].lines
        assert len({line.get_label() for line in lines}) == 2
        assert len({line.get_color() for line in lines}) == 2
        assert figure.axes[0].get_legend() is not None


def test_labels_come_from_the_mapping_or_the_argument(run, other):
    assert set(drawn(plot.energy({"a": run, "b": other}).axes[0])) == {"a", "b"}
    assert set(drawn(plot.energy([run, other], labels=["a", "b"]).axes[0])) == {"a", "b"}


def test_default_labels_say_what_differs(run, other):
    assert list(named_runs([run])) == ["Variational"]
    assert list(named_runs([run, other])) == ["Variational, 10 ms", "Variational, 20 ms"]
    assert len(named_runs([run, run])) == 2


def test_momentum_of_one_run_shows_its_components(run):
    above, below = plot.momentum(run).axes
    for axes, columns in ((above, run.momentum[:, :3]), (below, run.momentum[:, 3:])):
        np.testing.assert_array_equal(np.transpose([drawn(axes)[k] for k in "xyz"]), columns)


def test_joints_shows_the_chosen_joints(run):
    figure = plot.joints(run, "link2", "link3")
    assert len(figure.axes) == 4
    np.testing.assert_array_equal(figure.axes[0].lines[0].get_ydata(), run["link2"][:, 0])
    np.testing.assert_array_equal(figure.axes[3].lines[0].get_ydata(), run.v[:, run.model.v_slice("link3").start])


def test_joints_draws_every_coordinate_of_every_joint(mixed):
    figure = plot.joints(mixed)
    assert sum(len(axes.lines) for axes in figure.axes[0::2]) == mixed.model.nq
    assert sum(len(axes.lines) for axes in figure.axes[1::2]) == mixed.model.nv
    assert sum(len(axes.lines) for axes in plot.joints([mixed, mixed]).axes[0::2]) == 2 * mixed.model.nq


def test_reactions_show_forces_and_moments_or_multipliers(run, other):
    left, right, *_ = plot.reactions(run, "link2").axes
    lines = drawn(left)
    np.testing.assert_array_equal(lines["z"], run.reactions["link2"].force[:, 2])
    np.testing.assert_array_equal(lines["magnitude"], np.linalg.norm(run.reactions["link2"].force, axis=1))
    np.testing.assert_array_equal(drawn(right)["y"], run.reactions["link2"].moment[:, 1])
    both = plot.reactions({"a": run, "b": other}, "link2")
    assert list(drawn(both.axes[0])) == ["a", "b"]
    mech = la.examples.chain(2)
    mech.add_constraint(la.Prescribed("link1", lambda t, sp: t**2), name="motor")
    driven = la.simulate(mech.compile(), dt=1e-2, duration=0.1)
    figure = plot.reactions(driven)
    np.testing.assert_array_equal(figure.axes[0].lines[0].get_ydata(), driven.reactions["motor"].multipliers[:, 0])
    assert figure.axes[0].get_ylabel().startswith("motor")


def test_joints_of_a_large_mechanism_says_what_it_leaves_out():
    run = la.simulate(la.examples.chain(12).compile(), dt=1e-2, steps=3)
    figure = plot.joints(run)
    assert "first 8 of 12" in figure.texts[0].get_text()


@pytest.mark.parametrize("suffix", [".png", ".svg"])
def test_save_to_writes_the_figure(run, tmp_path, suffix):
    plot.energy(run, save_to=tmp_path / f"energy{suffix}")
    assert (tmp_path / f"energy{suffix}").stat().st_size > 1000


def test_thinning_keeps_extremes_order_and_ends():
    t = np.linspace(0.0, 1.0, 12_347)
    y = np.sin(400.0 * t) + 0.01 * np.random.default_rng(1).normal(size=t.size)
    few_t, few_y = thinned(t, y, 1000)
    assert len(few_t) <= 1000 + 25
    assert np.all(np.diff(few_t) > 0)
    assert (few_y.min(), few_y.max()) == (y.min(), y.max())
    np.testing.assert_array_equal(few_y, np.interp(few_t, t, y))


@pytest.mark.parametrize(
    ("draw", "named"),
    [
        (lambda run: plot.energy([]), "nothing to plot"),
        (lambda run: plot.energy({"a": run.model}), "'a' is a Model"),
        (lambda run: plot.energy([run.model]), "is a Model"),
        (lambda run: plot.energy([run, run], labels=["a"]), "2 run"),
        (lambda run: plot.energy([run, run], labels=["a", "a"]), "different labels"),
        (lambda run: plot.energy({"a": run}, labels=["b"]), "already have names"),
        (lambda run: plot.joints(run, "elbow"), "'elbow'"),
        (lambda run: plot.joints([run, la.simulate(la.examples.chain(2).compile(), dt=1e-2, steps=1)]), "one mechanism"),
    ],
)
def test_bad_input_is_named(run, draw, named):
    with pytest.raises(la.StateError, match=named):
        draw(run)


def test_matplotlib_is_imported_only_when_something_is_drawn():
    code = "import sys, leastaction.plot, leastaction.cli; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_missing_matplotlib_is_explained(run, monkeypatch):
    for name in [m for m in sys.modules if m == "matplotlib" or m.startswith("matplotlib.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"pip install leastaction\[plot\]"):
        plot.energy(run)
