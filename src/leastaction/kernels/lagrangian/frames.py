"""A mechanism as a tree of frames, each moved by at most one coordinate: g_k = C_k exp(xi_k q_k).   Johnson and Murphey 2009, (2)"""

from typing import NamedTuple

from ...compiling.decorators import inlined
from ...compiling.records import floats, integers
from ...joints.primitives import SCREW_Z, SLIDE_X, SLIDE_Y, SLIDE_Z, TURN_X, TURN_Y, TURN_Z
from ...lie.algebra import add, axpy, load3, load9, matmul, matvec, store3, store9
from ...lie.trig import sincos
from ..tree.layout import BODY_COLUMNS, PLACE_P, PLACE_R

STILL = SCREW_Z + 1  # how a frame moves that no coordinate does; the others as in joints/primitives.py
CURVED = STILL + 1  # by a coordinate of a joint whose columns change with it: see curved.py

BALL_Q, BALL_V, BALL_X, BALL_ROW, BALL_COLUMNS = range(5)  # places of its quaternion in q, of its angular velocity in v, of its position in
# q (-1: it has none), its row in the tree


class Frames(NamedTuple):
    """A mechanism as a tree of f frames; row 0 is the world, parents come before children.

    Ball and free joints are numbered; their frames move from where the joint stands, a free one first along x, y and z, then it turns.
    """

    parent: integers("f")
    motion: integers("f")  # TURN_X ... CURVED
    coordinate: integers("f")  # which velocity moves the frame, -1 for STILL
    place: integers("f")  # its coordinate in q, -1 for STILL and for the frames of ball and free joints
    ball: integers("f")  # for the first frame of a ball or free joint its number, otherwise -1
    balls: integers("balls", BALL_COLUMNS)  # BALL_Q ... BALL_ROW of every ball and free joint
    curved: integers("f")  # for the first frame of a CURVED joint its row in the tree, otherwise -1
    plain: integers("plain", 2)  # of every other coordinate its places in q and v
    kept: integers("kept")  # places in q of what says which chart a joint is in
    read: integers("f")  # first row of the parent's derivatives
    write: integers("f")  # first row of this frame's derivatives
    depth: integers("f")  # number of coordinates above and in the frame: rows of derivatives it has
    above: integers("f", "deepest")  # these coordinates, from the root
    body: floats("f", BODY_COLUMNS)  # of layout.py: C_k, mass, moment, inertia
    massive: integers("f")  # 1 if the frame carries a body
    of_body: integers("n+1")  # frame of the body in each row of the tree
    pitch: floats("f")  # metres per radian of SCREW_Z
    gravity: floats(3)  # world axes, m/s^2
    stiffness: floats("nv")  # joint springs
    rest: floats("nq")


@inlined
def turn(motion, c, s, one):
    """Rotation about x, y or z with cosine c, sine s and `one` on the axis; its derivative is turn(motion, -s, c, 0)."""
    if motion == TURN_X:
        return one, 0.0, 0.0, 0.0, c, -s, 0.0, s, c
    if motion == TURN_Y:
        return c, 0.0, s, 0.0, one, 0.0, -s, 0.0, c
    return c, -s, 0.0, s, c, 0.0, 0.0, 0.0, one


@inlined
def axis(motion, x):
    """Translation by x along the axis of a sliding motion."""
    if motion == SLIDE_X:
        return x, 0.0, 0.0
    if motion == SLIDE_Y:
        return 0.0, x, 0.0
    return 0.0, 0.0, x


@inlined
def unit_twist(motion, pitch):
    """xi = g^-1 g' as (angular, linear)."""
    if motion == TURN_X:
        return (1.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    if motion == TURN_Y:
        return (0.0, 1.0, 0.0), (0.0, 0.0, 0.0)
    if motion in (TURN_Z, SCREW_Z):
        return (0.0, 0.0, 1.0), (0.0, 0.0, pitch)
    return (0.0, 0.0, 0.0), axis(motion, 1.0)


@inlined
def local_pose(frames, k, x):
    """g_k and g_k' at the coordinate x: (R, p, R', p')."""
    R, p = load9(frames.body, k, PLACE_R), load3(frames.body, k, PLACE_P)
    motion = frames.motion[k]
    zero = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    if motion in (STILL, CURVED):
        return R, p, zero, (0.0, 0.0, 0.0)
    if motion in (SLIDE_X, SLIDE_Y, SLIDE_Z):
        return R, add(p, matvec(R, axis(motion, x))), zero, matvec(R, axis(motion, 1.0))
    s, c = sincos(x)
    along = matvec(R, (0.0, 0.0, frames.pitch[k]))
    return matmul(R, turn(motion, c, s, 1.0)), axpy(x, along, p), matmul(R, turn(motion, -s, c, 0.0)), along


@inlined
def store_pose(array, k, A, a):
    store9(array, k, 0, A)
    store3(array, k, 9, a)
