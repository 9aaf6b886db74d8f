"""What limits my time step?  A table a person can act on."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ..checks import instance, number, shown, time_step
from ..errors import LeastActionError, StateError
from ..integrators import Integrator, Trapezoid, Variational
from ..model import Coordinates, Model, takes_model
from ..state import State, checked_state
from .constants import Constants, certified_regular_step, paper_step
from .equation import StepEquation
from .kantorovich import Certificate, certified_step, certify
from .oscillation import stable_step
from .stepping import CertifiedStep

LONGEST_TRIED = 10.0  # s
_LEAST_FACTOR = 1.0001  # between one step that is tried and the next
MUCH_LONGER = 10.0  # than the certified step of the start: steps of a run with dt="certified" may be at most this


@dataclass
class Report:
    """Steps up to which something is known to hold at a state, s.  `print(report)` gives the table.

    >>> import leastaction as la
    >>> model = la.examples.double_pendulum().compile()
    >>> state = model.state({"upper": 1.0})
    >>> report = la.solvability.report(model, state, dt=1e-3)
    >>> report.dt
    0.001
    """

    model: Model
    dt: float
    certificate: Certificate | None  #: of the longest certified step of Trapezoid; None where there is none
    at_dt: Certificate | None  #: of the step dt
    paper: dict[str, tuple[float, Constants]] = field(default_factory=dict)  #: kind -> (41) and its constants; none for ball joints
    regular: float = np.nan  #: (32) with certified constants, as long as h |v| stays where they hold
    tried: float = np.nan  #: first step the integrator did not solve when it was tried
    integrator: Integrator = field(default_factory=Variational)
    stable: float = np.nan  #: h * omega = 2 of the fastest oscillation of the linearised system
    why_not: str = ""  #: why nothing could be certified

    @property
    def certified(self) -> float:
        """The longest certified step of Trapezoid, s."""
        return self.certificate.h if self.certificate else np.nan

    @property
    def limiting_joint(self) -> str:
        """The joint that limits the certified step."""
        if self.certificate is None:
            return ""
        return _joint(self.model, self.certificate.limiting)

    @property
    def verdict(self) -> str:
        """One sentence on dt."""
        if self.at_dt is not None and self.at_dt.solvable:
            text = f"dt = {self.dt:g} s is certified for Trapezoid: its equations have one solution near the last velocity, Newton finds it"
        elif np.isfinite(self.tried) and self.dt >= self.tried:
            text = f"dt = {self.dt:g} s is too long: {type(self.integrator).__name__} did not solve a step of {self.tried:.3g} s"
        else:
            text = f"dt = {self.dt:g} s is not certified; {type(self.integrator).__name__} solved every shorter step that was tried"
        if np.isfinite(self.stable) and self.dt >= self.stable:
            text += f".  It is beyond the linear stability limit {self.stable:.3g} s of the trapezoidal quadrature"
        return text

    def rows(self) -> list[tuple[str, str, str]]:
        """The table, its heading first: step, what it means, how it is known."""
        rows = [("step, s", "what it means", "how it is known")]
        if self.why_not:
            rows.append(("-", "Newton's method of Trapezoid converges", self.why_not))
        else:
            proof = f"certified, limited by joint {self.limiting_joint!r}"
            rows.append((_seconds(self.certified), "Newton's method of Trapezoid converges", proof))
            if self.paper:
                rows.append((_seconds(self.regular), "Jacobian of Trapezoid regular at this velocity, (32)", "certified constants"))
            else:
                rows.append(("-", "(32) and (41) of Kobilarov", "known for joints with plain coordinates only"))
            for kind, (h, c) in self.paper.items():
                rows.append((_seconds(h), "Newton's method converges, (41) of Kobilarov", f"{kind} constants on radius {c.radius:.2g}"))
        name = type(self.integrator).__name__
        rows.append((_seconds(self.tried), f"{name} solves every shorter step", "tried from this state, not proved"))
        rows.append((_seconds(self.stable), "trapezoidal quadrature stable, h omega < 2", "linearised at this configuration"))
        return rows

    def notes(self) -> list[str]:
        """What stands under the table: constants, and the verdict."""
        names = ("m1", "m2", "l0", "l1", "l2", "l3", "l4", "l5", "l6", "k1")
        constants = [f"{kind} constants: {', '.join(f'{n} {getattr(c, n):.3g}' for n in names)}" for kind, (_, c) in self.paper.items()]
        return [*constants, self.verdict + "."]

    def _repr_html_(self) -> str:
        from ..page import tables

        return tables.of_rows(f"steps of {self.model.name}", self.rows(), self.notes())

    def __str__(self) -> str:
        rows = self.rows()
        widths = [max(len(r[c]) for r in rows) for c in range(3)]
        lines = ["  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in rows]
        return "\n".join([*lines, *self.notes()])


@takes_model
def report(
    model: Model, state: State | None = None, dt: float = 1e-3, *, integrator: Integrator | None = None, tau: Coordinates = None
) -> Report:  # fmt: skip
    """Everything that is known about steps from `state` (the neutral one by default): certified, sampled, tried, stable.

    integrator   the one whose steps are tried, Variational() by default; what is certified is Trapezoid

    >>> import leastaction as la
    >>> model = la.examples.chain(2).compile()
    >>> la.solvability.report(model, model.state({"link1": 1.0}), dt=0.01).at_dt.solvable
    True
    """
    dt = time_step(dt)
    start = model.state() if state is None else checked_state(state, model)
    tried: Integrator = Variational() if integrator is None else instance(integrator, Integrator, "integrator", "give Variational(...)")
    limit = tried_limit(model, start, tried, tau)
    result = Report(model, dt, None, None, integrator=tried, tried=limit, stable=stable_step(model, start.q))
    try:
        equation = StepEquation(model, start, tau)
    except StateError as error:
        result.why_not = str(error)
        return result
    try:
        result.at_dt = certify(equation, dt)
        result.certificate = _certificate(equation)
    except StateError as error:
        result.why_not = str(error)
    if equation.tensors.plain:
        result.paper = {kind: paper_step(equation, kind) for kind in ("certified", "sampled")}
        result.regular = certified_regular_step(equation)
    return result


@takes_model
def certified(model: Model, state: State, tau: Coordinates = None) -> float:
    """The longest step from `state` that Newton's method of Trapezoid is certified to solve, s; infinite if nothing limits it.

    StateError with the reason if there is no certificate.

    >>> import leastaction as la
    >>> model = la.examples.double_pendulum().compile()
    >>> state = model.state({"upper": 1.0})
    >>> bool(la.solvability.certified(model, state) > 1e-2)  # s
    True
    """
    return _certificate(StepEquation(model, checked_state(state, model), tau)).h


def _certificate(equation: StepEquation) -> Certificate:
    """Of the longest certified step; StateError if not even the shortest one is certified."""
    found = certified_step(equation)
    if not found.solvable:
        j = found.limiting
        raise StateError(
            f"no step from this state can be certified, not even {found.h:g} s: the first correction of Newton's method, "
            f"{found.eta:.3g} J^(1/2), may be at most {found.largest_eta:.3g}; the joint {_joint(equation.model, j)!r} moves at "
            f"{equation.v0[j]:.3g} per second"
        )
    return found


def _joint(model: Model, j: int) -> str:
    """The joint that degree of freedom j belongs to."""
    return next(n for n in model.joint_names if model.v_slice(n).start <= j < model.v_slice(n).stop)


@takes_model
def certified_dt(model: Model, state: State, integrator: Integrator | None) -> tuple[CertifiedStep, float]:
    """The integrator of dt="certified", and the longest step it may make.

    That is half the linear stability limit at the start or in the neutral configuration, and not more than some times the step that is
    certified at the start.

    >>> import leastaction as la
    >>> model = la.examples.double_pendulum().compile()
    >>> state = model.state({"upper": 1.0})
    >>> integrator, dt = la.solvability.certified_dt(model, state, None)
    >>> type(integrator).__name__
    'CertifiedStep'
    """
    if integrator is None or isinstance(integrator, Trapezoid):
        integrator = CertifiedStep(integrator)
    if not isinstance(integrator, CertifiedStep):
        raise StateError(
            f'dt="certified" is known for Trapezoid() and CertifiedStep() only, not for {shown(integrator)}; leave the integrator out '
            "or give dt in s"
        )
    dt = min(MUCH_LONGER * certified(model, state), *(0.5 * stable_step(model, q) for q in (state.q, model.neutral())))
    if not np.isfinite(dt):
        raise StateError(
            'dt="certified": nothing limits the step of this model in this state; give the longest step you want in seconds, '
            "dt=0.01, with integrator=la.CertifiedStep()"
        )
    return integrator, float(dt)


@takes_model
def bound_in_words(model: Model, state: State, tau: Coordinates = None) -> str:
    """A sentence about how long a step from `state` may be.

    >>> import leastaction as la
    >>> model = la.examples.double_pendulum().compile()
    >>> state = model.state({"upper": 1.0})
    >>> print(la.solvability.bound_in_words(model, state))
    the bound certified for Trapezoid in this state is 0.122 s; see leastaction.solvability.report
    """
    state = checked_state(state, model)
    try:
        h = certified(model, state, tau)
    except LeastActionError:
        h = tried_limit(model, state, Variational(), tau)
        return f"from this state Variational solved steps up to {h:.3g} s when they were tried; see leastaction.solvability.report"
    return f"the bound certified for Trapezoid in this state is {h:.3g} s; see leastaction.solvability.report"


@takes_model
def tried_limit(model: Model, state: State, integrator: Integrator, tau: Coordinates = None, factor: float = 1.2) -> float:
    """First step of a geometric series up to 10 s that the integrator does not solve from `state`, s; infinite if there is none.

    >>> import leastaction as la
    >>> model = la.examples.double_pendulum().compile()
    >>> state = model.state({"upper": 1.0})
    >>> bool(la.solvability.tried_limit(model, state, la.Variational()) > 0.1)  # s
    True
    """
    forces, state = model.inputs(tau)[None], checked_state(state, model)
    instance(integrator, Integrator, "integrator", "give Variational(...)")
    if not number(factor, "factor", StateError) > _LEAST_FACTOR:
        raise StateError(f"factor = {shown(factor)}; steps grow by it, it needs a number > {_LEAST_FACTOR}")
    h = 1e-4
    while h < LONGEST_TRIED:
        stepper = integrator.start(model, state, h)
        if stepper.advance(1, forces, stepper.make_record(1, 1)).failure:
            return h
        h *= factor
    return np.inf


def _seconds(h: float) -> str:
    return "unlimited" if h == np.inf else f"{h:.3g}"
