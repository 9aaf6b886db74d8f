"""Constraints on velocities, by the discrete Lagrange-d'Alembert principle.

The impulses act along the directions that virtual displacements of the start of the step are forbidden; the step itself obeys a
discrete constraint between its start and its end, written so that exchanging the two changes nothing but its sign.

SKATE    (n + D n).(D p + t - p)/2 = 0: the point p of the body does not move along n, the mean of its directions
ROLLING  height: the lowest point of the rim is on the plane (end of the step);  slip: along two directions of the plane
         u.(displacement of the centre + turn x (radius * direction to the contact)) = 0, contact of the mean axis
"""

import math

from ...compiling.decorators import inlined, kernel
from ...lie.algebra import add, axpy, cross, dot, load3, load9, matvec, scale, sub, tmatvec
from ...lie.retraction_exp import gammas, half_angle_ratio
from .layout import B_P, BODY_B, D_R, D_U, D_W, FIRST_ROW, FIRST_SLOT, POSE_R, POSE_X, ROW_U, ROW_VALUE, ROW_W


@inlined
def put1(G, slot, k, angular, linear):
    G[slot, k, 0], G[slot, k, 1], G[slot, k, 2] = angular[0], angular[1], angular[2]
    G[slot, k, 3], G[slot, k, 4], G[slot, k, 5] = linear[0], linear[1], linear[2]


# ------------------------------------------------------------------------------------------- knife edge


@inlined
def skate_motion(net, flow, c):
    """Rotation of the step, direction, point and its displacement, axes of the start."""
    i, j = net.con[c, BODY_B], net.con[c, FIRST_ROW]
    D = load9(flow.disp, i, D_R)
    p = load3(net.place, c, B_P)
    shift = (flow.d[6 * i - 3], flow.d[6 * i - 2], flow.d[6 * i - 1])
    return D, load3(net.row, j, ROW_W), p, add(shift, sub(matvec(D, p), p))


@kernel
def skate_value(net, flow, c):
    D, n, _, move = skate_motion(net, flow, c)
    return 0.5 * dot(add(n, matvec(D, n)), move)


@kernel
def skate_gradient(net, flow, c, G):
    D, n, p, move = skate_motion(net, flow, c)
    mean = scale(0.5, add(n, tmatvec(D, n)))  # in the axes of the end
    put1(G, net.con[c, FIRST_SLOT], 0, add(scale(0.5, cross(n, tmatvec(D, move))), cross(p, mean)), mean)


@kernel
def skate_force(net, c, G):
    n = load3(net.row, net.con[c, FIRST_ROW], ROW_W)
    put1(G, net.con[c, FIRST_SLOT], 0, cross(load3(net.place, c, B_P), n), n)


# ----------------------------------------------------------------------------------------- rolling disc


@inlined
def to_contact(normal, axis):
    """Unit vector in the plane of the disc to its lowest point; how the axis leans (its part along the normal), and the cosine of that."""
    lean = dot(normal, axis)
    cosine = math.sqrt(1.0 - lean * lean)
    return scale(-1.0 / cosine, axpy(-lean, axis, normal)), lean, cosine


@inlined
def rolling_data(net, c):
    """Row number of the height, centre and axis in the body, normal, radius, height of the plane."""
    j = net.con[c, FIRST_ROW]
    return j, load3(net.place, c, B_P), load3(net.row, j, ROW_W), load3(net.row, j, ROW_U), net.row[j + 1, ROW_VALUE], net.row[j, ROW_VALUE]


@inlined
def rotation_vector(flow, i):
    """Angle times axis of the step's rotation, body axes (the same at start and end)."""
    u = load3(flow.disp, i, D_U)
    return scale(half_angle_ratio(flow.disp[i, D_W], u), u)


@kernel
def rolling_values(net, flow, c, out, at):
    i = net.con[c, BODY_B]
    j, p, axis, normal, radius, height = rolling_data(net, c)
    R0, R1 = load9(flow.node, i, POSE_R), load9(flow.end, i, POSE_R)
    centre0 = add(load3(flow.node, i, POSE_X), matvec(R0, p))
    centre1 = add(load3(flow.end, i, POSE_X), matvec(R1, p))
    a1 = matvec(R1, axis)
    _, _, cosine = to_contact(normal, a1)
    out[at] = dot(normal, centre1) - radius * cosine - height
    both = add(matvec(R0, axis), a1)
    contact, _, _ = to_contact(normal, scale(1.0 / math.sqrt(dot(both, both)), both))
    slip = axpy(radius, cross(matvec(R0, rotation_vector(flow, i)), contact), sub(centre1, centre0))
    out[at + 1] = dot(load3(net.row, j + 1, ROW_U), slip)
    out[at + 2] = dot(load3(net.row, j + 2, ROW_U), slip)


@kernel
def rolling_gradient(net, flow, c, G):
    i, slot = net.con[c, BODY_B], net.con[c, FIRST_SLOT]
    j, p, axis, normal, radius, _ = rolling_data(net, c)
    R0, R1 = load9(flow.node, i, POSE_R), load9(flow.end, i, POSE_R)
    # height
    a1 = matvec(R1, axis)
    _, lean, cosine = to_contact(normal, a1)
    n = tmatvec(R1, normal)
    put1(G, slot, 0, add(cross(p, n), scale(radius * lean / cosine, cross(axis, n))), n)
    # slip
    both = add(matvec(R0, axis), a1)
    size = math.sqrt(dot(both, both))
    mean = scale(1.0 / size, both)
    contact, lean, cosine = to_contact(normal, mean)
    phi = rotation_vector(flow, i)
    gam, _ = gammas(dot(phi, phi))
    turn = matvec(R0, phi)
    for l in range(3):
        e = (1.0 if l == 0 else 0.0, 1.0 if l == 1 else 0.0, 1.0 if l == 2 else 0.0)
        d_both = matvec(R1, cross(e, axis))
        d_mean = scale(1.0 / size, axpy(-dot(mean, d_both), mean, d_both))
        d_lean = dot(normal, d_mean)
        d_contact = add(scale(1.0 / cosine, axpy(d_lean, mean, scale(lean, d_mean))), scale(lean * d_lean / (cosine * cosine), contact))
        y = cross(phi, e)
        d_turn = matvec(R0, axpy(gam, cross(phi, y), axpy(0.5, y, e)))
        change = add(matvec(R1, cross(e, p)), scale(radius, add(cross(d_turn, contact), cross(turn, d_contact))))
        straight = matvec(R1, e)
        for k in range(1, 3):
            u = load3(net.row, j + k, ROW_U)
            G[slot, k, l] = dot(u, change)
            G[slot, k, 3 + l] = dot(u, straight)


@kernel
def rolling_force(net, flow, c, G):
    i, slot = net.con[c, BODY_B], net.con[c, FIRST_SLOT]
    j, p, axis, normal, radius, _ = rolling_data(net, c)
    R0 = load9(flow.node, i, POSE_R)
    contact, _, _ = to_contact(normal, matvec(R0, axis))
    point = axpy(radius, tmatvec(R0, contact), p)
    for k in range(3):
        u = tmatvec(R0, load3(net.row, j + k, ROW_U))
        put1(G, slot, k, cross(point, u), u)
