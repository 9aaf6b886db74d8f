"""Entry points on one variational step: residual, next momentum, dense Jacobian, O(n) Newton direction."""

from ...compiling.decorators import entry
from .dense_jacobian import dense_jacobian, exact_direction
from .newton_matrix import assemble
from .step import SWEEPS, arrive, begin, full_residual


@entry
def leaving(m, w, mid, h, t, retraction):
    """w.r = momentum the step (w.q, w.d) leaves with, minus the momentum p given in w.target (half kick added here)."""
    begin(SWEEPS, m, w, mid, h)
    full_residual(SWEEPS, m, w, mid, h, t, retraction)


@entry
def arriving(m, w, mid, h, t):
    """After `leaving`: w.q moves to the end, w.target = momentum there, half kick of the next step included."""
    for j in range(w.r.shape[0]):
        w.r[j] = 0.0  # nothing to carry: the caller asks for this step alone
    arrive(SWEEPS, m, w, mid, h, h, t)


@entry
def jacobian(m, w, mid, columns, h, retraction):
    """After `leaving`: columns.J = d residual / d increment."""
    assemble(m, w, h, retraction, True)
    dense_jacobian(m, w, mid, columns, h)


@entry
def direction(m, w, mid, h, retraction):
    """After `leaving`: w.z = J^-1 w.r in O(n)."""
    exact_direction(m, w, mid, h, retraction)
