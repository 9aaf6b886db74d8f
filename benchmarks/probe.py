"""Repeat one kernel many times inside compiled code, so that it can be timed without the cost of calls from Python."""

from numba import njit

from leastaction.kernels.tree.articulated import mass_factor, mass_solve
from leastaction.kernels.tree.dense_jacobian import dense_jacobian
from leastaction.kernels.tree.drnea import residual, set_node
from leastaction.kernels.tree.evaluate import acceleration
from leastaction.kernels.tree.newton_matrix import assemble, factorise, solve
from leastaction.yardsticks.comparison import dense_solve
from leastaction.yardsticks.svi import svi_residual

# what to repeat
ABA, SET_NODE, RESIDUAL, NEWTON_MATRIX, NEWTON_SOLVE, MASS_FACTOR, MASS_SOLVE, DENSE_SOLVE = range(8)
NAMES = ("aba", "set_node", "residual", "assemble + factorise", "solve", "mass_factor", "mass_solve", "dense Newton update")


@njit
def repeat(what, repeats, m, w, columns, pivot, h, retraction, q, v, tau, scratch, out):
    """Run the kernel `what` `repeats` times.

    q, v, tau: state of the dynamics (ABA only);  scratch: (n+1, 6);  out: (nv,).  The other kernels read w: run SET_NODE,
    then RESIDUAL, then NEWTON_MATRIX once before NEWTON_SOLVE, MASS_FACTOR once before MASS_SOLVE.
    """
    for _ in range(repeats):
        if what == ABA:
            acceleration(m, w, 0.0, q, v, tau, scratch, out)
        elif what == SET_NODE:
            set_node(m, w, h, h, True, out)
        elif what == RESIDUAL:
            residual(m, w, h, retraction)
        elif what == NEWTON_MATRIX:
            assemble(m, w, h, retraction, True)
            factorise(m, w, h)
        elif what == NEWTON_SOLVE:
            solve(m, w)
        elif what == MASS_FACTOR:
            mass_factor(m, w)
        elif what == MASS_SOLVE:
            mass_solve(m, w, tau, out)
        elif what == DENSE_SOLVE:
            assemble(m, w, h, retraction, True)
            dense_jacobian(m, w, None, columns, h)
            dense_solve(columns.J, pivot, w.r, out)


@njit
def repeat_svi(repeats, frames, scratch, q, d, p, h, evaluation, out):
    """Johnson and Murphey's residual `repeats` times; see leastaction/yardsticks/svi.py."""
    for _ in range(repeats):
        svi_residual(frames, scratch, q, d, p, h, evaluation, out)
