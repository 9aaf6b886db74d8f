"""What generated joints are compiled with and call."""

import math

from numba import cfunc, config, types

from ..compiling.decorators import inlined
from ..lie.trig import half_sincos, sincos

__all__ = ["compiled_joint", "half_sincos", "quaternion_of_difference", "sign", "sincos"]

# what a kernel can ask of a generated joint
POSE, PLACE, DISPLACEMENT, BIAS, COORDINATES = range(5)

_POINTER = types.CPointer(types.float64)
# what, parameters, coordinates, increments or rates, fraction of the step, results, columns
SIGNATURE = types.void(types.int64, _POINTER, _POINTER, _POINTER, types.float64, _POINTER, _POINTER)


def compiled_joint(function):
    """Machine code of a generated joint; the kernels call it by its address."""
    if config.DISABLE_JIT:
        return PlainJoint(function)
    return cfunc(SIGNATURE, cache=True, fastmath={"contract", "nsz"}, error_model="numpy")(function)


class PlainJoint:
    """A joint while compilation is switched off (NUMBA_DISABLE_JIT): its address is its number in a list."""

    functions: list = []
    first = 1 << 20  # no kind of a built-in joint

    def __init__(self, function):
        self.address = self.first + len(self.functions)
        self.functions.append(function)


@inlined
def sign(x):
    return math.copysign(1.0, x) if x != 0.0 else 0.0


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
