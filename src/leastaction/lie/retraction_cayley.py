"""Cayley retraction of SE(3): cay(x) = (I - [x]/2)^-1 (I + [x]/2).  No trigonometry.

Kobilarov 2014 eqs 54, 55 with the corrected translation part.  x = (phi, rho); regular for angles below pi.
"""

from ..compiling.decorators import inlined, kernel
from .algebra import IDENTITY, add, axpy, cross, dot, full, hat, hat_mat, matadd, mataxpy, matmul, matscale, outer, scale

OF_THE_SCREW = True
COUPLES = True


@inlined
def coordinates(w, u, t):
    """x = cay^-1 of the displacement with quaternion (w, u) and translation t."""
    phi = scale(2.0 / w, u)
    return phi, axpy(-0.5, cross(phi, t), t)


@inlined
def displacement(phi, rho):
    """Quaternion (w, u), translation t of cay(x): t = (4 + 2 phi^ + phi phi') rho / (4 + phi.phi)."""
    n = dot(phi, phi)
    w = 2.0 / (4.0 + n) ** 0.5
    y = cross(phi, rho)
    s = dot(phi, rho)
    t = (
        4.0 * rho[0] + 2.0 * y[0] + s * phi[0],
        4.0 * rho[1] + 2.0 * y[1] + s * phi[1],
        4.0 * rho[2] + 2.0 * y[2] + s * phi[2],
    )
    return w, scale(0.5 * w, phi), scale(1.0 / (4.0 + n), t)


@inlined
def cotangent(phi, rho, m, l):
    """(dcay^-1_x)' applied to the momentum (m, l) = (angular, linear)."""
    lin = axpy(0.5, cross(phi, l), l)
    y = add(cross(phi, m), cross(rho, lin))
    s = 0.25 * dot(phi, m)
    ang = (
        m[0] + 0.5 * y[0] + s * phi[0],
        m[1] + 0.5 * y[1] + s * phi[1],
        m[2] + 0.5 * y[2] + s * phi[2],
    )
    return ang, lin


@kernel
def stiffness(phi, rho, mass, moment, inertia):
    """h K of DESIGN (3): derivative of (dcay^-1_x)' G x in the end pose, as 3x3 blocks (aa, al, la, ll).

    First d/dx by the product rule, then x moves by dcay^-1_{-x} eta.
    """
    inertia9 = full(inertia)
    hat_c = hat(moment)
    m = add((inertia9[0] * phi[0] + inertia9[1] * phi[1] + inertia9[2] * phi[2],
             inertia9[3] * phi[0] + inertia9[4] * phi[1] + inertia9[5] * phi[2],
             inertia9[6] * phi[0] + inertia9[7] * phi[1] + inertia9[8] * phi[2]), cross(moment, rho))  # fmt: skip
    l = axpy(mass, rho, cross(phi, moment))
    lin = axpy(0.5, cross(phi, l), l)
    half = mataxpy(0.5, hat(phi), IDENTITY)  # 1 + phi^/2
    l_phi = matscale(-1.0, hat_c)
    lin_phi = mataxpy(0.5, mataxpy(-1.0, hat(l), hat_mat(phi, l_phi)), l_phi)
    lin_rho = matscale(mass, half)
    y_phi = matadd(mataxpy(-1.0, hat(m), hat_mat(phi, inertia9)), hat_mat(rho, lin_phi))
    y_rho = matadd(mataxpy(-1.0, hat(lin), hat_mat(phi, hat_c)), hat_mat(rho, lin_rho))
    s_phi = (m[0] + inertia9[0] * phi[0] + inertia9[1] * phi[1] + inertia9[2] * phi[2],
             m[1] + inertia9[3] * phi[0] + inertia9[4] * phi[1] + inertia9[5] * phi[2],
             m[2] + inertia9[6] * phi[0] + inertia9[7] * phi[1] + inertia9[8] * phi[2])  # fmt: skip
    ang_phi = mataxpy(0.5, y_phi, mataxpy(0.25 * dot(phi, m), IDENTITY, inertia9))
    ang_phi = mataxpy(0.25, outer(phi, s_phi), ang_phi)
    ang_rho = mataxpy(0.25, outer(phi, cross(phi, moment)), mataxpy(0.5, y_rho, hat_c))
    tangent_aa = mataxpy(0.25, outer(phi, phi), half)
    tangent_la = matscale(0.5, matmul(half, hat(rho)))
    return (
        matadd(matmul(ang_phi, tangent_aa), matmul(ang_rho, tangent_la)),
        matmul(ang_rho, half),
        matadd(matmul(lin_phi, tangent_aa), matmul(lin_rho, tangent_la)),
        matmul(lin_rho, half),
    )
