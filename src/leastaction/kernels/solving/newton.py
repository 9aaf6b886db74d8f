"""Newton's method for the equations of a step, whatever they are: safeguarded, with factorisations that serve as long as they are of use.

The equations come as a record of kernels, `Equations`; `s` below is whatever those kernels take for the step.
"""

from typing import Any, NamedTuple

from ...compiling.decorators import inlined
from .choice import EXACT, OLD
from .memory import ALWAYS_NEW, LAST_RESIDUAL, RATE, SCALE
from .sizes import UNBOUNDED

# how corrections by the exact matrix are kept from leading astray, each more careful than the one before
BOLD, CAREFUL, NATURAL = 0, 1, 2
PURE = 3  # full corrections, whatever the residual does: what theorems on Newton's method speak of
BOLD_EVALUATIONS = 10  # of an attempt without backtracking


class Equations(NamedTuple):
    """What Newton's method has to know of the equations of a step."""

    evaluate: Any  # (s, first) -> size of the residual, in units of what is allowed; first: of this attempt, sets the units
    choose: Any  # (s, size) -> OLD, FIRST_ORDER or EXACT, after making that factorisation
    solve: Any  # (s) -> size of the correction: solves the linear system, keeps the unknowns and the correction
    move: Any  # (s, fraction): the unknowns kept, less this fraction of the correction
    learn: Any  # (memory, used, rate, size of the correction): by how much a correction shrank the residual
    shrinks: Any  # (s, new, old, fraction, correction, manner) -> is a correction by the exact matrix good enough?
    restart: Any  # (s): the unknowns of the last step as the guess
    manners: tuple[int, ...]  # of the attempts, one after the other


@inlined
def residual_shrinks(s, new, old, fraction, correction, manner):
    """A bold correction may let the residual grow tenfold for once: a full step often leads to the solution over a ridge that
    small ones creep along.  A careful one is halved until the residual shrinks (backtracking)."""
    if manner == PURE:
        return new < UNBOUNDED
    return new < (10.0 if manner == BOLD else 1.0 - 0.25 * fraction) * old


@inlined
def newton(equations, s, memory, most, manner):
    """One attempt; returns (evaluations, size of the residual).  At least one correction is made unless the guess is perfect.

    A correction by a factorisation that is not exact has to shrink the residual by a quarter, or it is taken back.
    """
    evaluations, size, fraction, correction = 0, 0.0, 1.0, 0.0
    used, taken_back = OLD, True  # nothing to compare the first residual with
    while True:
        new = equations.evaluate(s, evaluations == 0)
        evaluations += 1
        if taken_back or new <= 1.0:
            accepted = True
        elif used == EXACT:
            accepted = equations.shrinks(s, new, size, fraction, correction, manner)
        else:
            accepted = new < 0.75 * size
        if accepted:
            if not taken_back:
                equations.learn(memory, used, new / size if fraction == 1.0 else ALWAYS_NEW, correction)
            size = new
            if not (size < UNBOUNDED) or (size <= 1.0 and (evaluations > 1 or size <= 1e-3)):
                break
            fraction, taken_back = 1.0, False
            used = equations.choose(s, size)
            correction = equations.solve(s)
        elif used == EXACT:
            fraction *= 0.5
            if fraction < 1e-4 or manner == BOLD:
                size = new
                break
        else:
            equations.learn(memory, used, ALWAYS_NEW, correction)
            fraction, taken_back = 0.0, True
        if evaluations >= most:
            break
        equations.move(s, fraction)
    return evaluations, size


@inlined
def solve_equations(equations, s, memory, tol, most):
    """Solve from the guess at hand; if that fails from the unknowns of the last step, more carefully.  (evaluations, size)."""
    count, size = 0, 0.0
    for manner in equations.manners:
        more, size = newton(equations, s, memory, min(most, BOLD_EVALUATIONS) if manner == BOLD else most, manner)
        count += more
        if size <= 1.0:
            break
        memory[RATE] = ALWAYS_NEW
        equations.restart(s)  # perhaps a misleading guess
    memory[LAST_RESIDUAL] = size * tol * memory[SCALE]
    return count, size
