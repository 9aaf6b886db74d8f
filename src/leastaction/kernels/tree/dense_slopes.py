"""The four matrices of a step: how the momenta at its ends change with the configurations at its ends.

    dp0 = P00 dq0 + P01 dq1,   dp1 = P10 dq0 + P11 dq1        dq tangent vectors

For everything a variational step can have but functions of the user in joint space, and the midpoint quadrature, whose forces are those
of a configuration (`force_slopes`).
"""

from ...compiling.decorators import entry, kernel
from ...lie.algebra import add, axpy, cross, dot, load3, load9, matvec
from ..forces.potentials import pair_stiffness, potential_curvatures
from .drnea import residual, set_node
from .layout import NV, PAIR_A, PAIR_B, PARENT, VI
from .loads import acts_on_bodies
from .slopes import COLUMN00, COLUMN10, COLUMN11, ROW00, ROW10, ROW11, S0, S1, half_step, momentum_slopes, times, transposed_times
from .spatial import dot6


@entry
def step_slopes(m, bare, w, s, parts, given, h, t, retraction, q1, scratch, P):
    """P (4, nv, nv) = P00, P01, P10, P11 of the step (w.q, w.d) from the time t to the coordinates q1; arguments as of `momentum_slopes`.

    scratch: (nv, nv) and then three rows more.  Without the kinetic part P[3] is the derivative of the forces at w.q, w.d = 0.
    """
    set_node(m, w, h, 0.0, 0.0, w.z)
    residual(m, w, h, retraction)
    momentum_slopes(m, bare, w, s, parts, given, h, t, retraction)
    multiply_out(m, s, P)
    if parts.loaded:
        half = half_step(parts, h)
        if parts.kinetic:
            add_couplings(m, w, s.start, w.world, s.vector, S0, w.q, half, scratch, P[0])
        add_couplings(m, w, s.end, s.forces.world, s.vector, S1, q1, -half, scratch, P[3])


@kernel
def multiply_out(m, s, P):
    """Every entry is a joint column times a vector of Slopes; those of joints on different branches are zero."""
    link, x = m.link, s.vector
    nv = P.shape[1]
    for k in range(4):
        for j in range(nv):
            for l in range(nv):
                P[k, j, l] = 0.0
    for i in range(1, link.shape[0]):
        for j in range(link[i, VI], link[i, VI] + link[i, NV]):
            ra, rl = transposed_times(s.K, i, load3(x, j, S0), load3(x, j, S0 + 3))
            ca, cl = times(s.K, i, load3(x, j, S1), load3(x, j, S1 + 3))
            if acts_on_bodies(m):
                a, l = transposed_times(s.forces.L1, i, load3(x, j, S0), load3(x, j, S0 + 3))
                ra, rl = add(ra, a), add(rl, l)
                a, l = times(s.forces.L1, i, load3(x, j, S1), load3(x, j, S1 + 3))
                ca, cl = add(ca, a), add(cl, l)
            above = i
            while above > 0:
                for k in range(link[above, VI], link[above, VI] + link[above, NV]):
                    a0, l0, a1, l1 = load3(x, k, S0), load3(x, k, S0 + 3), load3(x, k, S1), load3(x, k, S1 + 3)
                    P[0, j, k] = dot6(x, j, ROW00, a0, l0)
                    P[1, j, k] = dot(ra, a1) + dot(rl, l1)
                    P[2, j, k] = dot6(x, j, ROW10, a0, l0)
                    P[3, j, k] = dot6(x, j, ROW11, a1, l1)
                    if above != i:
                        P[0, k, j] = dot6(x, j, COLUMN00, a0, l0)
                        P[1, k, j] = dot(ca, a0) + dot(cl, l0)
                        P[2, k, j] = dot6(x, j, COLUMN10, a1, l1)
                        P[3, k, j] = dot6(x, j, COLUMN11, a1, l1)
                above = link[above, PARENT]
            for c in range(link[i, NV]):
                for k in range(4):
                    P[k, j, link[i, VI] + c] += s.own[k, j, c]


@kernel
def add_couplings(m, w, place, world, x, column, q, factor, scratch, out):
    """out += factor * stiffness of springs between points (beyond their part at constant force) and of potentials of coordinates.

    place, world: poses in the frame of the tree and in the world; x[:, column:]: joint columns; q: coordinates.
    """
    nv = out.shape[0]
    for e in range(m.pair_on.shape[0]):
        over, bend, r = pair_stiffness(m, world, e, w.x, w.jet)
        for a in range(3):
            for j in range(nv):
                scratch[nv + a, j] = 0.0
        for side in range(2):
            above, sign = m.pair_on[e, side], -1.0 if side else 1.0
            point = add(load3(place, above, 9), matvec(load9(place, above, 0), load3(m.pair, e, PAIR_B if side else PAIR_A)))
            while above > 0:
                for j in range(m.link[above, VI], m.link[above, VI] + m.link[above, NV]):
                    moved = add(load3(x, j, column + 3), cross(load3(x, j, column), point))
                    for a in range(3):
                        scratch[nv + a, j] += sign * moved[a]
                above = m.link[above, PARENT]
        for j in range(nv):
            move = (scratch[nv, j], scratch[nv + 1, j], scratch[nv + 2, j])
            y = axpy(bend * dot(r, move), r, (over * move[0], over * move[1], over * move[2]))
            for k in range(nv):
                out[j, k] += factor * (y[0] * scratch[nv, k] + y[1] * scratch[nv + 1, k] + y[2] * scratch[nv + 2, k])
    if m.energy_on.shape[0] > 1:
        for j in range(nv):
            for k in range(nv):
                scratch[j, k] = 0.0
        potential_curvatures(m, w, q, scratch)
        for j in range(nv):
            for k in range(nv):
                out[j, k] -= factor * scratch[j, k]
