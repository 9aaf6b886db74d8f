"""Which factorisation the next correction is made with: the one at hand, or a new one; and what each is worth, learnt on the way.

`choose_soonest`    the first, by rising cost, that promises to get there with one correction: for trees, where a new factorisation costs as
                    little as two or three corrections
`choose_cheapest`   compares several corrections by the one at hand with a new one: for maximal coordinates, where a new one costs more

What a factorisation promises is by how much it shrank the residual last time.  A promise that was not good enough gets a little better
every time it is turned down, so that it is tried again.  Residuals come in units of what is allowed.
"""

import math

from ...compiling.decorators import inlined
from .memory import AGE, ALWAYS_NEW, CURVATURE, FIRST_CORRECTION, RATE, RATE_AGED, RATE_EXACT, RATE_FIRST

# where a factorisation comes from
OLD, FIRST_ORDER, EXACT = 0, 1, 2

ENOUGH = 0.3  # of what is allowed: what one correction has to get below
FADES = 0.95  # a promise that is turned down

# what a new factorisation costs, in corrections (a solution and an evaluation each): two to three, but by an old one each shrinks the
# residual less than the one before, and with few evaluations Newton strays less
NEW_ONE = 1.0
PLANNED = 0.7  # of what is allowed: what several corrections have to get below


@inlined
def grow_old(memory):
    """A step later the factorisation at hand is worth less: how much less is known from the last time one was kept."""
    if memory[RATE] < ALWAYS_NEW:
        memory[AGE] += 1.0
        memory[RATE] = memory[RATE_AGED] if memory[AGE] == 1.0 else 1.5 * memory[RATE]


@inlined
def choose_soonest(memory, size, has_first_order, patient):
    """OLD, FIRST_ORDER or EXACT for a residual of this size; has_first_order: is there one to first order in the displacements?

    patient: rather correct twice with the first-order factorisation than make the exact one; pays where steps are short.
    """
    if memory[RATE] < ALWAYS_NEW and memory[RATE] * size <= ENOUGH:
        return OLD
    if memory[AGE] == 1.0:
        memory[RATE_AGED] *= FADES
    # the exact one costs more than two corrections with the first-order one
    rate = memory[RATE_FIRST] * (memory[RATE_FIRST] if patient else 1.0)
    first_order = has_first_order and memory[RATE] < ALWAYS_NEW and rate * size <= ENOUGH
    if not first_order:
        memory[RATE_FIRST] *= FADES
    memory[AGE] = 0.0
    return FIRST_ORDER if first_order else EXACT


@inlined
def learn_rate(memory, used, rate, correction):
    """Remember by how much a correction shrank the residual."""
    memory[RATE] = rate
    if used == FIRST_ORDER:
        memory[RATE_FIRST] = min(rate, 1.0)
    elif used == OLD and memory[AGE] == 1.0:
        memory[RATE_AGED] = min(rate, 1.0)


@inlined
def corrections(size, rate):
    """How many corrections that shrink the residual by `rate` each lead from `size` below PLANNED."""
    if size * rate <= PLANNED:
        return 1.0
    if rate > 0.9:
        return 1e3
    return math.ceil(math.log(size / PLANNED) / -math.log(rate))


@inlined
def choose_cheapest(memory, size):
    """OLD or EXACT, whichever leads to the solution sooner.

    A new factorisation costs NEW_ONE corrections more, but is worth it the sooner the longer the one at hand has served.  By how much one
    shrinks the residual, rho, is proportional to how far from the solution it was made: made again at the present iterate, it would
    do so by rho^2.
    """
    rate = memory[RATE]
    if rate < ALWAYS_NEW:
        if memory[AGE] == 0.0:
            keeps = corrections(size, rate) <= NEW_ONE + corrections(size, rate * rate)
        else:
            keeps = corrections(size, rate) <= NEW_ONE / memory[AGE] + corrections(size, memory[RATE_EXACT])
        if keeps:
            return OLD
    if memory[AGE] == 1.0:
        memory[RATE_AGED] *= FADES
    memory[AGE] = 0.0
    return EXACT


@inlined
def learn_curvature(memory, used, rate, correction):
    """Remember by how much a correction shrank the residual, and what to expect of the next one by the same factorisation.

    The multipliers enter linearly, so the first correction by a new factorisation removes their errors and says little about the
    next one; that is estimated from the size of the first correction.
    """
    if used == EXACT:
        memory[RATE_EXACT] = min(rate, 0.1)  # if not by the first correction, then by the next
        memory[FIRST_CORRECTION] = correction
        memory[RATE] = max(rate, memory[CURVATURE] * correction)
    else:
        memory[RATE] = rate
        if memory[AGE] == 0.0 and memory[FIRST_CORRECTION] > 0.0:
            memory[CURVATURE] = min(rate, 1.0) / memory[FIRST_CORRECTION]
        elif memory[AGE] == 1.0:
            memory[RATE_AGED] = min(rate, 1.0)
