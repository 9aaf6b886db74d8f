"""Many simulations of one mechanism in one compiled call, one after the other in the same memory.

The time loop of the integrator is called by its address, so a member's numbers are those of a simulation of its own to the last bit,
whoever ran before it in this memory: all of it is made new for every member.
"""

from typing import NamedTuple

import numpy as np

from ...compiling.address import call_run
from ...compiling.decorators import entry, inlined
from ...compiling.records import floats, integers
from .loop import FINISHED
from .record import ROWS, STEPS, Record

# how a member ended, beside FINISHED, STALLED, ... of loop.py
BEYOND_LIMIT, STOPPED, NOT_RUN = 5, 6, 7

# entries of Members.plan
LENGTH, EVERY, WITH_FIRST = 0, 1, 2

# columns of Nodes.end
MADE, KEPT, STATUS, EVALUATIONS = 0, 1, 2, 3

BLOCK = 256  # steps made at a time: then limits are looked at, and whether to stop


class Memory(NamedTuple):
    """Of one thread: all arrays of a stepper in one piece."""

    all: floats("size")
    fresh: floats("size")  # the same before a start is written to it
    at: integers("numbers")  # entries that a start is written to
    node: integers(3)  # entries of the present node: time, first coordinate, first momentum
    block: Record  # of the last BLOCK steps at most


class Members(NamedTuple):
    """What is to be run."""

    which: integers("members")  # their numbers in the batch
    start: floats("members", "numbers")
    tau: floats("inputs", "forces", "entries")  # joint forces (and targets of servos): of all or of each, constant or of every step
    column: integers("limits")  # coordinates that are to stay between
    lower: floats("limits")
    upper: floats("limits")  # these
    plan: integers(3)  # steps, after how many of them a node is kept, is the first node kept?
    stop: integers(1)  # not 0: make an end


class Nodes(NamedTuple):
    """What is kept of all members of the batch; NaN after a member's end."""

    t: floats("batch", "rows")
    q: floats("batch", "rows", "nq")
    p: floats("batch", "rows", "nv")
    end: integers("batch", 4)  # steps made, nodes kept, status, evaluations


@entry
def run_members(address, a, own, members, nodes, first, last):
    """Run the members first .. last - 1, up to the first one that fails, which is as it was then; returns its number, or `last`."""
    for i in range(first, last):
        k = members.which[i]
        status = run_member(address, a, own, members, nodes, i, k)
        nodes.end[k, STATUS] = status
        clear_rest(nodes, k)
        if status != FINISHED and status != BEYOND_LIMIT:
            return i
    return last


@inlined
def run_member(address, a, own, members, nodes, i, k):
    block, end, plan = own.block, nodes.end[k], members.plan
    tau = members.tau[min(k, members.tau.shape[0] - 1)]
    changing = tau.shape[0] > 1
    end[MADE] = end[KEPT] = end[EVALUATIONS] = 0
    for j in range(own.all.shape[0]):
        own.all[j] = own.fresh[j]
    for j in range(own.at.shape[0]):
        own.all[own.at[j]] = members.start[i, j]
    call_run(address, a, block, tau[0:1], 0, np.inf)  # sets up the first node
    kept = np.int64(-1)  # the last step whose end is kept
    if plan[WITH_FIRST]:
        keep_present(own, nodes, k)
        kept = 0
    while end[MADE] < plan[LENGTH]:
        if members.stop[0]:
            return STOPPED
        done = end[MADE]
        block.cursor[STEPS] = block.cursor[ROWS] = 0
        begin = done if changing else 0
        size = min(plan[LENGTH] - done, BLOCK)
        made, status = call_run(address, a, block, tau[begin : begin + (size if changing else 1)], size, np.inf)
        kept, beyond = keep_block(members, nodes, k, block.t, block.q, block.p, block.evaluations, made, kept)
        if beyond:
            return BEYOND_LIMIT
        if status != FINISHED:
            if kept != end[MADE]:
                keep_present(own, nodes, k)
            return status
    if kept != end[MADE]:
        keep_present(own, nodes, k)
    return FINISHED


@inlined
def keep_block(members, nodes, k, times, q, p, evaluations, made, kept):
    """Keep what is to be kept of the steps just made; returns (the last step whose end is kept, did it stop at a limit there?)."""
    end, every = nodes.end[k], members.plan[EVERY]
    beyond = first_beyond(members, q, made)
    due = every - 1 - end[MADE] % every  # the next row that is kept
    for row in range(min(made, beyond + 1)):
        end[MADE] += 1
        end[EVALUATIONS] += evaluations[row]
        if row in (due, beyond):
            keep(nodes, k, times[row], q[row], p[row])
            kept = end[MADE]
            due += every
    return kept, beyond < made


@inlined
def first_beyond(members, q, rows):
    """The first of the rows with a joint beyond its limit; a large number if there is none."""
    for row in range(rows):
        for c in range(members.column.shape[0]):
            x = q[row, members.column[c]]
            if x < members.lower[c] or x > members.upper[c]:
                return row
    return 2 * BLOCK


@inlined
def clear_rest(nodes, k):
    """NaN after the end of member k."""
    for row in range(nodes.end[k, KEPT], nodes.t.shape[1]):
        nodes.t[k, row] = np.nan
        for j in range(nodes.q.shape[2]):
            nodes.q[k, row, j] = np.nan
        for j in range(nodes.p.shape[2]):
            nodes.p[k, row, j] = np.nan


@inlined
def keep_present(own, nodes, k):
    """The node that the member is at."""
    q, p = own.node[1], own.node[2]
    keep(nodes, k, own.all[own.node[0]], own.all[q : q + nodes.q.shape[2]], own.all[p : p + nodes.p.shape[2]])


@inlined
def keep(nodes, k, t, q, p):
    row = nodes.end[k, KEPT]
    nodes.t[k, row] = t
    for j in range(q.shape[0]):
        nodes.q[k, row, j] = q[j]
    for j in range(p.shape[0]):
        nodes.p[k, row, j] = p[j]
    nodes.end[k, KEPT] = row + 1
