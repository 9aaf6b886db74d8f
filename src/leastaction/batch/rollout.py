"""`rollout`: many simulations of one mechanism in one call."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..checks import progress as checked_progress
from ..checks import shown, whole_number, yes_or_no
from ..errors import StateError
from ..integrators import Integrator, Variational
from ..integrators.base import CompiledStepper, Starts, checked_choice
from ..integrators.guard import Guarded
from ..integrators.watch import LimitWatch
from ..kernels.stepping.members import KEPT, NOT_RUN, STATUS, STOPPED, Nodes
from ..mechanism import Mechanism
from ..model import Coordinates, Model, checked_model
from ..progress import Progress
from ..run_input import memory
from ..state import State
from . import asked as ask
from .compiled import Group
from .lanes import LaneGroup, chosen_lanes
from .parameters import OwnGroup, make_models
from .result import Rollout
from .singly import Singly
from .threads import Runs, run_all, usable_cores

Array = NDArray[np.float64]


def rollout(
    model: Model | Callable[..., Mechanism | Model],
    states: Iterable[State] | None = None,
    *,
    dt: ArrayLike,
    steps: int,
    q: Coordinates = None,
    v: Coordinates = None,
    tau: ArrayLike | None = None,
    parameters: Mapping[str, ArrayLike] | None = None,
    integrator: Integrator | None = None,
    record: str | int = "all",
    threads: int | None = None,
    lanes: int | None = None,
    guard: bool = False,
    limits: str = "stop",
    progress: bool | None = None,
) -> Rollout:
    """Simulate many members of one mechanism, on all cores: starts, joint forces and steps of their own, `steps` steps each.

    states     a list of states; or instead
    q, v       (batch, nq) and (batch, nv), or {joint: (batch,) or (batch, n)}; what is given once is the same for all members
    dt         step, s: a number, or (batch,)
    tau        joint forces: (nv,) for all, or (batch, steps, nv) held constant over each step; batch = 1: the same for all members,
               steps = 1: constant
    parameters numbers by name, a number or (batch,) each, for a function in place of the model that makes the mechanism from them: masses,
               lengths, stiffnesses of every member
    record     "all" nodes, every n-th and the last one, or only the "last"
    threads    by default one for every core
    lanes      members at once in the vector registers of a core, for specialised models (see docs/rollout.md): by default as many as the
               machine takes, 1: one after the other
    guard      as in `la.simulate`, slower: members are then simulated one by one
    limits     as in `la.simulate`: a member "stop"s with the first node where a joint is beyond its limit, or its joints "ignore" them

    A member's numbers do not depend on the others, nor on the number of threads.  They are those of `la.simulate` with its start: to the
    last bit, or in lanes up to rounding.  A member whose steps cannot be solved ends there: it is named in `failed` and `errors`, the
    others go on.

    >>> import numpy as np
    >>> import leastaction as la
    >>> model = la.examples.double_pendulum().compile()
    >>> many = la.rollout(model, q={"upper": np.linspace(0.1, 3.0, 50)}, dt=1e-2, steps=100)
    >>> many.q.shape, int(many.failed.sum())
    ((50, 101, 2), 0)
    """
    asked = _asked(model, states, q, v, dt, steps, tau, parameters, integrator, record, guard, limits)
    model = asked.model
    threads = usable_cores() if threads is None else whole_number(threads, 1, "threads")
    first = asked.integrator.start(model, asked.start(0), float(asked.dt[0]))  # refuses what it cannot do
    nodes, violations = _make_nodes(asked, first.keeps_constraints)
    stop = np.zeros(1, dtype=np.int64)
    failed: dict[int, str] = {}
    width, why_alone = chosen_lanes(lanes, model, asked.integrator, asked.guard, bool(asked.models))
    groups = _groups(asked, first, nodes, violations, stop, width)
    compiled = groups[0].worker()  # before threads wait for each other to do it, and before time is taken
    began = time.perf_counter()

    def finished() -> Rollout:
        seconds = time.perf_counter() - began
        return Rollout(asked, nodes, violations, dict(sorted(failed.items())), threads, seconds, width, why_alone)

    try:
        with Progress(len(asked.dt), None, checked_progress(progress)) as bar:
            run_all(groups, compiled, threads, stop, bar.update, failed)
    except BaseException as error:  # Ctrl-C too: what was made is not lost
        for k in np.flatnonzero(np.isin(nodes.end[:, STATUS], (NOT_RUN, STOPPED))):
            kept = nodes.end[k, KEPT]
            nodes.t[k, kept:], nodes.q[k, kept:], nodes.p[k, kept:] = np.nan, np.nan, np.nan
            failed[int(k)] = f"was not run to its end: {type(error).__name__}"
        with suppress(Exception):
            error.rollout = finished()  # type: ignore[attr-defined]
        raise
    return finished()


def _asked(model, states, q, v, dt, steps, tau, parameters, integrator, record, guard, limits) -> ask.Asked:
    """Everything that is asked, checked before anything runs."""
    models: tuple[Model, ...] = ()
    if parameters is not None:
        if states is not None:
            raise StateError("states belong to a model; with parameters give q and v")
        models = make_models(model, parameters)
        model = models[0]
    checked_model(model)
    steps = whole_number(steps, 0, "steps")
    every, with_first = _checked_record(record, steps)
    integrator = Variational() if integrator is None else integrator
    if not isinstance(integrator, Integrator):
        raise StateError(f"integrator = {shown(integrator)} is not an integrator; give for example Variational()")
    if yes_or_no(guard, "guard"):
        Guarded(integrator)  # refuses what it cannot subdivide
    starts = ask.collect_starts(model, states, q, v)
    lengths, forces = ask.checked_steps(dt), ask.checked_forces(tau, steps, model)
    sizes = {"states": len(starts.t), "q": len(starts.q), "v": len(starts.v), "dt": len(lengths), "tau": len(forces)}
    count = ask.agreed(sizes | {"parameters": len(models)} if models else sizes)
    whole = Starts(*(np.array(np.broadcast_to(part, (count, *part.shape[1:])), order="C") for part in starts))
    whole = whole if states is not None else ask.with_momenta(model, models, whole)
    watch = LimitWatch(model) if checked_choice(limits, ("stop", "ignore"), "limits") == "stop" else None
    lengths = np.array(np.broadcast_to(lengths, (count,)))
    found = ask.Asked(model, integrator, whole, lengths, forces, steps, every, with_first, watch or None, bool(guard), models)
    ask.check_members(found)
    return found


def _checked_record(record: str | int, steps: int) -> tuple[int, bool]:
    """After how many steps a node is kept, and whether the first one is."""
    if isinstance(record, str):
        last = checked_choice(record, ("all", "last"), "record") == "last"
        return (steps + 1, False) if last else (1, True)
    return whole_number(record, 1, "record"), True


def _make_nodes(asked: ask.Asked, keeps_constraints: bool) -> tuple[Nodes, Array | None]:
    batch, rows, model = len(asked.dt), asked.rows, asked.model
    needed = 8.0 * batch * (rows * (1 + model.nq + model.nv + keeps_constraints) + 4)
    words = f"{batch} members with {rows} nodes each take {needed / 1e9:.3g} GB, more than this machine has"
    if needed > memory():
        raise StateError(f"{words}; keep fewer nodes with record=n or record='last', or make smaller batches")
    try:
        q, p = np.empty((batch, rows, model.nq)), np.empty((batch, rows, model.nv))
        nodes = Nodes(np.empty((batch, rows)), q, p, np.zeros((batch, 4), dtype=np.int64))
    except MemoryError:
        raise StateError(f"{words} free; keep fewer nodes with record=n or record='last', or make smaller batches") from None
    nodes.end[:, STATUS] = NOT_RUN
    return nodes, np.full((batch, rows), np.nan) if keeps_constraints else None


def _groups(asked: ask.Asked, first, nodes: Nodes, violations: Array | None, stop: NDArray[np.int64], width: int) -> list[Runs]:
    """Members to be run inside compiled code, by the length of their steps; or all of them one by one."""
    one = Starts(*(part[:1] for part in asked.starts))
    if asked.guard or not isinstance(first, CompiledStepper) or first.place_starts(one) is None:
        return [Singly(asked, nodes, violations, stop)]
    lengths, group = np.unique(asked.dt, return_inverse=True)
    alike = [np.flatnonzero(group == g) for g in range(len(lengths))]
    if width > 1:
        return [LaneGroup(asked, which, nodes, stop, width) for which in alike]
    return [(OwnGroup if asked.models else Group)(asked, which, nodes, stop) for which in alike]
