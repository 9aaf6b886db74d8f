"""The benchmarks build, their pages render from results that were never measured, and adapters describe our mechanisms."""

import importlib
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import leastaction as la

ROOT = Path(__file__).resolve().parents[2]
PEERS = {"pinocchio": "pinocchio", "mujoco_": "mujoco", "dart_": "dartpy"}  # file in benchmarks/peers -> package it needs

pytestmark = pytest.mark.skipif(not (ROOT / "benchmarks").is_dir(), reason="benchmarks are not part of the installed package")


@pytest.fixture(autouse=True)
def benchmarks_can_be_imported(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))


def load(name):
    return importlib.import_module(f"benchmarks.{name}")


def assert_tables_are_whole(text):
    """Every line of a Markdown table has as many cells as the one before, and nothing is left to fill in."""
    lines = text.splitlines()
    for above, below in zip(lines, lines[1:], strict=False):
        if above.startswith("|") and below.startswith("|"):
            assert above.count("|") == below.count("|"), f"{above}\n{below}"
    assert "|" in text
    assert "{" not in text
    assert "nan" not in text.split()


def test_cases_build():
    cases = load("cases").all_cases((1, 10))
    assert len({case.name for case in cases}) == len(cases)
    for case in cases:
        for q, v in ((case.q, case.v), case.random_state()):
            assert np.array_equal(case.model.state(q, v).q, case.model.coordinates(q))
            assert v.shape == (case.model.nv,)


@pytest.mark.parametrize("file", PEERS)
def test_adapters_describe_our_mechanisms(file):
    pytest.importorskip(PEERS[file])
    cases, base, peers = load("cases"), load("peers.base"), load(f"peers.{file}")
    for case in (cases.chain(3, True), cases.ball_chain(2), cases.humanoid()):
        for peer in peers.PEERS:
            if not peer.supports(case.mechanism):
                base.verify(peer, peer.build(case.mechanism, 1e-3), case.model, *case.random_state())


def test_a_wrong_adapter_is_found():
    cases, base = load("cases"), load("peers.base")
    case = cases.chain(2, False)

    class Heavier:
        def set_state(self, q, v):
            self.q = q

        def mass_matrix(self):
            return 1.01 * la.dynamics.mass_matrix(case.model, self.q)

        def acceleration(self):
            return None

    peer = base.Peer("heavier", "1", (la.Revolute,), lambda mechanism, dt: Heavier())
    with pytest.raises(base.AdapterError, match="mass matrix differs"):
        base.verify(peer, Heavier(), case.model, *case.random_state())


def test_speed_page_renders():
    cases, report, speed = load("cases"), load("report"), load("speed")
    peer = load("peers.base").Peer("pin.aba", "1.0", (), lambda mechanism, dt: None, note="a note")
    seconds = {speed.STEP: 1e-6, speed.ABA: 2e-6}
    rows = [
        speed.Row(cases.chain(10, False), seconds | {"pin.aba": 4e-6}, 2.0, True),
        speed.Row(cases.ball_chain(2), seconds, 2.5, False, {"pin.aba": "too large"}),
    ]
    text = report.page(speed.Results(rows, {"a chain": {"aba": 1e-6, "solve": 2e-6}}, [peer], {"mujoco": "not installed"}))
    assert_tables_are_whole(text)
    for part in ("| 0.25 ", "(noisy)", "too large", "mujoco: not measured", "holds", "a note"):
        assert part in text


def test_robots_page_renders():
    robots = load("robots")
    model = la.examples.chain(2).compile()
    file = (robots.folder() or Path("/")) / "arm_description" / "urdf" / "arm.urdf"
    compared = dict.fromkeys(("mass matrix", "gravity", "frames", "total mass"), 1e-15)
    flown = {"order 2": 1e-4, "gain": 2.0, "order 4": 1e-8, "later gain": 4.0}
    text = robots.render([
        robots.Robot(file, False, ("friction",), model=model, measured=compared | flown, elsewhere=["", "a step at 0.5 s is not solved"]),
        robots.Robot(file, True, model=model, measured=compared | flown | {"gain": np.nan}),
        robots.Robot(file, True, refused="arm.urdf:3: no"),
    ])  # fmt: skip
    assert_tables_are_whole(text)
    for part in ("2 of 3", "arm/arm", "friction", "2.0, and 4.0 from h / 4", "1 of 2 runs", "at 0.5 s is not solved", "arm.urdf:3: no"):
        assert part in text


def test_lee2016_page_renders():
    lee = load("lee2016")
    residual = dict.fromkeys((lee.DRNEA, lee.DRNEA_CAYLEY, lee.SVI_MERGED, lee.SVI_TWISTS), 1e-6) | {lee.SVI_PAPER: 7e-6}
    update = dict.fromkeys((lee.RIQN, lee.RIQN_ALONE, lee.DENSE, lee.NEWTON), 2e-6)
    steps = dict.fromkeys(lee.step_methods(), 3e-6)
    sizes = [lee.Size(n, residual, update, steps, dict.fromkeys(steps, 2.0), n != 20) for n in lee.SIZES]
    text = lee.render(lee.Results(sizes, [lee.Counts("rest", "ig1", 1e-8, (2.0, 0.1), None)]))
    assert_tables_are_whole(text)
    for part in ("7 (paper 15)", "20 links (noisy)", "not solved", "2.00 +- 0.10"):
        assert part in text


def test_the_svi_forms_that_are_timed_agree():
    """Times of three programs for one residual mean something only if they compute it."""
    lee, svi = load("lee2016"), importlib.import_module("leastaction.yardsticks")
    model = la.examples.chain(4).compile()
    q, v = lee.random_start(4, 0)
    forms = [svi.ScalableVariational(model, evaluation, primitive) for evaluation, primitive in
             (("matrices", True), ("matrices", False), ("twists", False))]  # fmt: skip
    values = [form.residual(q, lee.DT * v, np.zeros(4), lee.DT) for form in forms]
    scale = np.abs(values[0]).max()
    assert np.abs(values[1] - values[0]).max() < 1e-12 * scale
    assert np.abs(values[2] - values[0]).max() < 1e-12 * scale


def test_defaults_page_renders():
    defaults = load("defaults")
    rows = lambda found, *options: {"a chain": dict.fromkeys(defaults.integrators(*options), found)}
    quadrature = ("quadrature", "retraction")
    error, cost, largest = defaults.Error(1e-3, 2.0), defaults.Cost(1e-6, 2.0), defaults.Largest(0.05, 0.0)
    energy = {1e-3: rows(error, *quadrature), 1e-2: rows(None, *quadrature)}
    measured = defaults.Measured(
        energy, rows(largest, *quadrature), rows(cost, *quadrature), {dt: rows(cost, "guess") for dt in (1e-3, 1e-2)},
        rows(largest, "guess"), {dt: rows(cost, "solver") for dt in (1e-3, 1e-2)}, rows(largest, "solver"),
    )  # fmt: skip
    text = defaults.render(measured)
    assert_tables_are_whole(text)
    for part in ("0.001 (2.00)", "50 / none", "not solved", repr(la.Variational())):
        assert part in text


def test_every_motion_of_the_defaults_can_start():
    defaults = load("defaults")
    for motion in defaults.motions() + defaults.hard_motions():
        assert motion.model.state(motion.q, motion.v).q.shape == (motion.model.nq,)


def test_minima_are_interleaved_and_confirmed():
    timing = load("timing")
    calls = []

    class Clock:
        def __init__(self, name, seconds):
            self.name, self.seconds = name, iter(seconds)

        def set_state(self, q, v):
            calls.append(self.name)

        def timed(self, reps):
            return next(self.seconds)

    steady = [1.0] * 100
    noisy = [3.0, 3.0, 2.0, *range(4, 101)]  # its minimum is reached once
    pair = timing.Interleaved({"a": Clock("a", steady), "b": Clock("b", noisy)}, None, None)
    calls.clear()
    timing.measure_all([pair], passes=1, repeats=2, max_passes=3)
    assert calls == ["a", "b"] * 6  # one pass, then two more because b is not confirmed
    assert pair.best == {"a": 1.0, "b": 2.0}
    assert not pair.confirmed


def test_command_line_knows_every_page(monkeypatch, capsys):
    main = load("__main__")
    monkeypatch.setattr(sys, "argv", ["benchmarks", "lee2016", "--quick"])
    monkeypatch.setitem(main.PAGES, "lee2016", ("lee2016.md", lambda quick, passes: f"quick={quick}"))
    main.main()
    assert "quick=True" in capsys.readouterr().out
    assert all((ROOT / "docs" / name).exists() for name, _ in main.PAGES.values())


def test_the_page_of_batches_renders(monkeypatch):
    rollout = load("rollout")

    class Measured(rollout.Comparison):
        def __post_init__(self):
            names = (rollout.GENERAL, rollout.SPECIAL, rollout.MUJOCO, rollout.PIN)
            self.clocks = {name: rollout.Clocks(1e-6 * k, 2e-6 * k) for k, name in enumerate(names, 1)}

    monkeypatch.setattr(rollout, "run", lambda cases, passes: [Measured(case) for case in cases])
    text = rollout.page(True, 1)
    assert_tables_are_whole(text)
    assert "0.33 (0.33)" in text  # 1 / 3: ours beside MuJoCo


def test_the_page_of_small_runs_renders(monkeypatch):
    small = load("small")
    monkeypatch.setattr(small, "MANY", 20)
    candidates = small.Candidates()
    candidates.round()
    assert all(0.0 <= seconds < np.inf for seconds in candidates.best.values())

    class Measured:
        best = dict.fromkeys(candidates.best, 1e-4) | {small.RUN: 1.5e-4}

        def round(self):
            pass

    monkeypatch.setattr(small, "Candidates", Measured)
    text = small.page(True, 1)
    assert_tables_are_whole(text)
    assert "| 0.050 ms | <= 0.1 ms  | holds |" in text and "200,000" in text


def test_the_pages_of_long_chains_and_of_robots_over_time_render(monkeypatch):
    chains, energy = load("long_chains"), load("robot_energy")
    long = {"described": 9.0, "step": 0.05, "evaluations": 2.0, "memory": 700.0}
    text = chains.text({3: chains.simulate(3, moved=30), 100_000: long})
    assert_tables_are_whole(text)
    assert "100,000" in text and "500" in text  # ns per link
    monkeypatch.setattr(energy, "held_by_servos", lambda: (1e-3, 1e-12))
    monkeypatch.setattr(energy, "held_by_a_law", lambda: (0.02, "it falls"))
    assert_tables_are_whole(energy._servos())
    given = {"moving": 1.0, "flight": "", "step": 1.0, "loops": "", "servos": "", "kp": energy.KP, "kd": energy.KD, "long": 10.0}
    assert "10000 Nm/rad" in energy._PAGE.format(**given)


def test_flip_times_are_those_of_simulations():
    flips = load("flip_times")
    times, many = flips.flip_times(4, specialised=False)
    assert times.shape == (4, 4) and not many.failed.any() and np.array_equal(times, times[::-1, ::-1])  # mirrored starts
    for k in range(0, 16, 5):
        run = many.again(k)
        assert run.t[-1] == times.ravel()[k] and (("limit" in run.message) == (times.ravel()[k] < flips.SECONDS))


def test_every_kernel_that_is_timed_can_be_called():
    """Without the compiler, since this is about what they are called with."""
    code = """
from benchmarks import cases, ours, probe
case = cases.chain(2, True)
for what in range(len(probe.NAMES)):
    kernel = ours.Kernel(case.model, 1e-3, what)
    kernel.set_state(case.q, case.v)
    assert kernel.timed(2) > 0.0
"""
    env = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=env, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
