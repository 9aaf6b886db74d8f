"""Joints that are described in a range only: leaving it is an error by name, or ends the run, and closed curves go round."""

import numpy as np
import pytest

import leastaction as la
from leastaction import library as lib

WIRE = [(-1, 0, 0), (-0.5, 0.2, -1), (0.5, -0.2, -1), (1, 0, -0.5)]
RING = np.array([(0, 0, 0), (1, 0, 0.3), (2, 1, 0.6), (1.5, 2.5, 0.1), (-1.5, 2.5, -0.1), (-2, 1, -0.6), (-1, 0, -0.3), (0, 0, 0)])
BODY = {"mass": 1.0, "inertia": (0.1, 0.1, 0.1)}
DT = 0.02


def bead(joint, gravity=(0, 0, -9.81)):
    mech = la.Mechanism(name="bead", gravity=gravity)
    mech.add_body("bead", joint=joint, **BODY)
    return mech.compile()


def on_wire(leave="error"):
    return bead(lib.curve_point(lib.bezier_curve(WIRE, start=0.3), leave=leave))


FREE = la.simulate(on_wire("continue"), dt=DT, steps=40, v=[1.5])
LAST = int(np.argmax(FREE.q[:, 0] > 1.0))


def test_leaving_the_wire_is_an_error_that_keeps_the_run():
    assert 0 < LAST < 40 and FREE.warnings == ()
    with pytest.raises(la.LimitError, match=r"t = .*joint 'bead' left its range 0 <= s <= 1, at 1\.0.*leave='stop'") as caught:
        la.simulate(on_wire(), dt=DT, steps=40, v=[1.5])
    assert caught.value.time == FREE.t[LAST]
    np.testing.assert_array_equal(caught.value.trajectory.q, FREE.q[: LAST + 1])


@pytest.mark.parametrize("integrator", [la.Variational(), la.Maximal(), la.Composition(), la.AdaptiveStep(), la.RK4()], ids=repr)
@pytest.mark.parametrize("every", [1, 4])
def test_or_the_run_ends_there(integrator, every):
    run = la.simulate(on_wire("stop"), dt=DT, steps=100, v=[1.5], integrator=integrator, record_every=every)
    assert "joint 'bead' left its range 0 <= s <= 1" in run.message and run.converged
    assert run.q[-1, 0] > 1.0 and np.all(run.q[:-1] <= 1.0)


def test_steps_and_control_laws_look_too():
    sim = la.Simulator(on_wire("stop"), dt=DT, v=[1.5])
    with pytest.raises(la.LimitError, match="left its range"):
        for _ in range(40):
            sim.step()
    assert sim.t == FREE.t[LAST]
    with pytest.raises(la.LimitError, match="left its range"):
        la.simulate(on_wire(), dt=DT, steps=40, v=[1.5], control=lambda t, state: [0.0])


def test_ignored_ranges_stand_in_the_warnings():
    run = la.simulate(on_wire(), dt=DT, steps=40, v=[1.5], limits="ignore")
    np.testing.assert_array_equal(run.q, FREE.q)
    assert any("joint 'bead' went beyond" in w for w in run.warnings)


def test_a_start_outside_is_refused():
    with pytest.raises(la.StateError, match=r"'bead' is outside its range 0 <= s <= 1, at 1.2; .*q=\{'bead': 1.0\}"):
        la.simulate(on_wire("stop"), dt=DT, steps=1, q=[1.2])
    with pytest.raises(la.MechanismError, match=r"its start s = 1.5 is not in its range 0 to 1"):
        lib.curve_point(lib.bezier_curve(WIRE), start=[1.5])


def test_members_of_a_rollout_stop_and_say_why():
    batch = la.rollout(on_wire("stop"), q=np.array([[0.3], [0.3]]), v=np.array([[1.5], [0.0]]), dt=DT, steps=20)
    assert list(batch.stopped) == [0] and "left its range 0 <= s <= 1" in batch.stopped[0]


def test_the_second_coordinate_of_a_patch():
    flat = [[(x, y, 0.0) for y in (0, 1, 2)] for x in (0, 1, 2)]
    model = bead(lib.surface_point(lib.bezier_surface(flat), leave="stop"), gravity=(0, 0, 0))
    run = la.simulate(model, dt=0.05, steps=40, v=[0.0, 0.4])
    assert "left its range 0 <= v <= 1" in run.message


def test_a_closed_curve_goes_round():
    """Through the seam with the order of the integrator, forth and back, in joint and in maximal coordinates."""
    model = bead(lib.curve_point(lib.bezier_curve(RING, start=0.1, closed=True)), gravity=(0, 0, 0))
    joint = model.bodies[0].joint
    for s in (-0.7, 0.3, 1.3):
        np.testing.assert_allclose(joint.pose([s]), joint.pose([s + 1.0]), atol=1e-14)
    for forth in (0.9, -0.9):
        swings = []
        for dt in (0.04, 0.02):
            runs = [la.simulate(model, dt=dt, duration=1.6, v=[forth], integrator=i(tol=1e-12)) for i in (la.Variational, la.Maximal)]
            assert runs[0].message == "finished" and abs(runs[0].q[-1, 0] - 0.1) > 1.2
            assert np.abs(runs[0].q - runs[1].q).max() < 1e-10
            swings.append(np.ptp(runs[0].energy))
        assert 1.7 < np.log2(swings[0] / swings[1]) < 2.3


def test_what_is_not_closed_says_where():
    gap, kink, bend = RING.copy(), RING.copy(), RING.copy()
    gap[-1, 0], kink[1, 0], bend[2, 1] = 0.1, 1.1, 1.5
    for points, words in ((gap, "a gap"), (kink, "a kink"), (bend, "curvature"), (RING[[0, 1, 0]], "6 or more")):
        with pytest.raises(la.MechanismError, match=words):
            lib.bezier_curve(points, closed=True)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"ranges": [(1.0, 0.0)]}, "lower < upper"),
        ({"ranges": [(0.0, 1.0), None]}, "give 1, each"),
        ({"ranges": [(0.0, 1.0)], "leave": "jump"}, "leave = 'jump'"),
    ],
)
def test_bad_ranges_name_the_remedy(options, words):
    with pytest.raises(la.MechanismError, match=words):
        la.SymbolicJoint("slide", lambda q, sp: sp.move(q[0], 0, 0), 1, **options)
