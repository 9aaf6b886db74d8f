"""Reactions: closed forms, an independent balance of forces on every body, agreement of integrators that solve different equations."""

import numpy as np
import pytest
from scipy.linalg import logm

import leastaction as la
from leastaction.kernels.maximal import evaluate as maximal
from leastaction.kernels.maximal import layout as M
from leastaction.reference import pendulum
from leastaction.testing.random_mechanism import random_state

FOUR_BAR_START = {"rod1": 0.8, "rod2": -2.0, "rod3": -1.3}
DISCRETE = [la.Variational(), la.Variational(quadrature="midpoint"), la.Midpoint(), la.Maximal()]
CONTINUOUS = [la.Composition(), la.Trapezoid(), la.AdaptiveStep(), la.RK4()]


def kind(integrator):
    return repr(integrator).split(", solver")[0]


# ----------------------------------------------------------------------------------------------------------- closed forms


def lamp():
    """2 kg on two wires that lean by 30 degrees, in the x-z plane; and a chain of three rods beside it."""
    mech = la.examples.chain(3)
    at = la.Pose(xyz=(5.0, 0.0, -np.sqrt(3)))
    mech.add_body("lamp", joint=la.Planar(normal=(0, 1, 0)), placement=at, mass=2.0, inertia=(0.1, 0.1, 0.1))
    for name, x in (("left", 4.0), ("right", 6.0)):
        mech.add_frame(name, placement=la.Pose(xyz=(x, 0, 0)))
        mech.add_constraint(la.Distance(name, "lamp", 2.0), name=f"{name} wire")
    return mech


@pytest.mark.parametrize("integrator", [*DISCRETE, la.Maximal("quaternion"), la.RK4()], ids=kind)
def test_hanging_loads(integrator):
    run = la.simulate(lamp().compile(), dt=0.01, steps=5, integrator=integrator)
    g, weight = 9.81, 2.0 * 9.81
    for k in range(3):
        hanging = run.reactions[f"link{k + 1}"]
        assert np.abs(hanging.force - [0, 0, (3 - k) * g]).max() < 1e-10 and np.abs(hanging.moment).max() < 1e-10
        assert not hanging.indeterminate
    pull = weight / (2 * np.cos(np.pi / 6))
    for name, side in (("left wire", -1.0), ("right wire", 1.0)):
        wire = run.reactions[name]
        assert wire.on == "lamp" and wire.by == "world"
        assert np.abs(wire.force - [0.5 * side * pull, 0.0, 0.5 * weight]).max() < 1e-10
        assert np.abs(wire.moment).max() < 1e-10
        assert np.abs(wire.multipliers + pull).max() < 1e-10  # pulled: the row would rather have it longer
    carried = run.reactions["lamp"]  # a planar joint carries nothing in its plane
    assert np.abs(carried.force).max() < 1e-10 and np.abs(carried.drive).max() < 1e-10


ANGLE, RATE, LENGTH, MASS = 1.1, 0.7, 1.3, 2.0


def swinging(wire):
    mech = la.Mechanism(name="pendulum")
    if wire:
        bob = {"mass": MASS, "inertia": (0.1, 0.1, 0.1)}
        mech.add_body("bob", joint=la.Planar(normal=(0, 1, 0)), **bob)
        mech.add_frame("hook", placement=la.Pose(xyz=(0, 0, 0)))
        mech.add_constraint(la.Distance("hook", "bob", LENGTH), name="arm")
    else:
        mech.add_body("arm", joint=la.Revolute(axis=(0, 1, 0)), mass=MASS, com=(0, 0, -LENGTH))
    return mech.compile()


def tension_error(integrator, dt, wire):
    """Largest difference to the closed form m (g cos + l rate^2) at all nodes, the first and the last one included."""
    model = swinging(wire)
    start = {"q": {"arm": ANGLE}, "v": {"arm": RATE}}
    if wire:
        q = model.coordinates(None)
        spot, speed = -LENGTH * np.array([np.sin(ANGLE), np.cos(ANGLE)]), -LENGTH * RATE * np.array([np.cos(ANGLE), -np.sin(ANGLE)])
        columns = [la.dynamics.pose(model, np.eye(3)[j], "bob").p[[0, 2]] for j in range(2)]
        q[:2], v = np.linalg.solve(np.transpose(columns), spot), np.zeros(3)
        v[:2] = np.linalg.solve(np.transpose(columns), speed)
        start = {"q": q, "v": v}
    run = la.simulate(model, dt=dt, duration=1.0, integrator=integrator, **start)
    angle, rate = pendulum.motion(run.t, ANGLE, RATE, np.sqrt(9.81 / LENGTH))
    tension = MASS * (9.81 * np.cos(angle) + LENGTH * rate**2)
    towards_the_pivot = np.column_stack([np.sin(angle), 0 * angle, np.cos(angle)])
    along = np.einsum("tj,tj->t", run.reactions["arm"].force, towards_the_pivot)
    return np.abs(along - tension).max()


@pytest.mark.parametrize("wire", [False, True], ids=["rod", "wire"])
@pytest.mark.parametrize("integrator", [*DISCRETE, la.Maximal("quaternion")], ids=kind)
def test_tension_of_a_pendulum_is_of_order_two_at_the_nodes(integrator, wire):
    errors = [tension_error(integrator, dt, wire) for dt in (0.02, 0.01)]
    assert 1.85 < np.log2(errors[0] / errors[1]) < 2.15
    assert errors[1] < 0.01


@pytest.mark.parametrize(("integrator", "order"), [(la.Composition(), 4), (la.RK4(), 4), (la.Trapezoid(), 2)], ids=kind)
def test_tension_by_the_equations_of_motion_is_of_the_order_of_the_integrator(integrator, order):
    errors = [tension_error(integrator, dt, False) for dt in (0.04, 0.02)]
    assert abs(np.log2(errors[0] / errors[1]) - order) < 0.4


@pytest.mark.parametrize("integrator", DISCRETE[:3], ids=kind)
def test_driving_torques_become_those_of_inverse_dynamics(integrator):
    """A double pendulum led along a given motion: the multipliers are what it takes."""
    mech = la.examples.double_pendulum()
    mech.add_constraint(la.Prescribed("upper", lambda t, sp: sp.sin(2 * t)))
    mech.add_constraint(la.Prescribed("lower", lambda t, sp: 1 - sp.cos(3 * t)))
    model, errors = mech.compile(), []
    for dt in (0.02, 0.01):
        run = la.simulate(model, dt=dt, duration=0.5, v={"upper": 2.0}, integrator=integrator)
        torque = np.column_stack([run.reactions[k].multipliers[:, 0] for k in range(2)])
        t, worst = run.t, 0.0
        for k in range(len(t)):
            q, v = [np.sin(2 * t[k]), 1 - np.cos(3 * t[k])], [2 * np.cos(2 * t[k]), 3 * np.sin(3 * t[k])]
            a = [-4 * np.sin(2 * t[k]), 9 * np.cos(3 * t[k])]
            worst = max(worst, np.abs(torque[k] - la.dynamics.inverse(model, q, v, a)).max())
            exact = la.dynamics.forward(model, q, v, t=t[k], multipliers=True)
            assert np.abs(exact[0] - a).max() < 1e-10 and np.abs(exact[1] - la.dynamics.inverse(model, q, v, a)).max() < 1e-10
        errors.append(worst)
        drive = np.column_stack([run.reactions[name].drive[:, 0] for name in ("upper", "lower")])
        # what acts half way through a step is balanced in the world, while the equations of the step are those of joint coordinates
        assert np.abs(drive - torque).max() < (1e-9 if integrator is DISCRETE[0] else worst)
    assert 1.8 < np.log2(errors[0] / errors[1]) < 2.2


# --------------------------------------------------------------------------------------------------- independent balance


def hat(a):
    return np.array([[0, -a[2], a[1]], [a[2], 0, -a[0]], [-a[1], a[0], 0.0]])


def ad(x):
    return np.block([[hat(x[:3]), np.zeros((3, 3))], [hat(x[3:]), hat(x[:3])]])


def leaving_momentum(T0, T1, G, h):
    """(1/h) dexp^-T_x G x with x = log(T0^-1 T1), by the power series with Bernoulli's numbers."""
    X = logm(np.linalg.solve(T0, T1)).real
    x = np.array([X[2, 1], X[0, 2], X[1, 0], *X[:3, 3]])
    A, power, dexp_inverse = ad(x), np.eye(6), np.zeros((6, 6))
    for bernoulli, factorial in ((1, 1), (-1 / 2, 1), (1 / 6, 2), (0, 6), (-1 / 30, 24), (0, 120), (1 / 42, 720)):
        dexp_inverse += bernoulli / factorial * power
        power = power @ A
    return dexp_inverse.T @ G @ x / h


def to_world(T, wrench):
    force = T[:3, :3] @ wrench[3:]
    return np.concatenate([T[:3, :3] @ wrench[:3] + np.cross(T[:3, 3], force), force])


def pose_matrix(model, q, name):
    pose, T = la.dynamics.pose(model, q, name), np.eye(4)
    T[:3, :3], T[:3, 3] = pose.R, pose.p
    return T


def unbalanced(mech, run, k, pushes=()):
    """Largest force or moment about the world's origin that is missing on a body at node k, of everything reported and applied there."""
    model, h, worst = run.model, run.dt, 0.0
    acting = {name: np.zeros(6) for name in ("world", *model.body_names)}
    for name in (*model.joint_names, *range(len(model.closures))):
        r = run.reactions[name].at(k)
        wrench = np.concatenate([r.moment + np.cross(r.point, r.force), r.force])
        acting[r.on] += wrench
        acting[r.by] -= wrench
    for body, force, point in pushes:
        spot = pose_matrix(model, run.q[k], body) @ [*point, 1.0]
        acting[body] += np.concatenate([np.cross(spot[:3], force), force])
    for name in model.body_names:
        body = mech.bodies[name]
        G = np.block([[body.inertia - body.mass * hat(body.com) @ hat(body.com), body.mass * hat(body.com)],
                      [-body.mass * hat(body.com), body.mass * np.eye(3)]])  # fmt: skip
        before, now, after = (pose_matrix(model, run.q[j], name) for j in (k - 1, k, k + 1))
        change = to_world(now, leaving_momentum(now, after, G, h) + leaving_momentum(now, before, G, h)) / h
        weight = body.mass * mech.gravity
        centre = now[:3, :3] @ body.com + now[:3, 3]
        acting[name] += np.concatenate([np.cross(centre, weight), weight])
        worst = max(worst, np.abs(acting[name] - change).max())
    return worst


def tree_with_loads():
    """All kinds of joints, springs and dampers in them, pushes on bodies."""
    rng = np.random.default_rng(5)
    mech = la.Mechanism(gravity=(1.0, -2.0, -9.0))
    joints = {
        "base": (la.Free(), "world"), "ball": (la.Spherical(), "base"), "hinge": (la.Revolute(axis=(1, 0, 2)), "ball"),
        "rail": (la.Prismatic(axis=(0, 1, 1)), "world"), "screw": (la.Helical(axis=(1, 0, 1), pitch=0.3), "rail"),
        "tube": (la.Cylindrical(axis=(0, 1, 0)), "screw"), "cross": (la.Universal(), "screw"),
        "slab": (la.Planar(normal=(0, 1, 0)), "cross"),
    }  # fmt: skip
    for name, (joint, parent) in joints.items():
        mech.add_body(
            name, parent, joint, la.Pose(0.5 * rng.normal(size=3), quaternion=rng.normal(size=4)),
            mass=rng.uniform(0.5, 2.0), com=0.2 * rng.normal(size=3), inertia=la.examples.random_inertia(rng),
        )  # fmt: skip
    mech.add_force(la.Spring("screw", 5.0))
    mech.add_force(la.Damper("ball", 0.3))
    mech.add_force(la.Damper("slab", (0.4, 0.2, 0.3)))
    pushes = [("hinge", (1.0, -2.0, 0.5), (0.1, 0.2, 0.0)), ("slab", (0.5, 0.3, 1.0), (0.0, 0.1, -0.2))]
    for body, force, point in pushes:
        mech.add_force(la.Wrench(body, force=force, point=point, frame="world"))
    return mech, pushes


@pytest.fixture(scope="module")
def loaded_tree():
    mech, pushes = tree_with_loads()
    model = mech.compile()
    q, v = random_state(model, np.random.default_rng(8))
    forces = np.random.default_rng(9).normal(size=(8, model.nv))
    start = {"q": q, "v": v, "tau": forces, "dt": 5e-3, "steps": 8}
    runs = {kind(i): la.simulate(model, integrator=i, **start) for i in (la.Variational(tol=1e-12), la.Maximal(tol=1e-12))}
    return mech, pushes, runs, forces


def test_every_body_of_a_tree_is_in_balance(loaded_tree):
    mech, pushes, runs, _ = loaded_tree
    for run in runs.values():
        for k in (1, 4, 7):
            assert unbalanced(mech, run, k, pushes) < 1e-8


def test_along_its_freedoms_a_joint_carries_what_acts_in_it(loaded_tree):
    """Joint forces of both steps around the node, springs, dampers; nothing in a free joint."""
    mech, _, runs, forces = loaded_tree
    run = runs[kind(la.Variational(tol=1e-12))]
    model = run.model
    assert np.array_equal(run.tau, forces)
    for name in ("hinge", "rail", "tube", "cross", "base"):
        given = forces[:, model.v_slice(name)]
        expected = np.concatenate([given[:1], 0.5 * (given[1:] + given[:-1]), given[-1:]])
        assert np.abs(run.reactions[name].drive - expected).max() < 1e-8
    spring = run.reactions["screw"].drive[3] - 0.5 * (forces[2] + forces[3])[model.v_slice("screw")]
    assert np.abs(spring + 5.0 * run["screw"][3]).max() < 1e-8


def test_joint_reactions_of_both_formulations_agree(loaded_tree):
    _, _, runs, _ = loaded_tree
    one, other = runs.values()
    assert np.abs(one.q - other.q).max() < 1e-9
    for name in one.reactions:
        assert np.abs(one.reactions[name].wrench - other.reactions[name].wrench).max() < 1e-8


def test_multipliers_of_maximal_are_the_reactions():
    """Where nothing acts along its freedoms a joint carries what it forbids: the multipliers that the run itself found on its way."""
    mech, _ = tree_with_loads()
    model = mech.compile()
    q, v = random_state(model, np.random.default_rng(8))
    run = la.simulate(model, integrator=la.Maximal(tol=1e-12), q=q, v=v, dt=5e-3, steps=6)
    network = run.integrator.start(model, run.state(0), run.dt).network
    net, flow, work = network.net, network.make_flow(), model.make_work()
    for k in (2, 4):
        maximal.node(model.tree, work, net, flow, run.q[k], np.zeros(len(net.row)))
        for name in ("hinge", "rail", "tube", "cross"):
            i = model.joint_names.index(name) + 1
            first, rows, slot = (net.con[i - 1, c] for c in (M.FIRST_ROW, M.ROWS, M.FIRST_SLOT))
            found = run.multipliers[k + 1, first : first + rows] @ flow.G0[slot + 1, :rows] / run.dt  # at the centre of mass, body axes
            r, R, centre = run.reactions[name].at(k), flow.node[i, :9].reshape(3, 3), flow.node[i, M.POSE_X : M.POSE_X + 3]
            whole = np.concatenate([R.T @ (r.moment + np.cross(r.point - centre, r.force)), R.T @ r.force])
            assert np.abs(whole - found).max() < 1e-7


# ------------------------------------------------------------------------------------------------------------------ loops


@pytest.mark.parametrize("between", ["rod and ground", "rods"])
@pytest.mark.parametrize("integrator", [la.Variational(tol=1e-12), la.Maximal(tol=1e-12)], ids=kind)
def test_linkages_are_in_balance(integrator, between):
    """A four-bar closed by a pin in the ground; two of them in a row whose pins join rods."""
    mech = la.examples.four_bar_chain(2, opening=0.5, swing=0.3) if between == "rods" else la.examples.four_bar()
    model = mech.compile()
    q = model.assemble(None if between == "rods" else FOUR_BAR_START)
    run = la.simulate(model, dt=0.01, steps=20, q=q, integrator=integrator)
    for k in (1, 11, 19):
        assert unbalanced(mech, run, k) < 1e-8
    assert not any(r.indeterminate for r in run.reactions.values())


def test_redundant_closures_are_flagged_and_carry_the_least():
    """Closed by a hinge: in the plane as determined as with two rows, across it nobody knows."""
    model = la.examples.four_bar().compile()
    q = model.assemble(FOUR_BAR_START)
    plain = la.simulate(model, dt=0.01, steps=20, q=q, integrator=la.Variational(tol=1e-12)).reactions
    hinged = la.examples.four_bar(joint=True).compile()
    pin = hinged.closures[0].name
    across = ("moment x", "moment z", "force y")
    for integrator in (la.Variational(tol=1e-12), la.Maximal(tol=1e-12), la.Midpoint(), la.RK4()):
        found = la.simulate(hinged, dt=0.01, steps=20, q=q, integrator=integrator).reactions
        for name, other in ((pin, 0), ("rod1", "rod1"), ("rod2", "rod2"), ("rod3", "rod3")):
            reaction = found[name]
            assert reaction.indeterminate and reaction.undetermined == across
            if isinstance(integrator, (la.Variational, la.Maximal)):
                assert np.abs(reaction.wrench - plain[other].wrench).max() < 1e-7  # nothing across the plane: the least there is
    assert not plain["rod1"].indeterminate


def test_doubled_constraints_share_what_they_carry():
    """Twice the same wire: each takes half, and says that it might be otherwise."""
    mech = la.Mechanism()
    mech.add_body("weight", joint=la.Prismatic(axis=(0, 0, 1)), mass=3.0)
    mech.add_frame("hook", placement=la.Pose(xyz=(0, 0, 2.0)))
    for name in ("first", "second"):
        mech.add_constraint(la.Distance("hook", "weight", 2.0), name=name)
    model = mech.compile()
    for integrator in (la.Variational(), la.Maximal(), la.RK4()):
        run = la.simulate(model, dt=0.01, steps=3, integrator=integrator)
        for name in ("first", "second"):
            assert run.reactions[name].undetermined == ("force z",)
            assert np.abs(run.reactions[name].force - [0, 0, 1.5 * 9.81]).max() < 1e-10
        assert not run.reactions["weight"].indeterminate
    a, lam = la.dynamics.forward(model, None, multipliers=True)
    assert np.abs(a).max() < 1e-12 and np.abs(lam + 1.5 * 9.81).max() < 1e-10


def test_velocity_constraints():
    """A disc that rolls straight on: the plane carries its weight.  A sleigh: its edge takes the centripetal force."""
    model = la.examples.rolling_disc().compile()
    run = la.simulate(model, dt=0.01, steps=5, integrator=la.Maximal())
    mass = sum(part.mass for part in model.parts)
    assert np.abs(run.reactions[0].force - [0, 0, 9.81 * mass]).max() < 1e-8
    mech = la.examples.chaplygin_sleigh()
    model = mech.compile()
    v = model.project_velocity(None, np.array([1.0, 0.0, 2.0]))
    run = la.simulate(model, dt=1e-3, steps=20, v=v, integrator=la.Maximal())
    body = mech.bodies[model.body_names[0]]
    centres = np.array([la.dynamics.pose(model, q, body.name).p + la.dynamics.pose(model, q, body.name).R @ body.com for q in run.q])
    acceleration = (centres[2:] - 2 * centres[1:-1] + centres[:-2]) / run.dt**2
    total = run.reactions[0].force + run.reactions[body.name].force + body.mass * mech.gravity
    assert np.abs(total[1:-1] - body.mass * acceleration).max() < 1e-4 * np.abs(total).max()


# ------------------------------------------------------------------------------------------------------ in combination


def test_every_way_to_run_gives_the_same(bent_chain):
    """Fewer nodes recorded, a control law, one step at a time, code of its own, a law on a body."""
    mech = la.examples.chain(3)
    model = mech.compile()
    start = {"q": [0.5, -0.3, 0.8], "v": [1.0, 0.0, -1.0]}
    forces = np.random.default_rng(1).normal(size=(12, 3))
    whole = la.simulate(model, dt=0.01, steps=12, tau=forces, **start).reactions["link2"].wrench
    some = la.simulate(model, dt=0.01, steps=12, tau=forces, record_every=3, **start)
    assert np.abs(some.reactions["link2"].wrench - whole[::3]).max() < 1e-9
    steps = iter(forces)
    controlled = la.simulate(model, dt=0.01, steps=12, control=lambda t, state: next(steps), **start)
    assert np.abs(controlled.reactions["link2"].wrench - whole).max() < 1e-9
    special = la.simulate(model.specialise(), dt=0.01, steps=12, tau=forces, **start)
    assert np.abs(special.reactions["link2"].wrench - whole).max() < 1e-9
    sim = la.Simulator(model, dt=0.01, **start)
    for row in forces:
        sim.step(row)
    now = sim.reactions["link2"]
    assert now.force.shape == (3,) and now.drive.shape == (1,)
    assert np.abs(now.wrench - whole[-1]).max() < 1e-9
    before = sim.q
    sim.step(forces[0])
    again = la.Simulator(model, dt=0.01, **start)
    for row in (*forces, forces[0]):
        again.step(row)
    assert np.array_equal(sim.q, again.q) and not np.array_equal(sim.q, before)  # asking changes nothing


FEW = (la.Variational,)  # a law on a body makes each compile once more
QUICK = [i for i in (*DISCRETE, *CONTINUOUS) if type(i) in FEW and i != la.Variational(quadrature="midpoint")]
SLOW = [pytest.param(i, marks=pytest.mark.slow) for i in (*DISCRETE, *CONTINUOUS) if i not in QUICK]


@pytest.mark.parametrize("integrator", [*QUICK, *SLOW], ids=kind)
def test_integrators_agree_to_their_order(integrator):
    """With a drag on a body, also with a guard."""
    mech = la.examples.chain(2)
    mech.add_force(la.Drag("link2", linear=0.5))
    model = mech.compile()
    start = {"q": [0.5, -0.3], "v": [1.0, -1.0], "duration": 0.2}
    exact = la.simulate(model, dt=1e-3, integrator=la.RK4(), **start)
    guards = (False, True) if integrator.uniform else (False,)
    for guard in guards:
        run = la.simulate(model, dt=5e-3, integrator=integrator, guard=guard, **start)
        for k in (0, len(run) // 2, len(run) - 1):
            if not integrator.uniform:
                continue
            j = int(round(run.t[k] / 1e-3))
            assert np.abs(run.reactions["link2"].wrench[k] - exact.reactions["link2"].wrench[j]).max() < 5e-3
            assert np.abs(run.reactions["link1"].wrench[k] - exact.reactions["link1"].wrench[j]).max() < 5e-3
    assert np.isfinite(run.reactions["link1"].wrench).all()


def test_axes_of_a_frame():
    """In the axes of a rod the force of its wire-like end has no part across, and lengths do not change."""
    model = la.examples.four_bar().compile()
    run = la.simulate(model, dt=0.01, steps=10, q=model.assemble(FOUR_BAR_START))
    r = run.reactions["rod2"]
    force, moment = r.in_axes_of("rod2")
    for k in (0, 5):
        R = la.dynamics.pose(model, run.q[k], "rod2").R
        assert np.abs(R @ force[k] - r.force[k]).max() < 1e-12 and np.abs(R @ moment[k] - r.moment[k]).max() < 1e-12
    alone = r.at(5).in_axes_of("rod2")
    assert np.abs(alone[0] - force[5]).max() < 1e-15
    assert np.abs(np.array(r.in_axes_of("world")[0]) - r.force).max() == 0.0


# -------------------------------------------------------------------------------------------------------------- linearize


@pytest.mark.parametrize("integrator", DISCRETE[:3], ids=kind)
def test_multipliers_of_a_linearised_step_are_those_of_the_whole_step(integrator):
    """At rest the weight exactly; in motion the tension half way through the step to second order."""
    model = lamp().compile()
    step = la.linearize(model, integrator, model.state(), 0.01)
    assert np.abs(step.multipliers / 0.01 + 9.81 / np.cos(np.pi / 6)).max() < 1e-10
    mech = la.Mechanism()
    mech.add_body("bob", joint=la.Planar(normal=(0, 1, 0)), mass=MASS, inertia=(0.1, 0.1, 0.1))
    mech.add_frame("hook", placement=la.Pose(xyz=(0, 0, LENGTH)))
    mech.add_constraint(la.Distance("hook", "bob", LENGTH))
    model, errors = mech.compile(), []
    v = model.project_velocity(None, [2.0, 2.0, 0.0])
    rate = np.linalg.norm(v[:2]) / LENGTH
    for dt in (0.04, 0.02):
        step = la.linearize(model, integrator, model.state(v=v), dt)
        angle, speed = pendulum.motion([0.5 * dt], 0.0, rate, np.sqrt(9.81 / LENGTH))
        errors.append(abs(step.multipliers[0] / dt + MASS * (9.81 * np.cos(angle[0]) + LENGTH * speed[0] ** 2)))
    assert 1.8 < np.log2(errors[0] / errors[1]) < 2.2
