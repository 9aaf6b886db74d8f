"""Bounds of derivatives in a box of coordinates, and of what rounding may have done to sums of them, in O(depth) for every body.

Of a twist only the lengths (angular, linear) are kept; |[x, y]| is at most (|x_w| |y_w|, |x_w| |y_v| + |x_v| |y_w|).  The recursion of
columns.py then bounds derivatives of any order along a direction d >= 0: with D_0 the lengths of the columns,
    D_{m+1, j} = sum_i C(m, i) [D_{i, j}, sum_{k beyond j} D_{m-i, k} d_k]
and the sums over k are carried along from the last screw to the first.

The same sums with the largest lengths that columns can have anywhere bound what is added up in columns.py term by term: what rounding
does to a value there is at most a small multiple of the sum for it here (`Proof.error_*`).
"""

import math

from ...compiling.decorators import inlined, kernel


@inlined
def product(G0, G1, a, b):
    """a' G b of two pairs of lengths."""
    return G0 * a[0] * b[0] + G1 * a[1] * b[1]


@inlined
def turned(a, b):
    """Bound of the lengths of a bracket."""
    return a[0] * b[0], a[0] * b[1] + a[1] * b[0]


@inlined
def pair(a, j):
    return a[j, 0], a[j, 1]


@inlined
def plus(a, b):
    return a[0] + b[0], a[1] + b[1]


@inlined
def times(s, a):
    return s * a[0], s * a[1]


@kernel
def find_full(s, g, i):
    """full: largest lengths of the columns of body i while coordinates stay within `extent` of zero; after find_columns.

    Of the three columns of a ball joint together: |J x| over |x|.
    """
    c, row = s.depth[i], i
    reach = math.sqrt(s.com[i, 0] ** 2 + s.com[i, 1] ** 2 + s.com[i, 2] ** 2)
    while row > 0:
        for j in range(s.first[row] + s.count[row] - 1, s.first[row] - 1, -1):
            c -= 1
            g.full[c, 0] = s.length[j, 0]
            g.full[c, 1] = s.length[j, 1] + s.length[j, 0] * reach
            reach += s.length[j, 1] * g.extent[j]
        reach += s.stretch[row]
        row = s.parent[row]


@kernel
def find_near(g, n, h, epsilon):
    """near: the lengths at q and how much they can change within `reach` of it, or `full`; after find_full, with the columns at q."""
    beyond = (0.0, 0.0)  # sum of full times reach over screws beyond c
    for c in range(n - 1, -1, -1):
        here = g.here[c]
        longest = pair(g.full, c)
        g.near[c, 0] = longest[0]
        g.near[c, 1] = min(longest[1], here + epsilon * longest[1] + turned(longest, beyond)[1])
        if g.rate[g.path[c], 0] > 0.0:
            beyond = plus(beyond, times(h * g.pace[g.path[c]], longest))


@kernel
def differentiate(g, lengths, n, order):
    """D[0 .. order]: bounds of the derivatives of the columns along `weight`."""
    for c in range(n):
        g.D[0, c, 0], g.D[0, c, 1] = lengths[c, 0], lengths[c, 1]
    for m in range(order):
        b0, b1, b2 = (0.0, 0.0), (0.0, 0.0), (0.0, 0.0)  # sums of D_0 d, D_1 d, D_2 d over screws beyond c
        for c in range(n - 1, -1, -1):
            d, bend, more = g.rate[g.path[c], 0], g.rate[g.path[c], 1], g.rate[g.path[c], 2]
            if m == 0:
                x = turned(pair(g.D[0], c), b0)
            elif m == 1:
                x = plus(turned(pair(g.D[0], c), b1), turned(pair(g.D[1], c), b0))
                b1 = plus(b1, plus(times(d, pair(g.D[1], c)), times(bend, pair(g.D[0], c))))
            else:
                x = plus(turned(pair(g.D[0], c), b2), turned(pair(g.D[2], c), b0))
                x = plus(x, times(2.0, turned(pair(g.D[1], c), b1)))
                b1 = plus(b1, plus(times(d, pair(g.D[1], c)), times(bend, pair(g.D[0], c))))
                b2 = plus(b2, plus(times(d, pair(g.D[2], c)), plus(times(2.0 * bend, pair(g.D[1], c)), times(more, pair(g.D[0], c)))))
            b0 = plus(b0, times(d, pair(g.D[0], c)))
            g.D[m + 1, c, 0], g.D[m + 1, c, 1] = x


@kernel
def summed(g, m, n, weight):
    """sum_c D_{m, c} weight_c"""
    total = (0.0, 0.0)
    for c in range(n):
        total = plus(total, times(weight[g.path[c]], pair(g.D[m], c)))
    return total


@kernel
def add_third(s, g, i, n, h):
    """third += bound of h^2/2 (3 M2[d, d] d + h M3[d, d, d] v) in the box, d = weight, |v| <= pace.  After differentiate(near, 3).

    lower += bounds of (M0 + M) d / 2 + h/2 M1[d] v and of h/2 (2 M1[d] d + h M2[d, d] v), where there are ball or free joints.
    """
    G0, G1 = s.metric[i, 0], s.metric[i, 1]
    S0, S1, S2 = summed(g, 0, n, g.weight), summed(g, 1, n, g.weight), summed(g, 2, n, g.weight)
    F0, F1, F2, F3 = summed(g, 0, n, g.pace), summed(g, 1, n, g.pace), summed(g, 2, n, g.pace), summed(g, 3, n, g.pace)
    for c in range(n):
        a, b, d, e = pair(g.D[0], c), pair(g.D[1], c), pair(g.D[2], c), pair(g.D[3], c)
        second = product(G0, G1, a, S2) + 2.0 * product(G0, G1, b, S1) + product(G0, G1, d, S0)
        third = product(G0, G1, a, F3) + 3.0 * product(G0, G1, b, F2) + 3.0 * product(G0, G1, d, F1) + product(G0, G1, e, F0)
        g.third[g.path[c]] += 0.5 * h * h * (3.0 * second + h * third)
        if s.groups.shape[0] > 0:
            first = product(G0, G1, a, S1) + product(G0, G1, b, S0)
            g.lower[0, g.path[c]] += product(G0, G1, a, S0) + 0.5 * h * (product(G0, G1, a, F1) + product(G0, G1, b, F0))
            second = product(G0, G1, a, F2) + 2.0 * product(G0, G1, b, F1) + product(G0, G1, d, F0)
            g.lower[1, g.path[c]] += 0.5 * h * (2.0 * first + h * second)


@kernel
def add_errors(s, g, i, n, h):
    """Absolute sums behind e, A d and B[d, d], d = weight, |v| <= pace.  After differentiate(full, 2)."""
    G0, G1 = s.metric[i, 0], s.metric[i, 1]
    S0, S1 = summed(g, 0, n, g.weight), summed(g, 1, n, g.weight)
    F0, F1, F2 = summed(g, 0, n, g.pace), summed(g, 1, n, g.pace), summed(g, 2, n, g.pace)
    before, moved = (0.0, 0.0), (0.0, 0.0)  # sums of columns before c times share, times fastest
    for c in range(n):
        j = g.path[c]
        a, b, d = pair(g.D[0], c), pair(g.D[1], c), pair(g.D[2], c)
        back_d, back_v = turned(before, a), turned(moved, a)
        g.error_e[j] += product(G0, G1, a, F0) + 0.5 * h * product(G0, G1, back_v, F0)
        forward = product(G0, G1, b, F0) + product(G0, G1, a, F1)
        back = product(G0, G1, back_v, S0) + product(G0, G1, back_d, F0)
        g.error_A[j] += product(G0, G1, a, S0) + 0.5 * h * (forward + back)
        first = product(G0, G1, b, S0) + product(G0, G1, a, S1) + product(G0, G1, back_d, S0)
        second = product(G0, G1, d, F0) + 2.0 * product(G0, G1, b, F1) + product(G0, G1, a, F2)
        g.error_B[j] += 0.5 * h * (2.0 * first + h * second)
        before = plus(before, times(g.weight[j], a))
        moved = plus(moved, times(g.pace[j], a))
