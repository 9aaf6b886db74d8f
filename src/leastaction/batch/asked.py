"""What is asked of a batch, checked: starts, joint forces and steps of all members as arrays."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..assembly.closing import check_start
from ..checks import numbers, shown
from ..dynamics import Evaluator, explain_singular
from ..errors import SingularMassError, StateError
from ..integrators.base import VELOCITY, Integrator, Starts
from ..integrators.watch import LimitWatch
from ..model import Coordinates, Model
from ..state import State, checked_state

Array = NDArray[np.float64]


class Asked(NamedTuple):
    """A batch, before it is run."""

    model: Model
    integrator: Integrator
    starts: Starts
    dt: Array  #: (batch,) s
    tau: Array  #: (1 or batch, 1 or steps, nv)
    steps: int
    every: int  #: after how many steps a node is kept
    with_first: bool  #: is the start kept?
    watch: LimitWatch | None  #: limits at which a member stops
    guard: bool
    models: tuple[Model, ...] = ()  #: of every member, if they have parameters of their own

    def model_of(self, k: int) -> Model:
        return self.models[min(k, len(self.models) - 1)] if self.models else self.model

    @property
    def rows(self) -> int:
        """Nodes that are kept of a member, at most."""
        return 1 if not self.with_first else 1 + -(-self.steps // self.every)

    def start(self, k: int) -> State:
        """Of member k."""
        return State.with_velocity(self.model_of(k), float(self.starts.t[k]), self.starts.q[k], self.starts.p[k], self.starts.v[k])

    def forces(self, k: int) -> Array:
        """(1 or steps, nv) joint forces of member k."""
        return self.tau[min(k, len(self.tau) - 1)]


def collect_starts(model: Model, states: Iterable[State] | None, q: Coordinates, v: Coordinates) -> Starts:
    """One row, or one for every member, of each of q, p, v and t."""
    if states is not None:
        if q is not None or v is not None:
            raise StateError("give states, or q and v, not both")
        if isinstance(states, State) or not isinstance(states, Iterable):
            raise StateError(f"states = {shown(states)} is not a list of states; give for example [model.state(q=...), ...]")
        found = []
        for k, state in enumerate(states):
            try:
                found.append(checked_state(state, model))
            except StateError as error:
                raise StateError(f"states[{k}]: {error}") from None
        if not found:
            raise StateError("states is empty; a batch has at least one member")
        starts = Starts(*(np.array([getattr(s, name) for s in found]) for name in ("q", "p", "v", "t")))
        for name in ("q", "p"):
            _check_finite(getattr(starts, name), f"{name} of states")
        return starts
    coordinates = _rows(model, q, model.neutral(), model.q_slice, "q")
    velocities = _rows(model, v, np.zeros(model.nv), model.v_slice, "v")
    model.normalise_quaternions(coordinates, "member")
    return Starts(coordinates, np.zeros((1, model.nv)), velocities, np.zeros(1))


def with_momenta(model: Model, models: tuple[Model, ...], starts: Starts) -> Starts:
    """Starts at rest or with the momenta of their velocities, as `model.state` has them."""
    p, moving = np.zeros_like(starts.v), np.flatnonzero(starts.v.any(axis=1))
    q = starts.q[moving]
    model.normalise_quaternions(q)  # once more, as `model.state` does
    if models:
        for k, row in zip(moving.tolist(), q, strict=True):
            p[k] = Evaluator(models[min(k, len(models) - 1)])(VELOCITY, 0.0, row[None], starts.v[k : k + 1]).p[0]
    elif len(moving):
        p[moving] = Evaluator(model)(VELOCITY, 0.0, q, starts.v[moving]).p
    return starts._replace(p=p)


def _rows(model: Model, value: Coordinates, base: Array, where, what: str) -> Array:
    """(1 or batch, size) from an array, from {joint: values}, or the base alone."""
    if value is None:
        return base[None]
    if isinstance(value, Mapping):
        parts = {joint: _columns(values, base[where(joint)].size, f"{what}[{joint!r}]") for joint, values in value.items()}
        count = agreed({f"{what}[{joint!r}]": len(part) for joint, part in parts.items()})
        rows = np.tile(base, (count, 1))
        for joint, part in parts.items():
            rows[:, where(joint)] = part
        return rows
    rows = numbers(value, what, StateError, finite=False)
    if rows.ndim == 1 and rows.shape == base.shape:
        rows = rows[None]
    if rows.ndim != 2 or rows.shape[1] != base.size or len(rows) == 0:
        raise StateError(f"{what} has shape {rows.shape}; this model needs (batch, {base.size}), a row for every member")
    return _check_finite(rows, what)


def _columns(values: Any, size: int, what: str) -> Array:
    """(1 or batch, size) coordinates of one joint."""
    given = numbers(values, what, StateError, finite=False)
    rows = given.reshape(-1, 1) if size == 1 and given.ndim <= 1 else given[None] if given.ndim == 1 else given
    if rows.ndim != 2 or rows.shape[1] != size or len(rows) == 0:
        wanted = "a number, or one for every member" if size == 1 else f"{size} numbers, or a row of them for every member"
        raise StateError(f"{what} has shape {given.shape}; this joint needs {wanted}")
    return _check_finite(rows, what)


def _check_finite(rows: Array, what: str) -> Array:
    if not np.isfinite(rows).all():
        k, j = np.argwhere(~np.isfinite(rows))[0]
        raise StateError(f"{what}: member {k} has {rows[k, j]} in place {j}, which is not finite")
    return rows


def agreed(sizes: Mapping[str, int]) -> int:
    """The size of the batch: what is given once is the same for all members."""
    many = {name: size for name, size in sizes.items() if size != 1}
    if len(set(many.values())) > 1:
        raise StateError(f"batches of different sizes: {', '.join(f'{size} in {name}' for name, size in many.items())}")
    return next(iter(many.values()), 1)


def checked_steps(dt: ArrayLike) -> Array:
    """(1 or batch,) lengths of steps, s."""
    lengths = np.atleast_1d(numbers(dt, "dt", StateError, finite=False, wanted="a number of seconds, or one for every member"))
    if lengths.ndim != 1 or not len(lengths):
        raise StateError(f"dt has shape {lengths.shape}; it needs a number of seconds, or one for every member")
    for k in np.flatnonzero(~((lengths > 0.0) & np.isfinite(lengths))):
        raise StateError(f"dt[{k}] = {lengths[k]}; the step needs a positive number of seconds, for example 1e-3")
    return lengths


def checked_forces(tau: ArrayLike | Mapping[str, ArrayLike] | None, steps: int, model: Model) -> Array:
    """(1 or batch, 1 or steps, nv); with targets behind them where there are servos."""
    if tau is None:
        return model.inputs()[None, None]
    if isinstance(tau, Mapping):
        return _with_own_targets(model, _rows(model, tau, np.zeros(model.nv), model.v_slice, "tau")[:, None])
    forces = numbers(tau, "tau", StateError, finite=False)
    if forces.ndim == 1:
        return model.inputs(forces)[None, None]
    if forces.ndim == 3 and forces.shape[2] == model.nv:
        forces = _with_own_targets(model, forces)
    if forces.ndim != 3 or forces.shape[2] != model.inputs_per_step or forces.shape[1] not in (1, steps) or 0 in forces.shape:
        raise StateError(
            f"tau has shape {forces.shape}; it needs ({model.nv},), constant and the same for all, or (batch, {steps}, {model.nv}), where "
            "batch is 1 if it is the same for all members, and the number of steps is 1 if it is constant"
        )
    if not np.isfinite(forces).all():
        k, step, j = np.argwhere(~np.isfinite(forces))[0]
        raise StateError(f"tau[{k}, {step}, {j}] = {forces[k, step, j]} is not finite: member {k}")
    return forces


def _with_own_targets(model: Model, forces: Array) -> Array:
    """Joint forces with the targets that the servos have of themselves."""
    if not model.servos:
        return forces
    aim = model.inputs()[model.nv :]
    return np.concatenate([forces, np.broadcast_to(aim, (*forces.shape[:2], len(aim)))], axis=2)


def check_members(asked: Asked) -> None:
    """What a simulation of each member alone would refuse to start from."""
    starts = asked.starts
    if asked.watch is not None and (passed := asked.watch.passed(starts.q).any(axis=1)).any():
        k = int(np.argmax(passed))
        words = "; ".join(asked.watch.in_words(limit, starts.q[k], "is") for limit in asked.watch.beyond(starts.q[k]))
        raise StateError(f"member {k}: at the start {words}; start elsewhere, or with limits='ignore'")
    if not asked.model.has_symbolic_joints and not asked.model.closures:
        return
    for k in range(len(asked.dt)):
        model = asked.model_of(k)
        if model.has_symbolic_joints and (singular := explain_singular(model, starts.q[k])):
            raise SingularMassError(f"the start of member {k} is singular: {singular}")
        try:
            check_start(model, starts.q[k], starts.v[k], float(starts.t[k]))
        except StateError as error:
            raise StateError(f"member {k}: {error}") from None
