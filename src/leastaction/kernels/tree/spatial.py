"""Spatial algebra on rows: moving wrenches and twists between bodies, momentum of a body."""

from ...compiling.decorators import inlined
from ...lie.algebra import (
    accumulate3,
    add,
    axpy,
    cross,
    dot,
    hat_mat,
    load3,
    load6,
    mat_hat,
    matadd,
    mataxpy,
    matmul,
    matmul_t,
    matvec,
    symvec,
    tmatvec,
)
from .layout import INERTIA, MASS, MOMENT


@inlined
def body_momentum(body, i, omega, vel):
    """G V: momentum (angular, linear) of body i moving with the twist (omega, vel) of its origin."""
    c = load3(body, i, MOMENT)
    return add(symvec(load6(body, i, INERTIA), omega), cross(c, vel)), axpy(body[i, MASS], vel, cross(omega, c))


@inlined
def load_block(A, i, b):
    """Block b (AA, AL, LA or LL) of the 6x6 matrix of body i."""
    return A[i, b], A[i, b + 4], A[i, b + 8], A[i, b + 12], A[i, b + 16], A[i, b + 20], A[i, b + 24], A[i, b + 28], A[i, b + 32]


@inlined
def store_block(A, i, b, x):
    A[i, b], A[i, b + 4], A[i, b + 8] = x[0], x[1], x[2]
    A[i, b + 12], A[i, b + 16], A[i, b + 20] = x[3], x[4], x[5]
    A[i, b + 24], A[i, b + 28], A[i, b + 32] = x[6], x[7], x[8]


@inlined
def accumulate_block(A, i, b, x):
    A[i, b] += x[0]
    A[i, b + 4] += x[1]
    A[i, b + 8] += x[2]
    A[i, b + 12] += x[3]
    A[i, b + 16] += x[4]
    A[i, b + 20] += x[5]
    A[i, b + 24] += x[6]
    A[i, b + 28] += x[7]
    A[i, b + 32] += x[8]


@inlined
def wrench_to_parent(R, p, moment, force):
    """Ad_{X^-1}' of a wrench: from the body to its parent, X = (R, p)."""
    f = matvec(R, force)
    return add(matvec(R, moment), cross(p, f)), f


@inlined
def twist_to_child(R, p, omega, vel):
    """Ad_{X^-1} of a twist: from the parent to the body, X = (R, p)."""
    return tmatvec(R, omega), tmatvec(R, add(vel, cross(omega, p)))


@inlined
def twist_to_parent(R, p, omega, vel):
    """Ad_X of a twist: from the body to its parent, X = (R, p)."""
    turn = matvec(R, omega)
    return turn, add(matvec(R, vel), cross(p, turn))


@inlined
def carried(R, p, R1, p1, aa, al, la, ll):
    """Ad_{X^-1}' A Ad_{X1^-1} of the blocks of A, which makes wrenches of twists: X = (R, p) carries the wrenches, X1 the twists."""
    aa, al = matmul_t(matmul(R, aa), R1), matmul_t(matmul(R, al), R1)
    la, ll = matmul_t(matmul(R, la), R1), matmul_t(matmul(R, ll), R1)
    al2 = matadd(al, hat_mat(p, ll))
    aa2 = matadd(aa, hat_mat(p, la))
    return mataxpy(-1.0, mat_hat(al2, p1), aa2), al2, mataxpy(-1.0, mat_hat(ll, p1), la), ll


@inlined
def pass_to_parent(row, i, parent, column, R, p, moment, force):
    """Add the wrench of body i to its parent's."""
    a, l = wrench_to_parent(R, p, moment, force)
    accumulate3(row, parent, column, a)
    accumulate3(row, parent, column + 3, l)


@inlined
def dot6(array, j, k, a, l):
    """Six numbers array[j, k:] times a wrench or twist given as (angular, linear)."""
    return dot(load3(array, j, k), a) + dot(load3(array, j, k + 3), l)


@inlined
def column_dot(S, j, a, l):
    """Joint column j times a wrench or twist given as (angular, linear)."""
    return dot6(S, j, 0, a, l)


@inlined
def add_column(S, j, s, a, l):
    """(a, l) + s times joint column j."""
    angular = a[0] + s * S[j, 0], a[1] + s * S[j, 1], a[2] + s * S[j, 2]
    linear = l[0] + s * S[j, 3], l[1] + s * S[j, 4], l[2] + s * S[j, 5]
    return angular, linear

