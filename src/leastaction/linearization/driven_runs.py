"""The steps of a run of a mechanism with servos or dry friction, linearised around the nodes that were recorded.

The momenta of a node contain half of an impulse that belongs to the step before.  Those without it are what arrives there from the node
before; what is left to find out is whether a simulation began at the node, where the impulse stands for half a step only.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from ..errors import StateError
from ..state import State
from ..trajectory import Trajectory
from .implicit_steps import Implicit, Step, refuse_new_charts
from .result import Linearization

Array = NDArray[np.float64]

_SAME = 1e-6  # of dt: what the times of two nodes may be off if there is a step between them


def driven_steps(run: Trajectory, integrator: Implicit, nodes: NDArray[np.int64], rows: Array, tolerance: float) -> list[Linearization]:
    """The steps from these nodes; rows: of inputs, one or one per step; tolerance: relative residual of a step that is taken as it is."""
    if run.every != 1:
        raise StateError(
            f"the run of {run.model.name!r} has one node in {run.every}, and what a servo or dry friction did to the momenta of a node "
            "follows from the node before; record every node, with record_every=1"
        )
    refuse_new_charts(run.model, run.q[nodes], run.q[nodes + 1], nodes)
    return [_Node(run, integrator, int(k), rows).step(tolerance).linearization() for k in nodes]


class _Node:
    """A node of a run and the step from there."""

    def __init__(self, run: Trajectory, integrator: Implicit, k: int, rows: Array):
        self.run, self.integrator, self.k, self.rows = run, integrator, k, rows

    def step(self, tolerance: float) -> Step:
        """As it was recorded, or solved anew if the next node is not where it leads: an event was there."""
        starts = self._starts()
        likely = next(starts)
        for start, kick in chain([likely], starts):
            step = self._between(self.k, start, kick)
            if step.left() < tolerance:
                return step
        start, kick = likely
        return Step(self.run.model, self.integrator, start, self.run.dt, self._row(self.k), kick).polish()

    def _starts(self) -> Iterator[tuple[State, float]]:
        """States without the half impulse, and the time the impulse of the step stands for: what is most likely first."""
        run, k = self.run, self.k
        fresh = self._state(k, run.p[k]), 0.5 * run.dt
        if k > 0 and abs(run.t[k] - run.t[k - 1] - run.dt) < _SAME * run.dt:
            yield self._state(k, self._between(k - 1, self._state(k - 1, run.p[k - 1]), run.dt).arrives()), run.dt
            yield fresh
        elif k > 0 or not self._goes_on():
            yield fresh
        if k == 0 and not self._begins():
            yield self._state(0, self._leaves()), run.dt

    def _begins(self) -> bool:
        """Is it known that the run began from its first node?"""
        known = self.run.continuation
        return known is not None and known.begun.t == self.run.t[0]

    def _goes_on(self) -> bool:
        """Is it known that it went on from an earlier one?"""
        known = self.run.continuation
        return known is not None and known.begun.t < self.run.t[0]

    def _leaves(self) -> Array:
        """Momenta that the first step of a run starts with, which went on from one that is not known."""
        step = self._between(0, self._state(0, np.zeros(self.run.model.nv)), self.run.dt)
        mode = step.mode()
        if step.ties is not None and mode.sticks.any():
            raise StateError(
                f"the run of {self.run.model.name!r} goes on from another one, so it does not know what its first node had of the force "
                "that holds a joint of a loop; linearise from the next one, nodes=slice(1, None)"
            )
        return step.unbalanced(mode)

    def _between(self, k: int, start: State, kick: float) -> Step:
        """The recorded step from node k."""
        return Step(self.run.model, self.integrator, start, self.run.dt, self._row(k), kick, self.run.q[k + 1])

    def _state(self, k: int, p: Array) -> State:
        run = self.run
        return State.with_velocity(run.model, float(run.t[k]), run.q[k], p, run.v[k])

    def _row(self, k: int) -> Array:
        return self.rows[k if len(self.rows) > 1 else 0]
