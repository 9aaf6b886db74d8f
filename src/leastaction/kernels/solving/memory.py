"""What a solver remembers from one step to the next: one array of numbers, each with a name."""

import numpy as np
from numpy.typing import NDArray

(
    STARTED,  # has the first node been set up?
    START,  # time of the first node, s
    STEPS,  # steps made since
    TIME,  # time of the present node, s
    HISTORY,  # steps whose unknowns the guess may continue
    SCALE,  # what residuals are compared with: a momentum
    LAST_RESIDUAL,  # of the last step, in the unit of SCALE
    RATE,  # by how much the factorisation at hand is expected to shrink the residual
    RATE_AGED,  # the same of one that is a step old
    RATE_FIRST,  # of one to first order in the displacements
    RATE_EXACT,  # of the first correction by an exact one
    AGE,  # steps since the factorisation at hand was made
    CURVATURE,  # rate of later corrections over the size of the first one
    FIRST_CORRECTION,  # size of the first correction by the factorisation at hand
) = range(14)
SIZE = 14

ALWAYS_NEW = 1e300  # as RATE: the factorisation at hand is of no use
EXPECTED = 0.01  # rates to begin with: good enough for an old factorisation to be tried on the second step


_NEW = np.zeros(SIZE)
_NEW[RATE] = ALWAYS_NEW
_NEW[[RATE_AGED, RATE_FIRST, RATE_EXACT]] = EXPECTED


def make_memory(t: float) -> NDArray[np.float64]:
    """Memory of a simulation that starts at time t."""
    memory = _NEW.copy()
    memory[START] = memory[TIME] = t
    return memory
