"""The account of the energy, whoever keeps it: the same numbers however little is recorded, and strict runs that end at the node."""

import numpy as np
import pytest

import leastaction as la
from leastaction.assembly.ledger import Ledger, may_change
from leastaction.errors import ConvergenceError, LeastActionError, StateError
from leastaction.integrators import accounts
from leastaction.testing.every_integrator import every_integrator, in_short

SPECIAL = [la.AdaptiveStep(), la.AdaptiveStep(la.Maximal()), la.Composition(la.Maximal()), la.Composition(la.Midpoint())]
INTEGRATORS = [*(i for i in every_integrator(1e-10) if getattr(i, "retraction", "exp") == "exp"), *SPECIAL]
names = {"ids": lambda i: i if isinstance(i, str) else in_short(i) if isinstance(i, la.integrators.Integrator) else ""}


def push(t, q, v, tau):
    tau[0] += np.sin(3.0 * t)
    tau[1] -= 0.2 * v[1]


def forced():
    """Everything whose work the energy does not contain, and that every integrator takes."""
    mech = la.examples.double_pendulum()
    for force in (la.Damper("lower", 0.3), la.CustomForce(push), la.Wrench("lower", force=(3.0, 0.0, 1.0)), la.Drag("lower", 0.2, 0.1)):
        mech.add_force(force)
    return mech


def driven():
    mech = forced()
    mech.add_constraint(la.Prescribed("upper", "0.4 * sin(3 * t) + 1.0"))
    return mech


def actuated():
    mech = forced()
    mech.add_servo(la.Servo("upper", kp=30.0, kd=2.0, limit=15.0))
    mech.add_force(la.DryFriction("lower", 0.1))
    return mech


def start(model):
    q = model.assemble({"upper": 1.0, "lower": 0.5}, hold=["lower"])
    return {"q": q, "v": model.project_velocity(q, [0.0, 0.0])}


@pytest.mark.parametrize("integrator", INTEGRATORS, **names)
@pytest.mark.parametrize("make", [forced, driven, actuated], ids=lambda f: f.__name__)
def test_the_account_does_not_depend_on_what_is_recorded(make, integrator):
    model = make().compile()
    options = {"dt": 0.01, "steps": 10, "integrator": integrator, **start(model)}
    options |= {"targets": {"upper": 0.3}} if make is actuated else {"tau": [0.5, -0.2]}
    try:
        every = la.simulate(model, **options)
    except StateError as error:
        assert type(integrator).__name__ in str(error)  # it does not take the model, and says so
        return
    some = la.simulate(model, record_every=4, **options)
    at = [0, 4, 8, 10]
    assert np.array_equal(some.work, every.work[at]) and np.array_equal(some.dissipated, every.dissipated[at])
    assert abs(some.work[-1]) > 1e-4 and some.dissipated[-1] > 1e-4 and some.warnings == every.warnings == ()


@pytest.mark.parametrize("options", [{"guard": True}, {"integrator": la.CertifiedStep()}], ids=["guarded", "certified"])
def test_wrapped_integrators_keep_it_too(options):
    mech = la.examples.double_pendulum()
    mech.add_force(la.Damper("lower", 0.3))
    model = mech.compile()
    every, some = (la.simulate(model, dt=0.01, steps=12, q=[1.0, 0.5], record_every=n, **options) for n in (1, 5))
    assert np.array_equal(some.dissipated, every.dissipated[[0, 5, 10, 12]]) and some.dissipated[-1] > 0.0


def test_control_laws_events_and_parts():
    model = forced().compile()
    options = {"dt": 0.01, "q": [1.0, 0.5], "control": lambda t, state: [-2.0 * state.v[0], 1.0]}
    every, some = (la.simulate(model, steps=60, record_every=n, **options) for n in (1, 7))
    assert np.array_equal(some.work, every.work[[*range(0, 60, 7), 60]])
    stopped = [
        la.simulate(model, steps=60, record_every=n, when=la.passes("upper", 0.7, terminal=True), **options) for n in (1, 7)
    ]  # fmt: skip
    assert len(stopped[0]) < 61 and stopped[0].events and stopped[0].t[-1] == stopped[1].t[-1]
    assert stopped[0].work[-1] == stopped[1].work[-1] and stopped[0].dissipated[-1] == stopped[1].dissipated[-1]
    adaptive = {"dt": 0.01, "duration": 0.4, "q": [1.0, 0.5], "tau": [0.5, 0.5], "integrator": la.AdaptiveStep()}
    every, some = (la.simulate(model, record_every=n, **adaptive) for n in (1, 5))
    assert np.array_equal(some.work, every.work[[*range(0, every.steps, 5), every.steps]])


def test_files_keep_it_and_go_on_with_it(tmp_path):
    pytest.importorskip("h5py")
    model = actuated().compile()
    options = {"dt": 0.01, "targets": {"upper": 0.3}, "record_every": 4, **start(model)}
    whole = la.simulate(model, steps=40, **options)
    la.simulate(model, steps=20, record_to=tmp_path / "run.h5", **options)
    run = la.simulate(model, steps=40, record_to=tmp_path / "run.h5", resume=True, **options)
    assert np.array_equal(run.work, whole.work) and np.array_equal(run.dissipated, whole.dissipated) and np.array_equal(run.q, whole.q)
    whole.save(tmp_path / "run.npz")
    assert np.array_equal(la.open(tmp_path / "run.npz", model=model).work, whole.work)


# ------------------------------------------------------------------------------------------------ strict runs


def two_masses(small=1e-4, stiffness=400.0):
    """A slow oscillation of 2 J, and a fast one of almost no energy, for which the step may be too long: it takes a while to be seen."""
    mech = la.Mechanism(gravity=(0.0, 0.0, 0.0), name="two masses")
    for name, k in (("slow", 4.0), ("fast", stiffness)):
        mech.add_body(name, joint=la.Prismatic((1, 0, 0)), mass=1.0)
        mech.add_force(la.Spring(name, k))
    return mech.compile(), {"q": [1.0, small], "steps": 80}


@pytest.mark.parametrize("integrator", INTEGRATORS, **names)
def test_every_integrator_ends_at_the_node(integrator):
    model, options = two_masses()
    calm = la.simulate(model, dt=0.02, strict=True, integrator=integrator, **(options | {"steps": 20}))
    assert calm.warnings == ()
    options |= {"dt": 0.13 if integrator.symplectic else 0.18, "integrator": integrator, "steps": 16}
    whole = la.simulate(model, **options)
    first = whole.first_unexplained
    if first is None:  # stable, or a step that follows the speed
        assert la.simulate(model, strict=True, **options).energy.max() < 10.0
        return
    with pytest.raises(ConvergenceError, match="cannot be explained") as caught:
        la.simulate(model, strict=True, **options)
    until = caught.value.trajectory
    assert len(until) == first == until.steps + 1 and caught.value.step == first and caught.value.time == whole.t[first]
    assert np.array_equal(until.q, whole.q[:first]) and not until.converged and until.state().t == until.t[-1]
    assert str(caught.value) == whole.unexplained_in_words == until.message


def alarmed(**options):
    model, given = two_masses()
    with pytest.raises(ConvergenceError, match="cannot be explained") as caught:
        la.simulate(model, dt=0.104, strict=True, **given, **options)
    return caught.value


def test_wherever_the_blocks_end(monkeypatch):
    """The alarm is the same at the end of a block, at its beginning and within it; what is left is a run that can be continued."""
    model, given = two_masses()
    whole = la.simulate(model, dt=0.104, **given)
    first = whole.first_unexplained
    assert 10 < first < 100
    for size in (1, 3, first - 1, first, first + 1):
        monkeypatch.setattr(accounts, "_BLOCK", size * model.nv)
        for every in (1, 3, first - 1, 1000):
            error = alarmed(record_every=every)
            until = error.trajectory
            assert error.step == first and until.steps == first - 1 and until.t[-1] == whole.t[first - 1]
            assert np.array_equal(until.q[-1], whole.q[first - 1]) and np.array_equal(until.q[:-1], whole.q[: first - 1 : every])
            again = la.simulate(model, until.state(), dt=0.104, steps=5)
            assert np.array_equal(again.q, whole.q[first - 1 : first + 5])


def test_no_step_is_made_after_it(monkeypatch):
    """Compiled steps go on to the end of a block at most, a control law is asked once more, to confirm it."""
    first = alarmed().step
    times = []
    for every in (1, 3):
        times.clear()

        def law(t, state):
            times.append(t)
            return [0.0, 0.0]

        error = alarmed(control=law, record_every=every)
        assert error.step == first == error.trajectory.steps + 1 == len(error.trajectory.tau) + 1 and len(times) == first + 1
    made = []
    monkeypatch.setattr(accounts, "_BLOCK", 16)
    usual = accounts.Accounts.advance

    def counted(self, make, *rest):
        def counting(size, tau, record, end):
            result = make(size, tau, record, end)
            made.append(result.steps)
            return result

        return usual(self, counting, *rest)

    monkeypatch.setattr(accounts.Accounts, "advance", counted)
    assert first < sum(made) <= first + 9 if alarmed().step == first else False


def test_in_parts_and_after_a_pause(tmp_path):
    pytest.importorskip("h5py")
    model, given = two_masses()
    plain = alarmed()
    with pytest.raises(ConvergenceError, match="cannot be explained") as caught:
        la.simulate(model, dt=0.104, strict=True, record_to=tmp_path / "run.h5", **given)
    assert caught.value.step == plain.step and np.array_equal(caught.value.trajectory.q, plain.trajectory.q)
    given["steps"] = plain.step - 5
    la.simulate(model, dt=0.104, strict=True, record_to=tmp_path / "later.h5", **given)
    given["steps"] = 80
    with pytest.raises(ConvergenceError, match="cannot be explained") as caught:
        la.simulate(model, dt=0.104, strict=True, record_to=tmp_path / "later.h5", resume=True, **given)
    assert caught.value.step == plain.step and np.array_equal(caught.value.trajectory.q, plain.trajectory.q)


def test_what_is_not_a_yes_or_a_no_is_named():
    model, given = two_masses()
    for name in ("strict", "guard", "resume"):
        with pytest.raises(StateError, match=f"{name} = "):
            la.simulate(model, dt=0.1, **given, **{name: np.zeros(3)})


def test_functions_that_take_something_else_are_named():
    model, given = two_masses()
    for options in ({"control": len}, {"when": len}):
        with pytest.raises(StateError, match=r"cannot be called with \(t, state\)"):
            la.simulate(model, dt=0.1, **given, **options)
    with pytest.raises(StateError, match=r"cannot be called with \(t, state\)"):
        la.Every(len, steps=1)
    for time in ("now", 1j, [1.0, 2.0], 10**400, np.nan):
        with pytest.raises(StateError, match="t = "):
            la.dynamics.forward(model, None, t=time)
    with pytest.raises(LeastActionError, match="at most"):
        la.examples.chain(10**400)


@pytest.mark.parametrize("quadrature", ["trapezoid", "midpoint"])
@pytest.mark.parametrize(
    "drive", [la.Prescribed("cart", "0.3 * sin(3 * t)"), la.VelocityConstraint("push", ["cart"], "v0 - 0.5 * cos(2 * t)")]
)
def test_what_drives_a_mechanism_with_dry_friction_is_accounted_for_in_maximal_coordinates_too(drive, quadrature):
    mech = la.examples.cart_pole()
    mech.add_constraint(drive)
    mech.add_force(la.DryFriction("pole", 0.05))
    model = mech.compile()
    given = {"v": model.project_velocity(None, {"pole": 1.0}), "dt": 2e-3, "steps": 150, "strict": True}
    own, other = (la.simulate(model, integrator=kind(quadrature=quadrature), **given) for kind in (la.Maximal, la.Variational))
    assert abs(own.work - other.work).max() < 1e-9 and abs(own.dissipated - other.dissipated).max() < 1e-9
    thinned = la.simulate(model, integrator=la.Maximal(quadrature=quadrature), record_every=5, **given)
    assert abs(thinned.work - own.work[::5]).max() < 1e-12
    for integrator in (la.Midpoint(), la.Trapezoid(), la.FloatingBase()):
        assert abs(la.simulate(model, integrator=integrator, **given).work - other.work).max() < 1e-6
    assert abs(own.work[-1]) > 0.01 and not own.warnings


def test_only_what_knows_the_time_or_a_speed_of_its_own_drives():
    mech = la.examples.cart_pole()
    for constraint in (
        la.Prescribed("cart", "0.3 * sin(3 * t)"), la.Prescribed("pole", 0.2), la.Cam("cart", "pole", lambda x, sp: sp.sin(x)),
        la.SymbolicConstraint("moved", ["pole"], lambda q, t, sp: q[0] - t), la.VelocityConstraint("pushed", ["cart"], "v0 - cos(2 * t)"),
        la.VelocityConstraint("even", ["cart"], "v0 - 1"), la.VelocityConstraint("held", ["cart"], "v0 * cos(q0)"),
        la.VelocityConstraint("apart", ["cart"], "v0 - 2 * (v0 + t) + 2 * t"),
    ):  # fmt: skip
        mech.add_constraint(constraint)
    assert [closure.driven for closure in mech.compile().closures] == [True, False, False, True, True, True, False, False]


def test_nobody_keeps_account_of_constraints_that_only_hold():
    car = la.examples.car().compile()
    assert not may_change(car, None) and Ledger(car, True, car.neutral(), 0.0)._ties is None
