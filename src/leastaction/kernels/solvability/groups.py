"""Ball joints, and free joints on the world, in a certificate: the Cayley map and its inverse tangent in front of the mass matrix.

A ball joint moves by cay(x), x = h v.  Along a straight line x + s d it turns about one axis, by angle' = |eta|,
    eta = B(x) d,   B = (1 - x^/2) / n,   n = 1 + |x|^2/4,        eta' = -(x.d)/(2 n) eta
so that f(x) has the second derivative f_ee[B d, B d] - (x.d)/(2 n) f_e[B d], f_e and f_ee derivatives along turns as in columns.py.
With p = (1 + |x - (x.d) d|^2/4)^(1/2) >= 1 the angle is 2 atan(s / 2p), s counted from the point of the line nearest to 0: its
derivatives are at most 1, 3 sqrt(3)/16 and 1/2 for unit d.  A ball joint therefore enters the sums of majorants.py as one hinge, whose
rate bends.  Straight lines are enough: the norm of a symmetric form in a Hilbert space is reached where all its arguments are the same.

The mean momentum m = [M(q) + M(q cay(h v))] v / 2 of ball and free joints is multiplied by S(h v)', S = dcay^-1, a polynomial of second
degree.  No mass matrix depends on the pose of a free joint on the world, so this is all that a free joint adds.
"""

from ...compiling.decorators import inlined, kernel
from ...lie.algebra import ZERO3, add, axpy, cross, dot, quat_mul, scale, set_vector, vector
from ...lie.retraction_cayley import cotangent
from ...lie.rotations import cayley_quaternion
from .layout import BALL

FIRST_BEND, SECOND_BEND = 0.32476, 0.5  # 3 sqrt(3)/16, rounded up, and 1/2


@kernel
def turn_groups(s, g, q, v, h):
    """Quaternions of ball joints at the end of the step, in g.q1."""
    for e in range(s.groups.shape[0]):
        row = s.groups[e]
        if s.kind[row] == BALL:
            f = s.first[row]
            at = s.at[f]
            set_vector(g.x, 0, scale(h, vector(v, f)))
            w, u = cayley_quaternion(g.x, 0)
            w, u = quat_mul(q[at], vector(q, at + 1), w, u)
            g.q1[at] = w
            set_vector(g.q1, at + 1, u)


@inlined
def pulled(x, n, f):
    """B' f: derivatives along x from those along turns."""
    return scale(1.0 / n, axpy(0.5, cross(x, f), f))


@kernel
def see_increments(s, g, v, h):
    """P1, B and T = dM1 of the end of the step: derivatives in q from those along turns.  B has only h d2(Mv) so far."""
    nv = v.shape[0]
    for e in range(s.groups.shape[0]):
        row = s.groups[e]
        if s.kind[row] == BALL:
            f = s.first[row]
            x = scale(h, vector(v, f))
            n = 1.0 + 0.25 * dot(x, x)
            for a in range(nv):
                for b in range(nv):
                    set_vector(g.x, 0, pulled(x, n, (g.T[f, a, b], g.T[f + 1, a, b], g.T[f + 2, a, b])))
                    g.T[f, a, b], g.T[f + 1, a, b], g.T[f + 2, a, b] = g.x[0], g.x[1], g.x[2]
                    set_vector(g.B[a, b], f, pulled(x, n, vector(g.B[a, b], f)))
                for b in range(nv):
                    set_vector(g.x, 0, pulled(x, n, (g.B[a, f, b], g.B[a, f + 1, b], g.B[a, f + 2, b])))
                    g.B[a, f, b], g.B[a, f + 1, b], g.B[a, f + 2, b] = g.x[0], g.x[1], g.x[2]
                y = pulled(x, n, vector(g.P1[a], f))
                set_vector(g.P1[a], f, y)
                for b in range(3):
                    for c in range(3):
                        g.B[a, f + b, f + c] -= 0.25 * h / n * (x[b] * y[c] + x[c] * y[b])
    for a in range(nv):
        for b in range(nv):
            for c in range(nv):
                g.B[a, b, c] += g.T[b, a, c] + g.T[c, a, b]


@inlined
def halves(a, f, count):
    """Angular and linear part of a vector of joint velocities; a ball joint has no linear one."""
    return vector(a, f), vector(a, f + 3) if count == 6 else ZERO3


@inlined
def put(a, f, count, x, y):
    set_vector(a, f, x)
    if count == 6:
        set_vector(a, f + 3, y)


@inlined
def unit(k, h):
    """h times the k-th of six unit vectors, as two halves."""
    return ((h if k == 0 else 0.0, h if k == 1 else 0.0, h if k == 2 else 0.0),
            (h if k == 3 else 0.0, h if k == 4 else 0.0, h if k == 5 else 0.0))  # fmt: skip


@inlined
def cotangent_slope(x, d, p):
    """Derivative of S(x)' p along d."""
    line = axpy(0.5, cross(x[0], p[1]), p[1])
    change = scale(0.5, cross(d[0], p[1]))
    a = add(cross(d[0], p[0]), add(cross(d[1], line), cross(x[1], change)))
    a = axpy(0.25 * dot(x[0], p[0]), d[0], axpy(0.25 * dot(d[0], p[0]), x[0], scale(0.5, a)))
    return a, change


@inlined
def cotangent_bend(d, e, p):
    """Second derivative of S(x)' p along d and e: nothing in its linear part."""
    a = add(cross(d[1], cross(e[0], p[1])), cross(e[1], cross(d[0], p[1])))
    return axpy(0.25 * dot(d[0], p[0]), e[0], axpy(0.25 * dot(e[0], p[0]), d[0], scale(0.25, a)))


@kernel
def carry_momenta(s, g, v, h):
    """e, A and B from the mean momentum and its derivatives to S(hv)' times that, in the rows of ball and free joints."""
    nv = v.shape[0]
    for e in range(s.groups.shape[0]):
        row = s.groups[e]
        f, count = s.first[row], s.count[row]
        xa, xl = halves(v, f, count)
        x = (scale(h, xa), scale(h, xl))
        m = halves(g.e, f, count)
        for b in range(nv):
            for c in range(b, nv):
                for k in range(count):
                    g.x[k] = g.B[f + k, b, c]
                y = halves(g.x, 0, count)
                a, l = cotangent(x[0], x[1], y[0], y[1])
                if f <= b < f + count:
                    ya, yl = cotangent_slope(x, unit(b - f, h), column_halves(g, f, count, c))
                    a, l = add(a, ya), add(l, yl)
                if f <= c < f + count:
                    ya, yl = cotangent_slope(x, unit(c - f, h), column_halves(g, f, count, b))
                    a, l = add(a, ya), add(l, yl)
                if f <= b < f + count and f <= c < f + count:
                    a = add(a, cotangent_bend(unit(b - f, h), unit(c - f, h), m))
                put(g.x, 0, count, a, l)
                for k in range(count):
                    g.B[f + k, b, c] = g.x[k]
                    g.B[f + k, c, b] = g.x[k]
        for b in range(nv):
            y = column_halves(g, f, count, b)
            a, l = cotangent(x[0], x[1], y[0], y[1])
            if f <= b < f + count:
                ya, yl = cotangent_slope(x, unit(b - f, h), m)
                a, l = add(a, ya), add(l, yl)
            put(g.x, 0, count, a, l)
            for k in range(count):
                g.A[f + k, b] = g.x[k]
        a, l = cotangent(x[0], x[1], m[0], m[1])
        put(g.e, f, count, a, l)


@inlined
def column_halves(g, f, count, b):
    """Rows of a joint in a column of A."""
    a = (g.A[f, b], g.A[f + 1, b], g.A[f + 2, b])
    return a, (g.A[f + 3, b], g.A[f + 4, b], g.A[f + 5, b]) if count == 6 else ZERO3


@kernel
def set_weights(s, g):
    """weight and rate, from share"""
    for j in range(g.share.shape[0]):
        g.weight[j] = g.share[j]
        g.rate[j, 0], g.rate[j, 1], g.rate[j, 2] = g.share[j], 0.0, 0.0
    for e in range(s.groups.shape[0]):
        row = s.groups[e]
        for f in range(s.first[row], s.first[row] + s.count[row], 3):
            d = longer(g.share, f)
            g.weight[f], g.weight[f + 1], g.weight[f + 2] = d, 0.0, 0.0
            g.rate[f, 0], g.rate[f + 1, 0], g.rate[f + 2, 0] = 0.0, 0.0, 0.0  # no column is before a free joint
            if s.kind[row] == BALL:
                g.rate[f, 0], g.rate[f, 1], g.rate[f, 2] = d, FIRST_BEND * d * d, SECOND_BEND * d * d * d


@kernel
def set_paces(s, g, v, radius):
    """pace and extent of ball and free joints: their angles are known to rounding, and no column is farther out where they are."""
    for e in range(s.groups.shape[0]):
        row = s.groups[e]
        for f in range(s.first[row], s.first[row] + s.count[row], 3):
            g.pace[f], g.pace[f + 1], g.pace[f + 2] = longer(v, f) + radius * g.weight[f], 0.0, 0.0
            g.extent[f], g.extent[f + 1], g.extent[f + 2] = 0.0, 0.0, 0.0


@inlined
def longer(a, f):
    """The length of three numbers, rounded up."""
    return (a[f] * a[f] + a[f + 1] * a[f + 1] + a[f + 2] * a[f + 2]) ** 0.5 * (1.0 + 1e-15)


@inlined
def leibniz(k, x0, x1, p, before):
    """k-th derivative of x p along a line, x with derivatives x0, x1: p and before are the k-th and (k-1)-th of p."""
    return x0 * p + k * x1 * before


@kernel
def carry_bounds(s, g, h, k, p0, p1, p2, out):
    """out = bound of the k-th derivative of S(hv)' m along `weight`, in the rows of ball and free joints.

    p0, p1, p2: bounds of the k-th, (k-1)-th and (k-2)-th derivative of m; the largest of three entries bounds their length.  With a, l the
    angular and linear parts of m, phi and rho those of x = h v, and L = l + phi x l / 2:
    S' m = (a + (phi x a + rho x L) / 2 + phi (phi.a) / 4, L).
    """
    for e in range(s.groups.shape[0]):
        row = s.groups[e]
        f = s.first[row]
        x0, x1 = h * g.pace[f], h * g.weight[f]
        a0, a1, a2 = largest3(p0, f), largest3(p1, f), largest3(p2, f)
        total = a0 + 0.5 * leibniz(k, x0, x1, a0, a1)
        total += 0.25 * (x0 * x0 * a0 + 2.0 * k * x0 * x1 * a1 + k * (k - 1.0) * x1 * x1 * a2)
        if s.count[row] == 6:
            y0, y1 = h * g.pace[f + 3], h * g.weight[f + 3]
            l0, l1, l2 = largest3(p0, f + 3), largest3(p1, f + 3), largest3(p2, f + 3)
            line = l0 + 0.5 * leibniz(k, x0, x1, l0, l1)
            total += 0.5 * leibniz(k, y0, y1, line, l1 + 0.5 * leibniz(k - 1.0, x0, x1, l1, l2))
            out[f + 3] = out[f + 4] = out[f + 5] = line
        out[f] = out[f + 1] = out[f + 2] = total


@inlined
def largest3(a, f):
    return max(a[f], a[f + 1], a[f + 2])
