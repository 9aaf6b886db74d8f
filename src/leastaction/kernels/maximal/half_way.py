"""Midpoint quadrature of potentials in maximal coordinates: forces act at the configuration half way through the step.   docs/maximal.md

Half way means half way in the coordinates of the tree's joints, as in joint coordinates: so both make the same steps, and the forces are
those that kernels/tree/midpoint_quadrature.py finds, (nv,) on the joints at the start of the step and at its end.  They act on the bodies
as other joint forces do.  (The mean of the poses that every body has at the ends is another middle, off by the square of the step.  With it
gravity would act as at both ends, and hanging chains would be as stiff.)

A force on one joint depends on all joints between it and the root and beyond it.  What keeps the Newton matrix sparse is two unknowns more
for every body, of the linear system alone: zeta, the variation of its pose half way, and kappa, the variation of the wrench G on it and on
everything beyond it there.  With dd the increment of the joint between body i and its parent p, X the pose of i in p half way, columns S of
`mid_columns` and H = dG_i/dzeta_i of the body's own wrench,

    zeta_i = Ad_X^-1 zeta_p + S1 dd                                       dd = Z1 eta, eta the variations of the end poses
    kappa_i = H_i zeta_i + sum over children c of  Ad_Xc^-1' (kappa_c + ad*_{S1 dd_c} G_c) + springs between points
    r -= h Z0' (S0 kappa_i + E dd)                                        E: curvature of the joint, and its spring

A body, its joint, zeta and kappa are eliminated together.  `half` is Flow.half, None for the trapezoidal quadrature: Numba then leaves out
what is done with it.
"""

from ...compiling.decorators import inlined, kernel
from ...compiling.memory import get, put
from ...lie.algebra import ZERO3, add, axpy, cross, load3, load9, scale, store3
from ..forces.potentials import evaluate_potential, pair_energy, pair_stiffness, push
from ..solving.sizes import largest, largest_between
from ..tree.layout import NV, PAIR_A, PAIR_B, PARENT, UP, UV, VI, P, R
from ..tree.midpoint_quadrature import joint_curvature, mid_node, wrench_derivative
from ..tree.spatial import dot6, twist_to_child
from .joints import damper_columns
from .layout import E_E, E_M, M_E, M_M, M_PE, M_PM, PE_M, PM_E, PM_M, PM_PE, Way


@inlined
def way_of(flow):
    """The step as the kernels of the tree look at it."""
    return Way(flow.q, flow.dq, flow.load, flow.jets.x, flow.jets.jet)


@kernel
def add_half_way(half, m, flow, h):
    """load += impulses of the potentials on the start of the step, for the increments dq.  Writes half.start, end, size."""
    if half is not None:
        for j in range(flow.load.shape[0]):
            half.kept[j] = flow.load[j]
        mid_node(m, way_of(flow), half)  # load is its scratch
        for j in range(flow.load.shape[0]):
            flow.load[j] = half.kept[j] + h * half.start[j]


@inlined
def add_half_way_at_end(half, flow, h):
    """load += impulses on the end of the step that was evaluated last."""
    if half is not None:
        for j in range(flow.load.shape[0]):
            flow.load[j] += h * half.end[j]


@kernel
def largest_half_way(half, h):
    """What impulses of the potentials are made of before they cancel."""
    if half is None:
        return 0.0
    return abs(h) * largest(half.size)


@kernel
def stiffest_half_way(half, m, flow, h):
    """Impulse by which potentials feel that positions are rounded, per rad or m."""
    if half is None:
        return 0.0
    top = largest(m.stiffness)
    for e in range(m.pair_on.shape[0]):
        _, over, curvature, _ = pair_energy(m, half.world, e, flow.jets.x, flow.jets.jet)
        top = max(top, abs(over), abs(curvature))
    for c in range(m.energy_on.shape[0] - 1):
        evaluate_potential(m, way_of(flow), half.q, c)
        size = m.energy_on[c + 1, UP] - m.energy_on[c, UP]
        top = max(top, largest_between(flow.jets.jet[0], 1 + size, 1 + size + size * size))
    return abs(h) * top


# ------------------------------------------------------------------------------------------------------------ Newton matrix


@inlined
def add_product(a, table, e, block, row, column, factor, x, y):
    """Block `block` of row e of the table, from (row, column) on, += factor x y'; nothing where there is no such block."""
    at, stride = table[e, 2 * block], table[e, 2 * block + 1]
    if at >= 0:
        for c in range(6):
            k = at + (column + c) * stride + row
            for r in range(6):
                put(a, k + r, get(a, k + r) + factor * x[r] * y[c])


@inlined
def add_entry(a, table, e, block, row, column, x):
    k = table[e, 2 * block] + column * table[e, 2 * block + 1] + row
    put(a, k, get(a, k) + x)


@kernel
def assemble_half_way(half, m, net, flow, h):
    """The rows of zeta and kappa, and what kappa and the joints' own curvature do to the momenta."""
    if half is not None:
        for i in range(1, flow.node.shape[0]):
            assemble_joint(half, m, net, flow, i, h)
        for e in range(m.pair_on.shape[0]):
            assemble_spring(half, m, flow, e)
        row = 0
        for c in range(m.energy_on.shape[0] - 1):
            row = assemble_energy(half, m, flow, c, row, h)


@kernel
def assemble_joint(half, m, net, flow, i, h):
    """Of body i and its joint."""
    a, at, e = flow.values, half.joint, i - 1
    v, nv = m.link[i, VI], m.link[i, NV]
    damper_columns(m, net, flow, i)
    joint_curvature(m, way_of(flow), half, i, half.E)
    for j in range(v, v + nv):
        for k in range(v, v + nv):
            for pair in range(4):
                add_product(a, at, e, E_E + pair, 0, 0, -h * half.E[j - v, k - v], flow.Z[j, pair // 2], flow.Z[k, 2 + pair % 2])
        add_product(a, at, e, E_M, 0, 6, -h, flow.Z[j, 0], half.S0[j])
        add_product(a, at, e, PE_M, 0, 6, -h, flow.Z[j, 1], half.S0[j])
        add_product(a, at, e, M_E, 0, 0, -1.0, half.S1[j], flow.Z[j, 2])
        add_product(a, at, e, M_PE, 0, 0, -1.0, half.S1[j], flow.Z[j, 3])
    wrench_derivative(m, way_of(flow), half.row, half.world, i, half.H)
    for r in range(6):
        add_entry(a, at, e, M_M, r, r, 1.0)
        add_entry(a, at, e, M_M, 6 + r, 6 + r, 1.0)
        for c in range(6):
            add_entry(a, at, e, M_M, 6 + r, c, -half.H[r, c])
    if m.link[i, PARENT] > 0:
        connect_with_parent(half, m, flow, i)


@kernel
def connect_with_parent(half, m, flow, i):
    """zeta follows that of the parent, whose kappa is made of that of the body."""
    a, at, e, T = flow.values, half.joint, i - 1, half.carry
    rot, origin = load9(half.row, i, R), load3(half.row, i, P)
    for c in range(3):
        unit = (1.0 if c == 0 else 0.0, 1.0 if c == 1 else 0.0, 1.0 if c == 2 else 0.0)
        for linear in range(2):
            x, y = twist_to_child(rot, origin, unit if linear == 0 else ZERO3, unit if linear == 1 else ZERO3)
            store3(T, c + 3 * linear, 0, x)
            store3(T, c + 3 * linear, 3, y)
    for c in range(6):
        for r in range(6):
            add_entry(a, at, e, M_PM, r, c, -T[c, r])
            add_entry(a, at, e, PM_M, 6 + c, 6 + r, -T[c, r])
    moment, force = load3(half.wrench, i, 0), load3(half.wrench, i, 3)
    for j in range(m.link[i, VI], m.link[i, VI] + m.link[i, NV]):
        omega, vel = load3(half.S1, j, 0), load3(half.S1, j, 3)
        x, y = add(cross(omega, moment), cross(vel, force)), cross(omega, force)
        for c in range(6):
            half.turned[c] = dot6(T, c, 0, x, y)
        add_product(a, at, e, PM_E, 6, 0, -1.0, half.turned, flow.Z[j, 2])
        add_product(a, at, e, PM_PE, 6, 0, -1.0, half.turned, flow.Z[j, 3])


@kernel
def assemble_spring(half, m, flow, e):
    """Spring between two points: its force on the first changes by -(k + c r r') times the variation of r, the vector between them."""
    over, along, v = pair_stiffness(m, half.world, e, flow.jets.x, flow.jets.jet)
    for c in range(3):
        unit = (1.0 if c == 0 else 0.0, 1.0 if c == 1 else 0.0, 1.0 if c == 2 else 0.0)
        for side in range(2):
            wrench_of(half, m, e, side, unit, half.unit[c, side])
            wrench_of(half, m, e, side, axpy(along * v[c], v, scale(over, unit)), half.unit[3 + c, side])
    for pair in range(4):
        for c in range(3):
            add_product(flow.values, half.spring, e, E_E + pair, 6, 0, 1.0, half.unit[c, pair // 2], half.unit[3 + c, pair % 2])


@inlined
def wrench_of(half, m, e, side, force, out):
    """out = wrench on the body of a force at the first point of spring e (side 0), or of the opposite one at the second."""
    i = m.pair_on[e, side]
    for c in range(6):
        half.pushed[i, c] = 0.0
    push(half.pushed, 0, half.world, i, load3(m.pair, e, PAIR_A if side == 0 else PAIR_B), force, 1.0 if side == 0 else -1.0)
    for c in range(6):
        out[c] = half.pushed[i, c]


@kernel
def assemble_energy(half, m, flow, c, row, h):
    """Energy c of some coordinates: half its gradient acts on the start, and the middle moves by half the increments."""
    evaluate_potential(m, way_of(flow), half.q, c)
    first = m.energy_on[c, UP]
    size = m.energy_on[c + 1, UP] - first
    for k in range(size):
        for l in range(size):
            s, j, i = 0.25 * h * flow.jets.jet[0, 1 + size + k * size + l], m.energy_at[first + k, UV], m.energy_at[first + l, UV]
            for pair in range(4):
                add_product(flow.values, half.energy, row, E_E + pair, 0, 0, s, flow.Z[j, pair // 2], flow.Z[i, 2 + pair % 2])
            row += 1
    return row
