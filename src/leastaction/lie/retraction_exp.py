"""Exponential retraction of SE(3) (Lee et al. 2016, eqs 10-16 corrected).  x = (phi, rho), angles up to pi and beyond.

With th = |phi|, gam = (1 - th/2 cot th/2)/th^2 and gam1 = gam'(th)/th:
    dlog_x = [[A, 0], [C, A]],  A = 1 - phi^/2 + gam phi^phi^,
    C = -rho^/2 + gam (phi^rho^ + rho^phi^) + gam1 (phi.rho) phi^phi^
Series through th = 0, closed forms beyond.
"""

import math

from ..compiling.decorators import inlined, kernel
from .algebra import IDENTITY, add, axpy, cross, dot, full, hat, hat_mat, matadd, mataxpy, matmul, matscale, matvec, outer, scale

OF_THE_SCREW = True
COUPLES = True

# th^2; each series is cut where its next term is below rounding at the end of its range
SHORT_BELOW, SERIES_BELOW = 0.02, 0.5


@inlined
def half_angle_ratio(w, u):
    """th / sin(th/2) of a unit quaternion (w, u), on the branch th <= pi; odd in the sign of the quaternion."""
    s2 = dot(u, u)
    if s2 < 0.005:  # 2 asin(s)/s
        k = 2.0 + s2 * (1 / 3 + s2 * (3 / 20 + s2 * (5 / 56 + s2 * (35 / 576 + s2 * (63 / 1408 + s2 * (231 / 6656))))))  # fmt: skip
    else:
        s = math.sqrt(s2)
        k = 2.0 * math.atan2(s, abs(w)) / s
    return k if w > 0.0 else -k


@inlined
def gam_series(x):
    return 1 / 12 + x * (1 / 720 + x * (1 / 30240 + x * (1 / 1209600 + x * (1 / 47900160 + x * (691 / 1307674368000
        + x * (1 / 74724249600 + x * (3617 / 10670622842880000 + x * (43867 / 5109094217170944000))))))))  # fmt: skip


@inlined
def gam1_series(x):
    return 1 / 360 + x * (1 / 7560 + x * (1 / 201600 + x * (1 / 5987520 + x * (691 / 130767436800 + x * (1 / 6227020800
        + x * (3617 / 762187345920000 + x * (43867 / 319318388573184000 + x * (174611 / 44603203483238400000
        + x * (77683 / 705055001969590272000)))))))))  # fmt: skip


@inlined
def gam2_series(x):
    return 1 / 3780 + x * (1 / 50400 + x * (1 / 997920 + x * (691 / 16345929600 + x * (1 / 622702080
        + x * (3617 / 63515612160000 + x * (43867 / 22808456326656000 + x * (174611 / 2787700217702400000
        + x * (77683 / 39169722331643904000 + x * (236364091 / 3849600310753962885120000)))))))))  # fmt: skip


@inlined
def gammas(x):
    """gam and gam1 at x = th^2."""
    if x < SHORT_BELOW:
        gam = 1 / 12 + x * (1 / 720 + x * (1 / 30240 + x * (1 / 1209600 + x * (1 / 47900160))))
        return gam, 1 / 360 + x * (1 / 7560 + x * (1 / 201600 + x * (1 / 5987520 + x * (691 / 130767436800 + x * (1 / 6227020800)))))
    if x < SERIES_BELOW:
        return gam_series(x), gam1_series(x)
    th = math.sqrt(x)
    sn = math.sin(0.5 * th)
    cot = math.cos(0.5 * th) / sn
    return (1.0 - 0.5 * th * cot) / x, (-2.0 / x + cot / (2.0 * th) + 0.25 / (sn * sn)) / x


@inlined
def gamma2(x):
    """gam2 = gam1'(th)/th at x = th^2."""
    if x < SERIES_BELOW:
        return gam2_series(x)
    th = math.sqrt(x)
    sn = math.sin(0.5 * th)
    cot = math.cos(0.5 * th) / sn
    csc2 = 1.0 / (sn * sn)
    return (8.0 / (x * x) - 1.5 * cot / (x * th) - 0.75 * csc2 / x - 0.25 * csc2 * cot / th) / x


@inlined
def coordinates(w, u, t):
    """x = log of the displacement with quaternion (w, u) and translation t."""
    phi = scale(half_angle_ratio(w, u), u)
    gam, _ = gammas(dot(phi, phi))
    y = cross(phi, t)
    z = cross(phi, y)
    return phi, (t[0] - 0.5 * y[0] + gam * z[0], t[1] - 0.5 * y[1] + gam * z[1], t[2] - 0.5 * y[2] + gam * z[2])


@inlined
def displacement(phi, rho):
    """Quaternion (w, u), translation t of exp(x)."""
    x = dot(phi, phi)
    if x < SERIES_BELOW:
        # sin(th/2)/th, cos(th/2), (1 - cos th)/th^2, (th - sin th)/th^3
        sinc_half = 0.5 - x * (1 / 48 - x * (1 / 3840 - x * (1 / 645120 - x * (1 / 185794560 - x * (1 / 81749606400)))))
        w = 1.0 - x * (1 / 8 - x * (1 / 384 - x * (1 / 46080 - x * (1 / 10321920 - x * (1 / 3715891200 - x / 1961990553600)))))
        b = 0.5 - x * (1 / 24 - x * (1 / 720 - x * (1 / 40320 - x * (1 / 3628800 - x * (1 / 479001600 - x / 87178291200)))))
        c = 1 / 6 - x * (1 / 120 - x * (1 / 5040 - x * (1 / 362880 - x * (1 / 39916800 - x * (1 / 6227020800 - x / 1307674368000)))))
    else:
        th = math.sqrt(x)
        sinc_half = math.sin(0.5 * th) / th
        w = math.cos(0.5 * th)
        b = 2.0 * sinc_half * sinc_half
        c = (th - math.sin(th)) / (x * th)
    y = cross(phi, rho)
    z = cross(phi, y)
    return w, scale(sinc_half, phi), (rho[0] + b * y[0] + c * z[0], rho[1] + b * y[1] + c * z[1], rho[2] + b * y[2] + c * z[2])


@inlined
def cotangent(phi, rho, m, l):
    """dlog_x' applied to the momentum (m, l) = (angular, linear)."""
    gam, gam1 = gammas(dot(phi, phi))
    pl = cross(phi, l)
    ppl = cross(phi, pl)
    y = add(cross(phi, m), cross(rho, l))
    z = add(cross(phi, y), cross(rho, pl))
    g = gam1 * dot(phi, rho)
    ang = (
        m[0] + 0.5 * y[0] + gam * z[0] + g * ppl[0],
        m[1] + 0.5 * y[1] + gam * z[1] + g * ppl[1],
        m[2] + 0.5 * y[2] + gam * z[2] + g * ppl[2],
    )
    lin = (
        l[0] + 0.5 * pl[0] + gam * ppl[0],
        l[1] + 0.5 * pl[1] + gam * ppl[1],
        l[2] + 0.5 * pl[2] + gam * ppl[2],
    )
    return ang, lin


@kernel
def stiffness(phi, rho, mass, moment, inertia):
    """h K of DESIGN (3): derivative of dlog_x' G x in the end pose, as 3x3 blocks (aa, al, la, ll).

    First d/dx by the product rule on every line of `cotangent`, then x moves by dlog_{-x} eta.
    """
    x = dot(phi, phi)
    gam, gam1 = gammas(x)
    gam2 = gamma2(x)
    inertia9 = full(inertia)
    hat_c = hat(moment)
    hat_f = hat(phi)
    hat_r = hat(rho)
    ff = matmul(hat_f, hat_f)
    m = add(matvec(inertia9, phi), cross(moment, rho))
    l = axpy(mass, rho, cross(phi, moment))
    pl = cross(phi, l)
    ppl = cross(phi, pl)
    y = add(cross(phi, m), cross(rho, l))
    z = add(cross(phi, y), cross(rho, pl))
    s = dot(phi, rho)
    # d/dphi
    l_f = matscale(-1.0, hat_c)
    pl_f = mataxpy(-1.0, hat(l), hat_mat(phi, l_f))
    ppl_f = mataxpy(-1.0, hat(pl), hat_mat(phi, pl_f))
    y_f = matadd(mataxpy(-1.0, hat(m), hat_mat(phi, inertia9)), hat_mat(rho, l_f))
    z_f = matadd(mataxpy(-1.0, hat(y), hat_mat(phi, y_f)), hat_mat(rho, pl_f))
    lin_f = matadd(mataxpy(gam, ppl_f, mataxpy(0.5, pl_f, l_f)), outer(ppl, scale(gam1, phi)))
    ang_f = mataxpy(gam1 * s, ppl_f, mataxpy(gam, z_f, mataxpy(0.5, y_f, inertia9)))
    ang_f = matadd(ang_f, matadd(outer(z, scale(gam1, phi)), outer(ppl, axpy(gam2 * s, phi, scale(gam1, rho)))))
    # d/drho
    pl_r = matscale(mass, hat_f)
    y_r = mataxpy(mass, hat_r, mataxpy(-1.0, hat(l), hat_mat(phi, hat_c)))
    z_r = matadd(mataxpy(-1.0, hat(pl), hat_mat(phi, y_r)), hat_mat(rho, pl_r))
    lin_r = mataxpy(gam * mass, ff, mataxpy(0.5, pl_r, matscale(mass, IDENTITY)))
    ang_r = mataxpy(gam1 * s * mass, ff, mataxpy(gam, z_r, mataxpy(0.5, y_r, hat_c)))
    ang_r = matadd(ang_r, outer(ppl, scale(gam1, phi)))
    # dlog_{-x}
    tangent_aa = mataxpy(gam, ff, mataxpy(0.5, hat_f, IDENTITY))
    tangent_la = mataxpy(gam, matadd(hat_mat(phi, hat_r), hat_mat(rho, hat_f)), mataxpy(gam1 * s, ff, matscale(0.5, hat_r)))
    return (
        matadd(matmul(ang_f, tangent_aa), matmul(ang_r, tangent_la)),
        matmul(ang_r, tangent_aa),
        matadd(matmul(lin_f, tangent_aa), matmul(lin_r, tangent_la)),
        matmul(lin_r, tangent_aa),
    )
