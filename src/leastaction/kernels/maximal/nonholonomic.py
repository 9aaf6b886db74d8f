"""Constraints on velocities, by the discrete Lagrange-d'Alembert principle.                                      docs/vehicles.md

The impulses act along the directions that virtual displacements of the start of the step are forbidden; the step itself obeys a
discrete constraint between its start and its end, written so that exchanging the two changes nothing but its sign.

All of it is about body B as seen from body A, in the axes of A: R its rotation, p the place of its point b, and over a step the turn
phi (angle times axis) and the displacement of the point.

SKATE    (n + D n)/2 . displacement = 0: the point does not move along n, the mean of its directions
ROLLING  a disc on a plane of A, BALL a ball on a plane of A, SPHERE a ball on (or in) a sphere of A, ELLIPSOID one on a plane of A, with
         HEIGHT         the lowest point is on the surface (end of the step)
         ALONG, ACROSS  u . (displacement of the centre + phi x lever to the contact) = 0, lever of the mean pose, or mean of the levers

u: for a disc along its way and across it, at the mean axis, so that wheels on one axle have the same row; for a ball or ellipsoid on a
plane two directions of the plane; on a sphere two tangents at the start of the step.  There the slip lies in the tangent plane of the
mean pose whenever the distance is kept, so any two directions that are not normal to it say that it vanishes.
"""

import math

from ...compiling.decorators import inlined, kernel
from ...joints.rows import ALONG, HEIGHT
from ...lie.algebra import (
    add,
    axpy,
    cross,
    dot,
    load3,
    load9,
    matmul,
    matvec,
    quat_mul,
    quat_rotate_minus,
    quat_to_matrix,
    scale,
    sub,
    tmatvec,
)
from ...lie.retraction_exp import gammas, half_angle_ratio
from .layout import (
    A_P,
    B_P,
    B_R,
    BALL,
    CON_KIND,
    ELLIPSOID,
    FIRST_ROW,
    FIRST_SLOT,
    ROLLING,
    ROW_U,
    ROW_VALUE,
    ROW_W,
    ROWS,
    SKATE,
    SPHERE,
)
from .rows import put

_NONE = (0.0, 0.0, 0.0)


# ---------------------------------------------------------------------------------------------------- B as seen from A


@inlined
def seen_from_still(R, point, wB, uB, moved):
    """The motion if A stands still: rotation R and point at the start, quaternion of the step in the axes of B, displacement in A."""
    return R, point, wB, uB, matvec(R, moved)


@inlined
def seen_from_moving(R, point, wB, uB, moved, wA, uA, shift):
    """The same if A moves too, by (wA, uA) and the shift of its origin, in its axes at the start."""
    back = scale(-1.0, uA)
    w, u = quat_mul(wA, tmatvec(R, back), wB, uB)
    ahead = sub(sub(matvec(R, moved), shift), quat_rotate_minus(wA, uA, point))
    return R, point, w, u, add(ahead, quat_rotate_minus(wA, back, ahead))


@inlined
def put_both(G, slot, k, R, point, b, angular, linear):
    """Row k as a wrench on B in its axes, and what it is on A (first slot): its opposite.  R, point: of B in A there."""
    put(G, slot + 1, k, angular, linear)
    force = matvec(R, linear)
    origin = sub(point, matvec(R, b))
    put(G, slot, k, scale(-1.0, add(matvec(R, angular), cross(origin, force))), scale(-1.0, force))


# --------------------------------------------------------------------------------------------------- where it touches


@inlined
def wheel(normal, axis):
    """Of a disc: the way it rolls, and across it, in the plane; unit vector to its lowest point; cosine of its lean."""
    way = cross(axis, normal)
    cosine = math.sqrt(dot(way, way))
    way = scale(1.0 / cosine, way)
    return way, cross(normal, way), cross(axis, way), cosine


@inlined
def wheel_changes(normal, axis, way, cosine, change):
    """How the first three change with the axis."""
    turned = cross(change, normal)
    d_way = scale(1.0 / cosine, axpy(-dot(way, turned), way, turned))
    return d_way, cross(normal, d_way), add(cross(change, way), cross(axis, d_way))


@inlined
def tangent(normal):
    """A unit vector orthogonal to the normal: to it and the axis it leans least to."""
    x, y, z = abs(normal[0]), abs(normal[1]), abs(normal[2])
    e = (1.0, 0.0, 0.0) if x <= y and x <= z else (0.0, 1.0, 0.0) if y <= z else (0.0, 0.0, 1.0)
    first = cross(e, normal)
    size = math.sqrt(dot(first, first))
    return scale(1.0 / size, first), e, size


@inlined
def unit_and_size(x):
    size = math.sqrt(dot(x, x))
    return scale(1.0 / size, x), size


@inlined
def support(net, c, j, n):
    """Of an ellipsoid: how far its lowest point is below its centre, the way there in the axes of B; its axes and squared half axes.

    n: normal of the plane in the axes of B.
    """
    axes, half = load9(net.place, c, B_R), load3(net.row, j, ROW_W)
    squares = (half[0] * half[0], half[1] * half[1], half[2] * half[2])
    m = times(squares, tmatvec(axes, n))
    depth = math.sqrt(dot(m, tmatvec(axes, n)))
    lowest = matvec(axes, scale(-1.0 / depth, m))
    return depth, lowest, axes, squares


@inlined
def times(a, b):
    return a[0] * b[0], a[1] * b[1], a[2] * b[2]


@inlined
def support_change(depth, lowest, axes, squares, y):
    """Change of the way to the lowest point with a change y of the normal, both in the axes of B."""
    change = matvec(axes, times(squares, tmatvec(axes, y)))
    return scale(-1.0 / depth, axpy(-dot(lowest, y), lowest, change))


@inlined
def touch(net, c, R, R1, point, axis, mean):
    """Directions along and across and the lever to the contact of what rolls.

    axis: of a disc, in A; mean: of a ball on a sphere, from the sphere's centre.  Both of the mean pose; R, point: at the start, R1: at the
    end of the step.
    """
    j = net.con[c, FIRST_ROW]
    kind, radius, normal = net.con[c, CON_KIND], net.row[j, ROW_VALUE], load3(net.row, j, ROW_U)
    if kind == ROLLING:
        way, across, contact, _ = wheel(normal, axis)
        return way, across, scale(radius, contact)
    if kind == SPHERE:
        out, _ = unit_and_size(sub(point, load3(net.place, c, A_P)))
        way, _, _ = tangent(out)
        side, _ = unit_and_size(mean)
        return way, cross(out, way), scale(-radius * net.row[j, ROW_W], side)
    way, _, _ = tangent(normal)
    if kind == BALL:
        return way, cross(normal, way), scale(-radius, normal)
    _, lowest, _, _ = support(net, c, j, tmatvec(R, normal))
    _, lowest1, _, _ = support(net, c, j, tmatvec(R1, normal))
    return way, cross(normal, way), scale(0.5, add(matvec(R, lowest), matvec(R1, lowest1)))


# ------------------------------------------------------------------------------------------------------------ rows


@inlined
def at_end(motion):
    """Rotation and point of B in A at the end of the step."""
    R, point, w, u, moved = motion
    return matmul(R, quat_to_matrix(w, u)), add(point, moved)


@kernel
def velocity_values(net, c, motion, out, at):
    """out[at:] = the rows of constraint c over the step."""
    R, point, w, u, moved = motion
    R1, point1 = at_end(motion)
    first, kind = net.con[c, FIRST_ROW], net.con[c, CON_KIND]
    for k in range(net.con[c, ROWS]):
        j = first + k
        toward = load3(net.row, j, ROW_W)
        if kind == SKATE:
            out[at + k] = 0.5 * dot(add(matvec(R, toward), matvec(R1, toward)), moved)
        elif net.row_kind[j] == HEIGHT:
            out[at + k] = height(net, c, j, R1, sub(point1, load3(net.place, c, A_P)))
        else:
            axis, _ = unit_and_size(add(matvec(R, toward), matvec(R1, toward))) if kind == ROLLING else (toward, 1.0)
            mean = sub(axpy(0.5, moved, point), load3(net.place, c, A_P))
            way, across, lever = touch(net, c, R, R1, point, axis, mean)
            slip = add(cross(matvec(R, scale(half_angle_ratio(w, u), u)), lever), moved)
            out[at + k] = dot(way if net.row_kind[j] == ALONG else across, slip)


@inlined
def height(net, c, j, R, p):
    """How far the lowest point is above the surface; p: of the centre from the place of the surface."""
    u, radius = load3(net.row, j, ROW_U), net.row[j, ROW_VALUE]
    if net.con[c, CON_KIND] == ROLLING:
        _, _, _, cosine = wheel(u, matvec(R, load3(net.row, j, ROW_W)))
        return dot(u, p) - radius * cosine
    if net.con[c, CON_KIND] == BALL:
        return dot(u, p) - radius
    if net.con[c, CON_KIND] == ELLIPSOID:
        depth, _, _, _ = support(net, c, j, tmatvec(R, u))
        return dot(u, p) - depth
    apart = net.row[j, ROW_U]
    return 0.5 * (dot(p, p) - apart * apart) / apart


@inlined
def height_slope(net, c, j, R, p):
    """Its derivative in the pose of B: angular part, but for the lever of the centre, and force at the centre, both in the axes of B."""
    u, radius = load3(net.row, j, ROW_U), net.row[j, ROW_VALUE]
    if net.con[c, CON_KIND] == ROLLING:
        axis = load3(net.row, j, ROW_W)
        n = tmatvec(R, u)
        lean = dot(n, axis)
        return scale(radius * lean / math.sqrt(1.0 - lean * lean), cross(axis, n)), n
    if net.con[c, CON_KIND] == BALL:
        return _NONE, tmatvec(R, u)
    if net.con[c, CON_KIND] == ELLIPSOID:
        n = tmatvec(R, u)
        _, lowest, _, _ = support(net, c, j, n)
        return cross(lowest, n), n
    return _NONE, tmatvec(R, scale(1.0 / net.row[j, ROW_U], p))


@kernel
def velocity_gradient(net, c, motion, G):
    """G = derivatives of the rows in the poses at the end of the step."""
    R, point, w, u, moved = motion
    R1, point1 = at_end(motion)
    first, slot, kind = net.con[c, FIRST_ROW], net.con[c, FIRST_SLOT], net.con[c, CON_KIND]
    b, place = load3(net.place, c, B_P), load3(net.place, c, A_P)
    for k in range(net.con[c, ROWS]):
        j = first + k
        toward = load3(net.row, j, ROW_W)
        if kind == SKATE:
            mean = tmatvec(R1, scale(0.5, add(matvec(R, toward), matvec(R1, toward))))
            angular = add(scale(0.5, cross(toward, tmatvec(R1, moved))), cross(b, mean))
            put_both(G, slot, k, R1, point1, b, angular, mean)
        elif net.row_kind[j] == HEIGHT:
            angular, force = height_slope(net, c, j, R1, sub(point1, place))
            put_both(G, slot, k, R1, point1, b, add(angular, cross(b, force)), force)
        else:
            angular, linear = slip_gradient(net, c, j, motion, R1)
            put_both(G, slot, k, R1, point1, b, angular, linear)


@inlined
def slip_gradient(net, c, j, motion, R1):
    """Derivative of a row ALONG or ACROSS in the pose of B at the end: angular and linear part."""
    R, point, w, u, moved = motion
    kind, along, radius = net.con[c, CON_KIND], net.row_kind[j] == ALONG, net.row[j, ROW_VALUE]
    toward, normal, b = load3(net.row, j, ROW_W), load3(net.row, j, ROW_U), load3(net.place, c, B_P)
    axis, size = unit_and_size(add(matvec(R, toward), matvec(R1, toward))) if kind == ROLLING else (toward, 1.0)
    mean = sub(axpy(0.5, moved, point), load3(net.place, c, A_P))
    way, across, contact = touch(net, c, R, R1, point, axis, mean)
    direction = way if along else across
    phi = scale(half_angle_ratio(w, u), u)
    gam, _ = gammas(dot(phi, phi))
    turn = matvec(R, phi)
    slip = add(cross(turn, contact), moved)
    # a force along the direction at the centre, and its moment by the turn: (turn x contact) . direction
    force, moment = direction, _NONE
    if kind == ROLLING:
        _, _, _, cosine = wheel(normal, axis)
        for l in range(3):
            e = (1.0 if l == 0 else 0.0, 1.0 if l == 1 else 0.0, 1.0 if l == 2 else 0.0)
            change = matvec(R1, cross(e, toward))
            change = scale(1.0 / size, axpy(-dot(axis, change), axis, change))
            d_way, d_across, d_contact = wheel_changes(normal, axis, way, cosine, change)
            moment = axpy(radius * dot(direction, cross(turn, d_contact)) + dot(d_way if along else d_across, slip), e, moment)
    elif kind == ELLIPSOID:
        n, y = tmatvec(R1, normal), scale(0.5, tmatvec(R1, cross(direction, turn)))  # the lever at the end turns with B and moves on it
        depth, lowest, axes, squares = support(net, c, j, n)
        moment = sub(cross(lowest, y), cross(n, support_change(depth, lowest, axes, squares, y)))
    elif kind == SPHERE:
        side, size = unit_and_size(mean)
        pull = scale(-0.5 * radius * net.row[j, ROW_W] / size, cross(direction, turn))  # the contact turns with the mean place
        force = add(force, axpy(-dot(side, pull), side, pull))
    linear = tmatvec(R1, force)
    lever = tmatvec(R, cross(contact, direction))  # times the change of phi with the end: (1 + phi^/2 + gam phi^phi^) e
    y = cross(phi, lever)
    turned = axpy(gam, cross(phi, y), axpy(-0.5, y, lever))
    return add(moment, add(turned, cross(b, linear))), linear


@kernel
def velocity_force(net, c, R, point, G):
    """G = virtual displacements that the rows forbid, at a node."""
    first, slot, kind = net.con[c, FIRST_ROW], net.con[c, FIRST_SLOT], net.con[c, CON_KIND]
    b, p = load3(net.place, c, B_P), sub(point, load3(net.place, c, A_P))
    for k in range(net.con[c, ROWS]):
        j = first + k
        toward = load3(net.row, j, ROW_W)
        if kind == SKATE:
            put_both(G, slot, k, R, point, b, cross(b, toward), toward)
        elif net.row_kind[j] == HEIGHT:
            angular, force = height_slope(net, c, j, R, p)
            put_both(G, slot, k, R, point, b, add(angular, cross(b, force)), force)
        else:
            way, across, lever = touch(net, c, R, R, point, matvec(R, toward), p)
            force = tmatvec(R, way if net.row_kind[j] == ALONG else across)
            put_both(G, slot, k, R, point, b, cross(add(tmatvec(R, lever), b), force), force)


@kernel
def velocity_second_rates(net, c, R, point, turn, turn_rate, speed, push, out):
    """out = how fast the rows A(q) v change, and second rates of heights; turn and its rate in the axes of A, speed and push: first and
    second derivative of the place of the point there."""
    first, kind = net.con[c, FIRST_ROW], net.con[c, CON_KIND]
    p = sub(point, load3(net.place, c, A_P))
    for k in range(net.con[c, ROWS]):
        j = first + k
        toward, normal, radius = load3(net.row, j, ROW_W), load3(net.row, j, ROW_U), net.row[j, ROW_VALUE]
        axis = matvec(R, toward)
        if kind == SKATE:
            out[j] = dot(axis, push) + dot(cross(turn, axis), speed)
            continue
        level = net.row_kind[j] == HEIGHT
        if level and kind in (BALL, SPHERE):
            u = normal if kind == BALL else scale(1.0 / net.row[j, ROW_U], p)
            out[j] = dot(u, push) + (0.0 if kind == BALL else dot(speed, speed) / net.row[j, ROW_U])
            continue
        way, across, lever = touch(net, c, R, R, point, axis, p)
        d_way, d_across, d_lever = _NONE, _NONE, _NONE
        if kind == ROLLING:
            _, _, _, cosine = wheel(normal, axis)
            d_way, d_across, d_contact = wheel_changes(normal, axis, way, cosine, cross(turn, axis))
            d_lever = scale(radius, d_contact)
        elif kind == ELLIPSOID:
            depth, lowest, axes, squares = support(net, c, j, tmatvec(R, normal))
            moved = support_change(depth, lowest, axes, squares, tmatvec(R, cross(normal, turn)))
            d_lever = add(cross(turn, lever), matvec(R, moved))
        elif kind == SPHERE:
            side, size = unit_and_size(p)
            d_side = scale(1.0 / size, axpy(-dot(side, speed), side, speed))
            _, e, length = tangent(side)
            change = cross(e, d_side)
            d_way = scale(1.0 / length, axpy(-dot(way, change), way, change))
            d_across = add(cross(d_side, way), cross(side, d_way))
            d_lever = scale(-radius * net.row[j, ROW_W], d_side)
        slip = add(cross(turn, lever), speed)
        slip_rate = add(add(cross(turn_rate, lever), cross(turn, d_lever)), push)
        u, du = (normal, _NONE) if level else (way, d_way) if net.row_kind[j] == ALONG else (across, d_across)
        out[j] = dot(u, slip_rate) + dot(du, slip)
