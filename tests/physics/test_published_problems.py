"""Problems by which the field compares its programs, against published references or the motion in one coordinate.  docs/published.md"""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import leastaction as la
from leastaction.assembly.closing import TreeClosing

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
