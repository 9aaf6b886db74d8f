"""Every force of the package obeys the laws of a force with every integrator, or the integrator refuses it by name."""

import inspect
from functools import partial

import numpy as np
import pytest

import leastaction as la
from leastaction import forces
from leastaction.builders import LoadBuilder
from leastaction.testing import check_force, force_bench

pytestmark = pytest.mark.slow


def drag(t, q, v, tau):
    """Depends on everything: time, coordinates, velocities."""
    tau[0] -= 0.8 * v[0] * np.sqrt(1.0 + v[0] ** 2)
    tau[1] += 1.5 * np.sin(3.0 * t) + 0.5 * np.cos(q[2])
    tau[3] -= 0.3 * v[3]


PLAIN = {
    "Spring-revolute": lambda: la.Spring("hinge", 20.0, rest=0.3),
    "Spring-universal": lambda: la.Spring("cross", (8.0, 5.0)),
    "Spring-prismatic": lambda: la.Spring("slide", 60.0, rest=-0.1),
    "Damper-revolute": lambda: la.Damper("hinge", 2.0),
    "Damper-universal": lambda: la.Damper("cross", (0.5, 0.8)),
    "Wrench-world": lambda: la.Wrench("tip", force=(1.0, 2.0, 3.0), moment=(0.3, 0.2, 0.1), point=(0.1, 0.0, 0.2)),
    "Wrench-body": lambda: la.Wrench("slide", force=(1.0, -2.0, 3.0), moment=(0.3, 0.2, 0.1), point=(0.1, 0.0, 0.2), frame="body"),
    "LinearSpring": lambda: la.LinearSpring("tip", "anchor", 50.0, 0.2),
    "LinearSpring-length 0": lambda: la.LinearSpring("anchor", "slide", 40.0),
    "LinearSpring-two bodies": lambda: la.LinearSpring("hinge", "tip", 30.0, 0.5),
    "NonlinearSpring-points": lambda: la.NonlinearSpring(
        lambda x, sp, p: p.k * (x**2 + sp.exp(-x)), between=("tip", "anchor"), parameters={"k": 12.0}
    ),
    "NonlinearSpring-joint": lambda: la.NonlinearSpring(lambda x, sp: 10 * x**2 + 40 * x**4, joint="slide"),
    "UserPotential": lambda: la.UserPotential(lambda q, sp: 4 * sp.cos(q[0] - q[2]) + q[1] ** 2 * q[3], ["hinge", "cross", "slide"]),
    "CustomForce": lambda: la.CustomForce(drag),
    "Drag": lambda: la.Drag("tip", linear=(0.4, 0.5, 0.6), quadratic=(0.2, 0.3, 0.1), point=(0.1, 0, 0), fluid=(1.0, 0.5, 0.0)),
    "PointDamper": lambda: la.PointDamper("tip", "hinge", 2.0),
    "all together": lambda: [
        la.Spring("hinge", 20.0), la.Damper("hinge", 0.5), la.Wrench("tip", force=(1.0, 2.0, 3.0), frame="body"),
        la.LinearSpring("tip", "anchor", 50.0, 0.2), la.UserPotential(lambda q, sp: sp.cos(q[0]), ["hinge"]), la.CustomForce(drag),
    ],
}  # fmt: skip
GROUPS = {
    "Spring-ball": lambda: la.Spring("ball", 6.0, rest=(0.8, 0.0, 0.6, 0.0)),
    "Spring-free": lambda: la.Spring("float", (3.0, 30.0)),
    "Damper-ball": lambda: la.Damper("ball", (0.3, 0.5, 0.4)),
    "Damper-free": lambda: la.Damper("float", (0.1, 0.2, 0.3, 0.4, 0.5, 0.6)),
    "Wrench-world": lambda: la.Wrench("float", force=(1.0, 2.0, 3.0), moment=(0.3, 0.2, 0.1), point=(0.1, 0.2, 0.3)),
    "Wrench-body": lambda: la.Wrench("ball", force=(1.0, -2.0, 3.0), moment=(0.3, 0.2, 0.1), point=(0.1, 0.2, 0.3), frame="body"),
    "Drag": lambda: la.Drag("ball", linear=0.3, quadratic=(0.2, 0.3, 0.1), point=(0.1, 0.0, 0.2)),
    "LinearSpring": lambda: la.LinearSpring("float", "ball", 20.0, 0.3),
    "PointDamper": lambda: la.PointDamper("float", "ball", 2.0),
    "NonlinearSpring": lambda: la.NonlinearSpring(lambda x, sp: 5 * x**2 + 4 * x**4, between=("ball", "anchor")),
    "UserPotential": lambda: la.UserPotential(lambda q, sp: 3 * sp.sin(q[0]) * q[1] ** 2, ["hinge", "slide"]),
}
CONSERVATIVE = {"Spring", "LinearSpring", "NonlinearSpring", "UserPotential"}


@pytest.mark.parametrize(("bench", "name"), [("plain", n) for n in PLAIN] + [("groups", n) for n in GROUPS])
def test_laws(bench, name):
    groups = bench == "groups"
    report = check_force((GROUPS if groups else PLAIN)[name], partial(force_bench, groups))
    kind = name.split("-")[0]
    if kind in CONSERVATIVE:
        assert report.has_energy and report.conservative
    else:
        assert not report.conservative
    assert {"Variational-exp-trapezoid", "Maximal-exp-trapezoid", "RK4"} <= set(report.orders)  # these take every force


def test_every_force_is_tested():
    tested = {type(f).__name__ for make in [*PLAIN.values(), *GROUPS.values()] for f in np.atleast_1d(np.array(make(), dtype=object))}
    known = {n for n in forces.__all__ if inspect.isclass(getattr(forces, n))} - {"Force"}
    known -= {"DryFriction"}  # of order one, and with kinks: physics/test_actuation.py
    assert known <= tested, f"no conformance test of {known - tested}"


# ------------------------------------------------------------------------------------------------- the laws can fail


class Liar(la.Spring):
    """A spring that tells the model another stiffness than the independent action."""

    def apply(self, builder):
        builder.add_spring(self.joint, (1.01 if isinstance(builder, LoadBuilder) else 1.0) * self.stiffness, self.rest)


def test_a_force_that_is_not_what_it_says_is_caught():
    with pytest.raises(AssertionError, match="Liar: the momentum at the start of a step .* differs from the derivative"):
        check_force(lambda: Liar("hinge", 20.0), integrators=[])


class Forgetful(la.Variational):
    """An integrator that forgets joint springs."""

    def start(self, model, state, dt):
        from dataclasses import replace

        return super().start(replace(model, tree=model.tree._replace(has_springs=0)), state, dt)


def test_an_integrator_that_forgets_a_force_is_caught():
    with pytest.raises(AssertionError, match="Spring with Forgetful.*have order"):
        check_force(lambda: la.Spring("hinge", 20.0), integrators=[Forgetful(tol=1e-12)])


def test_a_refusal_without_a_name_is_caught():
    class Rude(la.Variational):
        def start(self, model, state, dt):
            raise la.StateError("no")

    with pytest.raises(AssertionError, match="refused without a name"):
        check_force(lambda: la.Spring("hinge", 20.0), integrators=[Rude()])
