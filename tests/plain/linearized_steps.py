"""la.linearize: sweeps over the tree against the four matrices of a step, rows on velocities, compositions, maximal coordinates, runs."""

import numpy as np
import pytest

import leastaction as la
from leastaction.dynamics.discrete import increment
from leastaction.kernels.maximal.evaluate import advance
from leastaction.linearization.constraint_derivatives import momentum_derivative
from leastaction.linearization.step_derivatives import has_step_maps, variational_derivatives
from leastaction.testing import random_mechanism, random_state

SHARP = la.Variational(tol=1e-13)


def difference(function, size, reach=1e-3):
    """Derivative at zero by central differences of order six, one column per entry."""
    weights = ((1, 45.0), (2, -9.0), (3, 1.0))
    return np.array([sum(w * (function(s * u) - function(-s * u)) for s, w in weights) / (60.0 * reach) for u in reach * np.eye(size)]).T


def moved(model, q, x):
    q = q.copy()
    advance(model.tree, q, x)
    return q


def case(seed):
    rng = np.random.default_rng(seed)
    mech = random_mechanism(rng, 6)
    for body in mech.compile().bodies[:3]:
        mech.add_force(la.Damper(body.joint_name, 0.3))
    model = mech.compile()
    q, v = random_state(model, rng)
    return rng, model, q, v


@pytest.mark.parametrize("seed", range(6))
def test_sweeps_and_matrices_agree(seed):
    """A and B in O(n nv) against the implicit function theorem on P00, P01, P10, P11, on trees of every joint with dampers and springs."""
    rng, model, q, v = case(seed)
    integrator, dt, tau, nv = la.Variational(("exp", "cayley")[seed % 2]), 0.02, rng.normal(size=model.nv), model.nv
    assert has_step_maps(integrator, model)
    state = model.state(q, 0.3 * v)
    step = la.linearize(model, integrator, state, dt, tau)
    s = variational_derivatives(integrator, model, q, increment(model, q, step.next_state.q), dt, tau, 0.0)
    assert np.abs(s.leaving - state.p).max() < 1e-12 * np.abs(s.P01).max()
    assert np.abs(s.arriving - step.next_state.p).max() < 1e-12 * np.abs(s.P01).max()
    upper = np.linalg.solve(s.P01, np.hstack([-s.P00, np.eye(nv), 0.5 * dt * np.eye(nv)]))
    lower = s.P11 @ upper + np.hstack([s.P10, np.zeros((nv, nv)), 0.5 * dt * np.eye(nv)])
    wanted, got = np.vstack([upper, lower]), np.hstack([step.A, step.B])
    sizes = np.abs(wanted).max(axis=0)
    assert (np.abs(got - wanted).max(axis=0) < 1e-11 * sizes).all()


@pytest.mark.parametrize("seed", range(3))
def test_derivative_of_momenta(seed):
    _, model, q, v = case(seed)
    M, bent = momentum_derivative(model, q, v)
    assert np.abs(M - la.dynamics.mass_matrix(model, q)).max() < 1e-12 * np.abs(M).max()
    wanted = difference(lambda x: la.dynamics.mass_matrix(model, moved(model, q, x)) @ v, model.nv)
    assert np.abs(bent - wanted).max() < 1e-9 * np.abs(wanted).max()


def pinned():
    mech = la.examples.chain(4)
    mech.add_frame("pin", placement=la.Pose(xyz=(1.5, 0, -1.0)))
    mech.add_constraint(la.Coincident("tip", "pin", directions=((1, 0, 0), (0, 0, 1))))
    return mech, [0.3, 0.5, -0.8, -0.9]


def steered():
    """A row of the user: the velocity of the cart depends on where the pole is, and on time."""
    mech = la.examples.cart_pole()
    mech.add_constraint(la.VelocityConstraint("steered", ["cart", "pole"], lambda q, v, t, sp: v[0] - sp.sin(q[1]) * v[1] - 0.1 * t))
    return mech


def along_curves(model, integrator, q0, dt=0.01, tau=None, directions=2):
    """(step, changes before it, after it and of the multipliers) along random curves of states the constraints allow."""
    nv, rng = model.nv, np.random.default_rng(4)
    q0 = model.assemble(q0)
    state = model.state(q0, model.project_velocity(q0, rng.normal(size=nv)))
    step = la.linearize(model, integrator, state, dt, tau)

    def both(x):
        q = model.assemble(moved(model, state.q, x[:nv]))
        v = model.project_velocity(q, la.dynamics.velocity(model, q, state.p + x[nv:]))
        start = model.state(q, v)
        sim = la.Simulator(model, start, dt=dt, integrator=integrator)
        sim.step(tau)
        end = sim.state
        before = np.concatenate([increment(model, state.q, start.q), start.p - state.p])
        return np.concatenate([before, increment(model, step.next_state.q, end.q), end.p - step.next_state.p])

    assert np.abs(both(np.zeros(2 * nv))).max() < 1e-11
    curves = [difference(lambda s, u=u: both(s[0] * u), 1, 2e-4)[:, 0] for u in rng.normal(size=(directions, 2 * nv))]
    before, after = np.split(np.array(curves).T, 2)
    return step, before, after


@pytest.mark.parametrize(
    "make", [la.examples.chaplygin_sleigh, la.examples.rolling_disc, la.examples.differential_drive, steered], ids=lambda f: f.__name__
)
def test_rows_on_velocities(make):
    step, before, after = along_curves(make().compile(), SHARP, None)
    assert np.abs(step.A @ before - after).max() < 1e-9 * np.abs(after).max()


@pytest.mark.parametrize(
    "integrator",
    [la.Composition(SHARP, order=4), la.Composition(la.Midpoint(tol=1e-13), scheme="triple-jump"), la.Maximal(tol=1e-13),
     la.Composition(la.Maximal("cayley", tol=1e-13), scheme="triple-jump"), la.Trapezoid(tol=1e-13),
     la.Composition(la.Trapezoid(tol=1e-13), scheme="triple-jump")],
    ids=repr,
)  # fmt: skip
def test_other_integrators_with_a_loop(integrator):
    mech, q = pinned()
    step, before, after = along_curves(mech.compile(), integrator, q, tau=np.array([0.3, -0.2, 0.1, 0.4]))
    assert np.abs(step.A @ before - after).max() < 1e-8 * np.abs(after).max()
    assert step.C.shape == (len(step.multipliers), 8) and step.D.shape == (len(step.multipliers), 4)


def check_steps_beside(model, integrator, state, dt, tau, tolerance):
    """A and B against steps that the integrator itself makes beside the step; returns it."""
    nv, step = model.nv, la.linearize(model, integrator, state, dt, tau)

    def end(x):
        q, p = moved(model, state.q, x[:nv]), state.p + x[nv : 2 * nv]
        sim = la.Simulator(model, model.state(q, la.dynamics.velocity(model, q, p)), dt=dt, integrator=integrator)
        sim.step(tau + x[2 * nv :])
        return np.concatenate([increment(model, step.next_state.q, sim.q), sim.state.p - step.next_state.p])

    assert np.abs(end(np.zeros(3 * nv))).max() < 1e-12
    for u in np.random.default_rng(5).normal(size=(3, 3 * nv)):
        along = difference(lambda s, u=u: end(s[0] * u), 1, 2e-3)[:, 0]
        got = step.A @ u[: 2 * nv] + step.B @ u[2 * nv :]
        assert np.abs(got - along).max() < tolerance * np.abs(along).max()
    return step


def by_height(t, q, v, out):
    out[0] = 1.5 - 0.5 * np.cos(q[0]) + 0.1 * np.sin(t) + 0.05 * v[0] * v[1]


CHANGING = [
    la.AdaptiveStep(la.Variational(tol=1e-13), speed=2.0), la.AdaptiveStep(la.Variational(quadrature="midpoint", tol=1e-13), speed=2.0),
    la.AdaptiveStep(la.Maximal(tol=1e-13), density=by_height), la.AdaptiveStep(la.Maximal(quadrature="midpoint", tol=1e-13)),
    la.AdaptiveStep(la.Variational(tol=1e-13), density=by_height, controller="naive"),
]  # fmt: skip


@pytest.mark.parametrize("integrator", CHANGING, ids=lambda i: f"{type(i.base).__name__}-{i.controller}-{i.options()['density']}")
@pytest.mark.parametrize("floating", [False, True])
def test_steps_whose_length_follows_the_state(integrator, floating):
    """A and B against steps that the integrator itself makes, each as long as its own start says."""
    if floating:
        model, state, tau = floating_case(1)
    else:
        model = la.examples.chain(3, spatial=True).compile()
        state, tau = model.state([0.4, -0.3, 0.8], [1.0, -2.0, 0.5]), np.array([0.5, -0.2, 0.3])
    step = check_steps_beside(model, integrator, state, 0.05, tau, 1e-8)
    assert abs(step.next_state.t - 0.05) > 1e-3


@pytest.mark.parametrize("length", [0.1, 0.03, 0.01, 0.003])
def test_steps_whose_length_follows_forces_that_change_within_millimetres(length):
    """And long after the start, where the length of a step is no difference of times."""
    mech = la.Mechanism(gravity=(0.0, 0.0, 0.0))
    mech.add_body("block", joint=la.Prismatic((1, 0, 0)), mass=1.0, inertia=(1, 1, 1))
    mech.add_force(la.UserPotential(lambda q, sp: (100.0 * length) ** 2 * (1 - sp.cos(q[0] / length)), ["block"]))
    model, integrator, reach = mech.compile(), la.AdaptiveStep(SHARP), 1e-5 * length

    def start(q):
        return model.state([q], [20.0 * length], t=1e4)

    step = la.linearize(model, integrator, start(0.4 * length), 1e-2)
    ends = []
    for q in (0.4 * length - reach, 0.4 * length + reach):
        sim = la.Simulator(model, start(q), dt=1e-2, integrator=integrator)
        sim.step()
        ends.append(np.concatenate([sim.q, sim.state.p]))
    along = (ends[1] - ends[0]) / (2.0 * reach)
    assert np.abs(step.A[:, 0] - along).max() < 1e-6 * np.abs(along).max()


@pytest.mark.parametrize("base", [SHARP, la.Midpoint(tol=1e-13), la.Maximal(quadrature="midpoint", tol=1e-13)], ids=repr)
def test_steps_whose_length_follows_the_state_with_a_loop(base):
    mech, q = pinned()
    step, before, after = along_curves(mech.compile(), la.AdaptiveStep(base), q, dt=0.03, tau=np.array([0.3, -0.2, 0.1, 0.4]))
    assert np.abs(step.A @ before - after).max() < 1e-7 * np.abs(after).max()


def test_a_run_whose_steps_follow_the_density_of_the_node():
    run, tau = swinging(la.AdaptiveStep(la.Variational(tol=1e-13), controller="naive"))
    steps = la.linearize(run)
    for k in (0, 5):
        one = la.linearize(run.model, run.integrator, run.state(k), run.dt, tau[k])
        assert np.abs(steps.A[k] - one.A).max() < 1e-9 and steps[k].next_state.t == pytest.approx(run.t[k + 1], abs=1e-12)


@pytest.mark.parametrize("integrator", [la.Maximal(), la.Composition(order=4), la.Composition(la.Maximal(), order=4)], ids=repr)
def test_joint_forces_of_other_integrators(integrator):
    model, dt = la.examples.chain(2, spatial=True).compile(), 0.02
    state = model.state([0.4, -0.3], [1.0, -2.0])
    step = la.linearize(model, integrator, state, dt)
    sharp = la.Composition(type(integrator.base)(tol=1e-13), order=4) if isinstance(integrator, la.Composition) else la.Maximal(tol=1e-13)

    def end(tau):
        sim = la.Simulator(model, state, dt=dt, integrator=sharp)
        sim.step(tau)
        return np.concatenate([sim.state.q, sim.state.p])

    assert np.abs(step.B - difference(end, 2)).max() < 1e-9 * np.abs(step.B).max()


# ---------------------------------------------------------------------------------------------------------------- runs


def swinging(integrator=None, **options):
    model = la.examples.chain(3, spatial=True).compile()
    tau = np.random.default_rng(1).normal(size=(8, 3))
    return la.simulate(model, dt=0.01, steps=8, q=[0.4, -0.3, 0.8], tau=tau, integrator=integrator or la.Variational(), **options), tau


@pytest.mark.parametrize(
    ("integrator", "every"),
    [(SHARP, 1), (SHARP, 2), (la.Midpoint(), 1), (la.Composition(), 1), (la.Maximal(), 1)],
    ids=repr,
)
def test_steps_of_a_run(integrator, every):
    run, tau = swinging(integrator, record_every=every)
    steps = la.linearize(run)
    assert len(steps) == len(run) - 1 and steps.A.shape == (len(steps), 6, 6) and steps.B.shape == (len(steps), 6, 3)
    for k in (0, len(steps) - 1):
        one = la.linearize(run.model, integrator, run.state(k), run.dt, tau[k * every])
        assert np.abs(steps[k].A - one.A).max() < 1e-11 * np.abs(one.A).max() and np.abs(steps[k].B - one.B).max() < 1e-11
        assert np.abs(steps[k].next_state.q - one.next_state.q).max() < 1e-9
    few = la.linearize(run, nodes=[1, 3] if every == 1 else [1])
    assert np.array_equal(few.nodes, [1, 3] if every == 1 else [1]) and np.abs(few.A[0] - steps.A[1]).max() < 1e-12
    assert np.array_equal(la.linearize(run, nodes=slice(1, None)).A, steps.A[1:])


def test_loops_of_a_run():
    mech, q = pinned()
    model = mech.compile()
    run = la.simulate(model, dt=0.01, steps=3, q=model.assemble(q))
    steps = la.linearize(run)
    one = la.linearize(model, la.Variational(), run.state(1), 0.01)
    assert np.abs(steps[1].A - one.A).max() < 1e-10 and np.abs(steps.multipliers[1] - one.multipliers).max() < 1e-10


def test_what_runs_are_refused():
    run, _ = swinging()
    with pytest.raises(la.StateError, match="takes integrator, states, dt and joint forces from the run"):
        la.linearize(run, la.Variational())
    with pytest.raises(la.StateError, match="from 0 to 7"):
        la.linearize(run, nodes=[8])
    with pytest.raises(la.StateError, match="names none of the 8 nodes"):
        la.linearize(run, nodes=slice(20, None))
    with pytest.raises(la.StateError, match="those of a run"):
        la.linearize(run.model, la.Variational(), run.state(0), 0.01, nodes=[0])
    with pytest.raises(la.StateError, match=r"AdaptiveStep.* are not functions of q and p.*give linearize\(model, integrator, run.state"):
        la.linearize(swinging(la.AdaptiveStep())[0])


def test_nodes_that_are_not_where_a_step_leads():
    """An event cuts the last step: it is solved anew, whole."""
    run, tau = swinging(SHARP, when=la.passes("link1", 0.3979, terminal=True))
    assert run.events and run.t[-1] - run.t[-2] < 0.99 * run.dt
    steps = la.linearize(run)
    one = la.linearize(run.model, SHARP, run.state(len(run) - 2), run.dt, tau[len(run) - 2])
    assert np.abs(steps.A[-1] - one.A).max() < 1e-11 and steps[-1].next_state.t == one.next_state.t
    assert np.abs(steps[-1].next_state.q - one.next_state.q).max() < 1e-12


# ------------------------------------------------------------------------------- integrators in joint velocities, explicit ones

IN_VELOCITIES = [la.Trapezoid(tol=1e-13), la.FloatingBase("exp", tol=1e-13), la.FloatingBase("cayley", tol=1e-13)]
EXPLICIT = [la.RK4(), la.RKMK4(), la.Heun(), la.SemiImplicitEuler()]


def floating_case(seed):
    """A floating base, a ball joint and a damper on a plain one."""
    mech = la.examples.random_tree(3, seed=seed, joints=(la.Revolute, la.Spherical), floating=True)
    hinges = [b.joint_name for b in mech.compile().bodies if b.joint.nv == 1]
    for name in hinges:
        mech.add_force(la.Damper(name, 0.3))
    model, rng = mech.compile(), np.random.default_rng(seed)
    q, v = random_state(model, rng, 0.5)
    return model, model.state(q, v), rng.normal(size=model.nv)


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("integrator", [*IN_VELOCITIES, *EXPLICIT], ids=repr)
def test_steps_beside_the_step(integrator, seed):
    """A and B against steps that the integrator itself makes."""
    model, state, tau = floating_case(seed)
    check_steps_beside(model, integrator, state, 0.02, tau, 1e-9)


@pytest.mark.parametrize("integrator", IN_VELOCITIES, ids=repr)
def test_a_chain_is_mapped_symplectically(integrator):
    model = la.examples.chain(4, spatial=True).compile()
    rng, nv = np.random.default_rng(2), model.nv
    A = la.linearize(model, integrator, model.state(rng.normal(size=nv), rng.normal(size=nv)), 0.05).A
    J = np.block([[np.zeros((nv, nv)), np.eye(nv)], [-np.eye(nv), np.zeros((nv, nv))]])
    assert np.abs(A.T @ J @ A - J).max() < 1e-10 * np.abs(A).max() ** 2


@pytest.mark.parametrize("integrator", [la.Trapezoid(tol=1e-13), la.RK4()], ids=repr)
def test_along_a_run(integrator):
    model = la.examples.double_pendulum().compile()
    run = la.simulate(model, dt=0.01, steps=4, q={"upper": 1.0}, tau=[0.3, -0.1], integrator=integrator)
    steps = la.linearize(run)
    for k in range(4):
        alone = la.linearize(model, integrator, run.state(k), 0.01, [0.3, -0.1])
        assert np.abs(steps.A[k] - alone.A).max() < 1e-9 and np.abs(steps.B[k] - alone.B).max() < 1e-9


@pytest.mark.parametrize("make", [la.examples.chaplygin_sleigh, steered], ids=lambda f: f.__name__)
def test_rows_on_velocities_in_joint_velocities(make):
    step, before, after = along_curves(make().compile(), la.Trapezoid(tol=1e-13), None)
    assert np.abs(step.A @ before - after).max() < 1e-9 * np.abs(after).max()


def test_what_has_no_linear_map_is_named():
    mech, q = pinned()
    model = mech.compile()
    with pytest.raises(la.StateError, match=r"RK4 lets the constraints .*Coincident.* drift.*use Variational"):
        la.linearize(model, la.RK4(), model.state(model.assemble(q)), 1e-2)
