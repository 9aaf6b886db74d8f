"""Many simulations of one mechanism in one compiled call, several at once in the lanes of the vector registers: as members.py.

A member's numbers depend neither on its lane nor on its neighbours; the last lanes of a group that is not full repeat its last member.
"""

from typing import NamedTuple

import numpy as np

from ...compiling.address import call_run
from ...compiling.decorators import entry, inlined
from ...compiling.records import floats, integers
from ..solving.memory import TIME
from .lanes import MADE, STATUS, Block
from .loop import FINISHED
from .members import BEYOND_LIMIT, EVALUATIONS, KEPT, LENGTH, STOPPED, WITH_FIRST, clear_rest, keep, keep_block
from .members import MADE as STEPS_MADE
from .members import STATUS as HOW_IT_ENDED

ROWS = 32  # steps made at a time


class Memory(NamedTuple):
    """Of one thread."""

    all: floats("size")  # everything that changes
    fresh: floats("size")
    at: integers("numbers")  # entries that the start of the first lane is written to
    block: Block
    tau: floats("forces", "nv", "lanes")
    kept: integers("lanes")  # the last step whose end is kept
    over: integers("lanes")  # has the member of a lane ended?


@entry
def run_in_lanes(address, a, own, members, nodes, first, last):
    """Run the members first .. last - 1.  Those that fail have to be run again, alone: their status says how it ended here."""
    lanes = own.over.shape[0]
    for group in range(first, last, lanes):
        if members.stop[0]:
            return
        run_group(address, a, own, members, nodes, group, min(lanes, last - group))
        for lane in range(min(lanes, last - group)):
            clear_rest(nodes, members.which[group + lane])


@inlined
def run_group(address, a, own, members, nodes, group, count):
    """`count` members in the first lanes."""
    plan, lanes, block = members.plan, own.over.shape[0], own.block
    for j in range(own.all.shape[0]):
        own.all[j] = own.fresh[j]
    for lane in range(lanes):
        i = group + min(lane, count - 1)
        for j in range(own.at.shape[0]):
            own.all[own.at[j] + lane] = members.start[i, j]
        own.kept[lane], own.over[lane] = -1, lane >= count
        if lane < count:
            end = nodes.end[members.which[i]]
            end[STEPS_MADE] = end[KEPT] = end[EVALUATIONS] = 0
            end[HOW_IT_ENDED] = STOPPED
    changing = members.tau.shape[1] > 1
    set_forces(own, members, group, count, 0, 1)
    call_run(address, a, block, own.tau[0:1], 0, np.inf)  # sets up the first nodes
    if plan[WITH_FIRST]:
        for lane in range(count):
            keep_present(a, own, nodes, members.which[group + lane], lane, 0)
    done, running = 0, count
    while done < plan[LENGTH] and running > 0:
        if members.stop[0]:
            return
        size = min(plan[LENGTH] - done, ROWS)
        if changing:
            set_forces(own, members, group, count, done, size)
        call_run(address, a, block, own.tau[0 : size if changing else 1], size, np.inf)
        running = 0
        for lane in range(count):
            if not own.over[lane]:
                running += go_on(a, own, members, nodes, members.which[group + lane], lane, done)
        done += size
    for lane in range(count):
        if not own.over[lane]:
            k = members.which[group + lane]
            keep_present(a, own, nodes, k, lane, nodes.end[k, STEPS_MADE])
            nodes.end[k, HOW_IT_ENDED] = FINISHED


@inlined
def go_on(a, own, members, nodes, k, lane, done):
    """Keep what member k has done in this lane; returns 1 if it goes on."""
    block, made = own.block, np.int64(a.state[MADE, lane]) - done
    times, q, p, evaluations = block.t[:, lane], block.q[:, :, lane], block.p[:, :, lane], block.evaluations[:, lane]
    own.kept[lane], beyond = keep_block(members, nodes, k, times, q, p, evaluations, made, own.kept[lane])
    if beyond:
        nodes.end[k, HOW_IT_ENDED] = BEYOND_LIMIT
    elif a.state[STATUS, lane] != FINISHED:
        nodes.end[k, HOW_IT_ENDED] = np.int64(a.state[STATUS, lane])
    else:
        return 1
    own.over[lane] = 1
    return 0


@inlined
def set_forces(own, members, group, count, first, rows):
    """Joint forces of the next steps."""
    for lane in range(own.over.shape[0]):
        tau = members.tau[min(members.which[group + min(lane, count - 1)], members.tau.shape[0] - 1)]
        for row in range(rows):
            for j in range(own.tau.shape[1]):
                own.tau[row, j, lane] = tau[first + row, j]


@inlined
def keep_present(a, own, nodes, k, lane, step):
    """The node after this step, which the member in a lane is at."""
    if own.kept[lane] != step:
        keep(nodes, k, a.memory[TIME, lane], a.w.q[:, lane], a.w.target[:, lane])
        own.kept[lane] = step
