"""The laws every constraint obeys, with every integrator.

    values      h(q) = 0 is found by `model.assemble`, from a start and from beside it
    Jacobian    Dh is the derivative of h along increments of the joints, the second rates are that of Dh v; of rows on velocities that of
                A v - b
    forward     `dynamics.forward` pushes along Dh' only, so that the second rate vanishes
    order       every integrator converges to the solution of the continuous equations with its order, or refuses by name
    kept        integrators that solve for the constraints keep them within rounding, and keep the energy, for 200 steps; rows on velocities
                at every node too
    impulse     what the momenta of the independent discrete action jump by at a node lies in the range of Dh'
    agreement   Variational and Maximal discretise one action: the same constraint makes the same motion
    redundancy  the same constraint twice changes nothing and is named
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import dynamics
from ..assembly.equations import TreeClosing
from ..constraints import Constraint
from ..constraints.base import COORDINATES, SPEEDS
from ..coordinates import ties
from ..errors import LeastActionError, MechanismError
from ..integrators import Integrator, Maximal, Variational
from ..joints import Cylindrical, Free, Joint, Prismatic, Revolute, Universal
from ..linearization.constraint_derivatives import Curvature
from ..mechanism import Mechanism
from ..model import Model
from ..pose import Pose
from ..reference.constrained import AccelerationConstraints
from ..simulate import simulate
from ..state import State
from ..trajectory import Trajectory
from .action import arriving_momentum, leaving_momentum
from .every_integrator import demand_a_name, demand_order, every_integrator, in_short
from .force_laws import slope
from .integrator_laws import continuous_solution
from .kinematics import Kinematics
from .matrices import INVERSE_RETRACTIONS

Array = NDArray[np.float64]

_DURATION = 0.12  # s, of the runs whose order is fitted
_STEPS = (6, 12, 24)
_ROUNDING = 2e-9  # errors of q below it say nothing about an order: the independent reference is no better
_LONG, _DT = 200, 1e-3  # steps and their length where constraints and energy are watched
_CLOSED = 1e-9  # m or rad
_SWING = 0.02  # of the kinetic energy: what the energy may swing by with that step


def constraint_bench(joint: Joint | None = None, groups: bool = False) -> Mechanism:
    """What constraints are put on: an arm of "hinge" (revolute), "carrier" (`joint`, universal if left out), "slide" (prismatic) and
    "wrist" (universal) with the frame "tip" at its end, the frame "anchor" on the world where the arm can reach it, and "nut", a
    cylindrical joint on the world.  With groups=True also "puck", a free body.
    """
    mech = Mechanism(name="bench")
    rod: dict[str, Any] = {"mass": 1.0, "com": (0.05, 0.02, -0.2), "inertia": (0.03, 0.04, 0.02)}
    down = Pose(xyz=(0.0, 0.0, -0.4))
    mech.add_body("hinge", joint=Revolute((0, 1, 0)), **rod)
    mech.add_body("carrier", "hinge", joint or Universal((1, 0, 0), (0, 1, 0)), down, **rod)
    mech.add_body("slide", "carrier", Prismatic((0, 1, 1)), down, **rod)
    mech.add_body("wrist", "slide", Universal((1, 0, 0), (0, 0, 1)), down, **rod)
    mech.add_frame("tip", "wrist", Pose(xyz=(0.1, 0.1, -0.3)))
    mech.add_frame("anchor", placement=Pose(xyz=(0.35, 0.25, -1.35)))
    mech.add_body("nut", joint=Cylindrical((0, 1, 0)), placement=Pose(xyz=(-1, 0, 0)), **rod)
    if groups:
        mech.add_body("puck", joint=Free(), placement=Pose(xyz=(1, 0, 0)), mass=1.0, inertia=(0.03, 0.05, 0.03))
    return mech


@dataclass
class ConstraintReport:
    """What `check_constraint` measured."""

    on_positions: bool  #: is it a function of joint coordinates (and time), not of velocities?
    moving: bool  #: does it depend on time?
    orders: dict[str, float] = field(default_factory=dict)  #: fitted, by integrator; infinite where errors are rounding
    errors: dict[str, float] = field(default_factory=dict)  #: largest violation in the long run, by integrator
    refused: dict[str, str] = field(default_factory=dict)  #: messages, by integrator


def check_constraint(
    make: Callable[[], Constraint],
    bench: Callable[[], Mechanism] = constraint_bench,
    integrators: Sequence[Integrator] | None = None,
    *,
    seed: int = 0,
) -> ConstraintReport:
    """Check a constraint against the laws above; AssertionError names the broken one.

    make         function () -> constraint between names of the bench
    bench        function () -> mechanism without it, which can move when it is added; `constraint_bench` describes the one there is
    integrators  what to run it with; every integrator of the package if left out
    """
    case = _Case(bench, make, np.random.default_rng(seed))
    case.law_values()
    case.law_derivatives()
    case.law_acceleration()
    report = ConstraintReport(case.on_positions, case.moving)
    truth = case.truth()
    for integrator in integrators if integrators is not None else every_integrator():
        name = in_short(integrator)
        try:
            runs = [simulate(case.model, case.start, dt=_DURATION / n, steps=n, integrator=integrator) for n in _STEPS]
            long = simulate(case.model, case.start, dt=_DT, steps=_LONG, integrator=integrator)
        except LeastActionError as error:
            names = [type(case.constraint).__name__, *(c.name for c in case.model.closures)]
            report.refused[name] = demand_a_name(error, case.mechanism, names, f"{case.name} with {name}")
            continue
        report.orders[name] = case.law_order(integrator, runs, truth)
        report.errors[name] = case.law_kept(integrator, long)
        if isinstance(integrator, (Variational, Maximal)) and integrator.retraction in INVERSE_RETRACTIONS:
            case.law_impulse(integrator, long)
    assert report.orders, f"{case.name}: every integrator refuses it: {report.refused}"
    case.law_agreement()
    case.law_redundancy()
    return report


class _Case:
    """A constraint on its bench, in a configuration that obeys it."""

    def __init__(self, bench: Callable[[], Mechanism], make: Callable[[], Constraint], rng: np.random.Generator):
        self.rng, self.bench, self.make = rng, bench, make
        self.mechanism = bench()
        self.constraint = self.mechanism.add_constraint(make())
        self.model = self.mechanism.compile()
        self.name = ", ".join(c.name for c in self.model.closures)
        self.kin = Kinematics(self.mechanism)
        self.on_positions = ties.on_positions(self.model.closures)
        self.between_bodies = all(c.kind not in (COORDINATES, SPEEDS) for c in self.model.closures)  # or between coordinates and time
        self.slides = ties.make_ties(self.model).only_speed > 0  # rows that restrict velocities only
        self.closing = TreeClosing(self.model)
        q = self.model.assemble(self.beside(self.model.neutral(), 0.2))
        self.moving = any(ties.evaluate(self.model, ties.make_ties(self.model), q, t).rate.any() for t in (0.0, 0.7))
        self.start: State = self.model.state(q, self.model.project_velocity(q, 0.5 * rng.normal(size=self.model.nv)))

    def beside(self, q: Array, size: float) -> Array:
        return self.kin.advanced(q, size * self.rng.normal(size=self.model.nv))

    def violation(self, q: Array, t: float) -> float:
        """Largest violation, of rows on positions."""
        return float(np.abs(ties.values(self.model, q, t)).max())

    def slip(self, q: Array, v: Array, t: float) -> float:
        """Largest violation of rows on velocities, m/s or rad/s."""
        found = ties.evaluate(self.model, ties.make_ties(self.model), q, t)
        return float(np.abs((found.J0 @ v + found.rate)[self.slides]).max(initial=0.0))

    def law_values(self) -> None:
        for q in (self.start.q, self.model.assemble(self.beside(self.start.q, 0.02))):
            off = self.violation(q, 0.0)
            assert off < 1e-10, f"{self.name}: model.assemble leaves {off:.3g}"
        rates = self.closing.rates(self.start.q, self.start.v)
        assert np.abs(rates).max() < 1e-9, f"{self.name}: model.project_velocity leaves the rate {np.abs(rates).max():.3g}"

    def law_derivatives(self) -> None:
        """At a configuration off the constraint too: derivatives are not only right where h = 0."""
        t, nv = 0.4, self.model.nv
        for q in (self.start.q, self.beside(self.start.q, 0.05)):
            J, v = ties.jacobian(self.model, q, t), self.rng.normal(size=nv)

            def value(d: Array, q: Array = q) -> Array:
                return ties.values(self.model, self.kin.advanced(q, d), t)

            def rate(s: float, q: Array = q, v: Array = v) -> Array:
                """dh/dt a time s later, at the velocity v."""
                found = ties.evaluate(self.model, ties.make_ties(self.model), self.kin.advanced(q, s * v), t + s)
                return found.J0 @ v + found.rate

            wanted = np.array([slope(_along(value, u), 1e-2) for u in np.eye(nv)]).T
            off, size = float(np.abs((J - wanted)[~self.slides]).max(initial=0.0)), max(1.0, float(np.abs(J).max()))
            assert off < 1e-8 * size, f"{self.name}: its Jacobian differs from the derivative of its values by {off:.3g}"
            rates = Curvature(self.model, ties.make_ties(self.model), q, t).second_rates(v)
            off, size = float(np.abs(rates - slope(rate, 1e-2 / np.abs(v).max())).max()), size * max(1.0, float(v @ v))
            assert off < 1e-7 * size, f"{self.name}: its second rates differ from the derivative of the first by {off:.3g}"

    def law_acceleration(self) -> None:
        """M (a - a_free) lies in the range of Dh', and Dh a makes up for the second rates."""
        q, v, t = self.start.q, self.start.v, 0.0
        free = self.bench().compile()
        a = dynamics.forward(self.model, q, v, None, t)
        push = dynamics.mass_matrix(self.model, q) @ (a - dynamics.forward(free, q, v, None, t))
        J = ties.jacobian(self.model, q, t)
        left = push - J.T @ np.linalg.lstsq(J.T, push, rcond=1e-9)[0]
        off = float(np.abs(left).max())
        assert off < 1e-8 * float(np.abs(push).max()), f"{self.name}: la.dynamics.forward pushes by {off:.3g} outside the range of Dh'"
        rest = J @ a + Curvature(self.model, ties.make_ties(self.model), q, t).second_rates(v)
        off, size = float(np.abs(rest).max()), max(1.0, float(np.abs(J @ a).max()))
        assert off < 1e-8 * size, f"{self.name}: with the accelerations of la.dynamics.forward its second rate is {off:.3g}"

    def truth(self) -> Callable[[float], Array]:
        """t -> q of the continuous equations."""
        start, end = self.start, float(_DURATION)
        solution = continuous_solution(self.model, self.kin, start, end, steps=60)
        if self.between_bodies:
            dense = self.dense_solution(end)
            off = float(np.abs(self.kin.increment(dense, solution(end))).max())
            assert off < _ROUNDING, f"{self.name}: la.dynamics.forward and accelerations solved for independently differ by {off:.3g}"
        return solution

    def dense_solution(self, end: float) -> Array:
        """q at the time `end` with accelerations that are solved for independently."""
        return AccelerationConstraints(self.model, self.start.q).rk4(self.start.q, self.start.v, end / 60, 60)[0]

    def law_order(self, integrator: Integrator, runs: list[Trajectory], truth: Callable[[float], Array]) -> float:
        errors = [float(np.abs(self.kin.increment(truth(float(run.t[-1])), run.q[-1])).max()) for run in runs]
        return demand_order(self.name, integrator, errors, _STEPS, _ROUNDING)

    def law_kept(self, integrator: Integrator, run: Trajectory) -> float:
        """Returns the largest violation of a row on positions."""
        what = f"{self.name} with {in_short(integrator)}"
        found = np.array([self.violation(q, float(t)) for t, q in zip(run.t, run.q, strict=True)])
        slips = np.array([self.slip(q, v, float(t)) for t, q, v in zip(run.t, run.q, run.v, strict=True)])
        if integrator.symplectic:
            worst = max(float(run.constraint_error.max()), float(found.max()), float(slips.max()))
            assert worst < _CLOSED, f"{what}: violated by {worst:.3g} within {_LONG} steps"
            swing = float(np.abs(run.energy - run.energy[0]).max())
            allowed = _SWING * float(run.kinetic.max())
            assert self.moving or swing < allowed, f"{what}: the energy swings by {swing:.3g} J, more than {allowed:.3g} J"
        else:  # kept on the level of accelerations: what is lost is reported
            off = float(np.abs(np.maximum(found, slips) - run.constraint_error).max())
            assert off < 1e-9, f"{what}: reported violations are wrong by {off:.3g}"
        return float(found.max())

    def law_impulse(self, integrator: Variational | Maximal, run: Trajectory) -> None:
        how = {"retraction": integrator.retraction, "quadrature": getattr(integrator, "quadrature", "trapezoid")}
        for k in (1, 7):
            t = float(run.t[k])
            jump = leaving_momentum(self.kin, run.q[k], run.q[k + 1], _DT, t=t, **how)
            jump = jump - arriving_momentum(self.kin, run.q[k - 1], run.q[k], _DT, t=t - _DT, **how)
            directions = ties.jacobian(self.model, run.q[k], t).T
            left = jump - directions @ np.linalg.lstsq(directions, jump, rcond=1e-9)[0]
            off, size = float(np.abs(left).max()), float(np.abs(run.p).max())
            assert off < 1e-8 * size, (
                f"{self.name} with {in_short(integrator)}: at node {k} the momenta jump by {off:.3g} of {size:.3g} outside the range of Dh'"
            )

    def law_agreement(self) -> None:
        runs = [simulate(self.model, self.start, dt=_DT, steps=50, integrator=i) for i in (Variational(tol=1e-12), Maximal(tol=1e-12))]
        off = float(np.abs(self.kin.increment(runs[0].q, runs[1].q)).max())
        assert off < 1e-7, f"{self.name}: Variational and Maximal differ by {off:.3g} after 50 steps"

    def law_redundancy(self) -> None:
        integrator = Variational(tol=1e-12)
        doubled = self.bench()
        for _ in range(2):
            doubled.add_constraint(self.make())
        model: Model = doubled.compile()
        try:
            run = simulate(model, model.state(self.start.q, self.start.v), dt=_DT, steps=20, integrator=integrator)
        except MechanismError as error:  # it cannot be reduced: named as well
            assert self.model.closures[0].name in str(error), f"{self.name} twice is refused without its name: {error}"
            return
        named = [name for name in run.redundant if any(name.startswith(c.name) for c in model.closures)]
        assert named, f"{self.name}: given twice, no row is named as redundant (run.redundant = {run.redundant})"
        single = simulate(self.model, self.start, dt=_DT, steps=20, integrator=integrator)
        off = float(np.abs(self.kin.increment(single.q, run.q)).max())
        assert off < 1e-8, f"{self.name}: given twice, it moves the mechanism by {off:.3g} away from where it is given once"


def _along(function: Callable[[Array], Array], direction: Array) -> Callable[[float], Array]:
    return lambda s: function(s * direction)
