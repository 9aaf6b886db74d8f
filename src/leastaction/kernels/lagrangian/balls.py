"""Ball and free joints in steps of generalised coordinates (alpha = 1/2): where the Lagrangian is evaluated, and momenta at the two ends.

The increment c is the Cayley vector of D = R_k^-1 R_{k+1}.  The middle is half that rotation away from both ends, R = R_k H with
H H = D, and c/h is the angular velocity there.  Exchanging the ends changes the sign of c and nothing else, so the step is its own
adjoint.  With the momentum l = dL/domega and f = dL/dR, both in body axes, and A = H^-1 dH/dc,

    G = dLd/dc = l + h A' f,    p_k = (1 + c^/2 + cc'/4) G - h H f,    p_{k+1} = (1 - c^/2 + cc'/4) G

where c^ x = c x x: dc = -(1 - c^/2 + cc'/4) eta_k = (1 + c^/2 + cc'/4) eta_{k+1} as the ends turn by eta in their own axes.

A free joint is half way between its two positions, too, and moves there with u = H' d/h in the axes of the middle, d its translation in
the axes of the start.  With P = dL/du and F = dL/dx in the axes of the middle its linear momenta are H (P - h/2 F) and H' (P + h/2 F) in
those of the ends.
"""

import math

from ...compiling.decorators import apart, inlined
from ...joints import dispatch
from ...lie.algebra import (
    add,
    axpy,
    cross,
    dot,
    load9,
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
from ...lie.retraction_exp import gammas
from ...lie.rotations import cayley_quaternion
from ..tree.layout import KIND, NV, QI
from .frames import BALL_Q, BALL_ROW, BALL_V, BALL_X


@inlined
def half_vector(c):
    """Cayley vector of half the rotation with the Cayley vector c; also sqrt(1 + |c|^2 / 4)."""
    s = math.sqrt(1.0 + 0.25 * dot(c, c))
    return scale(1.0 / (1.0 + s), c), s


@apart
def place_middle(frames, lag, w, alpha, h, middle, velocity):
    """middle = q at the fraction alpha of the step, velocity = the mean one, and how ball and free joints stand there."""
    for e in range(frames.plain.shape[0]):
        at, v = frames.plain[e, 0], frames.plain[e, 1]
        middle[at] = w.q[at] + alpha * w.d[v]
    for e in range(frames.kept.shape[0]):
        middle[frames.kept[e]] = w.q[frames.kept[e]]
    for e in range(frames.balls.shape[0]):
        at, v = frames.balls[e, BALL_Q], frames.balls[e, BALL_V]
        c, _ = half_vector(vector(w.d, v))
        n = 1.0 / math.sqrt(1.0 + 0.25 * dot(c, c))
        x, u = n, scale(0.5 * n, c)
        store9(lag.half, e, 0, quat_to_matrix(x, u))
        x, u = quat_mul(w.q[at], (w.q[at + 1], w.q[at + 2], w.q[at + 3]), x, u)
        middle[at], middle[at + 1], middle[at + 2], middle[at + 3] = x, u[0], u[1], u[2]
        store9(lag.turned, e, 0, quat_to_matrix(x, u))
        if frames.balls[e, BALL_X] >= 0:
            move = tmatvec(load9(lag.half, e, 0), vector(w.d, v + 3))
            set_vector(velocity, v + 3, scale(1.0 / h, move))
            set_vector(middle, frames.balls[e, BALL_X], axpy(0.5, matvec(quat_to_matrix(x, u), move), vector(w.q, frames.balls[e, BALL_X])))


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
    """Rows of the residual of ball and free joints: p_k - h/2 H tau - target, tau the force in the middle."""
    for e in range(frames.balls.shape[0]):
        v = frames.balls[e, BALL_V]
        c, H = vector(w.d, v), load9(lag.half, e, 0)
        f = torque(lag, v, scale(1.0 / h, c))
        G = conjugate(lag, v, c, f, h)
        p = add(axpy(0.5, cross(c, G), G), scale(0.25 * dot(c, G), c))
        p = sub(p, matvec(H, axpy(0.5 * h, vector(force, v), scale(h, f))))
        set_vector(w.r, v, sub(p, vector(w.target, v)))
        if frames.balls[e, BALL_X] >= 0:
            p = axpy(-0.5 * h, add(vector(lag.q, v + 3), vector(force, v + 3)), vector(lag.v, v + 3))
            set_vector(w.r, v + 3, sub(matvec(H, p), vector(w.target, v + 3)))


@apart
def arrive(m, frames, lag, w, h, force, tau, row):
    """Target momenta of ball and free joints: p_{k+1} + h/2 H' tau + the joint forces, less what is left of the residual."""
    for e in range(frames.balls.shape[0]):
        v, i = frames.balls[e, BALL_V], frames.balls[e, BALL_ROW]
        nv = m.link[i, NV]
        c, H = vector(w.d, v), load9(lag.half, e, 0)
        G = conjugate(lag, v, c, torque(lag, v, scale(1.0 / h, c)), h)
        p = add(axpy(-0.5, cross(c, G), G), scale(0.25 * dot(c, G), c))
        set_vector(w.target, v, add(p, scale(0.5 * h, tmatvec(H, vector(force, v)))))
        if frames.balls[e, BALL_X] >= 0:
            p = axpy(0.5 * h, add(vector(lag.q, v + 3), vector(force, v + 3)), vector(lag.v, v + 3))
            set_vector(w.target, v + 3, tmatvec(H, p))
        for j in range(v, v + nv):
            w.target[j] += 0.5 * h * tau[row, j]
        dispatch.carry(m.link[i, KIND], w.d, v, nv, w.r, w.target)


@apart
def add_turning(frames, lag, w, h, J):
    """J += how the rows of ball joints differ from those of plain coordinates, to first order in the increment: c^ l / 2 and the torque.

    Translations of free joints are seen from the axes of the start: rows and columns of J turn.
    """
    for e in range(frames.balls.shape[0]):
        v = frames.balls[e, BALL_V]
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
    for e in range(frames.balls.shape[0]):
        if frames.balls[e, BALL_X] >= 0:
            v, H = frames.balls[e, BALL_V] + 3, load9(lag.half, e, 0)
            for j in range(J.shape[1]):
                y = matvec(H, (J[v, j], J[v + 1, j], J[v + 2, j]))
                J[v, j], J[v + 1, j], J[v + 2, j] = y[0], y[1], y[2]
            for j in range(J.shape[0]):
                y = matvec(H, (J[j, v], J[j, v + 1], J[j, v + 2]))
                J[j, v], J[j, v + 1], J[j, v + 2] = y[0], y[1], y[2]


@apart
def per_increment(frames, d, J):
    """Rows J per twist of the ends of ball and free joints -> per unit of their increments: eta = (1 - c^/2) dc / (1 + |c|^2/4), D' dd."""
    for e in range(frames.balls.shape[0]):
        v = frames.balls[e, BALL_V]
        c = vector(d, v)
        w, u = cayley_quaternion(d, v)
        D = quat_to_matrix(w, u)
        n = 1.0 / (1.0 + 0.25 * dot(c, c))
        for a in range(J.shape[0]):
            row = (J[a, v], J[a, v + 1], J[a, v + 2])
            turned = scale(n, axpy(0.5, cross(c, row), row))
            J[a, v], J[a, v + 1], J[a, v + 2] = turned[0], turned[1], turned[2]
            if frames.balls[e, BALL_X] >= 0:
                moved = matvec(D, (J[a, v + 3], J[a, v + 4], J[a, v + 5]))
                J[a, v + 3], J[a, v + 4], J[a, v + 5] = moved[0], moved[1], moved[2]


@apart
def add_springs(m, frames, lag, q):
    """s.q -= gradient of the springs in ball and free joints, at the coordinates q of the middle and in its axes."""
    if m.has_springs and frames.balls.shape[0] > 0:
        for j in range(lag.spring.shape[0]):
            lag.spring[j] = 0.0
        for e in range(frames.balls.shape[0]):
            i, v = frames.balls[e, BALL_ROW], frames.balls[e, BALL_V]
            dispatch.spring(m.link[i, KIND], q, m.link[i, QI], m.rest, lag.q, v, m.link[i, NV], 0.0, m.stiffness, lag.spring)
            for j in range(v, v + m.link[i, NV]):
                lag.q[j] -= lag.spring[j]


@apart
def spring_curvatures(m, frames, lag):
    """s.qq: springs that turn pull with k log, whose derivative along a turn y is y + phi x y / 2 + ... at the rotation phi from rest."""
    if m.has_springs:
        for e in range(frames.balls.shape[0]):
            v = frames.balls[e, BALL_V]
            k = m.stiffness[v]
            if k > 0.0:
                phi = scale(1.0 / k, vector(lag.spring, v))
                gamma, _ = gammas(dot(phi, phi))
                for j in range(3):
                    y = cross(phi, (1.0 if j == 0 else 0.0, 1.0 if j == 1 else 0.0, 1.0 if j == 2 else 0.0))
                    bent = scale(k, axpy(gamma, cross(phi, y), scale(0.5, y)))
                    for i in range(3):
                        lag.qq[v + i, v + j] -= bent[i]
