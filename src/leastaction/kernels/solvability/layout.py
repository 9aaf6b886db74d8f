"""The records of a certificate."""

from typing import NamedTuple

from ...compiling.records import floats, integers

# what a joint is
SCREWS, BALL, FLOATING = range(3)


class Screws(NamedTuple):
    """A tree whose joints are products of screws in plain coordinates, ball joints, or free joints on the world (row 0 of the bodies)."""

    parent: integers("n+1")
    first: integers("n+1")  # degree of freedom of the first screw of the joint
    count: integers("n+1")  # of its screws, or of the columns of a ball or free joint
    kind: integers("n+1")  # see above
    groups: integers("g")  # bodies whose joint is a ball or free joint
    depth: integers("n+1")  # screws between the world and the body
    place: floats("n+1", 12)  # position and rotation of the joint in the parent
    stretch: floats("n+1")  # length of that position
    lead: integers("nv")  # first of the degrees of freedom that move together: itself for a screw
    at: integers("nv")  # place of its coordinate in q; of the quaternion of a ball joint
    screw: floats("nv", 6)  # twists (angular, linear) of the screws in the frame of the joint
    length: floats("nv", 2)  # lengths of both parts
    mass: floats("n+1")
    com: floats("n+1", 3)  # in the body frame
    inertia: floats("n+1", 6)  # about the com: xx, xy, xz, yy, yz, zz
    metric: floats("n+1", 2)  # largest principal moment, mass
    armature: floats("nv")
    damping: floats("nv")


# entries of Proof.out
ETA, SECOND, THIRD, LARGEST, RADIUS, LOAD, DEFECT, LIMITING, ROOT, EPSILON, GAMMA, SPEED, ACCELERATION = range(13)


class Proof(NamedTuple):
    """Memory of a certificate."""

    out: floats(13)  # see above
    rotation: floats("nv", 9)  # of every screw
    path: integers("nv")  # screws of a body, from the root
    lead: integers("nv")  # of each the first in this path that it moves together with
    J: floats("nv", 6)  # columns of its Jacobian at the com, in the body frame
    here: floats("nv")  # lengths of their linear parts, of all of a ball joint together
    GJ: floats("nv", 6)  # momenta that belong to them
    V: floats(3, 6)  # its twist, its momentum, and the part of the twist that comes from what is before a column
    Vx: floats("nv", 6)  # derivatives of its twist
    GVx: floats("nv", 6)
    turn: floats("nv*nv", 6)  # brackets [J_a, J_x], x beyond a
    q1: floats("nq")  # end of the step
    M: floats("nv", "nv")  # at the start
    M1: floats("nv", "nv")  # at the end
    P: floats("nv", "nv")  # derivative of M v at the start
    P1: floats("nv", "nv")  # at the end
    slope: floats("nv", "nv", "nv")  # [i, x, y] = dM_xy / dq_i at the start
    B: floats("nv", "nv", "nv")  # second derivative of the equation
    T: floats("nv", "nv", "nv")  # scratch
    R: floats("nv", "nv")  # the norm is |R x|
    Ri: floats("nv", "nv")  # its inverse
    A: floats("nv", "nv")  # Jacobian
    LU: floats("nv", "nv")
    pivot: integers("nv")
    Y: floats("nv", "nv")  # R A^-1, nearly
    Z: floats("nv", "nv")  # scratch
    G: floats("nv", "nv")  # scratch
    e: floats("nv")  # the equation
    step: floats("nv")  # the first correction
    share: floats("nv")  # |x_j| <= share_j |x|
    weight: floats("nv")  # the same for the length of x in a ball joint, in its first entry; then zeros
    rate: floats("nv", 3)  # how fast it moves the columns before it, at most, along `weight`; first and second derivative of that
    fastest: floats("nv")  # bound of the velocities in the ball
    pace: floats("nv")  # the same for the lengths of velocities in ball joints, in their first entries; then zeros
    reach: floats("nv")  # how far coordinates can get in it
    extent: floats("nv")  # bound of the coordinates themselves
    full: floats("nv", 2)  # largest lengths of the columns of a body, wherever it is
    near: floats("nv", 2)  # in the box
    D: floats(4, "nv", 2)  # bounds of their derivatives
    error_e: floats("nv")  # absolute sums behind the equation, its Jacobian along `share`, its second derivative along it twice
    error_A: floats("nv")
    error_B: floats("nv")
    third: floats("nv")  # bound of the third derivative along `share` three times
    lower: floats(2, "nv")  # bounds of the first and second derivative of the mean momentum, without rotors: ball joints have none
    x: floats("nv")  # scratch
