"""la.linearize with servos and dry friction: derivatives of a step in the mode it was solved in, against simulations beside it."""

from dataclasses import replace

import numpy as np
import pytest

import leastaction as la
from leastaction.dynamics.discrete import increment
from leastaction.kernels.maximal.evaluate import advance
from leastaction.linearization.modes import mode_of_step

DT, STEPS = 1e-2, 5
ROD = {"mass": 1.0, "com": (0.2, 0.1, -0.3), "inertia": (0.1, 0.12, 0.08)}
INTEGRATORS = [
    la.Variational(tol=1e-13), la.Variational("cayley", tol=1e-13), la.Variational(quadrature="midpoint", tol=1e-13),
    la.Variational("cayley", quadrature="midpoint", tol=1e-13), la.Midpoint(tol=1e-13), la.Midpoint(0.3, tol=1e-13),
    la.Trapezoid(tol=1e-13), la.FloatingBase("cayley", tol=1e-13), la.Maximal(tol=1e-13), la.Maximal("cayley", tol=1e-13),
    la.Maximal(quadrature="midpoint", tol=1e-13),
]  # fmt: skip


def chained(servos=(), friction=(), armature=0.0):
    mech = la.Mechanism(name="chain")
    for i in range(3):
        mech.add_body(f"link{i + 1}", f"link{i}" if i else "world", la.Revolute((0.1 * i, 1, 0)), la.Pose(xyz=(0, 0, -0.6 * (i > 0))),
                      armature=armature, **ROD)  # fmt: skip
    for servo in servos:
        mech.add_servo(servo)
    for name, torque in friction:
        mech.add_force(la.DryFriction(name, torque))
    mech.add_force(la.Damper("link2", 0.2))
    return mech.compile()


def within():
    """Stiffer than the step resolves, beside a soft one; two on one joint."""
    servos = [la.Servo(f"link{i}", kp=kp, kd=kd, limit=1e4, target=0.3) for i, kp, kd in ((1, 1e4, 1e2), (3, 50.0, 0.0))]
    model = chained([*servos, la.Servo("link1", name="brake", kp=0.0, kd=20.0)], armature=0.05)
    return model, model.state([0.4, -0.2, 0.1], [0.5, 0.1, -1.0]), "within"


def at_limits():
    model = chained([la.Servo("link1", kp=1e4, kd=1e2, limit=5.0, target=1.5), la.Servo("link3", kp=1e3, kd=1.0, limit=2.0, target=-1.0)])
    return model, model.state([0.4, -0.2, 0.1], [0.5, 0.1, -1.0]), "at its limit"


def sliding():
    model = chained(friction=[("link1", 2.0), ("link3", 0.5)])
    return model, model.state([0.4, -0.2, 0.1], [1.5, 0.1, -2.0]), "slides"


def sticking():
    model = chained(friction=[("link1", 60.0), ("link3", 0.3)], armature=0.05)
    return model, model.state([0.4, -0.2, 0.1], [0.0, 0.5, 3.0]), "sticks"


def both_on_a_joint():
    """One servo pulls its joint against friction, the other cannot."""
    servos = [la.Servo("link1", kp=800.0, kd=10.0, target=0.5), la.Servo("link2", kp=5.0, kd=1.0, target=-0.1)]
    model = chained(servos, [("link1", 2.0), ("link2", 30.0)])
    return model, model.state([0.2, -0.2, 0.1], [2.5, 0.0, -1.0]), "sticks"


def floating():
    """A slide and a screw on a floating base, and a ball joint."""
    mech = la.Mechanism(gravity=(0.0, 0.0, -3.0), name="floating")
    mech.add_body("base", joint=la.Free(), **ROD)
    mech.add_body("slide", "base", la.Prismatic((1, 2, 0)), la.Pose(xyz=(0.3, 0.0, 0.0)), **ROD)
    mech.add_body("screw", "slide", la.Helical((0, 1, 1), pitch=0.2), armature=0.05, **ROD)
    mech.add_body("ball", "base", la.Spherical(), la.Pose(xyz=(-0.3, 0.0, 0.0)), **ROD)
    mech.add_servo(la.Servo("slide", kp=200.0, kd=5.0, target=0.2))
    mech.add_force(la.DryFriction("screw", 0.3))
    model = mech.compile()
    return model, model.state(v=0.5 * np.random.default_rng(1).normal(size=model.nv)), "within"


def looped(servo=None, friction=()):
    mech = la.examples.four_bar()
    if servo is not None:
        mech.add_servo(servo)
    for name, torque in friction:
        mech.add_force(la.DryFriction(name, torque))
    model = mech.compile()
    q = model.assemble({"rod1": 0.8, "rod2": -2.0, "rod3": -1.3})
    return model, q


def loop():
    model, q = looped(la.Servo("rod1", kp=1e3, kd=20.0, target=1.0))
    return model, model.state(q, model.project_velocity(q, {"rod1": 1.0})), "within"


def loop_at_a_limit():
    model, q = looped(la.Servo("rod1", kp=1e4, kd=20.0, limit=5.0, target=2.0), [("rod2", 0.5)])
    return model, model.state(q, model.project_velocity(q, {"rod1": 2.0})), "at its limit"


def held_loop():
    """Of two freedoms friction holds one."""
    mech = la.examples.chain(4)
    mech.add_frame("pin", placement=la.Pose(xyz=(1.5, 0, -1.0)))
    mech.add_constraint(la.Coincident("tip", "pin", directions=((1, 0, 0), (0, 0, 1))))
    mech.add_servo(la.Servo("link3", kp=300.0, kd=10.0, target=-1.2))
    mech.add_force(la.DryFriction("link1", 400.0))
    model = mech.compile()
    q = model.assemble([0.3, 0.5, -0.8, -0.9])
    return model, model.state(q), "sticks"


TREES = [within, at_limits, sliding, sticking, both_on_a_joint, floating]
LOOPS = [loop, loop_at_a_limit, held_loop]


def moved(model, q, x):
    q = q.copy()
    advance(model.tree, q, x)
    return q


def difference(function, size, reach=1e-5):
    """Derivative at zero by central differences of order six, one column per entry."""
    weights = ((1, 45.0), (2, -9.0), (3, 1.0))
    return np.array([sum(w * (function(s * u) - function(-s * u)) for s, w in weights) / (60.0 * reach) for u in reach * np.eye(size)]).T


def momenta(state):
    """Without the half impulse of servos and dry friction: what the constraints allow of it."""
    remembered = state.__dict__["continuation"].memory
    push = next(value for name, value in remembered.items() if name.endswith("actuation.push"))
    model, p = state.model, state.p - push
    if not model.closures:
        return p
    return la.dynamics.momentum(model, state.q, model.project_velocity(state.q, la.dynamics.velocity(model, state.q, p)))


def start_beside(state, x):
    """A state that the constraints allow."""
    model, nv = state.model, state.model.nv
    q, p = moved(model, state.q, x[:nv]), state.p + x[nv : 2 * nv]
    if not model.closures:
        return model.state(q, p=p)
    q = model.assemble(q)
    return model.state(q, model.project_velocity(q, la.dynamics.velocity(model, q, p)))


def beside(integrator, state, row, steps, directions):
    """(changes of the start and of the inputs, of the end) along random curves; p at the start has no half impulse yet."""
    model, nv = state.model, state.model.nv

    def both(x):
        start = start_beside(state, x)
        sim = la.Simulator(model, start, dt=DT, integrator=integrator)
        for _ in range(steps):
            sim.step(row + x[2 * nv :])
        before = np.concatenate([increment(model, state.q, start.q), start.p - state.p, x[2 * nv :]])
        return before, np.concatenate([increment(model, ends[0], sim.q), momenta(sim.state) - ends[1]])

    ends = (state.q, state.p)
    plain = la.Simulator(model, state, dt=DT, integrator=integrator)
    for _ in range(steps):
        plain.step(row)
    ends = (plain.q, momenta(plain.state))
    units = np.random.default_rng(4).normal(size=(directions, 2 * nv + len(row)))
    curves = [difference(lambda s, u=u: np.concatenate(both(s[0] * u)), 1)[:, 0] for u in units]
    return np.split(np.array(curves).T, [2 * nv + len(row)])


def modes(model, run, row):
    """What servos and joints do in the steps of a run."""
    found = set()
    for q0, q1 in zip(run.q[:-1], run.q[1:], strict=True):
        mode = mode_of_step(model, q0, increment(model, q0, q1), DT, row)
        if model.servos:
            pulled = np.unique(model.tree.servo_on[:, 0])
            found |= {"within" if mode.by_q1[j] < 0.0 else "at its limit" for j in pulled}
        rough = model.tree.friction > 0.0
        found |= {"sticks" if s else "slides" for s in mode.sticks[rough]}
    return found


def inputs(model):
    return model.inputs(0.3 * np.random.default_rng(2).normal(size=model.nv))


def off(got, wanted):
    return np.abs(got - wanted).max() / np.abs(wanted).max()


@pytest.mark.parametrize("make", [*TREES, *LOOPS], ids=lambda f: f.__name__)
@pytest.mark.parametrize("integrator", INTEGRATORS, ids=repr)
def test_a_first_step_and_a_run(make, integrator):
    """A and B of one step, and their products over a run, against simulations from beside the start with other inputs."""
    if make is floating and getattr(integrator, "alpha", 0.5) != 0.5:
        pytest.skip("Midpoint moves ball and free joints with alpha = 0.5 only")
    model, state, wanted = make()
    row = inputs(model)
    run = la.simulate(model, state, dt=DT, steps=STEPS, tau=row, integrator=integrator)
    assert wanted in modes(model, run, row), "otherwise this says little"
    one, steps = la.linearize(model, integrator, state, DT, row), la.linearize(run)
    assert steps.A.shape == (STEPS, 2 * model.nv, 2 * model.nv) and steps.B.shape == (STEPS, 2 * model.nv, len(row))
    assert off(steps.A[0], one.A) < 1e-8 and off(steps.B[0], one.B) < 1e-8
    before, after = beside(integrator, state, row, 1, 2)
    assert off(np.hstack([one.A, one.B]) @ before, after) < 1e-7
    A, B = np.eye(2 * model.nv), np.zeros_like(one.B)
    for k in range(STEPS):
        A, B = steps.A[k] @ A, steps.A[k] @ B + steps.B[k]
        assert np.abs(increment(model, run.q[k + 1], steps[k].next_state.q)).max() < 1e-11
        assert np.abs(steps[k].next_state.p - run.p[k + 1]).max() < 1e-9 * (1e-3 + np.abs(run.p).max())
    before, after = beside(integrator, state, row, STEPS, 1)
    assert off(np.hstack([A, B]) @ before, after) < 1e-7


@pytest.mark.parametrize("make", [within, both_on_a_joint, loop, held_loop], ids=lambda f: f.__name__)
@pytest.mark.parametrize("integrator", [INTEGRATORS[0], la.Midpoint(tol=1e-13), la.Maximal(tol=1e-13)], ids=repr)
def test_steps_that_go_on(make, integrator):
    """From a state that knows what was before it, of a run that does, and of one that does not say so."""
    model, state, _ = make()
    row = inputs(model)
    run, first = (la.simulate(model, state, dt=DT, steps=steps, tau=row, integrator=integrator) for steps in (STEPS, 2))
    whole = la.linearize(run)
    one = la.linearize(model, integrator, first.state(), DT, row)
    assert off(one.A, whole.A[2]) < 1e-8 and off(one.B, whole.B[2]) < 1e-8
    assert np.abs(one.next_state.p - run.p[3]).max() < 1e-9 * (1e-3 + np.abs(run.p).max())
    if model.closures:
        assert np.abs(one.multipliers - whole.multipliers[2]).max() < 1e-8 * np.abs(whole.multipliers).max()
        assert off(one.C, whole.C[2]) < 1e-7 and off(one.D, whole.D[2]) < 1e-7
    rest = la.simulate(model, first.state(), dt=DT, steps=STEPS - 2, tau=row, integrator=integrator)
    for known in (rest, replace(rest, continuation=None)):
        if make is held_loop:
            with pytest.raises(la.StateError, match=r"'4-link chain'.* goes on from another one.*nodes=slice"):
                la.linearize(known)
            assert off(la.linearize(known, nodes=slice(1, None)).A, whole.A[3:]) < 1e-8
        else:
            assert off(la.linearize(known).A, whole.A[2:]) < 1e-8
    forgotten = la.linearize(replace(run, continuation=None), nodes=[0, 3])
    assert off(forgotten.A, whole.A[[0, 3]]) < 1e-8


@pytest.mark.parametrize("integrator", [INTEGRATORS[0], la.Trapezoid(tol=1e-13)], ids=repr)
def test_multipliers(integrator):
    """C and D of a step that goes on, against steps beside it; at rest the impulses are those of the forces that hold it."""
    model, q = looped(la.Servo("rod1", kp=1e3, kd=20.0, target=1.0))
    state, row = model.state(q, model.project_velocity(q, {"rod1": 1.0})), inputs(model)
    step, nv = la.linearize(model, integrator, state, DT, row), model.nv

    def impulses(x):
        return la.linearize(model, integrator, start_beside(state, x), DT, row + x[2 * nv :]).multipliers

    for u in np.random.default_rng(3).normal(size=(2, 2 * nv + len(row))):

        def changes(s, u=u):
            start = start_beside(state, s[0] * u)
            return np.concatenate([increment(model, state.q, start.q), start.p - state.p, s[0] * u[2 * nv :], impulses(s[0] * u)])

        before, after = np.split(difference(changes, 1)[:, 0], [2 * nv + len(row)])
        assert off(np.hstack([step.C, step.D]) @ before, after) < 1e-6
    rest = model.equilibrium(q, tau=row)
    run = la.simulate(model, model.state(rest), dt=DT, steps=3, tau=row, integrator=integrator)
    last = la.linearize(run)[2]
    held = run.reactions[model.closures[0].name].multipliers[-2]
    assert np.abs(run.q - rest).max() < 1e-9 and off(last.multipliers / DT, held) < 1e-6


def test_a_joint_that_sticks_does_not_move():
    model, state, _ = sticking()
    step = la.linearize(model, la.Variational(), state, DT)
    assert np.array_equal(step.A[0], np.eye(6)[0]) and not step.B[0].any()
    assert step.A[1, 1] != 1.0


def test_a_servo_at_its_limit_feels_nothing():
    model, state, _ = at_limits()
    step = la.linearize(model, la.Variational(), state, DT)
    assert not step.B[:, 3:].any()
    free = la.linearize(chained(), la.Variational(), chained().state(state.q, p=state.p), DT, [5.0, 0.0, -2.0])
    assert off(step.A, free.A) < 1e-12


def test_inputs_as_they_are_given():
    model, state, _ = within()
    row = model.inputs([0.1, 0.2, 0.3], {"link3": (0.5, 0.1)})
    wanted = la.linearize(model, la.Variational(), state, DT, row)
    for given in ({"tau": {"link1": 0.1, "link2": 0.2, "link3": 0.3}, "targets": {"link3": (0.5, 0.1)}}, {"tau": row}):
        step = la.linearize(model, la.Variational(), state, DT, **given)
        assert np.array_equal(step.A, wanted.A) and np.array_equal(step.B, wanted.B)
    assert off(la.linearize(model, la.Variational(), state, DT).next_state.p, wanted.next_state.p) > 1e-4
    rows = np.array([row, 1.1 * row, row])
    run = la.simulate(model, state, dt=DT, steps=3, tau=rows)
    sim = la.Simulator(model, state, dt=DT)
    sim.step(row)
    assert off(la.linearize(model, la.Variational(), sim.state, DT, 1.1 * row).A, la.linearize(run).A[1]) < 1e-8


@pytest.mark.parametrize("make", [within, at_limits], ids=lambda f: f.__name__)
@pytest.mark.parametrize("integrator", [la.RK4(), la.RKMK4(), la.Heun(), la.SemiImplicitEuler()], ids=repr)
def test_explicit_steps(make, integrator):
    model, state, _ = make()
    row, dt, nv = inputs(model), 2e-3, model.nv
    step = la.linearize(model, integrator, state, dt, row)

    def end(x):
        sim = la.Simulator(model, start_beside(state, x), dt=dt, integrator=integrator)
        sim.step(row + x[2 * nv :])
        return np.concatenate([sim.q, sim.state.p])

    wanted = difference(end, 2 * nv + len(row), 1e-4)
    assert off(np.hstack([step.A, step.B]), wanted) < 1e-8
    run = la.simulate(model, state, dt=dt, steps=3, tau=row, integrator=integrator)
    steps = la.linearize(run)
    assert steps.B.shape == (3, 2 * nv, len(row)) and off(steps.A[0], step.A) < 1e-8


def test_a_run_that_an_event_ends():
    model, state, _ = within()
    run = la.simulate(model, state, dt=DT, steps=20, when=la.Event(lambda t, state: t - 0.034, terminal=True))
    assert len(run) == 5 and run.t[-1] == pytest.approx(0.034)
    whole = la.linearize(la.simulate(model, state, dt=DT, steps=4))
    assert off(la.linearize(run).A, whole.A) < 1e-8


def test_what_is_refused():
    model, state, _ = within()
    with pytest.raises(la.StateError, match=r"'chain' has one node in 2.*record_every=1"):
        la.linearize(la.simulate(model, state, dt=DT, steps=4, record_every=2))
    for integrator in (la.Composition(), la.AdaptiveStep()):
        with pytest.raises(la.StateError, match=r"does not take servos.*use integrator=Variational"):
            la.linearize(model, integrator, state, DT)
    rough, start, _ = sliding()
    with pytest.raises(la.StateError, match=r"RK4 cannot let joints stick.*link1.*use integrator=Variational"):
        la.linearize(rough, la.RK4(), start, DT)
    with pytest.raises(la.StateError, match="takes integrator, states, dt and joint forces from the run"):
        la.linearize(la.simulate(model, state, dt=DT, steps=1), targets=[0.1, 0.1, 0.1])
