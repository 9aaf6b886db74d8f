"""What rolls: wheels on axles, steering, balls, the benchmark bicycle, in joint coordinates and in maximal ones."""

import numpy as np
import pytest
from support.bicycle import eigenvalues_of, lateral_eigenvalues, published_eigenvalues, state_of

import leastaction as la

TIGHT = (la.Variational(tol=1e-13), la.Maximal(tol=1e-13))


def cart(axles, joint=None):
    """A chassis with two wheels on each axle, 0.6 m apart; axles stand 1 m apart."""
    mech = la.Mechanism(name="cart")
    level = la.Pose(xyz=(0, 0, 0.2))
    mech.add_body("chassis", joint=joint or la.Planar(), placement=level, mass=10.0, com=(0.3, 0, 0.1), inertia=(0.5, 1, 1.2))
    for k in range(axles):
        for side, y in (("left", 0.3), ("right", -0.3)):
            mech.add_body(f"{side} {k}", "chassis", la.Revolute((0, 1, 0)), la.Pose(xyz=(k, y, 0)), mass=1.0, inertia=(0.01, 0.02, 0.01))
            mech.add_constraint(la.Rolling(f"{side} {k}", 0.2))
    return mech


# ------------------------------------------------------------------------------------------------ redundant rows


@pytest.mark.parametrize(("joint", "axles", "redundant"), [(la.Planar(), 1, 3), (la.Planar(), 2, 6), (la.Free(), 1, 1), (la.Free(), 2, 3)])
def test_wheels_on_an_axle(joint, axles, redundant):
    """The second wheel of an axle cannot slip across it if the first one does not; a plane or three wheels carry the heights."""
    model = cart(axles, joint).compile()
    v = model.project_velocity(None, np.random.default_rng(0).normal(size=model.nv))
    tau = np.random.default_rng(1).normal(size=model.nv)
    runs = [la.simulate(model, v=v, tau=tau, dt=1e-2, steps=20, integrator=i) for i in TIGHT]
    assert np.abs(runs[0].q - runs[1].q).max() < 1e-11
    assert runs[0].redundant == runs[1].redundant and len(runs[0].redundant) == redundant
    assert all(f"Rolling('right {k}'): slip across" in runs[0].redundant for k in range(axles))
    slips = [la.constraints.jacobian(model, q) @ v for q, v in zip(runs[0].q, runs[0].v, strict=True)]  # of the rows left out too
    assert np.abs(slips).max() < 1e-12


def test_rows_on_positions_are_kept_before_those_on_velocities():
    """One says how fast a wheel turns, one where it is: the place stays."""
    mech = la.Mechanism()
    mech.add_constraint(la.VelocityConstraint("drive", ["wheel"], "v0 - 3"))
    mech.add_constraint(la.SymbolicConstraint("place", ["wheel"], lambda q, t, sp: q[0] - 3 * t))
    mech.add_body("wheel", joint=la.Revolute(), mass=1.0, inertia=(0.1, 0.1, 0.1))
    run = la.simulate(mech.compile(), v={"wheel": 3.0}, dt=1e-2, steps=5)
    assert run.redundant == ("drive",)


def test_rows_that_contradict_each_other():
    mech = la.Mechanism()
    mech.add_body("wheel", joint=la.Revolute(), mass=1.0, inertia=(0.1, 0.1, 0.1))
    mech.add_constraint(la.VelocityConstraint("slow", ["wheel"], "v0 - 1 - t"))
    mech.add_constraint(la.VelocityConstraint("fast", ["wheel"], "2 * v0 - 2 - sin(q0 - 0.5)"))
    with pytest.raises(la.MechanismError, match="fast contradicts the other constraints"):
        la.simulate(mech.compile(), q=[0.5], v=[1.0], dt=1e-2, steps=1)


def test_trapezoid_steering_is_inconsistent_not_redundant():
    model = la.examples.car(linkage="trapezoid").compile()
    for integrator in TIGHT:
        with pytest.raises(la.MechanismError, match="front left.*front right.*inconsistent, not redundant"):
            la.simulate(model, v=model.velocities(None), dt=1e-2, steps=1, integrator=integrator)
    q = model.assemble({"knuckle left": 0.3}, hold=["knuckle left"])
    with pytest.raises(la.StateError, match="allow next to nothing.*lock the mechanism"):
        la.simulate(model, q=q, v={"chassis": (1.0, 0, 0), "rear left": 1 / 0.3, "rear right": 1 / 0.3}, dt=1e-2, steps=1)


# ---------------------------------------------------------------------------------------------------- kinematics


def test_differential_drive_follows_its_kinematics():
    """Speed and turn of the chassis from those of the wheels, under motors, with the caster swinging round behind."""
    model = la.examples.differential_drive(track=0.4, radius=0.1, trail=0.05).compile()
    start = model.state(q={"fork": 2.5})
    tau = np.zeros((400, model.nv))
    tau[:, model.v_slice("left")], tau[:, model.v_slice("right")] = 0.4, 0.5
    runs = [la.simulate(model, start, tau=tau, dt=5e-3, steps=400, integrator=i) for i in TIGHT]
    assert np.abs(runs[0].q - runs[1].q).max() < 1e-10
    run = runs[0]
    left, right = (run.v[:, model.v_slice(side)][:, 0] for side in ("left", "right"))
    heading, speed, turn = run.q[:, 2], 0.05 * (left + right), 0.1 * (right - left) / 0.4
    wanted = np.array([speed * np.cos(heading), speed * np.sin(heading), turn]).T
    assert np.abs(run.v[:, model.v_slice("chassis")] - wanted).max() < 1e-10
    # odometry by the wheels' angles, of second order: the chord of a step is not its arc
    coarse = la.simulate(model, start, tau=tau[:200], dt=1e-2, steps=200, integrator=TIGHT[0])
    off, off_coarse = (np.abs(r.q[-1, 2] - 0.1 * (r["right"] - r["left"])[-1, 0] / 0.4) for r in (run, coarse))
    assert off < 1e-7 and 3.6 < off_coarse / off < 4.4
    assert abs(np.angle(np.exp(1j * run["fork"][-1, 0]))) < 0.1  # it trails


def test_car_turns_about_one_point():
    """Ackermann steering held at an angle: a circle about the point where all axes meet, with the speed of the wheels."""
    wheelbase, track, radius, steer = 2.5, 1.5, 0.3, 0.3
    mech = la.examples.car(wheelbase, track, radius)
    mech.add_constraint(la.Prescribed("knuckle left", steer))
    model = mech.compile()
    q = model.assemble({"knuckle left": steer}, hold=["knuckle left"])
    v = model.project_velocity(q, {"rear left": 10.0, "rear right": 10.0})
    run = la.simulate(model, q=q, v=v, dt=1e-2, steps=500, integrator=la.Variational(tol=1e-13))
    assert "Rolling('front right'): slip across" in run.redundant
    bend = wheelbase / np.tan(steer) + track / 2
    assert np.abs(np.hypot(run.q[:, 0], run.q[:, 1] - bend) - bend).max() < 1e-10
    assert np.abs(run.v[:, 2] * (bend - track / 2) - radius * run.v[:, model.v_slice("rear left")][:, 0]).max() < 1e-10
    assert np.abs(run.v[:, 2] * np.hypot(bend + track / 2, wheelbase) - radius * run.v[:, model.v_slice("front right")][:, 0]).max() < 1e-10
    assert np.abs(run.energy - run.energy[0]).max() < 1e-10 * run.energy[0]


def test_car_that_is_steered():
    """Yaw rate = speed tan(angle) / wheelbase at every node while the driver turns the wheel."""
    mech = la.examples.car(wheelbase=2.5, track=1.5)
    mech.add_constraint(la.Prescribed("knuckle left", lambda t, sp: 0.3 * sp.sin(t)))
    model = mech.compile()
    v = model.project_velocity(None, {"rear left": 10.0, "rear right": 10.0, "knuckle left": 0.3})
    run = la.simulate(model, v=v, dt=1e-2, steps=300, integrator=la.Variational(tol=1e-13))
    left, right = run["knuckle left"][:, 0], run["knuckle right"][:, 0]
    speed = np.cos(run.q[:, 2]) * run.v[:, 0] + np.sin(run.q[:, 2]) * run.v[:, 1]
    both = 2 * np.sin(left) * np.sin(right)  # tan = both / sin(left + right) of the angle of the bicycle that turns about the same point
    assert np.abs(run.v[:, 2] * np.sin(left + right) - speed * both / 2.5).max() < 1e-10
    assert np.abs(np.sin(left - right) - 1.5 / 2.5 * np.sin(left) * np.sin(right)).max() < 1e-12


def test_snakeboard_drives_itself():
    """From rest, without touching the ground: rotor and trucks in time move it along its length, out of time they do not."""
    ways = {}
    for phase in (0.0, np.pi / 2):
        mech = la.examples.snakeboard()
        mech.add_constraint(la.Prescribed("rotor", lambda t, sp, phase=phase: 0.7 * (sp.sin(3 * t + phase) - sp.sin(phase))))
        for truck, sign in (("front", -1), ("back", 1)):
            mech.add_constraint(la.Prescribed(truck, lambda t, sp, sign=sign: sign * 0.4 * sp.sin(3 * t)))
        model = mech.compile()
        rates = {"rotor": 2.1 * np.cos(phase), "front": -1.2, "back": 1.2}
        v = model.project_velocity(None, rates)
        run = la.simulate(model, v=v, dt=1e-2, steps=630, integrator=la.Variational(tol=1e-12))
        ways[phase] = run.q[-1, 0]
    assert abs(ways[0.0]) > 0.5 and abs(ways[np.pi / 2]) < 0.2 * abs(ways[0.0])


# --------------------------------------------------------------------------------------------------------- balls


def test_ball_on_a_turntable_runs_in_circles():
    """With the rate share / (1 + share) of the table's, to second order, whatever its speed; it does not fly off."""
    for share, rate in ((0.4, 2 / 7), (2 / 3, 2 / 5)):
        model = la.examples.ball_on_turntable(rate=2.0, share=share).compile()
        v = model.project_velocity(None, {"table": 2.0, "ball": (0, 0, 0, 0.3, 0.1, 0)})
        turn = 2.0 * rate
        errors = []
        for n in (100, 200):
            run = la.simulate(model, v=v, dt=3.0 / n, steps=n, integrator=la.Variational(tol=1e-12))
            z = v[4] + 1j * v[5]  # the ball stands unturned at first
            place = (run["ball"][:, 0] + 1j * run["ball"][:, 1]) - z / (1j * turn) * (np.exp(1j * turn * run.t) - 1.0)
            errors.append(np.abs(place).max())
        assert errors[1] < 5e-3 and 3.6 < errors[0] / errors[1] < 4.4


def test_ball_in_a_bowl_swings():
    """w^2 = g / ((1 + share) (R - r)) for small swings; on top of a sphere it falls with the same rate."""
    inside, outside = (la.Mechanism(), la.Mechanism())
    for mech, z in ((inside, -0.9), (outside, 1.1)):
        mech.add_body("ball", joint=la.Free(), placement=la.Pose(xyz=(0, 0, z)), mass=1.0, inertia=(0.004, 0.004, 0.004))
    inside.add_constraint(la.RollingBall("ball", 0.1, sphere=1.0, inside=True))
    outside.add_constraint(la.RollingBall("ball", 0.1, sphere=1.0))
    for mech, apart, sign in ((inside, 0.9, 1.0), (outside, 1.1, -1.0)):
        model = mech.compile()
        speed, rate = 1e-4, np.sqrt(9.81 / 1.4 / apart)
        v = model.project_velocity(None, [0, 0, 0, speed, 0, 0])
        runs = [la.simulate(model, v=v, dt=2e-3, steps=300, integrator=i) for i in TIGHT]
        assert np.abs(runs[0].q - runs[1].q).max() < 1e-10
        wanted = v[3] / rate * (np.sin(rate * runs[0].t) if sign > 0 else np.sinh(rate * runs[0].t))
        assert np.abs(runs[0].q[:, 0] - wanted).max() < 1e-5 * np.abs(wanted).max()


def test_rattleback_reverses():
    """Spun the wrong way it rattles, stops and turns back; the energy stays."""
    model = la.examples.rattleback().compile()
    q = model.assemble({"stone": (0, 0, 0, np.cos(0.005), np.sin(0.005), 0, 0)})
    v = model.project_velocity(q, [0.0, 0.0, -5.0, 0, 0, 0])
    run = la.simulate(model, q=q, v=v, dt=1e-3, steps=5000, integrator=la.Variational(tol=1e-11))
    up = np.array([la.dynamics.pose(model, q, "stone").R[2] for q in run.q[::10]])
    spin = np.einsum("ti,ti->t", up, run.v[::10, :3])
    assert spin[0] < -4.9 and spin.max() > 0.5
    assert np.abs(run.energy - run.energy[0]).max() < 2e-2 * run.kinetic[0]


# --------------------------------------------------------------------------------------------- the method itself


def disc():
    model = la.examples.rolling_disc().compile()
    return model, model.project_velocity(None, [0.4, 4.0, 0.6, 1.2, 0.0, 0.0])


def sleigh():
    return la.examples.chaplygin_sleigh().compile(), np.array([1.0, 0.0, 2.0])


@pytest.mark.parametrize("make", [disc, sleigh])
@pytest.mark.parametrize(
    "integrator",
    [
        la.Variational(tol=1e-13),
        pytest.param(la.Composition(la.Variational(tol=1e-13), order=4), marks=pytest.mark.slow),
        pytest.param(la.AdaptiveStep(la.Variational(tol=1e-13)), marks=pytest.mark.slow),
    ],
    ids=lambda i: type(i).__name__,
)
def test_steps_can_be_undone(make, integrator):
    model, v = make()
    sim = la.Simulator(model, v=v, dt=1e-2, integrator=integrator)
    for _ in range(40):
        sim.step()
    sim.reverse()
    for _ in range(40):
        sim.step()
    assert np.abs(sim.state.q - model.neutral()).max() < 1e-10
    assert np.abs(sim.state.v + v).max() < 1e-9


@pytest.mark.parametrize("make", [disc, sleigh])
def test_both_coordinates_give_the_same(make):
    """Motion, reactions and multipliers; dampers, joint forces and a spring act too."""
    model, v = make()
    tau = 0.1 * np.random.default_rng(2).normal(size=model.nv)
    runs = [la.simulate(model, v=v, tau=tau, dt=1e-2, steps=50, integrator=i) for i in TIGHT]
    assert np.abs(runs[0].q - runs[1].q).max() < 1e-12
    found = [run.reactions[0] for run in runs]
    size = np.abs(found[1].force).max()
    assert np.abs(found[0].force - found[1].force)[1:-1].max() < 1e-8 * size
    assert np.abs(found[0].multipliers - found[1].multipliers)[1:-1].max() < 1e-8 * size


def test_a_row_of_the_user_is_a_skate():
    mech = la.Mechanism(gravity=(0, 0, 0))
    mech.add_body("sleigh", joint=la.Planar(), mass=1.0, com=(0.3, 0, 0), inertia=(0.1, 0.1, 0.1))
    mech.add_constraint(la.VelocityConstraint("edge", ["sleigh"], "v1 * cos(q2) - v0 * sin(q2)"))
    skate, v = sleigh()
    runs = [la.simulate(m, v=v, dt=1e-2, steps=50, integrator=la.Variational(tol=1e-13)) for m in (mech.compile(), skate)]
    assert np.abs(runs[0].q - runs[1].q).max() < 1e-13


def test_a_loop_on_wheels():
    """A four-bar on a cart: loops, wheels and a spring in one system, in both coordinates."""
    mech = cart(1)
    for k, (parent, at) in enumerate((("chassis", (0, 0, 0.5)), ("bar 0", (0, 0, 0.4)), ("bar 1", (0.4, 0, 0)))):
        mech.add_body(f"bar {k}", parent, la.Revolute((0, 1, 0)), la.Pose(xyz=at), mass=0.5, com=(0.1, 0, 0.1), inertia=(0.01, 0.01, 0.01))
    mech.add_frame("end", "bar 2", la.Pose(xyz=(0, 0, -0.4)))
    mech.add_frame("seat", "chassis", la.Pose(xyz=(0.4, 0, 0.5)))
    mech.add_constraint(la.Coincident("seat", "end", directions=[(1, 0, 0), (0, 0, 1)]))
    mech.add_force(la.Spring("bar 0", 5.0))
    mech.add_force(la.Damper("left 0", 0.02))
    model = mech.compile()
    q = model.assemble({"bar 0": 0.2, "bar 1": -0.2, "bar 2": 0.2}, hold=["bar 0"])
    v = model.project_velocity(q, {"left 0": 3.0, "right 0": 4.0, "bar 0": 1.0})
    runs = [la.simulate(model, q=q, v=v, dt=5e-3, steps=60, integrator=i) for i in TIGHT]
    assert np.abs(runs[0].q - runs[1].q).max() < 1e-10 and runs[0].constraint_error.max() < 1e-11


def test_a_run_goes_on_bit_for_bit(tmp_path):
    model, v = disc()
    whole = la.simulate(model, v=v, dt=1e-2, steps=60)
    la.simulate(model, v=v, dt=1e-2, steps=30).save(tmp_path / "half.h5")
    rest = la.simulate(model, la.open(tmp_path / "half.h5").state(), dt=1e-2, steps=30)
    assert np.array_equal(rest.q, whole.q[30:]) and np.array_equal(rest.multipliers[1:], whole.multipliers[31:])


# ------------------------------------------------------------------------------------------------------- bicycle


@pytest.mark.parametrize("speed", [0.0, 2.0, 5.0, 10.0])
def test_benchmark_bicycle_in_continuous_time(speed):
    """Weave, capsize and castering of Meijaard, Papadopoulos, Ruina and Schwab 2007."""
    model = la.examples.bicycle().compile()
    fork = model.v_slice("fork").start

    def rates(x):
        q, v = state_of(model, speed, x)
        a = la.dynamics.forward(model, q, v)
        return np.array([x[2], x[3], a[0], a[fork]])

    found = eigenvalues_of(np.array([(rates(e) - rates(-e)) / 2e-5 for e in 1e-5 * np.eye(4)]).T)
    assert np.abs(found - published_eigenvalues(speed)).max() < 1e-7


def test_benchmark_bicycle_in_discrete_time():
    """Of the linearised step of order six at 1 ms, mapped to continuous time, from standing still to 10 m/s."""
    model, dt = la.examples.bicycle().compile(), 1e-3
    for speed in np.arange(11.0):
        q, v = state_of(model, speed, np.zeros(4))
        step = la.linearize(model, la.Composition(la.Variational(tol=1e-13), order=6), model.state(q, v), dt)
        found = lateral_eigenvalues(step.A, model.v_slice("fork").start, dt)
        assert max(np.abs(found - wanted).min() for wanted in published_eigenvalues(speed)) < 1e-6


def test_bicycle_balances_itself():
    """Between weave and capsize speed a push dies out, without a rider; slower, it falls."""
    model = la.examples.bicycle().compile()
    ends = {}
    for speed in (5.0, 3.0):
        q, v = state_of(model, speed, (0.0, 0.0, 0.1, 0.0))
        run = la.simulate(model, q=q, v=v, dt=5e-3, steps=400)
        ends[speed] = np.abs([la.dynamics.pose(model, p, "frame").R[2, 1] for p in run.q[-50:]]).max()
        assert np.abs(run.energy - run.energy[0]).max() < 1e-3 * run.kinetic[0]
    assert ends[5.0] < 0.02 < 0.1 < ends[3.0]
