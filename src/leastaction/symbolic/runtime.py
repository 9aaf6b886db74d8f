"""What generated joints are compiled with and call."""

import math

from ..compiling.address import compile_answer as compiled_joint
from ..compiling.address import stack
from ..compiling.decorators import inlined, kernel
from ..lie.trig import half_sincos, sincos
from .tape import Tape, interpret

__all__ = [
    "Tape", "compiled_joint", "floor", "half_sincos", "interpret", "kernel", "quaternion_of_difference", "sign", "sincos", "stack",
]  # fmt: skip

# what a kernel can ask of a generated joint
POSE, PLACE, DISPLACEMENT, BIAS, COORDINATES = range(5)


@inlined
def sign(x):
    return math.copysign(1.0, x) if x != 0.0 else 0.0


@inlined
def floor(x):
    return x - x % 1.0


@inlined
def quaternion_of_difference(xx, xy, xz, yx, yy, yz, zx, zy, zz):
    """Quaternion (w, x, y, z) of the rotation I + E with these entries of E; accurate however small E is."""
    ww = 1.0 + 0.25 * (xx + yy + zz)
    if ww > 0.1:
        w = math.sqrt(ww)
        s = 0.25 / w
        return w, s * (zy - yz), s * (xz - zx), s * (yx - xy)
    if xx >= yy and xx >= zz:
        x = 0.5 * math.sqrt(max(0.0, xx - yy - zz))
        s = 0.25 / x
        return s * (zy - yz), x, s * (xy + yx), s * (xz + zx)
    if yy >= zz:
        y = 0.5 * math.sqrt(max(0.0, yy - xx - zz))
        s = 0.25 / y
        return s * (xz - zx), s * (xy + yx), y, s * (yz + zy)
    z = 0.5 * math.sqrt(max(0.0, zz - xx - yy))
    s = 0.25 / z
    return s * (yx - xy), s * (xz + zx), s * (yz + zy), z
