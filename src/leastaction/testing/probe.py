"""Entry points to single joint and retraction kernels, for `leastaction.testing` and for looking inside.

A joint stands alone here: its coordinates start at q[0], its increments and columns at row 0, its parameters in row 0.
"""

import numpy as np

from ..compiling.decorators import entry
from ..joints import dispatch
from ..kernels.maximal.symbolic import dual_columns
from ..lie import trig
from ..lie.algebra import load3, load6, store3, store9
from ..lie.retractions import BODY

FIRST = np.int64(0)


@entry
def joint_pose(kind, param, q, d, f, out):
    """out (12,): rotation row by row, position, at the fraction f of the step."""
    R, p = dispatch.pose(kind, param, FIRST, q, FIRST, d, FIRST, f)
    for a in range(9):
        out[a] = R[a]
    for a in range(3):
        out[9 + a] = p[a]


@entry
def joint_displacement(kind, param, q, d, out):
    """out (7,): quaternion (w, x, y, z) and translation of X(q)^-1 X(q + d)."""
    w, u, t = dispatch.displacement(kind, param, FIRST, q, FIRST, d, FIRST)
    out[0] = w
    for a in range(3):
        out[1 + a] = u[a]
        out[4 + a] = t[a]


@entry
def joint_columns(kind, param, q, d, f, S):
    """S (nv, 6): body twists per unit rate of the coordinates (f = 0) or of the increment (f = 1)."""
    dispatch.columns(kind, param, FIRST, q, FIRST, d, FIRST, f, S)


@entry
def joint_mid_columns(kind, param, q, d, nv, S0, S1, S2):
    """S0, S1, S2 (nv, 6): twists of the midpoint per unit variation of the start, of the increment and of the end."""
    dispatch.mid_columns(kind, param, FIRST, q, FIRST, d, FIRST, nv, S0, S1, S2)


@entry
def joint_mid_curvature(kind, param, q, d, nv, S1, wrench, E, scratch):
    """E (nv, nv) += d (S0 . wrench) / d increment; wrench (1, 6), scratch (6, 6)."""
    dispatch.mid_curvature(kind, param, q, FIRST, d, FIRST, nv, S1, wrench, FIRST, E, scratch)


@entry
def joint_advance(kind, q, d, nv):
    """q <- q + d."""
    dispatch.advance(kind, q, FIRST, d, FIRST, nv)


@entry
def joint_rate(kind, q, v, nv, out):
    """out (nq,): time derivative of the coordinates."""
    dispatch.rate(kind, q, FIRST, v, FIRST, nv, out)


@entry
def joint_bias(kind, param, q, v, out):
    """out (6,): (dS/dt) v."""
    a, l = dispatch.bias(kind, param, FIRST, q, FIRST, v, FIRST)
    for r in range(3):
        out[r] = a[r]
        out[3 + r] = l[r]


@entry
def joint_spring(kind, q, rest, d, nv, f, stiffness, gradient):
    """Energy of the joint spring; gradient (nv,) is added to."""
    return dispatch.spring(kind, q, FIRST, rest, d, FIRST, nv, f, stiffness, gradient)


@entry
def joint_spring_curvature(kind, q, rest, d, nv, stiffness, S0, S1, E):
    """E (nv, nv) += derivative of the midpoint spring force on the start of the step in the increment."""
    dispatch.spring_curvature(kind, q, FIRST, rest, d, FIRST, nv, stiffness, S0, S1, E)


@entry
def joint_coordinates(kind, param, pose, old, out):
    """out (nq,): coordinates of the 4x4 pose, continued from old."""
    R = (pose[0, 0], pose[0, 1], pose[0, 2], pose[1, 0], pose[1, 1], pose[1, 2], pose[2, 0], pose[2, 1], pose[2, 2])
    dispatch.coordinates_of(kind, param, FIRST, R, (pose[0, 3], pose[1, 3], pose[2, 3]), old, FIRST, out)


@entry
def joint_increment(kind, q0, q1, nv, at_end, out):
    """out (nv,): the increment from q0 to q1, in the axes of q0 or of q1."""
    dispatch.increment(kind, q0, q1, FIRST, FIRST, nv, at_end, out)


@entry
def joint_end_increment(kind, d, nv, out):
    """out (nv,): the increment d in the axes of the step's end."""
    dispatch.end_increment(kind, d, FIRST, nv, out)


@entry
def joint_dual_columns(kind, S, nv, scratch, dual, out):
    """out (nv, 6): dual columns for the columns S; scratch (6, 6) and dual (nv, 6) are overwritten."""
    if dispatch.needs_duals(kind):
        dual_columns(S, FIRST, nv, scratch, dual)
    for j in range(nv):
        a, l = dispatch.dual_column(kind, S, dual, j)
        store3(out, j, 0, a)
        store3(out, j, 3, l)


@entry
def joint_increment_slopes(kind, d, nv, dual, out):
    """out (nv, 6): derivative of the increment in the pose of the step's end, where the dual columns are dual (nv, 6)."""
    for j in range(nv):
        a, l = dispatch.increment_slope(kind, d, FIRST, j, load3(dual, j, 0), load3(dual, j, 3))
        store3(out, j, 0, a)
        store3(out, j, 3, l)


@entry
def joint_carry(kind, d, nv, r, target):
    """target -= r, seen from the end of the step."""
    dispatch.carry(kind, d, FIRST, nv, r, target)


@entry
def joint_normalise(kind, q):
    """q back on its manifold."""
    dispatch.normalise(kind, q, FIRST)


@entry
def joint_retract(kind, retraction, x, nv, d):
    """d (nv,): the increment tau(x)."""
    dispatch.retract(kind, retraction, x, FIRST, nv, d)


@entry
def joint_retraction_cotangent(kind, retraction, x, nv, sign, p):
    """p (nv,) <- (dtau^-1 at sign x)' p."""
    dispatch.retraction_cotangent(kind, retraction, x, FIRST, nv, sign, p)


@entry
def joint_rotate_and_slide(kind, x, nv, d):
    """d (nv,): the increment that turns by the rotation vector in x and slides by the rest of x."""
    dispatch.rotate_and_slide(kind, x, FIRST, nv, d)


@entry
def joint_canonical_rate(kind, x, nv, velocity, out):
    """out (nv,): dexp^-1_{-x} velocity, to second order in x."""
    dispatch.canonical_rate(kind, x, FIRST, nv, velocity, out)


@entry
def retraction_coordinates(retraction, displacement, out):
    """Rows of displacement (T, 7), quaternion and translation, to rows of out (T, 6)."""
    for i in range(displacement.shape[0]):
        phi, rho = BODY.coordinates(retraction, displacement[i, 0], load3(displacement, i, 1), load3(displacement, i, 4))
        store3(out, i, 0, phi)
        store3(out, i, 3, rho)


@entry
def retraction_displacement(retraction, x, out):
    """Rows of x (T, 6) to rows of out (T, 7): quaternion and translation."""
    for i in range(x.shape[0]):
        w, u, t = BODY.displacement(retraction, load3(x, i, 0), load3(x, i, 3))
        out[i, 0] = w
        store3(out, i, 1, u)
        store3(out, i, 4, t)


@entry
def retraction_cotangent(retraction, x, momentum, out):
    """Rows of (dtau^-1_x)' momentum, all (T, 6)."""
    for i in range(x.shape[0]):
        a, l = BODY.cotangent(retraction, load3(x, i, 0), load3(x, i, 3), load3(momentum, i, 0), load3(momentum, i, 3))
        store3(out, i, 0, a)
        store3(out, i, 3, l)


@entry
def retraction_stiffness(retraction, x, body, out):
    """Rows of x (T, 6), body (T, 10): mass, moment, inertia; out (T, 36): blocks aa, al, la, ll of h K."""
    for i in range(x.shape[0]):
        blocks = BODY.stiffness(retraction, load3(x, i, 0), load3(x, i, 3), body[i, 0], load3(body, i, 1), load6(body, i, 4))
        store9(out, i, 0, blocks[0])
        store9(out, i, 9, blocks[1])
        store9(out, i, 18, blocks[2])
        store9(out, i, 27, blocks[3])


@entry
def sine_cosine(angles, out):
    """Rows of out (T, 4): sin x, cos x, sin x/2, cos x/2."""
    for i in range(angles.shape[0]):
        out[i, 0], out[i, 1] = trig.sincos(angles[i])
        out[i, 2], out[i, 3] = trig.half_sincos(angles[i])
