"""Sine and cosine together, without a library call for the angles that occur.

Argument reduction by pi/2 in three parts (Cody and Waite) and the minimax polynomials of fdlibm on [-pi/4, pi/4].
"""

import math

from ..compiling.decorators import inlined

_LARGE = 1.0e5  # beyond it the three-part reduction loses digits; the C library takes over


@inlined
def sincos(x):
    if abs(x) > _LARGE:
        return math.sin(x), math.cos(x)
    k = math.floor(x * 0.63661977236758134308 + 0.5)
    r = ((x - k * 1.57079632673412561417e00) - k * 6.07710050630396597660e-11) - k * 2.02226624879595063154e-21
    z = r * r
    s = r + r * z * (-1.66666666666666324348e-01 + z * (8.33333333332248946124e-03 + z * (-1.98412698298579493134e-04
        + z * (2.75573137070700676789e-06 + z * (-2.50507602534068634195e-08 + z * 1.58969099521155010221e-10)))))  # fmt: skip
    c = 1.0 - 0.5 * z + z * z * (4.16666666666666019037e-02 + z * (-1.38888888888741095749e-03
        + z * (2.48015872894767294178e-05 + z * (-2.75573143513906633035e-07 + z * (2.08757232129817482790e-09
        + z * -1.13596475577881948265e-11)))))  # fmt: skip
    n = int(k) & 3
    if n & 1:
        s, c = c, s
    # quadrants 0: (s, c)   1: (c, -s)   2: (-s, -c)   3: (-c, s)
    if n & 2:
        s = -s
    if n == 1 or n == 2:
        c = -c
    return s, c


@inlined
def half_sincos(x):
    """sin(x/2), cos(x/2); Taylor series for the small angles of one step."""
    z = x * x
    if z < 0.25:
        s = x * (0.5 - z * (1 / 48 - z * (1 / 3840 - z * (1 / 645120 - z * (1 / 185794560 - z * (1 / 81749606400))))))
        c = 1.0 - z * (1 / 8 - z * (1 / 384 - z * (1 / 46080 - z * (1 / 10321920 - z * (1 / 3715891200 - z / 1961990553600)))))
        return s, c
    return sincos(0.5 * x)
