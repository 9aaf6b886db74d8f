"""Rollout: what is kept of many simulations, and what follows from it."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..assembly.closing import ClosedEvaluator
from ..checks import same, shown
from ..dynamics import Evaluation
from ..errors import StateError
from ..integrators import Integrator
from ..integrators.watch import LimitWatch
from ..kernels.stepping.members import BEYOND_LIMIT, EVALUATIONS, KEPT, MADE, STATUS, Nodes
from ..model import Model
from ..simulate import simulate
from ..trajectory import Trajectory
from .asked import Asked

Array = NDArray[np.float64]

_ROWS_AT_ONCE = 4096  # nodes evaluated by a thread at a time


class Rollout:
    """Nodes of many members, (batch, T, ...); NaN after a member's end.  v, p, energy and momentum are computed when first asked for.

    >>> import leastaction as la
    >>> many = la.rollout(la.examples.double_pendulum().compile(), q={"upper": [0.1, 0.2, 0.3]}, dt=1e-2, steps=10)
    >>> many.q.shape, many.energy.shape
    ((3, 11, 2), (3, 11))
    """

    def __init__(
        self,
        asked: Asked,
        nodes: Nodes,
        violations: Array | None,
        errors: dict[int, str],
        threads: int,
        elapsed: float,
        lanes: int = 1,
        why_not_in_lanes: str = "",
    ):
        self._asked, self._nodes, self._violations = asked, nodes, violations
        self.errors: dict[int, str] = errors  #: by member, why it failed
        self.threads = threads
        self.elapsed = elapsed  #: wall time, s
        self.lanes = lanes  #: members that ran at once in a core
        self.why_not_in_lanes = why_not_in_lanes  #: if it is 1

    @property
    def model(self) -> Model:
        return self._asked.model

    @property
    def models(self) -> tuple[Model, ...]:
        """The model of every member, if they have parameters of their own."""
        return self._asked.models

    @property
    def integrator(self) -> Integrator:
        return self._asked.integrator

    @property
    def dt(self) -> Array:
        """(batch,) step of every member, s."""
        return self._asked.dt

    @property
    def steps(self) -> int:
        """Steps that were asked for."""
        return self._asked.steps

    @property
    def t(self) -> Array:
        """(batch, T) times, s."""
        return self._nodes.t

    @property
    def q(self) -> Array:
        """(batch, T, nq) coordinates."""
        return self._nodes.q

    @property
    def recorded(self) -> Array:
        """(batch, T, nv) what the integrator keeps beside q; see `Integrator.recording`."""
        return self._nodes.p

    @property
    def nodes(self) -> NDArray[np.int64]:
        """(batch,) how many of the T nodes a member has: fewer if it failed or stopped at a limit, and the last is where it ended."""
        return self._nodes.end[:, KEPT]

    @property
    def made(self) -> NDArray[np.int64]:
        """(batch,) steps made."""
        return self._nodes.end[:, MADE]

    @property
    def evaluations(self) -> NDArray[np.int64]:
        """(batch,) residual evaluations (or force evaluations) of all steps made."""
        return self._nodes.end[:, EVALUATIONS]

    @cached_property
    def failed(self) -> NDArray[np.bool_]:
        """(batch,) members with a step that was not solved; `errors` says why."""
        mask = np.zeros(len(self), dtype=bool)
        mask[list(self.errors)] = True
        return mask

    @cached_property
    def stopped(self) -> dict[int, str]:
        """By member, which joint went beyond its limit."""
        watch, found = LimitWatch(self.model), {}
        for k in np.flatnonzero(self._nodes.end[:, STATUS] == BEYOND_LIMIT).tolist():
            last = self.nodes[k] - 1
            found[k] = f"stopped at t = {self.t[k, last]:g} s: {watch.in_words(watch.beyond(self.q[k, last])[0], self.q[k, last])}"
        return found

    @property
    def constraint_error(self) -> Array:
        """(batch, T) largest violation of a constraint, m or rad."""
        return np.where(np.isnan(self.t), np.nan, 0.0) if self._violations is None else self._violations

    # ------------------------------------------------------------------------------------------------ what follows

    @cached_property
    def _evaluated(self) -> Evaluation:
        batch, rows, nv = self.recorded.shape
        out = Evaluation(*(np.full((batch, rows, size), np.nan) for size in (nv, nv, 3, 6)))

        def evaluate(members: NDArray[np.int64]) -> None:
            there = np.arange(rows) < self.nodes[members, None]
            k, row = members[np.nonzero(there)[0]], np.nonzero(there)[1]
            if len(k):
                what, half_step = self.integrator.recording(float(self.dt[members[0]]))
                model = self._asked.model_of(int(members[0]))
                node = ClosedEvaluator(model)(what, half_step, self.q[k, row], self.recorded[k, row], self.t[k, row])
                for target, source in zip(out, node, strict=True):
                    target[k, row] = source

        with ThreadPoolExecutor(self.threads) as pool:
            for done in list(pool.map(evaluate, self._alike())):
                assert done is None
        return out

    def _alike(self) -> Iterator[NDArray[np.int64]]:
        """Members that are evaluated together: with steps of one length, and singly where constraints depend on the start."""
        size = 1 if self.model.closures or self._asked.models else max(1, _ROWS_AT_ONCE // max(self.t.shape[1], 1))
        for length in np.unique(self.dt):
            members = np.flatnonzero(self.dt == length)
            for first in range(0, len(members), size):
                yield members[first : first + size]

    @property
    def v(self) -> Array:
        """(batch, T, nv) velocities M(q)^-1 p."""
        return self._evaluated.v

    @property
    def p(self) -> Array:
        """(batch, T, nv) momenta."""
        return self._evaluated.p

    @property
    def kinetic(self) -> Array:
        """(batch, T) kinetic energy, J."""
        return self._evaluated.energy[..., 0]

    @property
    def potential(self) -> Array:
        """(batch, T) gravitational and spring energy, J."""
        return self._evaluated.energy[..., 1] + self._evaluated.energy[..., 2] + self._fixed_potential

    @property
    def _fixed_potential(self) -> Array:
        """(batch, 1) or (1, 1), J."""
        return np.array([[model.fixed_potential] for model in self.models or (self.model,)])

    @property
    def energy(self) -> Array:
        """(batch, T) total energy H(q, p), J."""
        return self.kinetic + self.potential

    @property
    def momentum(self) -> Array:
        """(batch, T, 6) momentum of everything about the world origin: angular (kg m^2/s), linear (kg m/s), world axes."""
        return self._evaluated.momentum

    # ------------------------------------------------------------------------------------------------- single members

    def again(self, k: int) -> Trajectory:
        """Member k simulated once more, alone and with all its nodes: the same numbers (in lanes up to rounding), and everything that a
        run has besides."""
        if isinstance(k, (bool, np.bool_)) or not isinstance(k, (int, np.integer)) or not -len(self) <= k < len(self):
            raise StateError(f"member {shown(k)} does not exist; there are {len(self)}, the first is 0, the last {len(self) - 1} or -1")
        k = int(k) % len(self)
        asked, forces = self._asked, self._asked.forces(k)
        return simulate(
            asked.model_of(k), asked.start(k), dt=float(asked.dt[k]), steps=asked.steps, integrator=asked.integrator, guard=asked.guard,
            tau=forces[0] if len(forces) == 1 else forces, limits="ignore" if asked.watch is None else "stop",
        )  # fmt: skip

    def __getitem__(self, joint_name: str) -> Array:
        """(batch, T, ...) coordinates of one joint."""
        return self.q[:, :, self.model.q_slice(joint_name)]

    def __len__(self) -> int:
        return len(self.dt)

    def __eq__(self, other: object) -> bool:
        """Everything but the wall time and the threads."""
        if not isinstance(other, Rollout):
            return NotImplemented
        mine, theirs = ((r.model, r.models, r.integrator, r.dt, r.steps, tuple(r._nodes), r._violations, r.errors) for r in (self, other))
        return same(mine, theirs)

    def __hash__(self) -> int:
        return hash((self.model, self.steps, len(self)))

    def __repr__(self) -> str:
        failed = f", {len(self.errors)} failed" if self.errors else ""
        return f"<Rollout of {self.model.name!r}: {len(self)} members, {self.steps} steps{failed}>"

    def __str__(self) -> str:
        rows = self.facts()
        width = max(len(name) for name, _ in rows)
        return "\n".join(f"{name:<{width}}  {text}" for name, text in rows)

    def facts(self) -> list[tuple[str, str]]:
        """What `print` says: names and texts."""
        made, most = int(self.made.sum()), 3
        lengths = f"{self.dt.min():g} s" if self.dt.min() == self.dt.max() else f"{self.dt.min():g} s to {self.dt.max():g} s"
        rows: list[tuple[str, Any]] = [
            ("model", f"{self.model.name}, {len(self.model.bodies)} moving bodies, {self.model.nv} degrees of freedom"),
            ("integrator", repr(self.integrator)),
            ("members", f"{len(self)}, {self.steps} steps of {lengths} each, {self.t.shape[1]} nodes kept"),
        ]
        lanes = f" of {self.lanes} lanes" if self.lanes > 1 else ""
        if made and self.elapsed:
            speed = f"{made / self.elapsed:,.0f} steps per second"
            rows.append(("wall time", f"{self.elapsed:.3g} s with {self.threads} threads{lanes}, {speed}"))
        for what, found in (("failed", self.errors), ("stopped", self.stopped)):
            rows += [(what, f"member {k}: {found[k]}") for k in list(found)[:most]]
            if len(found) > most:
                rows.append((what, f"and {len(found) - most} more: see .{'errors' if what == 'failed' else what}"))
        return rows
