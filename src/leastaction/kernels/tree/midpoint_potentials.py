"""Potentials between bodies at the midpoint of a step, and the exact Newton direction with them.

A spring between two points, or an energy of several coordinates, couples bodies that the tree does not: it adds

    sum over rows e of  l_e rho_e'      (three rows per spring, one per coordinate of a potential)

to the Jacobian that `midpoint.factorise12` eliminates.  With k rows a factorisation costs k solves of the tree and a k x k system
(Sherman, Morrison, Woodbury); for a given number of rows it stays O(n).
"""

from ...compiling.decorators import kernel
from ...lie.algebra import load3, load9
from ..forces.potentials import evaluate_potential, pair_stiffness, push
from ..solving.couplings import correct_for_couplings, factor_couplings
from .layout import NV, PAIR_A, PAIR_B, PARENT, UP, UV, VI, P, R
from .midpoint_quadrature import factorise12, solve12
from .spatial import column_dot, pass_to_parent


@kernel
def factorise_middle(m, w, mid, h):
    """As `factorise12`, with the potentials between bodies.  Writes also mid.left, right, Y, C."""
    factorise12(m, w, mid, h)
    rows = mid.left.shape[0]
    if rows == 0:
        return
    coupling_rows(m, w, mid, h)
    nv = w.r.shape[0]
    for j in range(nv):
        mid.saved[j] = w.r[j]
    for e in range(rows):
        for j in range(nv):
            w.r[j] = mid.left[e, j]
        solve12(m, w, mid, h)
        for j in range(nv):
            mid.Y[e, j] = w.z[j]
    for j in range(nv):
        w.r[j] = mid.saved[j]
    factor_couplings(mid)


@kernel
def solve_middle(m, w, mid, h):
    """z = J^-1 r with the factorisation of `factorise_middle`."""
    solve12(m, w, mid, h)
    correct_for_couplings(mid, w.z)


@kernel
def coupling_rows(m, w, mid, h):
    """mid.left = l_e, mid.right = rho_e at the midpoint node."""
    nv = w.r.shape[0]
    row = 0
    for e in range(m.pair_on.shape[0]):
        over, along, v = pair_stiffness(m, mid.world, e, w.x, w.jet)
        for c in range(3):
            unit_force(m, mid, e, c, mid.S0, mid.left[row + c])
            unit_force(m, mid, e, c, mid.S1, mid.moves[c])
        # dr = h l' K dx,  K = U'/r (1 - nn') + U'' nn'
        for j in range(nv):
            x, y, z = mid.moves[0, j], mid.moves[1, j], mid.moves[2, j]
            s = along * (v[0] * x + v[1] * y + v[2] * z)
            mid.right[row, j] = h * (over * x + s * v[0])
            mid.right[row + 1, j] = h * (over * y + s * v[1])
            mid.right[row + 2, j] = h * (over * z + s * v[2])
        row += 3
    for c in range(m.energy_on.shape[0] - 1):
        evaluate_potential(m, w, mid.q, c)
        first = m.energy_on[c, UP]
        size = m.energy_on[c + 1, UP] - first
        for a in range(size):
            for j in range(nv):
                mid.left[row, j] = 0.0
                mid.right[row, j] = 0.0
            # half the gradient acts on the start, and the midpoint moves by half the increment
            mid.left[row, m.energy_at[first + a, UV]] = 0.5
            for b in range(size):
                mid.right[row, m.energy_at[first + b, UV]] = 0.5 * h * w.jet[0, 1 + size + a * size + b]
            row += 1


@kernel
def unit_force(m, mid, e, c, S, out):
    """out_j = motion of the vector of spring e along world axis c per unit of column j of S, at the midpoint."""
    link, wrench = m.link, mid.unit
    n = link.shape[0]
    for i in range(n):
        for a in range(6):
            wrench[i, a] = 0.0
    axis = (1.0 if c == 0 else 0.0, 1.0 if c == 1 else 0.0, 1.0 if c == 2 else 0.0)
    push(wrench, 0, mid.world, m.pair_on[e, 0], load3(m.pair, e, PAIR_A), axis, 1.0)
    push(wrench, 0, mid.world, m.pair_on[e, 1], load3(m.pair, e, PAIR_B), axis, -1.0)
    for i in range(n - 1, 0, -1):
        a, l = load3(wrench, i, 0), load3(wrench, i, 3)
        for j in range(link[i, VI], link[i, VI] + link[i, NV]):
            out[j] = column_dot(S, j, a, l)
        pass_to_parent(wrench, i, link[i, PARENT], 0, load9(mid.row, i, R), load3(mid.row, i, P), a, l)
