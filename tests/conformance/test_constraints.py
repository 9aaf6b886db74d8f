"""Every constraint of the package obeys the laws of a constraint with every integrator, or the integrator refuses it by name."""

import inspect
from functools import partial

import numpy as np
import pytest
from support.symbolic_samples import symbolic_samples

import leastaction as la
from leastaction import constraints, joints
from leastaction.examples import random_joint
from leastaction.testing import check_constraint, constraint_bench

pytestmark = pytest.mark.slow

KINDS = {
    "Coincident": lambda: la.Coincident("tip", "anchor"),
    "Coincident-two directions": lambda: la.Coincident("anchor", "tip", directions=[(1, 0, 0), (0, 1, 1)]),
    "Distance": lambda: la.Distance("tip", "anchor", 0.4),
    "Distance-two bodies": lambda: la.Distance("tip", "nut", 1.9),
    "PointOnPlane": lambda: la.PointOnPlane("tip", "anchor", normal=(1, 2, 0), height=0.1),
    "Screw": lambda: la.Screw("nut", "world", pitch=0.7, axis=(0, 1, 0)),
    "Close-Spherical": lambda: la.Close(la.Spherical(), "anchor", "tip"),
    "Close-Universal": lambda: la.Close(la.Universal(), "anchor", "tip"),
    "Close-Planar": lambda: la.Close(la.Planar(), "anchor", "tip"),
    "Close-Cylindrical": lambda: la.Close(la.Cylindrical(axis=(0, 0, 1)), "anchor", "tip"),
    "Close-Revolute": lambda: la.Close(la.Revolute(axis=(0, 0, 1)), "anchor", "tip"),
    "Close-Prismatic": lambda: la.Close(la.Prismatic(axis=(0, 0, 1)), "anchor", "tip"),
    "Close-Helical": lambda: la.Close(la.Helical(axis=(0, 0, 1), pitch=0.5), "anchor", "tip"),
    "Gear": lambda: la.Gear("hinge", "slide", ratio=3.0, offset=0.2),
    "Cam": lambda: la.Cam("slide", "hinge", lambda x, sp: 0.3 * sp.cos(x)),
    "SymbolicConstraint": lambda: la.SymbolicConstraint("mix", ["hinge", "carrier"], lambda q, sp: q[0] * q[1] + sp.sin(q[2]) - q[0]),
    "SymbolicConstraint-driven": lambda: la.SymbolicConstraint("lead", ["hinge", "slide"], lambda q, t, sp: q[0] - q[1] - sp.sin(t) / 5),
    "Prescribed": lambda: la.Prescribed("hinge", lambda t, sp: 0.3 * sp.sin(2 * t)),
    "Prescribed-locked": lambda: la.Prescribed("slide", 0.1),
    "Skate": lambda: la.Skate("puck", direction=(0, 1, 0)),
    "Skate-on a body": lambda: la.Skate("puck", direction=(1, 2, 0), on="hinge"),
    "Rolling": lambda: la.Rolling("puck", radius=0.3, axis=(0, 1, 0), height=-0.3),
    "Rolling-on a body": lambda: la.Rolling("puck", radius=0.3, axis=(0, 1, 0), normal=(0, 1, 2), height=-0.3, on="hinge"),
    "RollingBall": lambda: la.RollingBall("puck", radius=0.3, height=-0.3),
    "RollingBall-on a body": lambda: la.RollingBall("puck", radius=0.3, normal=(0, 1, 2), height=-0.3, on="hinge"),
    "RollingBall-on a sphere": lambda: la.RollingBall("puck", radius=0.3, sphere=0.7, on="hinge"),
    "RollingBall-in a sphere": lambda: la.RollingBall("puck", radius=0.3, sphere=1.3, inside=True),
    "RollingEllipsoid": lambda: la.RollingEllipsoid("puck", half_axes=(0.4, 0.2, 0.3), height=-0.3),
    "RollingEllipsoid-on a body": lambda: la.RollingEllipsoid("puck", half_axes=(0.4, 0.2, 0.3), normal=(0, 1, 2), height=-0.3, on="hinge"),
    "VelocityConstraint": lambda: la.VelocityConstraint("mix", ["hinge", "carrier"], "v0 * cos(q1) + q2 * v1 - v2"),
    "VelocityConstraint-driven": lambda: la.VelocityConstraint("lead", ["hinge", "slide"], "v0 * cos(q1) - v1 - 0.3 * q0 - sin(2 * t) / 5"),
}
ON_VELOCITIES = ("Skate", "Rolling", "VelocityConstraint")
BETWEEN_FRAMES = ["Coincident-two directions", "Distance", "PointOnPlane"]
CARRIERS = {k.__name__: k for k in joints.ALL if k.nv > 0} | {f"symbolic-{j.name}": j for j in symbolic_samples()}


@pytest.mark.parametrize("name", KINDS)
def test_laws(name):
    report = check_constraint(KINDS[name], partial(constraint_bench, groups=name.startswith(("Skate", "Rolling"))))
    assert report.on_positions != name.startswith(ON_VELOCITIES)
    assert report.moving == (name in ("Prescribed", "SymbolicConstraint-driven", "VelocityConstraint-driven"))
    known = {
        "Variational-exp-trapezoid", "Variational-cayley-midpoint", "Maximal-exp-trapezoid", "Midpoint", "Trapezoid", "FloatingBase-exp",
        "RK4",
    }  # fmt: skip
    assert known <= set(report.orders) and not report.refused


@pytest.mark.parametrize("carrier", CARRIERS)
@pytest.mark.parametrize("name", BETWEEN_FRAMES)
def test_laws_on_every_joint(name, carrier):
    """Frames carried by a joint of every kind, with the integrators that discretise bodies."""
    given = CARRIERS[carrier]
    joint = random_joint(given, np.random.default_rng(3)) if isinstance(given, type) else given
    ways = [la.Variational(tol=1e-12), la.Variational("cayley", quadrature="midpoint", tol=1e-12), la.Maximal(tol=1e-12), la.RK4()]
    report = check_constraint(KINDS[name], partial(constraint_bench, joint), ways)
    assert not report.refused


def test_every_constraint_is_tested():
    tested = {type(make()).__name__ for make in KINDS.values()}
    known = {n for n in constraints.__all__ if inspect.isclass(getattr(constraints, n))} - {"Constraint", "Closure"}
    assert known <= tested, f"no conformance test of {known - tested}"


# ------------------------------------------------------------------------------------------------- the laws can fail


def test_an_integrator_that_forgets_a_constraint_is_caught():
    class Forgetful(la.Trapezoid):
        def start(self, model, state, dt):
            stepper = super().start(model, state, dt)
            stepper.arrays = stepper.arrays._replace(con=None)
            return stepper

    with pytest.raises(AssertionError, match="Distance.* with Forgetful.*have order"):
        check_constraint(KINDS["Distance"], integrators=[Forgetful()])


def test_a_refusal_without_a_name_is_caught():
    class Rude(la.Variational):
        def start(self, model, state, dt):
            raise la.StateError("no")

    with pytest.raises(AssertionError, match="refused without a name"):
        check_constraint(KINDS["Distance"], integrators=[Rude()])
