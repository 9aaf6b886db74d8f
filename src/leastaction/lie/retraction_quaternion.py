"""Quaternion retraction (Bruedigam and Manchester 2020): translation and quaternion vector part taken separately.

x = (phi, rho) with phi = 2 sin(angle/2) axis and rho the translation in the axes of the step's start; angles below pi.  The kinetic
energy x'Gx / 2h it belongs to is that of a body whose origin is its centre of mass: use it with such frames only.  Unlike exp and
cayley it is not a function of the screw of the displacement, so dtau^-1_{-x} = dtau^-1_x + ad_x does not hold and the tree integrator
cannot use it.
"""

import math

from ..compiling.decorators import inlined, kernel
from .algebra import IDENTITY, cross, dot, full, hat, mataxpy, matmul, matscale, matvec, outer, quat_to_matrix, scale

OF_THE_SCREW = False
COUPLES = False

_NOTHING = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


@inlined
def coordinates(w, u, shift):
    """x of the displacement with quaternion (w, u) and translation `shift`."""
    return scale(2.0 if w > 0.0 else -2.0, u), shift


@inlined
def displacement(phi, rho):
    """Quaternion (w, u) and translation `shift` of x; eq 32."""
    u = scale(0.5, phi)
    return math.sqrt(1.0 - dot(u, u)), u, rho


@inlined
def cotangent(phi, rho, m, l):
    """(dtau^-1_x)' applied to the momentum (m, l): w m + u x m on rotations, and the moment of l about the start."""
    w, u, _ = displacement(phi, rho)
    a = cross(u, m)
    b = cross(rho, l)
    return (w * m[0] + a[0] + b[0], w * m[1] + a[1] + b[1], w * m[2] + a[2] + b[2]), l


@kernel
def stiffness(phi, rho, mass, moment, inertia):
    """h K of docs/theory (3) of a body about its centre of mass (moment = 0), as 3x3 blocks (aa, al = 0, la = 0, ll)."""
    w, u, _ = displacement(phi, rho)
    spin = hat(u)
    turn = mataxpy(w, IDENTITY, spin)  # Q = w + u^: phi moves by Q eta
    inertia9 = full(inertia)
    m = matvec(inertia9, phi)
    aa = matmul(turn, matmul(inertia9, turn))
    aa = mataxpy(-0.5, outer(m, u), aa)  # w moves by -u.eta/2
    aa = mataxpy(-0.5, matmul(hat(m), turn), aa)  # u moves by Q eta/2
    return aa, _NOTHING, _NOTHING, matscale(mass, quat_to_matrix(w, u))
