"""Forces on bodies that are functions of time, pose and twist: one description, the same in every integrator, derivative and energy."""

import inspect
import math

import numba
import numpy as np
import pytest
from support.symbolic_samples import symbolic_samples

import leastaction as la
from leastaction.builders import LoadBuilder
from leastaction.dynamics import discrete
from leastaction.forces import Force
from leastaction.forces.drag import drag, drag_slopes
from leastaction.kernels.maximal.evaluate import advance
from leastaction.linearization.step_derivatives import variational_derivatives
from leastaction.reference import ode
from leastaction.testing import Kinematics, arriving_momentum, leaving_momentum, random_mechanism, random_state
from leastaction.testing.action import potential
from leastaction.testing.force_reference import ForceReference

pytestmark = pytest.mark.slow


class Thruster(Force):
    """Pushes along an axis that turns with its place, in pulses, weaker the farther it is from the origin; brakes rotations."""

    def __init__(self, place, strength, braking, point=(0.0, 0.0, 0.0)):
        self.place, self.strength, self.braking, self.point = place, strength, braking, point

    def apply(self, builder):
        name = f"Thruster on {self.place!r}"
        builder.add_body_force(name, self.place, thrust, (self.strength, self.braking), point=self.point)


def thrust(t, R, x, V, p, W):
    W[3] += p[0] * (1.0 + math.sin(3.0 * t)) / (1.0 + x[0] ** 2 + x[2] ** 2)
    W[1] += 0.1 * p[0] * R[2, 0]
    for k in range(3):
        W[k] -= p[1] * V[k]
    W[4] -= 0.1 * p[1] * V[0] * V[5]


def blown(mech, rng):
    """Drag and thrust on random bodies and frames that move."""
    rows = mech.compile().frames
    names = [name for name in [*mech.bodies, *mech.frames] if rows[name][0] > 0]
    for _ in range(2):
        a, b = (names[i] for i in rng.integers(len(names), size=2))
        mech.add_force(la.Drag(a, rng.uniform(0, 2, 3), rng.uniform(0, 2, 3), 0.3 * rng.normal(size=3), rng.normal(size=3)))
        mech.add_force(Thruster(b, rng.uniform(1, 3), rng.uniform(0, 1), 0.3 * rng.normal(size=3)))
    return mech


def case(seed, joints=None):
    rng = np.random.default_rng(seed)
    mech = blown(random_mechanism(rng, 4, joints), rng)
    model, kin = mech.compile(), Kinematics(mech)
    q, v = random_state(model, rng)
    return rng, model, kin, q, v


# ------------------------------------------------------------------------------------------------ one step, by definition


def test_the_independent_action_hears_all_a_force_can_say():
    said, heard = ({name: m for name, m in vars(c).items() if name.startswith("add_")} for c in (LoadBuilder, ForceReference))
    assert said.keys() == heard.keys()
    for name in said:
        assert list(inspect.signature(said[name]).parameters) == list(inspect.signature(heard[name]).parameters), name


@pytest.mark.parametrize("seed", range(6))
def test_momenta_of_a_step_are_those_of_the_action(seed, discretisation):
    _, model, kin, q0, v = case(seed, [*la.joints.ALL, *symbolic_samples()] if seed % 2 else None)
    h, t = 0.05, 0.3
    q1 = kin.advanced(q0, h * v)
    p0, p1 = discrete.momenta(model, q0, q1, h, t=t, **discretisation)
    wanted0, wanted1 = (f(kin, q0, q1, h, t=t, **discretisation) for f in (leaving_momentum, arriving_momentum))
    size = max(np.abs(wanted0).max(), np.abs(wanted1).max())
    assert np.abs(p0 - wanted0).max() < 1e-10 * size and np.abs(p1 - wanted1).max() < 1e-10 * size


def test_continuous_forces_are_those_of_the_description():
    for seed in range(10):
        rng, model, kin, q, v = case(seed)
        t, tau = rng.normal(), rng.normal(size=model.nv)
        a = la.dynamics.forward(model, q, v, tau, t)
        forces = tau + ForceReference(kin).generalised(t, q, v)
        assert np.abs(la.dynamics.inverse(model, q, v, a) - forces).max() < 1e-9 * max(1.0, np.abs(forces).max()), f"tree {seed}"


def difference(function, size, reach=1e-3):
    """Derivative at zero by central differences of order six, one column per entry."""
    weights = ((1, 45.0), (2, -9.0), (3, 1.0))
    return np.array([sum(w * (function(s * u) - function(-s * u)) for s, w in weights) / (60.0 * reach) for u in reach * np.eye(size)]).T


def moved(model, q, x):
    q = q.copy()
    advance(model.tree, q, x)
    return q


def test_newton_matrix_knows_how_laws_damp(discretisation):
    for seed in range(3):
        _, model, kin, q, v = case(seed)
        h = 0.05
        got = discrete.jacobian(model, q, kin.advanced(q, h * v), h, **discretisation)
        wanted = difference(lambda x: leaving_momentum(kin, q, kin.advanced(q, h * v + x), h, **discretisation), model.nv)  # noqa: B023
        assert np.abs(got - wanted).max() < 1e-5 * np.abs(wanted).max(), f"tree {seed}"  # laws without slopes are differenced
        r = np.ones(model.nv)
        z = discrete.newton_direction(model, q, kin.advanced(q, h * v), h, r, **discretisation)
        assert np.abs(got @ z - r).max() < 1e-8


def test_derivatives_of_a_step_against_the_action(discretisation):
    _, model, kin, q0, v = case(1)
    h, t, tau = 0.1, 0.4, np.zeros(model.nv)
    d = 0.5 * h * v
    q1 = moved(model, q0, d)
    s = variational_derivatives(la.Variational(**discretisation), model, q0, d, h, tau, t)

    def leaving(a, b):
        return leaving_momentum(kin, a, b, h, t=t, **discretisation)

    def arriving(a, b):
        return arriving_momentum(kin, a, b, h, t=t, **discretisation)

    n, size = model.nv, np.abs(s.P00).max()
    assert np.abs(s.leaving - leaving(q0, q1)).max() < 1e-11 * size and np.abs(s.arriving - arriving(q0, q1)).max() < 1e-11 * size
    for momentum, by_q0, by_q1 in ((leaving, s.P00, s.P01), (arriving, s.P10, s.P11)):
        assert np.abs(by_q0 - difference(lambda x: momentum(moved(model, q0, x), q1), n)).max() < 1e-9 * size  # noqa: B023
        assert np.abs(by_q1 - difference(lambda x: momentum(q0, moved(model, q1, x)), n)).max() < 1e-9 * size  # noqa: B023


def test_slopes_of_drag_are_its_derivatives():
    rng = np.random.default_rng(0)
    p, x, V = rng.uniform(0.1, 2.0, 9), rng.normal(size=3), rng.normal(size=6)
    R = la.Pose(quaternion=rng.normal(size=4)).R

    def wrench(y):
        turn = la.Pose(quaternion=[1.0, *(0.5 * y[:3])]).R
        W = np.zeros(6)
        drag(0.0, R @ turn, x + R @ y[3:6], V + y[6:], p, W)
        return W

    D = np.zeros((6, 12))
    drag_slopes(0.0, R, x, V, p, D)
    assert np.abs(D - difference(wrench, 12)).max() < 1e-10
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = R, x
    other = la.Drag("body", p[:3], p[3:6], fluid=p[6:]).reference_wrench(0.0, T, V)
    assert np.abs(wrench(np.zeros(12)) - other).max() < 1e-14


# -------------------------------------------------------------------------------------------------- every integrator


INTEGRATORS = [
    la.Variational(), la.Variational("cayley"), la.Variational(quadrature="midpoint"), la.Variational("cayley", quadrature="midpoint"),
    la.Midpoint(), la.Trapezoid(), la.FloatingBase(), la.Maximal(), la.Maximal(retraction="quaternion"), la.Maximal(retraction="cayley"),
    la.Heun(), la.AdaptiveStep(la.Variational()), la.SemiImplicitEuler(), la.Composition(la.Variational(), order=4), la.RK4(), la.RKMK4(),
]  # fmt: skip


def arm(floating=False):
    mech = la.Mechanism()
    joint = la.Free() if floating else la.Revolute(axis=(0, 1, 0))
    mech.add_body("upper", joint=joint, mass=1.0, com=(0, 0.1, -0.5), inertia=(0.1, 0.1, 0.05))
    mech.add_body("lower", "upper", la.Universal(), la.Pose(xyz=(0, 0, -1)), mass=0.7, com=(0.1, 0, -0.4), inertia=(0.05, 0.06, 0.03))
    mech.add_frame("tip", "lower", la.Pose(xyz=(0, 0, -0.8), rpy=(0.3, 0.2, 0.1)))
    return mech


@pytest.mark.parametrize("integrator", INTEGRATORS, ids=repr)
def test_drag_and_thrust_keep_the_order_of_every_integrator(integrator):
    floating = not integrator.plain_coordinates
    mech = arm(floating)
    mech.add_force(la.Drag("tip", linear=0.5, quadratic=(1.0, 0.5, 0.2), point=(0.1, 0.2, 0.0), fluid=(1.0, 0.5, 0.0)))
    mech.add_force(Thruster("upper", 2.0, 0.3, point=(0.0, 0.0, -0.3)))
    model = mech.compile()
    state = model.state(q={"lower": (0.2, -0.4)}, v=[0.5, -1.0, 0.7, 0.2, 0.3, -0.4, 0.6, -0.5][: model.nv], t=0.2)
    errors, steps = [], [2e-2, 1e-2, 5e-3]
    for dt in steps:
        run = la.simulate(model, state, dt=dt, duration=0.4, integrator=integrator)
        exact = ode.solve(model, state, [run.t[-1]])  # an integrator that chooses its steps ends where it likes
        errors.append(max(np.abs(discrete.increment(model, run.q[-1], exact.q[-1])).max(), np.abs(run.v[-1] - exact.v[-1]).max()))
    assert errors[-1] > 1e-12
    assert la.analysis.convergence_order(errors, steps) == pytest.approx(integrator.order, abs=0.25), errors


@pytest.mark.parametrize("retraction", ["exp", "cayley"])
def test_maximal_coordinates_make_the_same_steps(retraction):
    for seed in range(4):
        _, model, _, q, v = case(seed)
        runs = [la.simulate(model, dt=5e-3, steps=20, q=q, v=v, integrator=kind(retraction=retraction, tol=1e-12))
                for kind in (la.Maximal, la.Variational)]  # fmt: skip
        assert np.abs(runs[0].q - runs[1].q).max() < 1e-10, f"tree {seed}"


def test_a_loop_feels_drag():
    """A four-bar linkage in wind: in joint coordinates, in maximal ones, and as the limit of explicit steps."""
    mech = la.examples.four_bar()
    mech.add_force(la.Drag("rod2", linear=2.0, quadratic=1.0, point=(0.0, 0.0, -0.3), fluid=(2.0, 0.0, 1.0)))
    model, free = mech.compile(), la.examples.four_bar().compile()
    start = model.assemble({"rod1": 0.8, "rod2": -2.0, "rod3": -1.3})
    for retraction in ("exp", "cayley"):
        a, b = (
            la.simulate(model, dt=5e-3, steps=60, q=start, integrator=kind(retraction=retraction, tol=1e-12))
            for kind in (la.Variational, la.Maximal)
        )
        assert np.abs(a.q - b.q).max() < 1e-9
    exact = la.simulate(model, dt=2e-4, duration=0.3, q=start, integrator=la.RK4()).q[-1]
    still = la.simulate(free, dt=2e-4, duration=0.3, q=start, integrator=la.RK4()).q[-1]
    errors = [np.abs(la.simulate(model, dt=dt, duration=0.3, q=start).q[-1] - exact).max() for dt in (1e-2, 5e-3)]
    assert np.abs(exact - still).max() > 1e-2 > 10 * errors[0]
    assert 3.5 < errors[0] / errors[1] < 4.5


@pytest.mark.parametrize(
    "integrator", [la.Midpoint(), la.Midpoint(0.3), la.Variational(), la.Variational("cayley", quadrature="midpoint")], ids=repr
)
def test_linearize_against_differences_of_the_simulation(integrator):
    mech = arm()
    mech.add_force(la.Drag("tip", linear=0.5, quadratic=(1.0, 0.5, 0.2), point=(0.1, 0.2, 0.0), fluid=(1.0, 0.5, 0.0)))
    mech.add_force(Thruster("upper", 2.0, 0.3, point=(0.0, 0.0, -0.3)))
    model, dt = mech.compile(), 0.02
    state = model.state([0.4, -0.3, 0.8], [1.0, -2.0, 0.5], t=0.7)
    step = la.linearize(model, integrator, state, dt)
    sharp = type(integrator)(**{**integrator.options(), "tol": 1e-13})

    def end(x):
        sim = la.Simulator(model, model.state(state.q + x[:3], p=state.p + x[3:], t=0.7), dt=dt, integrator=sharp)
        sim.step()
        return np.concatenate([sim.state.q, sim.state.p])

    assert np.abs(step.A - difference(end, 6)).max() < 1e-8


# ------------------------------------------------------------------------------------------------- exact solutions, energy


def slider(*forces, gravity=(0, 0, -9.81)):
    mech = la.Mechanism(gravity=gravity)
    mech.add_body("mass", joint=la.Prismatic(axis=(0, 0, 1)), mass=2.0)
    for force in forces:
        mech.add_force(force)
    return mech.compile()


def test_a_body_falls_with_its_terminal_speed():
    model = slider(la.Drag("mass", quadratic=0.5))
    terminal = math.sqrt(2.0 * 9.81 / 0.5)
    errors = []
    for dt in (2e-2, 1e-2):
        run = la.simulate(model, dt=dt, duration=3.0)
        errors.append(np.abs(run.v[:, 0] + terminal * np.tanh(9.81 * run.t / terminal)).max())
    assert errors[0] < 1e-2 and 3.8 < errors[0] / errors[1] < 4.2


@pytest.mark.parametrize(
    "integrator", [la.Variational(), la.Variational(quadrature="midpoint"), la.Midpoint(), la.Maximal(), la.Trapezoid()], ids=repr
)
def test_drag_far_beyond_what_a_fixed_point_iteration_would_solve(integrator):
    """c h/m = 500: Newton's matrix has to know the damping; the mean of the velocities falls by (1 - c h/2m)/(1 + c h/2m) per step."""
    model = slider(la.Drag("mass", linear=1e5), gravity=(0, 0, 0))
    run = la.simulate(model, dt=1e-2, steps=50, v=[1.0], integrator=integrator)
    assert run.iterations.max() <= 6
    ratio = (1.0 - 250.0) / (1.0 + 250.0)
    assert np.abs(run.v[:, 0] - ratio ** np.arange(51)).max() < 1e-8


def test_drag_dissipates_the_energy_it_should():
    """dE/dt is the power -(linear u + quadratic |u| u) . u of the drag; the balance closes with order 2."""
    mech = arm(floating=True)
    mech.add_force(la.Drag("tip", linear=0.5, quadratic=(1.0, 0.5, 0.2), point=(0.1, 0.2, 0.0)))
    model, kin = mech.compile(), Kinematics(mech)
    state = model.state(q={"lower": (0.2, -0.4)}, v=[0.5, -1.0, 0.7, 0.2, 0.3, -0.4, 0.6, -0.5])
    gaps = []
    for dt in (1e-2, 5e-3):
        run = la.simulate(model, state, dt=dt, duration=0.5)
        forces = ForceReference(kin)
        power = np.array([v @ forces.generalised(t, q, v) for t, q, v in zip(run.t, run.q, run.v, strict=True)])
        assert np.all(power < 0.0)
        lost = dt * (power.sum() - 0.5 * (power[0] + power[-1]))
        gaps.append(abs(run.energy[-1] - run.energy[0] - lost))
    assert gaps[0] < 0.01 * abs(lost) and 3.0 < gaps[0] / gaps[1] < 5.0


class Field(Force):
    """Gravity once more, as a law on each body that has an energy."""

    def __init__(self, g, bodies):
        self.g, self.bodies = g, bodies

    def apply(self, builder):
        for body in self.bodies:
            weight = body.mass * np.asarray(self.g)
            builder.add_body_force(f"Field on {body.name!r}", body.name, weigh, weight, point=body.com, energy=height)


def weigh(t, R, x, V, p, W):
    for k in range(3):
        W[3 + k] += R[0, k] * p[0] + R[1, k] * p[1] + R[2, k] * p[2]


def height(R, x, p):
    return -(p[0] * x[0] + p[1] * x[1] + p[2] * x[2])


def test_a_law_with_an_energy_is_a_potential():
    heavy = arm(floating=True)
    light = arm(floating=True)
    light.gravity = (0, 0, 0)
    light.add_force(Field(heavy.gravity, list(light.bodies.values())))
    v = [0.5, -1.0, 0.7, 0.2, 0.3, -0.4, 0.6, -0.5]
    for integrator in (la.Variational(tol=1e-13), la.Maximal(tol=1e-12), la.RK4()):
        a, b = (la.simulate(m.compile(), dt=1e-2, steps=50, v=v, integrator=integrator) for m in (heavy, light))
        assert np.abs(a.q - b.q).max() < 1e-10
        assert np.abs(a.energy - b.energy).max() < 1e-9
    assert np.abs(b.potential - potential(Kinematics(light), b.q)).max() < 1e-12 * np.abs(b.potential).max()


def test_a_specialised_model_feels_drag():
    mech = la.examples.chain(2)
    mech.add_force(la.Drag("tip", linear=0.5, fluid=(1.0, 0.0, 0.0)))
    model = mech.compile()
    run, same = (la.simulate(m, dt=1e-2, steps=20, q=[0.4, 0.8]) for m in (model, model.specialise()))
    assert np.array_equal(run.q, same.q)
    assert np.array_equal(*(la.dynamics.forward(m, [0.4, 0.8], [1.0, 2.0]) for m in (model, model.specialise())))


@pytest.mark.parametrize("what", ["spring between points", "potential of coordinates", "law with an energy"])
@pytest.mark.parametrize("integrator", [la.Variational(), la.Maximal(), la.RK4(), la.Midpoint()], ids=repr)
def test_energy_with_constraints_contains_every_potential(what, integrator):
    mech = la.examples.four_bar()
    mech.add_frame("hook", placement=la.Pose(xyz=(1.0, 0.3, 1.5)))
    mech.add_force({
        "spring between points": la.LinearSpring("rod2", "hook", 60.0, 0.2),
        "potential of coordinates": la.UserPotential(lambda q, sp: 20 * sp.cos(q[0] - 2 * q[1]), joints=["rod1", "rod2"]),
        "law with an energy": Field((20.0, 0.0, 5.0), list(mech.bodies.values())),
    }[what])  # fmt: skip
    model, kin = mech.compile(), Kinematics(mech)
    start = model.assemble({"rod1": 0.8, "rod2": -2.0, "rod3": -1.3})
    v = model.project_velocity(start, [2.0, 0.0, 0.0])
    run = la.simulate(model, dt=1e-3, duration=0.5, q=start, v=v, integrator=integrator)
    swing = np.ptp(run.potential)
    assert swing > 1.0 and np.ptp(run.energy) < 1e-3 * swing
    assert np.abs(run.potential - potential(kin, run.q)).max() < 1e-10 * np.abs(run.potential).max()
    at_nodes = [la.dynamics.energy(model, q, v) for q, v in zip(run.q[::100], run.v[::100], strict=True)]
    assert np.abs(run.energy[::100] - at_nodes).max() < 1e-10 * np.abs(run.energy).max()


# --------------------------------------------------------------------------------------------------------------- mistakes


def wrong(law, parameters=(1.0,), **options):
    class Wrong(Force):
        def apply(self, builder):
            builder.add_body_force("Wrong on 'mass'", "mass", law, parameters, **options)

    return Wrong()


def beyond(t, R, x, V, p, W):
    W[6] += 1.0


def returns(t, R, x, V, p, W):
    return -V


def changes(t, R, x, V, p, W):
    V[0] = 0.0


def third_parameter(t, R, x, V, p, W):
    W[3] += p[2]


def fine(t, R, x, V, p, W):
    W[3] += p[0]


class Silent(Force):
    pass


BAD = [
    (lambda: wrong(beyond), "its law 'beyond': .*W have 6 entries"),
    (lambda: wrong(returns), "its law 'returns' returns .*add to W"),
    (lambda: wrong(changes), "its law 'changes' changes one of t, R, x, V, p"),
    (lambda: wrong(third_parameter, (1.0, 2.0)), "its law 'third_parameter': .*p has 2"),
    (lambda: wrong(lambda t, q, v, tau: None), r"called with \(t, R, x, V, p, W\)"),
    (lambda: wrong(3.0), "is not a function"),
    (lambda: wrong(fine, ("a",)), "parameters = "),
    (lambda: wrong(fine, energy=lambda R, x, p: None), "its energy .*one number, in J"),
    (lambda: wrong(fine, energy=lambda R, x: 0.0), r"called with \(R, x, p\)"),
    (lambda: wrong(fine, slopes=lambda t, R, x, V, p, D: D[6, 0]), "its slopes .*6 x 12 entries"),
    (lambda: wrong(fine, point=(1.0, 2.0)), "point"),
    (lambda: Silent(), "Silent.*does not say what it does"),
    (lambda: la.Drag("world", 1.0), "Drag on 'world'.*cannot move"),
    (lambda: la.Drag("nobody", 1.0), "'nobody' is neither a body nor a frame"),
    (lambda: la.Drag("mass", -1.0), "linear = -1.0"),
    (lambda: la.Drag("mass", quadratic=(1.0, 2.0)), "quadratic = .*one number >= 0, or three"),
    (lambda: la.Drag("mass", fluid=1.0), "fluid"),
    (lambda: la.Drag(3.0), "Drag: body"),
]


@pytest.mark.parametrize(("make", "message"), BAD, ids=range(len(BAD)))
def test_mistakes_are_named(make, message):
    with pytest.raises(la.MechanismError, match=message):
        slider(make())


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled")
def test_a_law_that_numba_cannot_compile_is_named():
    def unknown_to_numba(t, R, x, V, p, W):
        W[3] += np.not_a_function(1.0)

    with pytest.raises(la.MechanismError, match="Wrong on 'mass' does not compile"):
        slider(wrong(unknown_to_numba))
