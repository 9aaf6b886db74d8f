"""The variational integrator in maximal coordinates (Bruedigam and Manchester 2020): bodies and constraints instead of a tree."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..assembly.closing import check_start, reduce
from ..coordinates.elimination import ORDERS
from ..coordinates.network import build
from ..dynamics import explain_singular
from ..kernels.maximal import evaluate as maximal_evaluate
from ..kernels.maximal import layout as maximal_layout
from ..kernels.solving.memory import SCALE, TIME, make_memory
from ..kernels.stepping import maximal as kernels
from ..kernels.stepping import maximal_composition as composition
from ..kernels.stepping.loop import NOT_FINITE
from ..kernels.stepping.record import Record, put_node
from ..kernels.stepping.stages import make_course
from ..kernels.tree import layout
from ..kernels.tree.layout import QUADRATURES
from ..lie.retractions import BODY_NAMES as RETRACTIONS
from ..model import Model
from ..state import State
from .base import (
    KICKED_MOMENTUM,
    CompiledStepper,
    InStages,
    Integrator,
    checked_choice,
    checked_evaluations,
    checked_tolerance,
    remedies_for_steps,
)

_FAST_TURN = 2.5  # rad per step, from which on half a turn is the likely reason for a step that fails


class Maximal(Integrator):
    """Every body with six degrees of freedom, joints and loops as constraints that hold at the end of every step.  Order 2.

    The same discrete bodies as `Variational`; loops, gears and velocity constraints need no special treatment, and the cost stays
    proportional to the number of bodies.

    retraction   "exp", "cayley" or "quaternion" (the paper)
    quadrature   "trapezoid": potentials at both ends of the step; "midpoint": half way in the joints' coordinates, stable for stiff
                 springs and hanging chains at large steps, at a higher cost
    elimination  "fill-reducing", or "closures-last" (the paper: closures form a dense last block)
    tol          largest residual relative to the momenta of all bodies together, and largest constraint error relative to the
                 largest displacement of the step

    >>> import leastaction as la
    >>> model = la.examples.double_pendulum().compile()
    >>> run = la.simulate(model, dt=1e-2, duration=5.0, q={"upper": 1.0}, integrator=la.Maximal())
    >>> bool(abs(run.energy - run.energy[0]).max() < 1e-2)  # J
    True
    """

    order = 2
    symplectic = True
    linearisable = True
    self_adjoint = True
    in_the_world = True

    def __init__(
        self,
        retraction: str = "exp",
        elimination: str = "fill-reducing",
        tol: float = 1e-10,
        max_evaluations: int = 50,
        quadrature: str = "trapezoid",
    ):
        self.retraction = checked_choice(retraction, RETRACTIONS, "retraction")
        self.quadrature = checked_choice(quadrature, QUADRATURES, "quadrature")
        self.elimination = checked_choice(elimination, ORDERS, "elimination")
        self.tol = checked_tolerance(tol)
        self.max_evaluations = checked_evaluations(max_evaluations)

    def start(self, model: Model, state: State, dt: float) -> MaximalStepper:
        self.refuse_overheld(model, state)
        return MaximalStepper(self, model, state, dt)

    @property
    def has_composed_code(self) -> bool:
        return True

    def start_composed(self, model: Model, state: State, dt: float, gammas: NDArray[np.float64]) -> ComposedMaximalStepper:
        return ComposedMaximalStepper(self, model, state, dt, gammas)

    def longest_turn(self, model: Model) -> float:
        return np.pi if self.retraction == "exp" else 1.0  # where cayley is 20 % too slow

    def recording(self, dt: float) -> tuple[int, float]:
        return KICKED_MOMENTUM, 0.5 * dt if self.quadrature == "trapezoid" else 0.0

    def numbers(self, dt: float) -> kernels.Options:
        """The options as the kernels take them."""
        return kernels.Options(dt, self.tol, RETRACTIONS[self.retraction], self.max_evaluations)


class MaximalStepper(CompiledStepper):
    integrator: Maximal
    keeps_constraints = True

    def __init__(self, integrator: Maximal, model: Model, state: State, dt: float):
        super().__init__(integrator, model, dt)
        check_start(model, state.q, state.v, state.t)
        reduction = reduce(model, state.q, state.t)
        self.redundant = reduction.dropped
        self.network = build(
            model, reduction.closures, integrator.elimination, rough=True, middle=integrator.quadrature == "midpoint"
        )
        self.flow, self.memory = self.network.make_flow(), make_memory(state.t)
        self.still = self.flow._replace(half=None)  # at a node: needs no machine code of its own for what acts half way
        rubs = 0 if self.flow.rough is None else len(self.flow.rough.on)
        self.multipliers = len(self.network.net.row) - rubs  # dry friction is no constraint
        self.work = model.make_work()
        self.restart(state)
        self.set_up()

    def set_up(self) -> None:
        """The arrays and the compiled loop."""
        numbers = self.integrator.numbers(self.dt)
        self.arrays = kernels.Arrays(self.model.tree, self.network.net, self.flow, self.memory, np.zeros(2), numbers)
        self.compile(kernels.run)

    def restart(self, state: State) -> None:
        """Go on from another state, with the same rows of the constraints."""
        tree, net, flow, n = self.model.tree, self.network.net, self.still, len(self.model.bodies)
        self.memory[:] = make_memory(state.t)
        flow.time[0] = state.t
        maximal_evaluate.node(tree, self.work, net, flow, state.q, flow.off)
        twists = np.zeros((n + 1, 6))
        maximal_evaluate.twists_entry(tree, self.work, net, flow, state.q, state.v, twists)
        flow.d[: 6 * n] = self.dt * twists[1:].ravel()
        flow.target[:] = _momenta(net.body, twists)
        if tree.has_armature:
            maximal_evaluate.add_rotors(tree, net, flow, state.v)

    @property
    def joint_rows(self) -> int:
        """Rows of the joints of the tree, which come before those of the constraints."""
        return sum(self.network.graph.rows[: len(self.model.bodies)])

    @property
    def closure_rows(self) -> int:
        """Rows of the constraints that are kept."""
        return self.multipliers - self.joint_rows

    @property
    def closure_impulses(self) -> NDArray[np.float64]:
        """(closure_rows,) of the last step."""
        first = 6 * len(self.model.bodies)
        return self.flow.d[first + self.joint_rows : first + self.multipliers]

    def law_wrenches(self, start: State) -> NDArray[np.float64]:
        """(n+1, 6) what laws on bodies did at the start of the step just made from there, body axes at their origins.

        Goes back to that start, so that only `restart` leads on.
        """
        tree, net, flow, d = self.model.tree, self.network.net, self.flow, self.flow.d.copy()
        flow.time[0] = start.t
        maximal_evaluate.node(tree, self.work, net, self.still, start.q, flow.off)
        flow.d[:] = d
        maximal_evaluate.residual_entry(tree, net, flow, self.dt, start.t, RETRACTIONS[self.integrator.retraction])
        return flow.laws.wrench

    def write(self, record: Record) -> None:
        momenta = np.empty(self.model.nv)
        maximal_evaluate.momenta_entry(self.model.tree, self.network.net, self.still, momenta)
        error = float(np.abs(self.flow.off).max(initial=0.0))
        first = 6 * len(self.model.bodies)
        put_node(record, float(self.memory[TIME]), self.flow.q, momenta, error, self.flow.d[first : first + self.multipliers])

    def explain(self, status: int, residual: float) -> str:
        if self.model.has_symbolic_joints and (singular := explain_singular(self.model, self.flow.q, limit=100.0)):
            return singular
        remedies = remedies_for_steps(self.integrator.quadrature)
        if lost := self._lost_coordinates():
            return lost
        if status == NOT_FINITE:
            if self.model.calls_user_functions:
                remedies.append("forces of your own (CustomForce, laws on bodies) that are finite there")
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
        scale = float(self.memory[SCALE])
        rows = 6 * len(self.model.bodies)
        errors = np.abs(self.flow.r[rows : rows + self.multipliers])
        return (
            f"the residual stays at {residual:.3g} ({residual / scale if scale else np.inf:.2g} of the momenta of all bodies), "
            f"the constraints at {errors.max(initial=0.0):.3g}, after {self.integrator.max_evaluations} evaluations at most; "
            f"try {', '.join(remedies)}"
        )

    def _lost_coordinates(self) -> str:
        """Which symbolic joint's coordinates could not be found in the last attempt; empty if there is none."""
        net, first = self.network.net, 6 * len(self.model.bodies)
        for con in net.special.symbolic if net.special is not None else ():
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


class ComposedMaximalStepper(InStages, MaximalStepper):
    def set_up(self) -> None:
        course = make_course(self.gammas, float(self.memory[TIME]), 6 * len(self.model.bodies), self.multipliers)
        course.d[:] = np.outer(self.gammas, self.flow.d)
        self.memory = course.memory[0]
        stages = composition.make_stages(course, self.flow)
        numbers = self.integrator.numbers(self.dt)
        self.arrays = composition.Composed(self.model.tree, self.network.net, self.flow, stages, np.zeros(2), numbers)
        self.compile(composition.run)


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
