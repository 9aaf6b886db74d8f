"""What users of constraints are told: bad descriptions, bad starts, contradictions."""

import numpy as np
import pytest

import leastaction as la
from leastaction.yardsticks import Lee2016


def hung(*constraints):
    mech = la.examples.chain(3)
    mech.add_frame("hook", placement=la.Pose(xyz=(2.0, 0.0, 0.0)))
    for c in constraints:
        mech.add_constraint(c)
    return mech


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: la.Distance("hook", "tip", -1.0), ("-1.0", "> 0")),
        (lambda: la.Cam("link1", "link2", 3.0), ("profile = 3.0", "lambda")),
        (lambda: la.SymbolicConstraint("odd", [], lambda q, sp: q[0]), ("joints = []",)),
        (lambda: la.SymbolicConstraint("odd", ["link1"], 2.0), ("expression = 2.0", "lambda")),
        (lambda: la.PointOnPlane("tip", normal=(0, 0, 0)), ("normal", "PointOnPlane('tip', 'world')")),
        (lambda: la.Screw("hook", "tip", pitch=np.nan), ("pitch", "nan")),
        (lambda: hung(la.Coincident("hook", "top")).compile(), ("'top'", "neither a body nor a frame")),
        (lambda: hung(la.Coincident("link3", "tip")).compile(), ("same body",)),
        (lambda: hung(la.Prescribed("knee", 0.3)).compile(), ("'knee'", "link1")),
        (lambda: hung(la.SymbolicConstraint("odd", ["link1"], lambda q, sp: sp.gamma(q[0]))).compile(), ("'odd'", "gamma")),
        (lambda: hung(la.SymbolicConstraint("odd", ["link1"], lambda q, sp: q[0] + sp.Symbol("k"))).compile(), ("'odd'", "k")),
        (lambda: hung(la.SymbolicConstraint("odd", ["link1"], lambda q, sp: q[1])).compile(), ("'odd'", "IndexError")),
        (lambda: hung(la.SymbolicConstraint("odd", ["link1"], lambda q, t, sp: t)).compile(), ("'odd'", "no coordinate")),
        (lambda: la.examples.chain(2).add_constraint(la.Gear), ("add_constraint", "Gear")),
    ],
)
def test_bad_descriptions(make, words):
    with pytest.raises(la.MechanismError) as caught:
        make()
    for word in words:
        assert word in str(caught.value)


def test_constraints_on_coordinates_refuse_quaternions():
    mech = la.examples.ball_chain(2)
    mech.add_constraint(la.SymbolicConstraint("turn", ["link1"], lambda q, sp: q[0]))
    with pytest.raises(la.MechanismError, match="Spherical.*one by one; constrain frames"):
        mech.compile()


def test_a_start_off_the_constraints_names_the_row_and_the_remedy():
    model = hung(la.Distance("hook", "tip", 2.5)).compile()
    with pytest.raises(la.StateError, match=r"Distance\('hook', 'tip'\): distance, which is off by .*model.assemble"):
        la.simulate(model, dt=1e-2, steps=1)
    q = model.assemble({"link1": -0.4})
    with pytest.raises(la.StateError, match="changes at the rate .*project_velocity"):
        la.simulate(model, dt=1e-2, steps=1, q=q, v=[1.0, 0.0, 0.0])
    la.simulate(model, dt=1e-2, steps=1, q=q, v=model.project_velocity(q, [1.0, 0.0, 0.0]))


def test_assembly_holds_joints_and_says_what_it_moved(capsys):
    model = hung(la.Distance("hook", "tip", 2.5)).compile()
    q = model.assemble({"link1": -0.4}, hold=["link1"], verbose=True)
    assert q[0] == -0.4 and abs(la.constraints.values(model, q)[0]) < 1e-12
    said = capsys.readouterr().out
    assert "link2" in said and "link3" in said and "link1" not in said
    again = model.assemble(q, hold="link1", verbose=True)
    assert np.array_equal(again, q) and "nothing moved" in capsys.readouterr().out


def test_contradicting_rows_are_named_together():
    """A point cannot be in two planes; the gear can be kept and is not blamed."""
    planes = (la.PointOnPlane("tip", height=-2.0), la.PointOnPlane("tip", "hook", height=-1.5))
    model = hung(*planes, la.Gear("link1", "link2", 2.0)).compile()
    with pytest.raises(la.StateError) as caught:
        model.assemble({"link1": -0.4, "link2": -0.2})
    said = str(caught.value)
    assert "PointOnPlane('tip', 'world')" in said and "PointOnPlane('tip', 'hook')" in said and "Gear" not in said


def test_out_of_reach_while_held():
    model = hung(la.Coincident("hook", "tip", directions=[(1, 0, 0), (0, 0, 1)])).compile()
    with pytest.raises(la.StateError, match="'link1', 'link2' are held"):
        model.assemble(None, hold=["link1", "link2"])


def test_solvers_that_know_no_constraints_say_so():
    model = hung(la.Prescribed("link1", 0.0)).compile()
    for options in (("riqn",), ("dense-newton",), ("newton", "ig3")):
        with pytest.raises(la.StateError, match=r"Prescribed\('link1'\).*Variational\(\)"):
            la.simulate(model, dt=1e-2, steps=1, integrator=Lee2016(*options))


def test_yardsticks_are_named_by_the_class_they_left():
    for options in ({"solver": "riqn"}, {"guess": "ig3"}):
        with pytest.raises(la.StateError, match=f"{next(iter(options.values()))}.*leastaction.yardsticks import Lee2016"):
            la.Variational(**options)


def test_constraints_on_velocities_that_are_refused():
    model = la.examples.chaplygin_sleigh().compile()
    with pytest.raises(la.StateError, match=r"Lee2016 does not keep the constraints .*Skate.*Variational\(\) or Maximal\(\)"):
        la.simulate(model, dt=1e-2, steps=1, integrator=Lee2016())


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: la.RollingBall("b", 0.0), r"RollingBall\('b'\): radius = 0.0 m; it needs a number > 0"),
        (lambda: la.RollingBall("b", 0.1, sphere=-1.0), "sphere = -1.0 m; it needs a number > 0"),
        (lambda: la.RollingBall("b", 0.1, inside=True), "inside = True says nothing without a sphere"),
        (lambda: la.RollingBall("b", 0.1, sphere=0.05, inside=True), "too small for a ball of 0.1 m inside"),
        (lambda: la.RollingEllipsoid("b", (0.1, 0.0, 0.2)), "half_axes = .* it needs three numbers > 0"),
        (lambda: la.Skate("b", on="b"), "'b' and 'b' belong to the same body"),
        (lambda: la.Rolling("world", 0.1), "'world' is fixed to the world and cannot move"),
        (lambda: la.Rolling("b", 0.1, on="nowhere"), "'nowhere' is neither a body nor a frame"),
        (lambda: la.VelocityConstraint("c", ["b"], "v0**2 - 1"), r"'c' is not affine in the velocities \(v0\)"),
        (lambda: la.VelocityConstraint("c", ["b"], "q0 - 1"), "'c' depends on no velocity"),
        (lambda: la.VelocityConstraint("c", ["b"], "v0 + w"), "'c'.*w"),
        (lambda: la.VelocityConstraint("c", ["b"], lambda q, v, sp: v[7]), "'c': its expression fails with IndexError"),
        (lambda: la.VelocityConstraint("c", ["ball"], "v0"), "'ball' is Spherical.*constrain frames instead"),
    ],
)
def test_bad_constraints_on_velocities(make, message):
    with pytest.raises(la.MechanismError, match=message):
        mech = la.Mechanism()
        mech.add_body("b", joint=la.Planar(), mass=1.0, inertia=(1.0, 1.0, 1.0))
        mech.add_body("ball", joint=la.Spherical(), mass=1.0, inertia=(1.0, 1.0, 1.0))
        mech.add_constraint(make())
        mech.compile()


def test_a_failed_step_can_be_tried_again():
    """Multipliers and increments are as before the step."""
    model = la.examples.four_bar().compile()
    q = model.assemble((0.785, -2.068, -1.305))
    sim = la.Simulator(model, dt=0.01, q=q)
    sim.run(20)
    before, multipliers = sim.q, sim._stepper.ties.lam.copy()
    with pytest.raises(la.ConvergenceError):
        sim.step([1e30, 0.0, 0.0])
    assert np.array_equal(sim.q, before) and np.array_equal(sim._stepper.ties.lam, multipliers)
    sim.step()
    assert np.abs(sim.q - before).max() < 0.1
