"""Kantorovich's theorem for a step of `Trapezoid`, with a proof that survives rounding.            solvability/kantorovich.py

Newton's method solves e(v) = 0 from v0.  The norm is |x| = |R x|_2 with R the matrix in memory, nearly the root of M(q): any norm serves.
Y in memory is nearly R A^-1, A the Jacobian at v0.  Newton's method does not change when e is multiplied by a matrix, so it is proved for
F = R^-1 Y e, whose Jacobian is 1 - D.  With Ri in memory, nearly R^-1,
    1 - R Ri = E,  |E| <= r,     |D| = |1 - Y A R^-1| <= (|1 - Y A Ri| + r) / (1 - r) = delta
    eta <= |Y e| / (1 - delta),  b <= |Y B[Ri, Ri]| / (1 - r)^2 / (1 - delta),  c <= | |Y| third | / (1 - delta)
No number has to be the inverse or the root of another one.  What is computed from angles and lengths is known up to rounding: each of
the sums in columns.py is made of products of at most six factors and reached by at most ROUNDINGS (nv + 16) roundings, those of the
positions along the chain included; q + h v is known to 2 u |q| at the end of the step, and turns each of up to four columns in a
product by that.  So they differ from the exact sums by at most
    epsilon = u (ROUNDINGS (nv + 16) + 8 sum |q_k| of the angles)
times the same sums of absolute values, which majorants.py bounds.  The products with Y and Ri add less than that again.

The three columns of a ball joint stand in these sums as one.  The sum of the absolute values of three numbers is at most sqrt(3) times
their length; this for up to three velocities and for the rows of S', and what is cancelled in B(x) of groups.py, of which there are up to
two factors with sums of absolute values below 1.5, make a term larger by less than 27^(1/2) 1.5^2 3^(1/2) < IN_GROUPS.
"""

import math

from ...compiling.decorators import entry, kernel
from ..solving.dense import lu_factor, lu_solve
from .columns import add_curvatures, add_matrices, add_slopes, find_columns, find_motion, turn_screws
from .groups import carry_bounds, carry_momenta, see_increments, set_paces, set_weights, turn_groups
from .layout import ACCELERATION, DEFECT, EPSILON, ETA, GAMMA, LARGEST, LIMITING, LOAD, RADIUS, ROOT, SECOND, SPEED, THIRD
from .majorants import add_errors, add_third, differentiate, find_full, find_near

UNIT = 1.1102230246251565e-16  # u: half the distance from 1 to the next number
ROUNDINGS = 64.0
IN_GROUPS = 32.0  # times as much where there are ball or free joints
SQUARINGS = 6  # of Gram matrices: the norm is overestimated by n^(1/256) at most


@kernel
def clear(a):
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            a[i, j] = 0.0


@kernel
def clear3(a):
    for i in range(a.shape[0]):
        clear(a[i])


@kernel
def length(x):
    s = 0.0
    for j in range(x.shape[0]):
        s += x[j] * x[j]
    return math.sqrt(s)


@kernel
def amplified(Y, x):
    """| |Y| x |_2 of x >= 0."""
    total = 0.0
    for a in range(x.shape[0]):
        s = 0.0
        for i in range(x.shape[0]):
            s += abs(Y[a, i]) * x[i]
        total += s * s
    return math.sqrt(total)


@kernel
def root_of_mass(g):
    """R with R' R = M, upper triangular, and its inverse Ri; False if M is not positive definite."""
    n = g.M.shape[0]
    clear(g.R)
    clear(g.Ri)
    for i in range(n):
        for j in range(i, n):
            x = g.M[i, j]
            for k in range(i):
                x -= g.R[k, i] * g.R[k, j]
            if j == i:
                if not x > 0.0:
                    return False
                g.R[i, i] = math.sqrt(x)
            else:
                g.R[i, j] = x / g.R[i, i]
    for j in range(n):
        g.Ri[j, j] = 1.0 / g.R[j, j]
        for i in range(j - 1, -1, -1):
            x = 0.0
            for k in range(i + 1, j + 1):
                x -= g.R[i, k] * g.Ri[k, j]
            g.Ri[i, j] = x / g.R[i, i]
    return True


@kernel
def defect_of_root(g):
    """Bound of |1 - R Ri|."""
    n, total = g.R.shape[0], 0.0
    for i in range(n):
        for j in range(n):
            x, size = 0.0, 0.0
            for k in range(n):
                x += g.R[i, k] * g.Ri[k, j]
                size += abs(g.R[i, k] * g.Ri[k, j])
            x = abs(x - (1.0 if i == j else 0.0)) + 2.0 * n * UNIT * size
            total += x * x
    return math.sqrt(total) * (1.0 + 4.0 * n * UNIT)


@kernel
def spectral(G, Z, n):
    """Bound of the largest eigenvalue of the Gram matrix G, from |G^64|_F; overwrites G and Z."""
    trace = 0.0
    for i in range(n):
        trace += G[i, i]
    if not trace > 0.0:
        return trace
    for i in range(n):
        for j in range(n):
            G[i, j] /= trace
    logarithm, power = 0.0, 1.0
    for _ in range(SQUARINGS):
        largest = 0.0
        for i in range(n):
            for j in range(n):
                s = 0.0
                for k in range(n):
                    s += G[i, k] * G[k, j]
                Z[i, j] = s
                largest = max(largest, abs(s))
        power *= 2.0
        logarithm += math.log(largest) / power
        for i in range(n):
            for j in range(n):
                G[i, j] = Z[i, j] / largest
    total = 0.0
    for i in range(n):
        for j in range(n):
            total += G[i, j] * G[i, j]
    found = math.exp(logarithm + 0.5 * math.log(total) / power)
    return trace * (found + (n * n + 64.0) * UNIT * n)  # the Gram matrix itself is known that well, relative to its trace


@kernel
def norm_of(g, T):
    """Bound of |T[x, y]| over unit x and y, T symmetric in them: the smaller spectral norm of its two unfoldings."""
    n = T.shape[0]
    for a in range(n):
        for b in range(a, n):
            s = 0.0
            for x in range(n):
                for y in range(n):
                    s += T[a, x, y] * T[b, x, y]
            g.G[a, b] = s
            g.G[b, a] = s
    first = spectral(g.G, g.Z, n)
    for x in range(n):
        for y in range(x, n):
            s = 0.0
            for a in range(n):
                for z in range(n):
                    s += T[a, x, z] * T[a, y, z]
            g.G[x, y] = s
            g.G[y, x] = s
    return math.sqrt(min(first, spectral(g.G, g.Z, n)))


@kernel
def transform(g, left, T):
    """T[a, p, q] <- left_ai T[i, x, y] Ri_xp Ri_yq"""
    n = T.shape[0]
    for x in range(n):
        for y in range(n):
            for a in range(n):
                s = 0.0
                for i in range(n):
                    s += left[a, i] * T[i, x, y]
                g.x[a] = s
            for a in range(n):
                T[a, x, y] = g.x[a]
    for a in range(n):
        for y in range(n):
            for p in range(n - 1, -1, -1):
                s = 0.0
                for x in range(p + 1):  # Ri is upper triangular
                    s += T[a, x, y] * g.Ri[x, p]
                T[a, p, y] = s
        for p in range(n):
            for r in range(n - 1, -1, -1):
                s = 0.0
                for y in range(r + 1):
                    s += T[a, p, y] * g.Ri[y, r]
                T[a, p, r] = s


@kernel
def start(s, g, q, v):
    """Everything at the start of the step; False if the mass matrix is not positive definite."""
    nv = v.shape[0]
    clear(g.M)
    clear(g.P)
    clear3(g.slope)
    turn_screws(s, g, q)
    for i in range(1, s.parent.shape[0]):
        if s.mass[i] > 0.0 or s.metric[i, 0] > 0.0:
            n = find_columns(s, g, i, q)
            find_motion(s, g, i, n, v)
            add_matrices(g, n, nv, g.M, g.P)
            add_slopes(g, n, nv, g.slope)
    for j in range(nv):
        g.M[j, j] += s.armature[j]
    return root_of_mass(g)


@kernel
def finish(s, g, q, v, p, force, h):
    """e, A and B at v, from what `start` left: (24) and (25) in momentum form and the next derivative."""
    nv, grouped = v.shape[0], s.groups.shape[0] > 0
    clear(g.M1)
    clear(g.P1)
    clear3(g.B)
    for j in range(nv):
        g.q1[s.at[j]] = q[s.at[j]] + h * v[j]
    if grouped:
        clear3(g.T)
        turn_groups(s, g, q, v, h)
    turn_screws(s, g, g.q1)
    for i in range(1, s.parent.shape[0]):
        if s.mass[i] > 0.0 or s.metric[i, 0] > 0.0:
            n = find_columns(s, g, i, g.q1)
            find_motion(s, g, i, n, v)
            add_matrices(g, n, nv, g.M1, g.P1)
            if grouped:
                add_curvatures(g, n, nv, h, 0.0, g.B)
                add_slopes(g, n, nv, g.T)
            else:
                add_curvatures(g, n, nv, h, 1.0, g.B)
    if grouped:
        see_increments(s, g, v, h)
    for i in range(nv):  # the mean momentum and its derivatives
        g.M1[i, i] += s.armature[i]
        g.e[i] = 0.0
        for k in range(nv):
            mean = 0.5 * (g.M[i, k] + g.M1[i, k])
            g.e[i] += mean * v[k]
            g.A[i, k] = mean + 0.5 * h * g.P1[i, k]
            for y in range(nv):
                g.B[i, k, y] *= 0.5 * h
    if grouped:
        carry_momenta(s, g, v, h)
    for i in range(nv):
        g.e[i] -= 0.5 * h * (force[i] - s.damping[i] * v[i]) + p[i]
        for k in range(nv):
            g.e[i] -= 0.25 * h * g.P[k, i] * v[k]
            g.A[i, k] -= 0.5 * h * g.P[k, i]
            for y in range(nv):
                g.B[i, k, y] -= 0.5 * h * g.slope[i, k, y]
        g.A[i, i] += 0.5 * h * s.damping[i]


@kernel
def preconditioner(g):
    """Y = R A^-1 and Z = Y A Ri; returns |1 - Z|, not counting rounding."""
    n = g.A.shape[0]
    for i in range(n):
        for j in range(n):
            g.LU[i, j] = g.A[j, i]
    lu_factor(g.LU, g.pivot, n)
    for a in range(n):
        for i in range(n):
            g.x[i] = g.R[a, i]
        lu_solve(g.LU, g.pivot, n, g.x)
        for i in range(n):
            g.Y[a, i] = g.x[i]
    total = 0.0
    for a in range(n):
        for k in range(n):
            g.x[k] = 0.0
            for i in range(n):
                g.x[k] += g.Y[a, i] * g.A[i, k]
        for b in range(n):
            z = -1.0 if a == b else 0.0
            for k in range(b + 1):
                z += g.x[k] * g.Ri[k, b]
            total += z * z
    return math.sqrt(total)


@kernel
def set_box(s, g, q, v, h, radius):
    """What velocities and coordinates can become within `radius` of v; returns epsilon."""
    turns = 0.0
    for j in range(v.shape[0]):
        g.fastest[j] = abs(v[j]) + radius * g.share[j]
        g.pace[j] = g.fastest[j]
        g.reach[j] = h * g.fastest[j]
        g.extent[j] = abs(q[s.at[j]]) + g.reach[j]
    set_paces(s, g, v, radius)
    for j in range(v.shape[0]):
        turns += s.length[j, 0] * g.extent[j]
    roundings = ROUNDINGS * (v.shape[0] + 16.0) + 8.0 * turns
    return UNIT * (roundings if s.groups.shape[0] == 0 else IN_GROUPS * roundings)


@kernel
def find_errors(s, g, p, force, h):
    """error_e, error_A, error_B"""
    for j in range(p.shape[0]):
        g.error_e[j] = abs(p[j]) + s.armature[j] * g.fastest[j] + 0.5 * h * (abs(force[j]) + s.damping[j] * g.fastest[j])
        g.error_A[j] = (s.armature[j] + 0.5 * h * s.damping[j]) * g.share[j]
        g.error_B[j] = 0.0
    for i in range(1, s.parent.shape[0]):
        if s.mass[i] > 0.0 or s.metric[i, 0] > 0.0:
            n = find_columns(s, g, i, g.q1)
            find_full(s, g, i)
            differentiate(g, g.full, n, 2)
            add_errors(s, g, i, n, h)
    carry_bounds(s, g, h, 2.0, g.error_B, g.error_A, g.error_e, g.error_B)
    carry_bounds(s, g, h, 1.0, g.error_A, g.error_e, g.error_e, g.error_A)
    carry_bounds(s, g, h, 0.0, g.error_e, g.error_e, g.error_e, g.error_e)


@kernel
def find_third(s, g, q, h, epsilon):
    """third, in the box"""
    for j in range(g.third.shape[0]):
        g.third[j] = 0.0
    clear(g.lower)
    turn_screws(s, g, q)
    for i in range(1, s.parent.shape[0]):
        if s.mass[i] > 0.0 or s.metric[i, 0] > 0.0:
            n = find_columns(s, g, i, q)
            find_full(s, g, i)
            find_near(g, n, h, epsilon)
            differentiate(g, g.near, n, 3)
            add_third(s, g, i, n, h)
    carry_bounds(s, g, h, 3.0, g.third, g.lower[1], g.lower[0], g.third)


@kernel
def largest_eta(b, c):
    """Maximum of t - b t^2/2 - c t^3/6 over t > 0, a little less."""
    if not (b + c < math.inf):
        return 0.0
    if b + c == 0.0:
        return math.inf
    t = 2.0 / (b + math.sqrt(b * b + 2.0 * c))  # b t + c t^2/2 = 1
    return t * (1.0 - t * (0.5 * b + c * t / 6.0)) * (1.0 - 32.0 * UNIT)


@kernel
def smallest_root(eta, b, c):
    """The t below which eta - t + b t^2/2 + c t^3/6 is positive: how far the solution can be from v0."""
    t = 0.0
    for _ in range(60):
        value = eta - t + t * t * (0.5 * b + c * t / 6.0)
        slope = 1.0 - t * (b + 0.5 * c * t)
        if not (slope > 0.0) or value <= 1e-15 * eta:
            break
        t += value / slope
    return t


@kernel
def judge(s, g, q, v, p, force, h):
    """Fills `out` for a step of length h > 0, after `start`.  LOAD is infinite where nothing can be proved."""
    n, out = v.shape[0], g.out
    out[ETA] = out[SECOND] = out[THIRD] = out[LOAD] = math.inf
    out[LARGEST], out[RADIUS], out[DEFECT], out[LIMITING] = 0.0, math.inf, math.inf, 0.0
    r = defect_of_root(g)
    out[ROOT] = r
    if not r < 0.1:
        return
    for j in range(n):
        share = 0.0
        for k in range(j, n):
            share += g.Ri[j, k] * g.Ri[j, k]
        g.share[j] = math.sqrt(share) / (1.0 - r) * (1.0 + 8.0 * n * UNIT)
    set_weights(s, g)
    finish(s, g, q, v, p, force, h)
    defect = preconditioner(g)
    epsilon = set_box(s, g, q, v, h, 0.0)
    find_errors(s, g, p, force, h)
    delta = (defect + 2.0 * epsilon * amplified(g.Y, g.error_A) + r) / (1.0 - r)
    out[DEFECT] = delta
    if not delta < 0.1:
        return
    for a in range(n):
        g.x[a] = 0.0
        for i in range(n):
            g.x[a] += g.Y[a, i] * g.e[i]
    more = (1.0 + epsilon) / (1.0 - delta)
    out[ETA] = (length(g.x) + 2.0 * epsilon * amplified(g.Y, g.error_e)) * more
    for j in range(n):
        g.step[j] = 0.0
        for k in range(j, n):
            g.step[j] += g.Ri[j, k] * g.x[k]
    out[LIMITING] = find_limiting(g)
    for i in range(n):
        for x in range(n):
            for y in range(n):
                g.T[i, x, y] = g.B[i, x, y]
    transform(g, g.Y, g.T)
    error = 2.0 * epsilon * amplified(g.Y, g.error_B)
    out[SECOND] = (norm_of(g, g.T) / ((1.0 - r) * (1.0 - r)) + error) * more
    epsilon = set_box(s, g, q, v, h, 2.0 * out[ETA])
    out[EPSILON] = epsilon
    find_third(s, g, q, h, epsilon)
    out[THIRD] = amplified(g.Y, g.third) * more
    out[LARGEST] = largest_eta(out[SECOND], out[THIRD])
    if out[LARGEST] > 0.0:
        out[LOAD] = out[ETA] / out[LARGEST]
        out[RADIUS] = smallest_root(out[ETA], out[SECOND], out[THIRD])


@kernel
def find_limiting(g):
    """The degree of freedom that contributes most to the second derivative along the first correction."""
    n, most, found = g.step.shape[0], -1.0, 0
    for x in range(n):
        total = 0.0
        for a in range(n):
            s = 0.0
            for i in range(n):
                for y in range(n):
                    s += g.Y[a, i] * g.B[i, x, y] * g.step[y]
            total += s * s
        total *= g.step[x] * g.step[x]
        if total > most:
            most, found = total, x
    return float(found)


@entry
def certify(s, g, q, v, p, force, h, most, shortest):
    """The first of ever shorter steps from h > 0 on whose LOAD is at most `most`: (length, certificates looked at).

    From the node q, p with Newton's method started from v.  (0, number) if there is none down to `shortest`; (0, 0) if the mass matrix
    is not positive definite.
    """
    if not start(s, g, q, v):
        return 0.0, 0
    count = 0
    while h >= shortest:
        count += 1
        judge(s, g, q, v, p, force, h)
        load = g.out[LOAD]
        if load <= most:
            return h, count
        h *= min(0.9, max(0.2, 0.95 * math.sqrt(most / load))) if load < math.inf else 0.2
    return 0.0, count


@entry
def derivatives(s, g, q, v, p, force, h):
    """e, A and B at v; False if the mass matrix is not positive definite."""
    made = start(s, g, q, v)
    finish(s, g, q, v, p, force, h)
    return made


@entry
def curvature(s, g, q, v, force):
    """GAMMA, the norm of the Christoffel symbols, SPEED and ACCELERATION: |v| and |dv/dt|; dv/dt itself in `step`.

    In the norm of the kinetic energy.  To first order in h the load of a step is h^2 GAMMA |dv/dt|.
    """
    n, out = v.shape[0], g.out
    if not start(s, g, q, v):
        return False
    speed, rate = 0.0, 0.0
    for i in range(n):
        g.x[i] = force[i] - s.damping[i] * v[i]
        for k in range(n):
            g.x[i] -= (g.P[i, k] - 0.5 * g.P[k, i]) * v[k]
            for y in range(n):
                g.T[i, k, y] = 0.5 * (g.slope[k, i, y] + g.slope[y, i, k] - g.slope[i, k, y])
    for a in range(n):
        moved, pushed = 0.0, 0.0
        for k in range(n):
            moved += g.R[a, k] * v[k]
            pushed += g.Ri[k, a] * g.x[k]
            g.LU[a, k] = g.Ri[k, a]
        g.e[a] = pushed
        speed += moved * moved
        rate += pushed * pushed
    for k in range(n):
        g.step[k] = 0.0
        for a in range(k, n):
            g.step[k] += g.Ri[k, a] * g.e[a]
    transform(g, g.LU, g.T)
    out[GAMMA], out[SPEED], out[ACCELERATION] = norm_of(g, g.T), math.sqrt(speed), math.sqrt(rate)
    return True
