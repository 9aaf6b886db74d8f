"""Problems by which the field compares its programs, against published references or the motion in one coordinate.  docs/published.md"""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import leastaction as la
from leastaction.assembly.equations import TreeClosing
from leastaction.reference import published

# the test set for IVP solvers, release 2.4: state of Andrews' squeezer at 0.03 s (PSIDE, tolerances 1e-14)
SQUEEZER_REFERENCE = {
    "beta": 15.81077119629904, "theta": -15.75637105984298, "gamma": 0.04082224013073101, "phi": -0.5347301163226948,
    "delta": 0.5244099658805304, "omega": 0.5347301163226948, "epsilon": 1.048080741042263,
}  # fmt: skip


def test_squeezer_ends_where_the_test_set_says():
    """Two step lengths and the extrapolation of both: order 2 on the way to the reference."""
    model = la.examples.squeezer().compile()
    reference = np.array([SQUEEZER_REFERENCE[name] for name in model.joint_names])
    tau = model.velocities({"beta": la.examples.SQUEEZER_TORQUE}, "tau")
    ends = []
    for dt in (2e-5, 1e-5):
        run = la.simulate(model, q=la.examples.SQUEEZER_START, tau=tau, dt=dt, duration=0.03)
        assert run.constraint_error.max() < 1e-12
        ends.append(run.q[-1])
    coarse, fine = (np.abs(end - reference).max() for end in ends)
    assert 3.7 < coarse / fine < 4.3
    extrapolated = (4 * ends[1] - ends[0]) / 3
    assert np.abs(extrapolated - reference).max() < 1e-7


def test_squeezer_starts_with_the_accelerations_of_the_test_set():
    model = la.examples.squeezer().compile()
    q = model.coordinates(la.examples.SQUEEZER_START)
    a = la.dynamics.forward(model, q, np.zeros(7), model.velocities({"beta": la.examples.SQUEEZER_TORQUE}, "tau"))
    expected = {"beta": 14222.4439199541138706, "theta": -10666.8329399655854029}
    assert np.allclose(a, [expected.get(name, 0.0) for name in model.joint_names], rtol=1e-9, atol=1e-6)


@pytest.mark.parametrize("windows", [1, 4])
def test_n_four_bar_turns_as_its_one_coordinate_does(windows):
    """All rods turn alike: a pendulum with m = (N + 1) / 3 + N and the weight of (N + 1) / 2 + N rods 1 m from the pivot."""
    inertia, weight = (windows + 1) / 3 + windows, 9.81 * ((windows + 1) / 2 + windows)
    rate = weight / inertia
    exact = solve_ivp(lambda t, y: [y[1], rate * np.sin(y[0])], (0, 4.0), [0.0, -1.0], rtol=1e-12, atol=1e-12, dense_output=True)
    model = la.examples.n_four_bar(windows).compile()
    v = model.project_velocity(None, {name: -1.0 if name.startswith("rod") else 1.0 for name in model.joint_names})
    assert np.allclose([v[model.v_slice(f"rod{k}")][0] for k in range(windows + 1)], -1.0)
    off = []
    for dt in (4e-3, 2e-3):
        run = la.simulate(model, v=v, dt=dt, duration=4.0, assembly="continue")
        angle = exact.sol(run.t)[0]
        off.append(np.abs(run["rod0"][:, 0] - angle).max())
        assert np.abs(run[f"rod{windows}"] - run["rod0"]).max() < 1e-6  # on its branch: all rods stay parallel
    assert np.ptp(run["rod0"]) > 2 * np.pi  # past both singular positions
    assert off[1] < 1e-2 and off[0] / off[1] > 3.0


def test_bricard_moves_although_it_should_not():
    model = la.examples.bricard().compile()
    closing = TreeClosing(model)
    assert np.abs(closing.errors(model.neutral())).max() < 1e-12
    run = la.simulate(model, dt=1e-2, duration=5.0)
    assert len(run.redundant) == 1
    swing = run.kinetic.max()
    assert swing > 1.0
    assert np.abs(run.energy - run.energy[0]).max() < 1e-2 * swing
    assert max(np.abs(closing.errors(q)).max() for q in run.q[::10]) < 1e-8
    a, b = (np.cos(run[name][:, 0] + np.pi / 2) for name in ("rod1", "rod2"))
    assert np.abs(a * b + a + b).max() < 1e-8 or np.abs(a * b - a - b).max() < 1e-8
    assert np.abs(run["rod1"] - run["rod3"]).max() < 1e-8


SLIDER_CRANKS = {  # start of the crank's speed, lengths of steps, duration
    "planar": (la.examples.planar_slider_crank, 150.0, (4e-4, 2e-4), 0.08),
    "spatial": (la.examples.spatial_slider_crank, 6.0, (4e-3, 2e-3), 2.0),
    "folding": (la.examples.folding_slider_crank, None, (8e-3, 4e-3), 3.0),
}


@pytest.mark.parametrize("name", SLIDER_CRANKS)
def test_slider_cranks_turn_as_their_one_coordinate_does(name):
    """The folding one passes positions in which it could go another way, and goes on as it came."""
    example, speed, lengths, duration = SLIDER_CRANKS[name]
    model = example().compile()
    if speed is None:
        q, v = la.examples.FOLDING_START, la.examples.FOLDING_SPEED
    else:
        q, v = None, model.project_velocity(None, {"crank": speed})
        v = v * speed / v[model.v_slice("crank")]
    exact, off = published.slider_crank(name, duration), []
    for dt in lengths:
        run = la.simulate(model, q=q, v=v, dt=dt, duration=duration, assembly="continue")
        off.append(np.abs(run["crank"][:, 0] - exact(run.t)[0]).max())
        swing = max(run.kinetic.max(), np.ptp(run.potential))
        assert np.abs(run.energy - run.energy[0]).max() < 5e-3 * swing and run.constraint_error.max() < 1e-11
    assert np.ptp(run["crank"]) > 2 * np.pi
    assert off[1] < 2e-2 and 3.5 < off[0] / off[1] < 4.5


def test_heavy_top_of_the_literature_nods_as_its_one_coordinate_does():
    """Bruels and Cardona 2010: 15 kg, 150 rad/s about its axis, which lies in the horizontal at the start and turns slowly."""
    inertia, spin, precession = (0.234375, 0.46875), 150.0, 4.61538
    exact = published.heavy_top(0.5, 15.0, 1.0, inertia, (np.pi / 2, 0.0, precession, spin))
    model = la.examples.heavy_top(15.0, 1.0, (inertia[0], inertia[0], inertia[1])).compile()
    half = np.sqrt(0.5)
    off = []
    for dt in (8e-4, 4e-4):
        # lying along x of the world; about the vertical, which is -x of the body, it turns with the precession
        run = la.simulate(model, q=[half, 0.0, half, 0.0], v=[-precession, 0.0, spin], dt=dt, duration=0.5)
        w, x, y, z = run.q.T
        off.append(np.abs(w * w - x * x - y * y + z * z - np.cos(exact(run.t)[0])).max())
    assert off[1] < 5e-4 and 3.5 < off[0] / off[1] < 4.5
