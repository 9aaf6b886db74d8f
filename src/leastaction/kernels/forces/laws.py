"""Forces on bodies that users write as functions, called by address.   docs/forces.md

    W = law(t, R, x, V, parameters)

R, x: pose of the place the law acts at, V = (omega, v): its twist in its own axes, W = (moment, force): there, in these axes, so that
W.V is the power.   A law that is *seen from* a second place gets pose and twist relative to that place, and the body of that place feels
the opposite wrench: dampers between points, bushings, tyres on a moving road.  A variational step feels half an impulse h/2 W at each of
its ends, at the pose of that end, with the mean twist x/h of the step, x its retraction coordinates (the discrete Lagrange-d'Alembert
principle).
"""

import numpy as np

from ...compiling.address import call_joint
from ...compiling.decorators import inlined, kernel
from ...lie.algebra import (
    IDENTITY,
    accumulate3,
    add,
    axpy,
    cross,
    dot,
    load3,
    load9,
    matmul,
    matvec,
    quat_to_matrix,
    scale,
    store3,
    store9,
    sub,
    tmatmul,
    tmatvec,
)
from ..tree.layout import LAW_ADDRESS, LAW_BASE, LAW_BASE_P, LAW_BASE_R, LAW_BODY, LAW_P, LAW_PLACE, LAW_R, LAW_SLOPES
from ..tree.spatial import twist_to_child, wrench_to_parent

# what a law can be asked for; forces/functions.py compiles the answers
WRENCH, ENERGY, SLOPES = range(3)

# per unit of a twist; of the differences that take the place of slopes in Newton's matrix
DIFFERENCE = 1e-6

_ROWS = np.int64(0)  # of a derivative: Numba would compile a function anew for every plain int it is called with


@kernel
def law_wrenches(m, laws, world, t):
    """Laws.wrench at the time t, the poses `world` (n+1, 12) of the bodies and their twists Laws.twist."""
    for i in range(laws.wrench.shape[0]):
        for c in range(6):
            laws.wrench[i, c] = 0.0
    for e in range(m.law_on.shape[0]):
        place_law(m, laws, e, world)
        move_law(m, laws, e)
        laws.time[e] = t
        W = ask(m, laws, e)
        i, base = m.law_on[e, LAW_BODY], m.law_on[e, LAW_BASE]
        a, l = wrench_on_body(m, e, W)
        accumulate3(laws.wrench, i, 0, a)
        accumulate3(laws.wrench, i, 3, l)
        if base >= 0:
            R, p = place_in_base(m, laws, e)
            a, l = wrench_to_parent(R, p, (-W[0], -W[1], -W[2]), (-W[3], -W[4], -W[5]))
            accumulate3(laws.wrench, base, 0, a)
            accumulate3(laws.wrench, base, 3, l)


@inlined
def place_law(m, laws, e, world):
    """Laws.place of law e, bodies at the poses `world`."""
    i, base = m.law_on[e, LAW_BODY], m.law_on[e, LAW_BASE]
    R = matmul(load9(world, i, 0), load9(m.law_at, e, LAW_R))
    x = add(load3(world, i, 9), matvec(load9(world, i, 0), load3(m.law_at, e, LAW_P)))
    if base >= 0:
        Q = matmul(load9(world, base, 0), load9(m.law_at, e, LAW_BASE_R))
        origin = add(load3(world, base, 9), matvec(load9(world, base, 0), load3(m.law_at, e, LAW_BASE_P)))
        R, x = tmatmul(Q, R), tmatvec(Q, sub(x, origin))
    store9(laws.place, e, 0, R)
    store3(laws.place, e, 9, x)


@inlined
def move_law(m, laws, e):
    """Laws.rate of law e where it was placed last, bodies moving with Laws.twist."""
    i, base = m.law_on[e, LAW_BODY], m.law_on[e, LAW_BASE]
    a, l = twist_to_child(load9(m.law_at, e, LAW_R), load3(m.law_at, e, LAW_P), load3(laws.twist, i, 0), load3(laws.twist, i, 3))
    if base >= 0:
        R, p = place_in_base(m, laws, e)
        omega, vel = twist_to_child(R, p, load3(laws.twist, base, 0), load3(laws.twist, base, 3))
        a, l = sub(a, omega), sub(l, vel)
    store3(laws.rate, e, 0, a)
    store3(laws.rate, e, 3, l)


@inlined
def place_in_base(m, laws, e):
    """Pose of the place of law e in the body that it is seen from."""
    Q = load9(m.law_at, e, LAW_BASE_R)
    return matmul(Q, load9(laws.place, e, 0)), add(load3(m.law_at, e, LAW_BASE_P), matvec(Q, load3(laws.place, e, 9)))


@inlined
def ask(m, laws, e):
    """The wrench W of law e where it was placed last, first six of twelve numbers."""
    return call_joint(m.law_on[e, LAW_ADDRESS], WRENCH, m.law_param, e, laws.place, e, laws.rate, e, laws.time[e], None)


@inlined
def wrench_on_body(m, e, W):
    """(moment, force) on the body of law e, at its origin in body axes."""
    return wrench_to_parent(load9(m.law_at, e, LAW_R), load3(m.law_at, e, LAW_P), (W[0], W[1], W[2]), (W[3], W[4], W[5]))


@kernel
def law_energies(laws, m, world):
    """Sum of the potential energies that laws say they have, at the poses `world`; laws: None where there are none."""
    if laws is None:
        return 0.0
    total = 0.0
    for e in range(m.law_on.shape[0]):
        place_law(m, laws, e, world)
        total += call_joint(m.law_on[e, LAW_ADDRESS], ENERGY, m.law_param, e, laws.place, e, laws.rate, e, 0.0, None)[0]
    return total


@kernel
def law_damping(m, laws, e, side, centre):
    """Laws.damping = derivative of the wrench of law e on a body in the twist of that body, where the law was last evaluated.

    side     LAW_BODY, the body it acts on, LAW_BASE, the one it is seen from, or LAW_PLACE: of the place itself, in its axes
    centre   point of the body that wrench and twist are taken at, in body axes
    By the slopes of the law if it has them, otherwise by differences.
    """
    R, p = load9(m.law_at, e, LAW_R), load3(m.law_at, e, LAW_P)
    if side == LAW_BASE:  # twist and wrench both change their sign
        R, p = place_in_base(m, laws, e)
    elif side == LAW_PLACE:
        R, p = IDENTITY, (0.0, 0.0, 0.0)
    base = ask(m, laws, e)
    if m.law_on[e, LAW_SLOPES]:
        call_joint(m.law_on[e, LAW_ADDRESS], SLOPES, m.law_param, e, laws.place, e, laws.rate, e, laws.time[e], laws.slope)
    fastest = 1.0
    for c in range(6):
        fastest = max(fastest, abs(laws.rate[e, c]))
    small = DIFFERENCE * fastest
    for k in range(6):
        omega = (1.0 if k == 0 else 0.0, 1.0 if k == 1 else 0.0, 1.0 if k == 2 else 0.0)
        vel = (1.0 if k == 3 else 0.0, 1.0 if k == 4 else 0.0, 1.0 if k == 5 else 0.0)
        ra, rl = twist_to_child(R, p, omega, sub(vel, cross(omega, centre)))
        a, l = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
        if m.law_on[e, LAW_SLOPES]:
            a = (slope_along(laws, e, _ROWS, ra, rl), slope_along(laws, e, _ROWS + 1, ra, rl), slope_along(laws, e, _ROWS + 2, ra, rl))
            l = (slope_along(laws, e, _ROWS + 3, ra, rl), slope_along(laws, e, _ROWS + 4, ra, rl), slope_along(laws, e, _ROWS + 5, ra, rl))
        else:
            ka, kl = load3(laws.rate, e, 0), load3(laws.rate, e, 3)
            store3(laws.rate, e, 0, (ka[0] + small * ra[0], ka[1] + small * ra[1], ka[2] + small * ra[2]))
            store3(laws.rate, e, 3, (kl[0] + small * rl[0], kl[1] + small * rl[1], kl[2] + small * rl[2]))
            W = ask(m, laws, e)
            store3(laws.rate, e, 0, ka)
            store3(laws.rate, e, 3, kl)
            a = ((W[0] - base[0]) / small, (W[1] - base[1]) / small, (W[2] - base[2]) / small)
            l = ((W[3] - base[3]) / small, (W[4] - base[4]) / small, (W[5] - base[5]) / small)
        a, l = wrench_to_parent(R, p, a, l)
        a = sub(a, cross(centre, l))
        for c in range(3):
            laws.damping[c, k], laws.damping[3 + c, k] = a[c], l[c]


@inlined
def slope_along(laws, e, r, a, l):
    """Row r of the derivative in the twist, times the twist (a, l)."""
    at = 12 * r + 6
    s = laws.slope[e, at] * a[0] + laws.slope[e, at + 1] * a[1] + laws.slope[e, at + 2] * a[2]
    return s + laws.slope[e, at + 3] * l[0] + laws.slope[e, at + 4] * l[1] + laws.slope[e, at + 5] * l[2]


# weights of central differences of order six, and how far they reach in a pose and a twist: laws need not be smooth everywhere
WEIGHTS = (45.0 / 60.0, -9.0 / 60.0, 1.0 / 60.0)
REACH = 1e-3


@kernel
def differentiate_law(m, laws, e):
    """Laws.slope[e] where law e was placed: by the slopes it knows, otherwise by differences of order six."""
    if m.law_on[e, LAW_SLOPES]:
        call_joint(m.law_on[e, LAW_ADDRESS], SLOPES, m.law_param, e, laws.place, e, laws.rate, e, laws.time[e], laws.slope)
        return
    R, x, omega, vel = load9(laws.place, e, 0), load3(laws.place, e, 9), load3(laws.rate, e, 0), load3(laws.rate, e, 3)
    for c in range(72):
        laws.slope[e, c] = 0.0
    for k in range(12):
        a = (1.0 if k % 6 == 0 else 0.0, 1.0 if k % 6 == 1 else 0.0, 1.0 if k % 6 == 2 else 0.0)
        l = (1.0 if k % 6 == 3 else 0.0, 1.0 if k % 6 == 4 else 0.0, 1.0 if k % 6 == 5 else 0.0)
        for far in range(1, 4):
            for sign in range(-1, 2, 2):
                step = sign * far * REACH
                if k < 6:
                    norm = 1.0 / (1.0 + 0.25 * step * step * dot(a, a)) ** 0.5
                    store9(laws.place, e, 0, matmul(R, quat_to_matrix(norm, scale(0.5 * step * norm, a))))
                    store3(laws.place, e, 9, axpy(step, matvec(R, l), x))
                else:
                    store3(laws.rate, e, 0, axpy(step, a, omega))
                    store3(laws.rate, e, 3, axpy(step, l, vel))
                W, weight = ask(m, laws, e), sign * WEIGHTS[far - 1] / REACH
                for r in range(6):
                    laws.slope[e, 12 * r + k] += weight * W[r]
        store9(laws.place, e, 0, R)
        store3(laws.place, e, 9, x)
        store3(laws.rate, e, 0, omega)
        store3(laws.rate, e, 3, vel)


@kernel
def law_in_body_axes(m, laws, e, first, out):
    """out (6, 6) = derivative of the wrench of law e on its body in the pose (first = 0) or the twist (6) of the body, body axes."""
    R, p = load9(m.law_at, e, LAW_R), load3(m.law_at, e, LAW_P)
    for k in range(6):
        omega = (1.0 if k == 0 else 0.0, 1.0 if k == 1 else 0.0, 1.0 if k == 2 else 0.0)
        vel = (1.0 if k == 3 else 0.0, 1.0 if k == 4 else 0.0, 1.0 if k == 5 else 0.0)
        a, l = twist_to_child(R, p, omega, vel)
        for r in range(6):
            at = 12 * r + first
            out[r, k] = dot(a, load3(laws.slope, e, at)) + dot(l, load3(laws.slope, e, at + 3))
    for k in range(6):
        a, l = wrench_to_parent(R, p, (out[0, k], out[1, k], out[2, k]), (out[3, k], out[4, k], out[5, k]))
        for r in range(3):
            out[r, k], out[3 + r, k] = a[r], l[r]
