"""The variational integrator in maximal coordinates (Bruedigam and Manchester 2020): bodies and constraints instead of a tree."""

from __future__ import annotations

import numpy as np

from ..assembly.closing import check_start, reduce
from ..checks import number, whole_number
from ..compiling.decorators import Direct
from ..coordinates.elimination import ORDERS
from ..coordinates.network import build
from ..dynamics import explain_singular
from ..errors import StateError
from ..kernels.maximal import evaluate as maximal_evaluate
from ..kernels.maximal import layout as maximal_layout
from ..kernels.stepping import maximal as kernels
from ..kernels.tree import evaluate, layout
from ..lie.retractions import BODY_NAMES as RETRACTIONS
from ..model import Model
from ..state import State
from .base import Advance, Integrator

_FAST_TURN = 2.5  # rad per step, from which on half a turn is the likely reason for a step that fails


class Maximal(Integrator):
    """Every body with six degrees of freedom, joints and loops as constraints that hold at the end of every step.  Order 2.

    The same discrete bodies as `Variational`; loops, gears and velocity constraints need no special treatment, and the cost stays
    proportional to the number of bodies.

    retraction   "exp", "cayley" or "quaternion" (the paper)
    elimination  "fill-reducing", or "closures-last" (the paper: closures form a dense last block)
    tol          largest residual relative to the momenta of all bodies together, and largest constraint error relative to the
                 largest displacement of the step
    """

    order = 2
    symplectic = True

    def __init__(self, retraction: str = "exp", elimination: str = "fill-reducing", tol: float = 1e-10, max_evaluations: int = 50):
        self.retraction = _choice(retraction, RETRACTIONS, "retraction")
        self.elimination = _choice(elimination, ORDERS, "elimination")
        self.tol = number(tol, "tol", StateError)
        if not 0.0 < self.tol < 1.0:
            raise StateError(f"tol = {tol!r}; it needs a number between 0 and 1, for example 1e-10")
        self.max_evaluations = whole_number(max_evaluations, 2, "max_evaluations")

    def start(self, model: Model, state: State, dt: float) -> _Stepper:
        return _Stepper(self, model, state, dt)

    def recording(self, dt: float) -> tuple[int, float]:
        return evaluate.KICKED_MOMENTUM, 0.5 * dt

    def extras(self, model: Model) -> dict[str, tuple[int, ...]]:
        return {"constraint_error": ()}


class _Stepper:
    def __init__(self, integrator: Maximal, model: Model, state: State, dt: float):
        self.integrator, self.model, self.dt = integrator, model, dt
        check_start(model, state.q, state.v)
        reduction = reduce(model, state.q)
        self.dropped = reduction.dropped  #: names of redundant rows
        self.network = build(model, reduction.closures, integrator.elimination)
        self.flow = self.network.make_flow()
        self._run = Direct(kernels.run)
        net, flow = self.network.net, self.flow
        errors = np.zeros(len(net.row))
        work = model.make_work()
        maximal_evaluate.node(model.tree, work, net, flow, state.q, errors)
        self.error = float(np.abs(errors).max(initial=0.0))
        twists = np.zeros((len(model.bodies) + 1, 6))
        maximal_evaluate.twists_entry(model.tree, work, net, flow, state.q, state.v, twists)
        flow.d[: 6 * len(model.bodies)] = dt * twists[1:].ravel()
        flow.target[:] = _momenta(net.body, twists)
        self.memory = np.zeros(maximal_layout.MEMORY)
        self.memory[layout.RATE] = layout.ALWAYS_NEW
        self.memory[[layout.RATE_AGED, maximal_layout.RATE_EXACT]] = 0.01  # hopeful: tried on the second step
        self.memory[layout.TIME] = state.t
        self.extra = {"constraint_error": np.zeros(1)}  #: rows of the recording, see Integrator.extras

    def record(self, out_q, out_momentum) -> None:
        out_q[0] = self.flow.q
        maximal_evaluate.momenta_entry(self.model.tree, self.network.net, self.flow, out_momentum[0])
        self.extra["constraint_error"][:1] = self.error

    def advance(self, steps, tau, stride, out_q, out_momentum, evaluations) -> Advance:
        i = self.integrator
        errors = self.extra["constraint_error"]
        made, status = self._run(
            self.model.tree, self.network.net, self.flow, self.memory, self.dt, steps, tau, i.tol, RETRACTIONS[i.retraction],
            i.max_evaluations, stride, out_q, out_momentum, errors, evaluations,
        )  # fmt: skip
        if made:
            self.error = float(np.abs(self.flow.r[6 * len(self.model.bodies) :]).max(initial=0.0))
        residual = float(self.memory[layout.LAST_RESIDUAL])
        return Advance(made, "" if status == kernels.CONVERGED else self._explain(status, residual), residual)

    def _explain(self, status: int, residual: float) -> str:
        if self.model.has_symbolic_joints and (singular := explain_singular(self.model, self.flow.q, limit=100.0)):
            return singular
        remedies = ["a smaller dt"]
        if lost := self._lost_coordinates():
            return lost
        if status == kernels.NOT_FINITE:
            if len(self.model.tree.custom):
                remedies.append("a CustomForce that is finite there")
            return (
                f"the residual became infinite or NaN with {self.integrator!r}: the constraints are dependent in this configuration, "
                f"a body turns by half a turn per step, or a massless part is free to move; try {', '.join(remedies)}"
            )
        remedies.append(f"a larger tol (now {self.integrator.tol:g})")
        turn, body = self._fastest_turn()
        if turn > _FAST_TURN:
            return (
                f"body {body!r} turned by {turn:.3g} rad in the last step, and no step can tell half a turn from a turn the other way; "
                f"try a smaller dt"
            )
        scale = float(self.memory[layout.SCALE])
        errors = np.abs(self.flow.r[6 * len(self.model.bodies) :])
        return (
            f"the residual stays at {residual:.3g} ({residual / scale if scale else np.inf:.2g} of the momenta of all bodies), "
            f"the constraints at {errors.max(initial=0.0):.3g}, after {self.integrator.max_evaluations} evaluations at most; "
            f"try {', '.join(remedies)}"
        )

    def _lost_coordinates(self) -> str:
        """Which symbolic joint's coordinates could not be found in the last attempt; empty if there is none."""
        net, first = self.network.net, 6 * len(self.model.bodies)
        for con in net.symbolic:
            row = first + net.con[con, maximal_layout.FIRST_ROW]
            if np.any(np.isnan(self.flow.r[row : row + net.con[con, maximal_layout.ROWS]])):
                name = self.model.joint_names[con]
                q = np.array2string(self.flow.q[self.model.q_slice(name)], precision=6)
                return (
                    f"the coordinates of joint {name!r} after the step were not found from {q}: it turns too far in one step, or its "
                    "coordinates are nearly singular; try a smaller dt, or give the joint a second_chart"
                )
        return ""

    def _fastest_turn(self) -> tuple[float, str]:
        """Largest angle a body turned by in the last step, rad, and its name."""
        turns = self.flow.d_last[: 6 * len(self.model.bodies)].reshape(-1, 6)[:, :3]  # 2 tan(angle/2)
        angles = 2.0 * np.arctan(np.linalg.norm(turns, axis=1) / 2.0)
        fastest = int(np.argmax(angles))
        return float(angles[fastest]), self.model.bodies[fastest].name


def _momenta(body, twists):
    """(n+1, 6) momenta of bodies about their centres of mass."""
    out = np.zeros_like(twists)
    for i in range(1, len(out)):
        inertia = np.zeros((3, 3))
        inertia[np.triu_indices(3)] = body[i, layout.INERTIA : layout.INERTIA + 6]
        inertia += np.triu(inertia, 1).T
        out[i, :3] = inertia @ twists[i, :3]
        out[i, 3:] = body[i, layout.MASS] * twists[i, 3:]
    return out


def _choice(value: str, known, what: str) -> str:
    if not isinstance(value, str) or value not in known:
        raise StateError(f"{what} = {value!r}; it is one of {', '.join(repr(k) for k in known)}")
    return value
