"""Which bodies of a sweep can be computed at once, in lanes of the vector registers: limbs move beside each other."""

from __future__ import annotations

from collections import Counter

from .memory import Bodies, Call, Trace
from .plan import ABREAST, dependent, live_terms, runs_abreast
from .trace import Sweep

LANES = 2  # bodies at once; their numbers are gathered one by one, so more would gain less
WORTH = 0.25  # of the bodies have to run beside another


def groups(sweep: Sweep, bodies: Bodies, numbers: list[int]) -> list[list[int]] | None:
    """The bodies of a sweep in another order, those together that may run at once; None if that does not pay.

    numbers: the class of every body, in the order of the sweep.  Bodies run together if they are of one class and neither needs what the
    other does: of two siblings that both add to their parent the order stays.
    """
    if 0 in sweep.indices:  # not bodies
        return None
    if runs_abreast(sweep, bodies) and not any(map(_calls_joints, sweep.traces)):
        return _in_fours(sweep, numbers)
    after = dependent(sweep, bodies)
    height = _heights(after)
    waits = Counter(y for targets in after for y in targets)
    alone = {x for x, trace in enumerate(sweep.traces) if _calls_joints(trace)}
    ready = [x for x in range(len(sweep.indices)) if not waits[x]]
    found: list[list[int]] = []
    while ready:
        ready.sort(key=lambda x: (-height[x], x))
        first = ready[0]
        members = [x for x in ready if numbers[x] == numbers[first] and x not in alone][:LANES] if first not in alone else [first]
        found.append(members if len(members) == LANES else [first])
        for x in found[-1]:
            ready.remove(x)
            for y in after[x]:
                waits[y] -= 1
                if not waits[y]:
                    ready.append(y)
    together = sum(len(g) for g in found if len(g) > 1)
    return [[sweep.indices[x] for x in g] for g in found] if together >= WORTH * len(sweep.indices) else None


def _in_fours(sweep: Sweep, numbers: list[int]) -> list[list[int]]:
    """Bodies of one class together, in any order; what is left over in twos."""
    found = []
    for which in dict.fromkeys(numbers):
        left = [i for i, number in zip(sweep.indices, numbers, strict=True) if number == which]
        while left:
            size = next(n for n in (ABREAST, 2, 1) if n <= len(left))
            found.append(left[:size])
            left = left[size:]
    return found


def _calls_joints(trace: Trace) -> bool:
    """Joints that are not traced are functions of arrays and indices, which take one body."""
    return any(isinstance(e, Call) for e in trace.effects) or any(
        x.op == "call" and x.args[0].startswith("dispatch.") for x in live_terms(trace)
    )


def _heights(after: list[list[int]]) -> list[int]:
    """How many have to come one after the other from here on: the longest way goes first."""
    height = [0] * len(after)
    for x in reversed(range(len(after))):
        height[x] = 1 + max((height[y] for y in after[x]), default=0)
    return height
