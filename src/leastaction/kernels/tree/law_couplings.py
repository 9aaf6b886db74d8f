"""The exact Newton direction with laws that couple two bodies (kernels/forces/laws.py).

A law that is seen from another body damps the motion between two bodies, which the tree does not know: it adds

    sum over rows k of  l_k rho_k'         as many per law as the derivative of its wrench in the twist has rank; a damper has one

to the Jacobian.  With k rows a factorisation costs k solves of the tree and a k x k system (Sherman, Morrison, Woodbury), as potentials
between bodies do with the midpoint quadrature (midpoint_potentials.py); for a given number of rows it stays O(n).
"""

from ...compiling.decorators import inlined, kernel
from ...lie import retractions
from ...lie.algebra import load3, load9, scale
from ..forces.laws import law_damping, place_in_base
from ..solving.couplings import correct_for_couplings, factor_couplings
from .layout import L_P, L_P1, L_R, L_R1, LAW_BASE, LAW_BODY, LAW_P, LAW_PLACE, LAW_R, NV, PARENT, VI, X
from .midpoint_potentials import solve_middle
from .spatial import column_dot, pass_to_parent, wrench_to_parent

NOTHING = 1e-14  # of the largest entry of a derivative: rounding


@inlined
def newton_direction(sweeps, m, w, mid, h):
    """w.z = J^-1 w.r"""
    tree_direction(sweeps, m, w, mid, h)
    correct_for_laws(w.laws, w)


@inlined
def tree_direction(sweeps, m, w, mid, h):
    """The same without the laws that couple two bodies."""
    if mid is None:
        sweeps.solve(m, w)
    else:
        solve_middle(m, w, mid, h)


@inlined
def correct_for_laws(laws, w):
    """From the direction of the tree to that with the laws."""
    if laws is not None:
        correct_for_couplings(laws, w.z)


@inlined
def couple_laws(laws, sweeps, m, w, mid, h, retraction):
    """Laws.left, right, Y, C for the factorisation just made, where the laws were last evaluated.  Leaves w.r as it was; writes z."""
    if laws is not None:
        rows, nv = laws.left.shape
        if rows > 0:
            coupling_rows(m, w, laws, retraction)
            for j in range(nv):
                laws.saved[j] = w.r[j]
            for e in range(rows):
                used = False
                for j in range(nv):
                    w.r[j], laws.Y[e, j] = laws.left[e, j], 0.0
                    used = used or laws.left[e, j] != 0.0
                if used:
                    tree_direction(sweeps, m, w, mid, h)
                    for j in range(nv):
                        laws.Y[e, j] = w.z[j]
            for j in range(nv):
                w.r[j] = laws.saved[j]
            factor_couplings(laws)


@kernel
def coupling_rows(m, w, laws, retraction):
    """Laws.left = l_k, Laws.right = rho_k.  Of h/2 W the half impulses at the start change by half its derivative D times dtau^-1_{-x} eta.

    D = sum of a b' by elimination with the largest pivot; a is a wrench on one body and its opposite on the other, and b its counterpart
    for their twists.
    """
    row, D = 0, laws.damping
    for e in range(m.law_on.shape[0]):
        if m.law_on[e, LAW_BASE] >= 0:
            law_damping(m, laws, e, LAW_PLACE, (0.0, 0.0, 0.0))
            first = 0.0
            for k in range(6):
                r, c, top = 0, 0, -1.0
                for a in range(6):
                    for b in range(6):
                        if abs(D[a, b]) > top:
                            r, c, top = a, b, abs(D[a, b])
                first = max(first, top)
                if top > NOTHING * first:
                    pivot = D[r, c]
                    for a in range(6):
                        laws.factors[0, a], laws.factors[1, a] = D[a, c] / pivot, D[r, a]
                    for a in range(6):
                        for b in range(6):
                            D[a, b] -= laws.factors[0, a] * laws.factors[1, b]
                    project_pair(m, w, laws, e, 0, retraction, laws.left[row + k])
                    project_pair(m, w, laws, e, 1, retraction, laws.right[row + k])
                else:
                    for j in range(w.z.shape[0]):
                        laws.left[row + k, j], laws.right[row + k, j] = 0.0, 0.0
            row += 6


@kernel
def project_pair(m, w, laws, e, at_end, retraction, out):
    """out_j = -1/2 (end) or 1 (start) times Laws.factors[at_end], as a wrench at the place of law e and its opposite on the base."""
    link, unit = m.link, laws.unit
    n = link.shape[0]
    for i in range(n):
        for a in range(6):
            unit[i, a] = 0.0
    given = scale(-0.5 if at_end else 1.0, load3(laws.factors, at_end, 0)), scale(-0.5 if at_end else 1.0, load3(laws.factors, at_end, 3))
    for side in range(2):
        i = m.law_on[e, LAW_BASE if side else LAW_BODY]
        if side:
            R, p = place_in_base(m, laws, e)
        else:
            R, p = load9(m.law_at, e, LAW_R), load3(m.law_at, e, LAW_P)
        a, l = wrench_to_parent(R, p, given[0], given[1])
        if at_end and i > 0:
            a, l = retractions.cotangent(retraction, scale(-1.0, load3(w.row, i, X)), scale(-1.0, load3(w.row, i, X + 3)), a, l)
        for c in range(3):
            unit[i, c] += -a[c] if side else a[c]
            unit[i, 3 + c] += -l[c] if side else l[c]
    S, columns_r, columns_p = w.S1 if at_end else w.S0, L_R1 if at_end else L_R, L_P1 if at_end else L_P
    for i in range(n - 1, 0, -1):
        a, l = load3(unit, i, 0), load3(unit, i, 3)
        for j in range(link[i, VI], link[i, VI] + link[i, NV]):
            out[j] = column_dot(S, j, a, l)
        pass_to_parent(unit, i, link[i, PARENT], 0, load9(w.linear, i, columns_r), load3(w.linear, i, columns_p), a, l)
