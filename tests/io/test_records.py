"""Runs as files: a file alone is enough to rebuild the model and to go on, bit for bit."""

import json
import os
import pickle
import sys
import zipfile

import numpy as np
import pytest
from conformance.matrix import INTEGRATORS

import leastaction as la
from leastaction.checks import same
from leastaction.records import content, description
from leastaction.testing import random_mechanism

pytest.importorskip("h5py")
SUFFIXES = (".npz", ".h5")


def four_bar():
    model = la.examples.four_bar().compile()
    return model, model.assemble({"rod1": 0.8, "rod2": -2.0, "rod3": -1.3})


@pytest.fixture(scope="module")
def run():
    model, q = four_bar()
    return la.simulate(model, dt=1e-2, steps=50, q=q, record_every=3, guard=True)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_file_is_the_run(run, suffix, tmp_path):
    path = tmp_path / f"run{suffix}"
    run.save(path)
    there = la.open(str(path))
    assert there == run and there.model == run.model and there.integrator == run.integrator and there.model is not run.model
    np.testing.assert_array_equal(there.energy, run.energy)
    on, here = (la.simulate(r.model, r.state(), dt=1e-2, steps=30, guard=True) for r in (there, run))
    assert on == here and there.state().continues
    there.q[0] = 7.0  # arrays can be written to, the file stays
    assert la.open(path) == run and os.listdir(tmp_path) == [path.name]
    there.save(path)
    assert la.open(path) == there


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_every_integrator_is_text(integrator):
    wanted = INTEGRATORS[integrator]
    text = json.loads(json.dumps(description.encode(wanted), allow_nan=False))
    assert description.decode(text) == wanted


def test_mechanisms_are_text():
    """Random trees of all joints with forces, and everything else that has no function in it."""
    mechanisms = [random_mechanism(np.random.default_rng(seed), n=6, forces=True) for seed in range(8)]
    mechanisms += [la.examples.four_bar(), la.examples.scissor_lift(3), la.examples.quadruped(), la.examples.rolling_disc()]
    full = la.examples.chain(3)
    full.add_frame("anchor", placement=la.Pose(xyz=(1, 2, 3), rpy=(0.3, 0.2, 0.1)))
    full.add_body("ball", joint=la.Free(), joint_name="floats", mass=0.1, inertia=np.diag([0.1, 0.2, 0.2]) + 0.01)
    for force in (
        la.Spring("link1", 3.0, rest=0.2), la.Spring("floats", np.array([1, 2])), la.Damper("link2", [0.1]), la.Drag("tip", 0.1, (1, 2, 3)),
        la.LinearSpring("tip", "anchor", 3.0, 1.0), la.NonlinearSpring("k * x**4", joint="link1", parameters={"k": 2.0}),
        la.UserPotential("3 * cos(q0 - q1)", ["link1", "link2"]), la.Wrench("ball", (1, 2, 3), frame="body"),
    ):  # fmt: skip
        full.add_force(force)
    full.add_constraint(la.Distance("ball", "anchor", 2.0), name="wire")
    full.add_constraint(la.Coincident("tip", "anchor", directions=[(1, 2, 3)]))
    full.add_constraint(la.Gear("link1", "link2", ratio=2.0))
    full.add_constraint(la.SymbolicConstraint("mix", ["link1", "link3"], "sin(q0) - q1"))
    full.add_constraint(la.Close(la.Helical((1, 1, 0), 0.02), "ball", "anchor"))
    full.add_shape("ball", la.Capsule(0.1, 0.2), la.Pose(xyz=(0, 0, 1)), color=(1, 0, 0.5), role="collision")
    full.add_shape("tip", la.Mesh("tip.stl", scale=(1, -1, 1)))
    full.add_limit("link1", -0.1)
    full.note("a note")
    for mechanism in [*mechanisms, full]:
        text, missing = description.encode_mechanism(mechanism)
        assert not missing, missing
        again = description.decode_mechanism(json.loads(json.dumps(text, allow_nan=False)), "run.npz")
        assert again.compile() == mechanism.compile()
        assert again.limits == mechanism.limits and again.shapes == mechanism.shapes and again.notes == mechanism.notes
        for kind in ("forces", "constraints"):
            for a, b in zip(getattr(again, kind), getattr(mechanism, kind), strict=True):
                assert type(a) is type(b) and all(same(vars(a)[k], vars(b)[k]) for k in vars(b) if not hasattr(vars(b)[k], "nv"))


def test_functions_are_named_and_the_model_can_be_given(tmp_path):
    mech = la.examples.double_pendulum()
    mech.add_force(la.UserPotential(lambda q, sp: 3 * sp.cos(q[0] - q[1]), joints=["upper", "lower"]))
    model = mech.compile()

    def dense(t, q, v, out):
        out[0] = 2.0

    path = tmp_path / "run.npz"
    run = la.simulate(model, dt=1e-2, steps=5, integrator=la.AdaptiveStep(density=dense))
    run.save(path)
    with pytest.raises(la.FormatError, match=r"run.npz: the model could not be stored .* the function .*energy of UserPotential.*model="):
        la.open(path)
    with pytest.raises(la.FormatError, match=r"the integrator could not be stored because of the function .*dense.*integrator="):
        la.open(path, model=model)
    assert la.open(path, model=model, integrator=run.integrator) == run
    with pytest.raises(la.StateError, match="does not fit .*joint names are 'link1', 'link2', those of the file 'upper', 'lower'"):
        la.open(path, model=la.examples.chain(2).compile())


def test_what_the_mechanism_has_and_text_does_not_know_is_named():
    mech = la.examples.chain(1)
    mech.colour_of_the_sky = "blue"
    assert description.encode_mechanism(mech) == (None, ["colour_of_the_sky of the mechanism"])

    class Own(la.Damper):
        pass

    mech = la.examples.chain(1)
    mech.add_force(Own("link1", 1.0))
    assert "Own" in description.encode_mechanism(mech)[1][0]


def test_csv_pandas_xarray(run, tmp_path, monkeypatch):
    run.save(tmp_path / "run.csv")
    header, *rows = (tmp_path / "run.csv").read_text().splitlines()
    assert header == '"t","rod1","rod2","rod3","v.rod1","v.rod2","v.rod3","energy"'
    np.testing.assert_array_equal(np.array([line.split(",") for line in rows], dtype=float)[:, 1:4], run.q)
    with pytest.raises(la.FormatError, match="holds the numbers of a run, not the model"):
        la.open(tmp_path / "run.csv")
    pytest.importorskip("pandas")
    table = run.to_pandas()
    np.testing.assert_array_equal(table["q"]["rod2"], run["rod2"][:, 0])
    np.testing.assert_array_equal(table["v"].to_numpy(), run.v)
    pytest.importorskip("xarray")
    data = run.to_xarray()
    np.testing.assert_array_equal(data.p.sel(freedom="rod3"), run.p[:, 2])
    assert data.energy.attrs["units"] == "J"
    for name, extra, use in (
        ("pandas", "tables", run.to_pandas), ("xarray", "tables", run.to_xarray), ("h5py", "hdf5", lambda: run.save(tmp_path / "run.h5"))
    ):  # fmt: skip
        monkeypatch.setitem(sys.modules, name, None)
        with pytest.raises(ImportError, match=rf"{name}, which is not installed; pip install 'leastaction\[{extra}\]'"):
            use()


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_damaged_and_hostile_files(run, suffix, tmp_path):
    """An error that names the file, whatever is wrong in it; no code is run and nothing is unpickled."""
    path = tmp_path / f"run{suffix}"
    run.save(path)
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    for _ in range(60):
        bad = bytearray(whole[: rng.integers(len(whole))] if rng.random() < 0.3 else whole)
        for at in rng.integers(0, max(len(bad), 1), size=rng.integers(1, 30)):
            bad[at] = rng.integers(256) if len(bad) else 0
        path.write_bytes(bad)
        try:
            la.open(path)
        except la.LeastActionError as error:
            assert path.name in str(error)
    for wrong in ("text.npz", "none.h5", "run.txt"):
        (tmp_path / "text.npz").write_text("hello")
        with pytest.raises(la.FormatError, match=wrong):
            la.open(tmp_path / wrong)
    with pytest.raises(la.FormatError, match="give the path"):
        la.open(None)
    with pytest.raises(la.FormatError, match="cannot be written"):
        run.save(tmp_path / "nowhere" / f"run{suffix}")


class Trap:
    def __reduce__(self):
        return os.system, ("touch trapped",)


def test_nothing_in_a_file_is_run(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.savez("pickled.npz", header=np.array([Trap()], dtype=object), allow_pickle=True)
    with zipfile.ZipFile("named.npz", "w") as file:
        file.writestr("header.npy", pickle.dumps(Trap()))
    header = content.header_of(run.model, run.integrator, run.dt, run.every) | content.outcome_of(run)
    texts = [
        {"class": "os.system", "arguments": {"command": "touch trapped"}}, {"class": "__import__", "arguments": {}},
        {"class": "UserPotential", "arguments": {"energy": "__import__('os').system('touch trapped')", "joints": ["rod1"]}},
    ]  # fmt: skip
    for text in texts:
        header["model"]["forces"] = [text]
        arrays = {"header": np.frombuffer(json.dumps(header).encode(), dtype=np.uint8), **content.recorded_arrays(run)}
        np.savez("named.npz", **arrays)
        with pytest.raises(la.FormatError, match="named.npz"):
            la.open("named.npz")
    with pytest.raises(la.FormatError, match="pickled.npz"):
        la.open("pickled.npz")
    assert not os.path.exists("trapped")
    header |= {"version": 99, "leastaction": "7.0"}
    np.savez("later.npz", header=np.frombuffer(json.dumps(header).encode(), dtype=np.uint8))
    with pytest.raises(la.FormatError, match="written by leastaction '7.0'.*install a newer"):
        la.open("later.npz")


def test_what_robots_have_is_in_the_file(tmp_path):
    """Rotors, motors and keyframes."""
    mech = la.examples.chain(1)
    mech.add_body("arm", "link1", la.Revolute((0, 1, 0)), la.Pose((0, 0, -1)), mass=1.0, inertia=(0.1, 0.2, 0.3), armature=0.7)
    mech.add_motor(la.Motor("arm", gear=50.0, limit=(-0.1, 0.3)))
    mech.keyframes["home"] = {"q": {"arm": 0.4}, "v": np.array([0.1, 0.2])}
    run = la.simulate(mech.compile(), dt=1e-2, steps=3, q={"arm": 0.5})
    run.save(tmp_path / "run.npz")
    model = la.open(tmp_path / "run.npz").model
    assert model.motors == run.model.motors
    assert np.array_equal(la.dynamics.mass_matrix(model, run.q[-1]), la.dynamics.mass_matrix(run.model, run.q[-1]))
    kept = model.description.keyframes["home"]
    assert kept["q"] == {"arm": 0.4} and np.array_equal(kept["v"], [0.1, 0.2])
