"""The time loop of every compiled integrator.  What differs comes as a record of kernels, `Method`; `s` is the integrator's memory."""

from typing import Any, NamedTuple

from ...compiling.decorators import inlined
from ..solving.memory import HISTORY, START, STARTED, STEPS, TIME
from .record import EVERY, has_room
from .record import STEPS as RECORDED

# how a run ended
FINISHED, STALLED, NOT_FINITE, BAD_DENSITY, FULL = 0, 1, 2, 3, 4


class Method(NamedTuple):
    """What the time loop has to know of an integrator."""

    begin: Any  # (s): set up the first node
    step: Any  # (s, tau, row) -> (evaluations, status): one step under the joint forces tau[row], or as before it if that fails
    write: Any  # (s, record): the present node as the next row of the record


@inlined
def make_steps(method, s, memory, record, tau, steps, end):
    """Make `steps` steps, or those that start before the time `end`; returns (steps made, status).

    tau     (1, nv), or a row for every step: constant over the step, half an impulse at each end
    record  every EVERY-th node is written to it; it has room for the steps, or none is made
    """
    if not has_room(record, steps):
        return 0, FULL
    if memory[STARTED] == 0.0:
        method.begin(s)
        memory[STARTED] = 1.0
    for step in range(steps):
        if not memory[TIME] < end:
            return step, FINISHED
        count, status = method.step(s, tau, step if tau.shape[0] > 1 else 0)
        if status != FINISHED:
            return step, status
        made = record.cursor[RECORDED]
        record.evaluations[made] = count
        record.cursor[RECORDED] = made + 1
        if (made + 1) % record.cursor[EVERY] == 0:
            method.write(s, record)
    return steps, FINISHED


@inlined
def tick(memory, h):
    """The clock after a step of length h; counted, so that rounding does not add up."""
    memory[STEPS] += 1.0
    memory[TIME] = memory[START] + memory[STEPS] * h
    memory[HISTORY] += 1.0
