"""Three-vectors, 3x3 matrices and unit quaternions as tuples of floats.

vector      (x, y, z)
matrix      (m00, m01, m02, m10, ..., m22), row by row
symmetric   (xx, xy, xz, yy, yz, zz)
quaternion  scalar w and vector u given separately, Hamilton product, scalar first

Tuples stay in registers: no function here touches memory except `load*` and `store*`.
"""

from ..compiling.decorators import inlined

# ---------------------------------------------------------------------------------------------- memory


@inlined
def vector(a, k):
    """a[k : k + 3] of a one-dimensional array."""
    return a[k], a[k + 1], a[k + 2]


@inlined
def set_vector(a, k, x):
    """a[k : k + 3] = x"""
    a[k], a[k + 1], a[k + 2] = x[0], x[1], x[2]


@inlined
def load3(a, i, k):
    return a[i, k], a[i, k + 1], a[i, k + 2]


@inlined
def load6(a, i, k):
    return a[i, k], a[i, k + 1], a[i, k + 2], a[i, k + 3], a[i, k + 4], a[i, k + 5]


@inlined
def load9(a, i, k):
    return (a[i, k], a[i, k + 1], a[i, k + 2], a[i, k + 3], a[i, k + 4], a[i, k + 5],
            a[i, k + 6], a[i, k + 7], a[i, k + 8])  # fmt: skip


@inlined
def store3(a, i, k, v):
    a[i, k] = v[0]
    a[i, k + 1] = v[1]
    a[i, k + 2] = v[2]


@inlined
def store6(a, i, k, v):
    a[i, k] = v[0]
    a[i, k + 1] = v[1]
    a[i, k + 2] = v[2]
    a[i, k + 3] = v[3]
    a[i, k + 4] = v[4]
    a[i, k + 5] = v[5]


@inlined
def store9(a, i, k, v):
    a[i, k] = v[0]
    a[i, k + 1] = v[1]
    a[i, k + 2] = v[2]
    a[i, k + 3] = v[3]
    a[i, k + 4] = v[4]
    a[i, k + 5] = v[5]
    a[i, k + 6] = v[6]
    a[i, k + 7] = v[7]
    a[i, k + 8] = v[8]


@inlined
def accumulate3(a, i, k, v):
    a[i, k] += v[0]
    a[i, k + 1] += v[1]
    a[i, k + 2] += v[2]


@inlined
def accumulate6(a, i, k, v):
    a[i, k] += v[0]
    a[i, k + 1] += v[1]
    a[i, k + 2] += v[2]
    a[i, k + 3] += v[3]
    a[i, k + 4] += v[4]
    a[i, k + 5] += v[5]


@inlined
def accumulate9(a, i, k, v):
    a[i, k] += v[0]
    a[i, k + 1] += v[1]
    a[i, k + 2] += v[2]
    a[i, k + 3] += v[3]
    a[i, k + 4] += v[4]
    a[i, k + 5] += v[5]
    a[i, k + 6] += v[6]
    a[i, k + 7] += v[7]
    a[i, k + 8] += v[8]


# --------------------------------------------------------------------------------------------- vectors


@inlined
def add(a, b):
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


@inlined
def sub(a, b):
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


@inlined
def scale(s, a):
    return s * a[0], s * a[1], s * a[2]


@inlined
def axpy(s, a, b):
    """s a + b"""
    return s * a[0] + b[0], s * a[1] + b[1], s * a[2] + b[2]


@inlined
def dot(a, b):
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@inlined
def cross(a, b):
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


# -------------------------------------------------------------------------------------------- matrices


@inlined
def matvec(m, v):
    return (m[0] * v[0] + m[1] * v[1] + m[2] * v[2],
            m[3] * v[0] + m[4] * v[1] + m[5] * v[2],
            m[6] * v[0] + m[7] * v[1] + m[8] * v[2])  # fmt: skip


@inlined
def tmatvec(m, v):
    """m' v"""
    return (m[0] * v[0] + m[3] * v[1] + m[6] * v[2],
            m[1] * v[0] + m[4] * v[1] + m[7] * v[2],
            m[2] * v[0] + m[5] * v[1] + m[8] * v[2])  # fmt: skip


@inlined
def symvec(s, v):
    """Symmetric matrix (xx, xy, xz, yy, yz, zz) times vector."""
    return (s[0] * v[0] + s[1] * v[1] + s[2] * v[2],
            s[1] * v[0] + s[3] * v[1] + s[4] * v[2],
            s[2] * v[0] + s[4] * v[1] + s[5] * v[2])  # fmt: skip


@inlined
def matmul(a, b):
    return (a[0] * b[0] + a[1] * b[3] + a[2] * b[6], a[0] * b[1] + a[1] * b[4] + a[2] * b[7], a[0] * b[2] + a[1] * b[5] + a[2] * b[8],
            a[3] * b[0] + a[4] * b[3] + a[5] * b[6], a[3] * b[1] + a[4] * b[4] + a[5] * b[7], a[3] * b[2] + a[4] * b[5] + a[5] * b[8],
            a[6] * b[0] + a[7] * b[3] + a[8] * b[6], a[6] * b[1] + a[7] * b[4] + a[8] * b[7], a[6] * b[2] + a[7] * b[5] + a[8] * b[8]
            )  # fmt: skip


@inlined
def matmul_t(a, b):
    """a b'"""
    return (a[0] * b[0] + a[1] * b[1] + a[2] * b[2], a[0] * b[3] + a[1] * b[4] + a[2] * b[5], a[0] * b[6] + a[1] * b[7] + a[2] * b[8],
            a[3] * b[0] + a[4] * b[1] + a[5] * b[2], a[3] * b[3] + a[4] * b[4] + a[5] * b[5], a[3] * b[6] + a[4] * b[7] + a[5] * b[8],
            a[6] * b[0] + a[7] * b[1] + a[8] * b[2], a[6] * b[3] + a[7] * b[4] + a[8] * b[5], a[6] * b[6] + a[7] * b[7] + a[8] * b[8]
            )  # fmt: skip


@inlined
def matadd(a, b):
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3], a[4] + b[4], a[5] + b[5],
            a[6] + b[6], a[7] + b[7], a[8] + b[8])  # fmt: skip


@inlined
def mataxpy(s, a, b):
    """s a + b"""
    return (s * a[0] + b[0], s * a[1] + b[1], s * a[2] + b[2], s * a[3] + b[3], s * a[4] + b[4], s * a[5] + b[5],
            s * a[6] + b[6], s * a[7] + b[7], s * a[8] + b[8])  # fmt: skip


@inlined
def matscale(s, a):
    return s * a[0], s * a[1], s * a[2], s * a[3], s * a[4], s * a[5], s * a[6], s * a[7], s * a[8]


@inlined
def outer(a, b):
    """a b'"""
    return (a[0] * b[0], a[0] * b[1], a[0] * b[2], a[1] * b[0], a[1] * b[1], a[1] * b[2],
            a[2] * b[0], a[2] * b[1], a[2] * b[2])  # fmt: skip


@inlined
def hat(a):
    """The matrix of the cross product: hat(a) b = a x b."""
    return 0.0, -a[2], a[1], a[2], 0.0, -a[0], -a[1], a[0], 0.0


@inlined
def hat_mat(a, m):
    """hat(a) m"""
    return (a[1] * m[6] - a[2] * m[3], a[1] * m[7] - a[2] * m[4], a[1] * m[8] - a[2] * m[5],
            a[2] * m[0] - a[0] * m[6], a[2] * m[1] - a[0] * m[7], a[2] * m[2] - a[0] * m[8],
            a[0] * m[3] - a[1] * m[0], a[0] * m[4] - a[1] * m[1], a[0] * m[5] - a[1] * m[2])  # fmt: skip


@inlined
def mat_hat(m, a):
    """m hat(a)"""
    return (m[1] * a[2] - m[2] * a[1], m[2] * a[0] - m[0] * a[2], m[0] * a[1] - m[1] * a[0],
            m[4] * a[2] - m[5] * a[1], m[5] * a[0] - m[3] * a[2], m[3] * a[1] - m[4] * a[0],
            m[7] * a[2] - m[8] * a[1], m[8] * a[0] - m[6] * a[2], m[6] * a[1] - m[7] * a[0])  # fmt: skip


@inlined
def full(s):
    """Symmetric (6 numbers) -> matrix (9 numbers)."""
    return s[0], s[1], s[2], s[1], s[3], s[4], s[2], s[4], s[5]


@inlined
def matinverse(a):
    """Inverse by cofactors; infinite or NaN for a singular matrix."""
    x = cross((a[3], a[4], a[5]), (a[6], a[7], a[8]))
    y = cross((a[6], a[7], a[8]), (a[0], a[1], a[2]))
    z = cross((a[0], a[1], a[2]), (a[3], a[4], a[5]))
    d = 1.0 / (a[0] * x[0] + a[1] * x[1] + a[2] * x[2])
    return d * x[0], d * y[0], d * z[0], d * x[1], d * y[1], d * z[1], d * x[2], d * y[2], d * z[2]


@inlined
def congruent(r, s):
    """r s r' of a symmetric s, as a symmetric."""
    a, b, c = (r[0] * s[0] + r[1] * s[1] + r[2] * s[2], r[0] * s[1] + r[1] * s[3] + r[2] * s[4],
               r[0] * s[2] + r[1] * s[4] + r[2] * s[5])  # fmt: skip
    d, e, f = (r[3] * s[0] + r[4] * s[1] + r[5] * s[2], r[3] * s[1] + r[4] * s[3] + r[5] * s[4],
               r[3] * s[2] + r[4] * s[4] + r[5] * s[5])  # fmt: skip
    g, h, k = (r[6] * s[0] + r[7] * s[1] + r[8] * s[2], r[6] * s[1] + r[7] * s[3] + r[8] * s[4],
               r[6] * s[2] + r[7] * s[4] + r[8] * s[5])  # fmt: skip
    return (a * r[0] + b * r[1] + c * r[2], a * r[3] + b * r[4] + c * r[5], a * r[6] + b * r[7] + c * r[8],
            d * r[3] + e * r[4] + f * r[5], d * r[6] + e * r[7] + f * r[8],
            g * r[6] + h * r[7] + k * r[8])  # fmt: skip


IDENTITY = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)
ZERO3 = (0.0, 0.0, 0.0)


# ------------------------------------------------------------------------------------------ quaternions


@inlined
def quat_mul(w1, u1, w2, u2):
    """Product of two quaternions; returns (w, u)."""
    x = cross(u1, u2)
    return w1 * w2 - dot(u1, u2), (
        w1 * u2[0] + w2 * u1[0] + x[0],
        w1 * u2[1] + w2 * u1[1] + x[1],
        w1 * u2[2] + w2 * u1[2] + x[2],
    )


@inlined
def quat_rotate_minus(w, u, r):
    """R(w, u) r - r without cancellation for small rotations."""
    y = cross(u, r)
    y = add(y, y)
    z = cross(u, y)
    return w * y[0] + z[0], w * y[1] + z[1], w * y[2] + z[2]


@inlined
def quat_to_matrix(w, u):
    x, y, z = u
    return (1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y),
            2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x),
            2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y))  # fmt: skip
