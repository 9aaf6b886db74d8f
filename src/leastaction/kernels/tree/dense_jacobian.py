"""The Jacobian of a variational step as a dense matrix, one column after the other (Lee 2016 Alg. 4), and its O(n) solution."""

from typing import NamedTuple

from ...compiling.decorators import kernel
from ...compiling.records import floats
from ...lie.algebra import add, cross, load3, load9, matvec, store3
from .layout import AA, AL, L_P, L_P1, L_R, L_R1, LA, LL, NV, PARENT, VI, P, R
from .midpoint_potentials import coupling_rows, factorise_middle, solve_middle
from .midpoint_quadrature import joint_curvature, wrench_derivative
from .newton_matrix import assemble, factorise, solve
from .spatial import column_dot, load_block, pass_to_parent, twist_to_child


class Columns(NamedTuple):
    """The dense Jacobian and what its columns are made with."""

    J: floats("nv", "nv")
    twist: floats("n+1", 12)  # variations of the bodies, at the end and at the midpoint of the step
    wrench: floats("n+1", 12)  # those of their momenta and wrenches


@kernel
def exact_direction(m, w, mid, h, retraction):
    """w.z = J^-1 w.r with the exact Jacobian, in O(n)."""
    assemble(m, w, h, retraction, True)
    if mid is None:
        factorise(m, w, h)
        solve(m, w)
    else:
        factorise_middle(m, w, mid, h)
        solve_middle(m, w, mid, h)


@kernel
def dense_jacobian(m, w, mid, columns, h):
    """J[:, l] = derivative of the residual in increment l, one column after the other in O(n) each (Lee 2016 Alg. 4).

    Reads linear, S0, S1, art (from `assemble`), S0, S1 of the midpoint; writes columns.
    """
    link, J, eta, dF = m.link, columns.J, columns.twist, columns.wrench
    n = link.shape[0]
    for i in range(1, n):
        if mid is not None:
            joint_curvature(m, w, mid, i, mid.E)
        for c in range(link[i, NV]):
            column = link[i, VI] + c
            vary_from(m, w, mid, columns, i, column)
            for k in range(n - 1, 0, -1):
                a, l = load3(dF, k, 0), load3(dF, k, 3)
                for j in range(link[k, VI], link[k, VI] + link[k, NV]):
                    J[j, column] = column_dot(w.S0, j, a, l)
                pass_to_parent(dF, k, link[k, PARENT], 0, load9(w.linear, k, L_R), load3(w.linear, k, L_P), a, l)
                if mid is not None:
                    a, l = load3(dF, k, 6), load3(dF, k, 9)
                    for j in range(link[k, VI], link[k, VI] + link[k, NV]):
                        J[j, column] -= h * column_dot(mid.S0, j, a, l)
                    if k == i:
                        for r in range(link[i, NV]):
                            J[link[i, VI] + r, column] -= h * mid.E[r, c]
                        moment, force = load3(mid.wrench, i, 0), load3(mid.wrench, i, 3)
                        omega, vel = load3(mid.S1, column, 0), load3(mid.S1, column, 3)
                        a = add(a, add(cross(omega, moment), cross(vel, force)))
                        l = add(l, cross(omega, force))
                    pass_to_parent(dF, k, link[k, PARENT], 6, load9(mid.row, k, R), load3(mid.row, k, P), a, l)
            J[column, column] += 0.5 * m.damping[column] + m.armature[column] / h
            for k in range(n):
                for a in range(12):
                    eta[k, a], dF[k, a] = 0.0, 0.0
    if mid is not None and mid.left.shape[0] > 0:
        coupling_rows(m, w, mid, h)
        for e in range(mid.left.shape[0]):
            for r in range(J.shape[0]):
                for c in range(J.shape[0]):
                    J[r, c] += mid.left[e, r] * mid.right[e, c]


@kernel
def vary_from(m, w, mid, columns, i, column):
    """Variations of all bodies when increment `column` of joint i moves, and of the momenta and wrenches of the bodies."""
    link, eta, dF = m.link, columns.twist, columns.wrench
    for k in range(i, link.shape[0]):
        p = link[k, PARENT]
        a, l = twist_to_child(load9(w.linear, k, L_R1), load3(w.linear, k, L_P1), load3(eta, p, 0), load3(eta, p, 3))
        if k == i:
            a, l = load3(w.S1, column, 0), load3(w.S1, column, 3)
        store3(eta, k, 0, a)
        store3(eta, k, 3, l)
        store3(dF, k, 0, add(matvec(load_block(w.art, k, AA), a), matvec(load_block(w.art, k, AL), l)))
        store3(dF, k, 3, add(matvec(load_block(w.art, k, LA), a), matvec(load_block(w.art, k, LL), l)))
        if mid is not None:
            a, l = twist_to_child(load9(mid.row, k, R), load3(mid.row, k, P), load3(eta, p, 6), load3(eta, p, 9))
            if k == i:
                a, l = load3(mid.S1, column, 0), load3(mid.S1, column, 3)
            store3(eta, k, 6, a)
            store3(eta, k, 9, l)
            wrench_derivative(m, w, mid.row, mid.world, k, mid.H)
            for r in range(6):
                s = 0.0
                for c in range(6):
                    s += mid.H[r, c] * eta[k, 6 + c]
                dF[k, 6 + r] = s
