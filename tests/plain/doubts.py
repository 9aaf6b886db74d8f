"""Numbers that are too unequal for a run: it is right, or its warnings name what is not."""

import numpy as np
import pytest

import leastaction as la
from leastaction.errors import LeastActionError, MechanismError

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # plain Python speaks of numbers that overflow

RODS = (1 / 12, 1 / 12, 0.01)


def rod(mech, name, parent="world", at=(0.0, 0.0, 0.0), mass=1.0, length=1.0):
    inertia = mass * length**2 * np.array(RODS)
    axis = la.Revolute(axis=(0, 1, 0))
    mech.add_body(name, parent, axis, la.Pose(at), mass=mass, com=(0, 0, -0.5 * length), inertia=inertia)


def outcome(*arguments, **options):
    """The run, or None if an error of ours says why there is none."""
    try:
        return la.simulate(*arguments, **options)
    except MechanismError as error:
        pytest.skip(str(error))  # the integrator does not take the model
    except LeastActionError as error:
        assert str(error)
        return None


ROTATING = [
    la.Variational(), la.Variational("cayley"), la.Maximal("cayley"), la.Maximal("quaternion"), la.Trapezoid(), la.Midpoint(),
    la.FloatingBase(), la.RK4(), la.RKMK4(), la.Composition(la.Variational("cayley")),
]  # fmt: skip


@pytest.mark.parametrize("integrator", ROTATING, ids=repr)
@pytest.mark.parametrize("joint", [la.Revolute(axis=(0, 0, 1)), la.Spherical(), la.Free()], ids=lambda j: type(j).__name__)
def test_half_a_turn_per_step(joint, integrator):
    """A rotor that spins freely: where it is after three steps is known, or there is a warning."""
    mech = la.Mechanism(gravity=(0, 0, 0))
    mech.add_body("rotor", joint=joint, mass=1.0, inertia=(0.1, 0.1, 0.1))
    model = mech.compile()
    for speed in (0.05, 0.5, 1.5, 2.5, 3.1, np.pi, 3.3, 5.0, 7.0):
        v = np.zeros(model.nv)
        v[0 if model.nv == 1 else 2] = speed
        run = outcome(model, dt=1.0, steps=3, v=v, integrator=integrator)
        if run is None:
            assert speed > 0.7
            continue
        angle = run.q[-1, 0] if model.nq == 1 else 2.0 * np.arctan2(run.q[-1, -1], run.q[-1, -4])
        off = (angle - 3.0 * speed + np.pi) % (2.0 * np.pi) - np.pi
        assert run.warnings or abs(off) < 0.21 * 3.0 * speed, f"{speed} rad per step: off by {off} rad without a word"
        assert speed > 0.7 or not run.warnings
        assert all("'rotor'" in sentence for sentence in run.warnings)


INTEGRATORS = [la.Variational(), la.Variational(quadrature="midpoint"), la.Trapezoid(), la.Midpoint(), la.Maximal(), la.RK4()]


@pytest.mark.parametrize("integrator", [*INTEGRATORS, la.Composition(la.Variational()), la.Composition(la.Midpoint())], ids=repr)
def test_a_light_part_beside_a_heavy_one(integrator):
    """They do not know each other: the light one moves as it does alone."""

    def light(mech, at=(0.0, 0.0, 0.0)):
        rod(mech, "light", at=at, length=0.1)
        rod(mech, "tip", "light", (0, 0, -0.1), length=0.1)

    alone = la.Mechanism()
    light(alone)
    options = {"dt": 0.01, "steps": 25, "integrator": integrator}
    wanted = la.simulate(alone.compile(), q=[1.0, 2.0], v=[3.0, -20.0], **options)
    assert wanted.warnings == () and not len(alone.compile().tree.felt)
    for ratio in (1e3, 1e6, 1e12):
        mech = la.Mechanism()
        rod(mech, "heavy", mass=ratio)
        light(mech, (0, 5, 0))
        for start in (0.0, 0.8):
            run = la.simulate(mech.compile(), q=[start, 1.0, 2.0], v=[0.0, 3.0, -20.0], **options)
            assert run.warnings == ()
            assert np.abs(run.q[:, 1:] - wanted.q).max() < 1e-5, f"{ratio}: off by {np.abs(run.q[:, 1:] - wanted.q).max()} rad"


@pytest.mark.parametrize("integrator", [la.Variational(), la.Midpoint(), la.Trapezoid()], ids=repr)
def test_a_light_part_on_a_heavy_one(integrator):
    """A grain on a swinging rod, a million times lighter, moves as with a tolerance at which nothing is left to solve."""
    mech = la.Mechanism()
    rod(mech, "heavy", mass=1e6)
    rod(mech, "light", "heavy", (0, 0, -1))
    rod(mech, "tip", "light", (0, 0, -0.5), length=0.3)
    model = mech.compile()
    assert len(model.tree.felt) == 3
    start = {"q": [0.8, 1.0, 2.0], "v": [1.0, 3.0, -9.0], "dt": 0.01, "steps": 25}
    run, fine = (la.simulate(model, integrator=type(integrator)(tol=tol), **start) for tol in (1e-10, 1e-13))
    assert run.warnings == () and np.abs(run.q - fine.q).max() < 1e-7


def test_a_light_part_in_a_loop():
    """What meets in its joints are the impulses of the loop: nothing is asked for that rounding forbids."""
    mech = la.Mechanism()
    rod(mech, "heavy", mass=1e7)
    rod(mech, "light", "heavy", (0, 0, -1))
    mech.add_frame("tip", "light", la.Pose((0, 0, -1)))
    mech.add_constraint(la.Coincident("world", "tip", directions=((1, 0, 0),)))
    model = mech.compile()
    run = la.simulate(model, q=model.assemble({"heavy": 0.5, "light": -1.0}), dt=0.01, steps=40)
    assert run.constraint_error.max() < 1e-11 and np.abs(run.energy - run.energy[0]).max() < 1e-3 * run.kinetic.max()


@pytest.mark.parametrize("integrator", INTEGRATORS, ids=repr)
@pytest.mark.parametrize("what", ["tree", "spring", "loop"])
def test_far_from_the_origin(what, integrator):
    """The same motion wherever the mechanism stands."""

    def model(origin):
        mech = la.Mechanism()
        rod(mech, "a", at=origin)
        rod(mech, "b", "a", (0, 0, -1))
        mech.add_frame("tip", "b", la.Pose((0, 0, -1)))
        mech.add_frame("anchor", "world", la.Pose(origin + np.array((1.2, 0, -0.8))))
        if what == "spring":
            mech.add_force(la.LinearSpring("tip", "anchor", 50.0, 0.3))
        if what == "loop":
            mech.add_constraint(la.Distance("tip", "anchor", 1.0))
        return mech.compile()

    near = model(np.zeros(3))
    options = {"dt": 0.01, "steps": 8, "integrator": integrator, "q": near.assemble({"a": 0.6, "b": -1.4})}
    wanted = outcome(near, **options)
    for origin in ((1e4, 0, 0), (1e9, 0, 0), (1e12, 0, 0), (0, 0, 1e12)):
        run = outcome(model(np.array(origin, dtype=float)), **options)
        if run is not None and wanted is not None:
            off = np.abs(run.q - wanted.q).max()
            assert off < 1e-9 or "from the origin" in run.warnings[0], f"{origin}: off by {off} rad without a word"
