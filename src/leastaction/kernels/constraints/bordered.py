"""Newton with constraints: the bordered system of a step, by a Schur complement of the size of the constraints.   docs/constraints.md

    J z - J0' l = r,   J1 z = h       z = J^-1 r + Y' l,   Y' = J^-1 J0',   S = J1 Y',   S l = h - J1 J^-1 r

J is the O(n) Newton matrix of the tree, so m rows cost m solves with one factorisation.  Y and S are kept as long as that is.
"""

from ...compiling.decorators import inlined, kernel
from ...lie.algebra import store3
from ..solving.dense import lu_solve, rank_factor, rank_solve
from ..tree.drnea import displace
from ..tree.law_couplings import newton_direction
from ..tree.layout import DT, DU, DW
from .ties import RANK, constrain_end, end_jacobian

TIGHTER = 0.1  # than momenta: errors of closures are seen as they are, and Newton's last correction mostly leaves far less


@inlined
def set_scales(w, con):
    """What errors of the rows are compared with: how far the step moves what they hold, were it not for cancellation."""
    for a in range(con.size.shape[0]):
        moved = 0.0
        for j in range(w.d.shape[0]):
            moved += abs(con.J0[a, j] * w.d[j])
        con.size[a] = max(TIGHTER * moved, con.least[a])


@inlined
def constrained_residual(m, w, con, t, h):
    """r -= J0' lam, and the constraints at the end t of the step of length h."""
    for a in range(con.lam.shape[0]):
        for j in range(w.r.shape[0]):
            w.r[j] -= con.lam[a] * con.J0[a, j]
    constrain_end(m, w, con, t, h)


@kernel
def hold(m, w, con, t, h):
    """The same where the residual has not left the displacements of the bodies, which are written."""
    for i in range(1, m.link.shape[0]):
        c, u, shift = displace(m, w, i)
        w.row[i, DW] = c
        store3(w.row, i, DU, u)
        store3(w.row, i, DT, shift)
    constrained_residual(m, w, con, t, h)


@inlined
def violation(con):
    """Largest error of a row, relative to its scale."""
    top = 0.0
    for a in range(con.value.shape[0]):
        x = abs(con.value[a]) / con.size[a]
        if x > top or x != x:  # a NaN stays
            top = x
    return top


@inlined
def impulse_size(con):
    """Largest joint impulse of a constraint."""
    top = con.momentum[0]
    for a in range(con.lam.shape[0]):
        for j in range(con.J0.shape[1]):
            top = max(top, abs(con.lam[a] * con.J0[a, j]))
    return top


@inlined
def border(sweeps, m, w, mid, con, h, t):
    """Y and the factorised S for the factorisation just made.  Leaves w.r as it was; writes z."""
    end_jacobian(m, w, con, t, h)
    rows, nv = con.J0.shape
    for j in range(nv):
        con.keep[j] = w.r[j]
    for a in range(rows):
        for j in range(nv):
            w.r[j] = con.J0[a, j]
        newton_direction(sweeps, m, w, mid, h)
        for j in range(nv):
            con.Y[a, j] = w.z[j]
    for j in range(nv):
        w.r[j] = con.keep[j]
    factorise_border(con)


@inlined
def border_dense(con, J, pivot):
    """The same for the factors of a dense matrix, and J1 at hand."""
    rows, nv = con.J0.shape
    for a in range(rows):
        for j in range(nv):
            con.Y[a, j] = con.J0[a, j]
        lu_solve(J, pivot, nv, con.Y[a])
    factorise_border(con)


@inlined
def factorise_border(con):
    products(con.J1, con.Y, con.S)
    con.rank[RANK] = rank_factor(con.S, con.swap)


@inlined
def products(J, Y, S):
    """S = J Y'"""
    for a in range(S.shape[0]):
        for b in range(S.shape[0]):
            total = 0.0
            for j in range(J.shape[1]):
                total += J[a, j] * Y[b, j]
            S[a, b] = total


@inlined
def correct(w, con):
    """From z = J^-1 r to the solution of the bordered system: z and the correction `step` of the multipliers."""
    rows, nv = con.J1.shape
    for a in range(rows):
        missed = con.value[a]
        for j in range(nv):
            missed -= con.J1[a, j] * w.z[j]
        con.step[a] = missed
    rank_solve(con.S, con.swap, con.rank[RANK], con.step)
    for a in range(rows):
        for j in range(nv):
            w.z[j] += con.step[a] * con.Y[a, j]


@inlined
def keep_impulses(con):
    """Remember the multipliers before they are corrected."""
    for a in range(con.lam.shape[0]):
        con.lam_old[a] = con.lam[a]


@inlined
def move_impulses(con, fraction):
    """The multipliers remembered, less this fraction of the correction."""
    for a in range(con.lam.shape[0]):
        con.lam[a] = con.lam_old[a] - fraction * con.step[a]
