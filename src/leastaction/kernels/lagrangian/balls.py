"""Ball joints in steps of generalised coordinates (alpha = 1/2): where the Lagrangian is evaluated, and momenta at the two ends.

The increment c is the Cayley vector of D = R_k^-1 R_{k+1}.  The middle is half that rotation away from both ends, R = R_k H with
H H = D, and c/h is the angular velocity there.  Exchanging the ends changes the sign of c and nothing else, so the step is its own
adjoint.  With the momentum l = dL/domega and f = dL/dR, both in body axes, and A = H^-1 dH/dc,

    G = dLd/dc = l + h A' f,    p_k = (1 + c^/2 + cc'/4) G - h H f,    p_{k+1} = (1 - c^/2 + cc'/4) G

where c^ x = c x x: dc = -(1 - c^/2 + cc'/4) eta_k = (1 + c^/2 + cc'/4) eta_{k+1} as the ends turn by eta in their own axes.
"""

import math

from ...compiling.decorators import apart, inlined
from ...lie.algebra import (
    add,
    axpy,
    cross,
    dot,
    load9,
    matmul,
    matvec,
    quat_mul,
    quat_to_matrix,
    scale,
    set_vector,
    store9,
    sub,
    tmatvec,
    vector,
)


@inlined
def half_vector(c):
    """Cayley vector of half the rotation with the Cayley vector c; also sqrt(1 + |c|^2 / 4)."""
    s = math.sqrt(1.0 + 0.25 * dot(c, c))
    return scale(1.0 / (1.0 + s), c), s


@apart
def place_middle(frames, lag, w, middle):
    """middle = q at half the step, and how the ball joints stand there."""
    for e in range(frames.plain.shape[0]):
        at, v = frames.plain[e, 0], frames.plain[e, 1]
        middle[at] = w.q[at] + 0.5 * w.d[v]
    for e in range(frames.balls.shape[0]):
        at, v = frames.balls[e, 0], frames.balls[e, 1]
        c, _ = half_vector(vector(w.d, v))
        n = 1.0 / math.sqrt(1.0 + 0.25 * dot(c, c))
        x, u = n, scale(0.5 * n, c)
        store9(lag.half, e, 0, quat_to_matrix(x, u))
        x, u = quat_mul(w.q[at], (w.q[at + 1], w.q[at + 2], w.q[at + 3]), x, u)
        middle[at], middle[at + 1], middle[at + 2], middle[at + 3] = x, u[0], u[1], u[2]
        store9(lag.turned, e, 0, quat_to_matrix(x, u))


@inlined
def torque(lag, v, omega):
    """f: the derivatives in the angles about x, y and z, less what they are because these angles turn each other's axes."""
    l = vector(lag.v, v)
    return sub(vector(lag.q, v), (0.0, omega[0] * l[2], omega[1] * l[0] - omega[0] * l[1]))


@inlined
def conjugate(lag, v, c, f, h):
    """G."""
    c_half, s = half_vector(c)
    y = scale(1.0 / (1.0 + 0.25 * dot(c_half, c_half)), axpy(0.5, cross(c_half, f), f))
    a = 1.0 / (1.0 + s)
    return axpy(h * a, y, axpy(-h * a * a * dot(c, y) / (4.0 * s), c, vector(lag.v, v)))


@apart
def leave(frames, lag, w, h, force):
    """Rows of the residual of ball joints: p_k - h/2 H tau - target, tau the force in the middle."""
    for e in range(frames.balls.shape[0]):
        v = frames.balls[e, 1]
        c, H = vector(w.d, v), load9(lag.half, e, 0)
        f = torque(lag, v, scale(1.0 / h, c))
        G = conjugate(lag, v, c, f, h)
        p = add(axpy(0.5, cross(c, G), G), scale(0.25 * dot(c, G), c))
        p = sub(p, matvec(H, axpy(0.5 * h, vector(force, v), scale(h, f))))
        set_vector(w.r, v, sub(p, vector(w.target, v)))


@apart
def arrive(frames, lag, w, h, force, tau, row):
    """Target momenta of ball joints: p_{k+1} + h/2 H' tau + the joint forces, less what is left of the residual."""
    for e in range(frames.balls.shape[0]):
        v = frames.balls[e, 1]
        c, H = vector(w.d, v), load9(lag.half, e, 0)
        G = conjugate(lag, v, c, torque(lag, v, scale(1.0 / h, c)), h)
        p = add(axpy(-0.5, cross(c, G), G), scale(0.25 * dot(c, G), c))
        p = add(p, scale(0.5 * h, tmatvec(H, vector(force, v))))
        left = tmatvec(matmul(H, H), vector(w.r, v))
        for j in range(3):
            w.target[v + j] = p[j] + 0.5 * h * tau[row, v + j] - left[j]


@apart
def add_turning(frames, lag, w, h, J):
    """J += how the rows of ball joints differ from those of plain coordinates, to first order in the increment: c^ l / 2 and the torque."""
    for e in range(frames.balls.shape[0]):
        v = frames.balls[e, 1]
        c, l = vector(w.d, v), vector(lag.v, v)
        J[v, v + 1] += 0.5 * l[2]
        J[v, v + 2] -= 0.5 * l[1]
        J[v + 1, v + 2] += 0.5 * l[0]
        for j in range(J.shape[1]):
            lx = lag.vv[v, j] / h + 0.5 * lag.qv[j, v]
            ly = lag.vv[v + 1, j] / h + 0.5 * lag.qv[j, v + 1]
            lz = lag.vv[v + 2, j] / h + 0.5 * lag.qv[j, v + 2]
            J[v, j] += 0.5 * (c[1] * lz - c[2] * ly)
            J[v + 1, j] += 0.5 * c[2] * lx


@apart
def per_increment(frames, d, J):
    """Rows J per turn of the ends of ball joints -> per unit of their increments: eta = (1 - c^/2) dc / (1 + |c|^2/4)."""
    for e in range(frames.balls.shape[0]):
        v = frames.balls[e, 1]
        c = vector(d, v)
        n = 1.0 / (1.0 + 0.25 * dot(c, c))
        for a in range(J.shape[0]):
            row = (J[a, v], J[a, v + 1], J[a, v + 2])
            turned = scale(n, axpy(0.5, cross(c, row), row))
            J[a, v], J[a, v + 1], J[a, v + 2] = turned[0], turned[1], turned[2]
