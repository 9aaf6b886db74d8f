"""The variational integrator in maximal coordinates: how its equations are solved, and one step of it.   Bruedigam and Manchester 2020

The equations, in momentum form, are in kernels/maximal/step.py.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...compiling.decorators import entry, inlined, kernel
from ...lie.algebra import axpy, cross, dot, load3, load9, matvec, quat_to_matrix, scale, store3, store9, sub, tmatvec
from ..maximal.constraints import force_directions
from ..maximal.fronts import factorise, solve
from ..maximal.joints import add_joint_forces, coordinates, increments, joint_momenta
from ..maximal.laws import add_law_damping, largest_law_impulse, push_at_end
from ..maximal.layout import (
    CON_KIND,
    D_R,
    FIRST_ROW,
    GEAR,
    POSE_R,
    POSE_U,
    POSE_W,
    POSE_X,
    ROW_U,
    ROW_W,
    ROWS,
    Flow,
    Net,
)  # fmt: skip
from ..maximal.potentials import kick_by_coordinates, kick_by_points, kick_by_wrenches
from ..maximal.step import assemble, depends_on_speed, evaluate, joint_impulses
from ..maximal.symbolic import change_charts
from ..solving.choice import EXACT, choose_cheapest, grow_old, learn_curvature
from ..solving.guess import continue_polynomial
from ..solving.memory import ALWAYS_NEW, HISTORY, RATE, SCALE, TIME
from ..solving.newton import (
    BOLD,
    CAREFUL,
    NATURAL,
    UNBOUNDED,
    Equations,
    largest,
    largest_between,
    relative_size,
    residual_shrinks,
    solve_equations,
)  # fmt: skip
from ..tree.layout import INERTIA, MASS, Tree
from .loop import FINISHED, NOT_FINITE, STALLED, Method, make_steps, tick
from .record import write_node


class Options(NamedTuple):
    """What the user chose, as numbers."""

    h: float  # length of a step, s
    tol: float  # largest residual relative to the scales
    retraction: int
    most: int  # residual evaluations of a careful attempt


class Arrays(NamedTuple):
    """Memory of a simulation."""

    m: Tree
    b: Net
    s: Flow
    memory: NDArray[np.float64]
    units: NDArray[np.float64]  # (2,) what is allowed: residuals of momenta, errors of constraints
    options: Options


@inlined
def set_correction(s):
    """step = the solution z of the linear system, turned into a change of the unknowns d."""
    n = s.node.shape[0]
    for i in range(1, n):
        k = 6 * (i - 1)
        c, e = (s.d[k], s.d[k + 1], s.d[k + 2]), (s.z[k], s.z[k + 1], s.z[k + 2])
        turn = axpy(0.25 * dot(c, e), c, axpy(0.5, cross(c, e), e))
        move = matvec(load9(s.disp, i, D_R), (s.z[k + 3], s.z[k + 4], s.z[k + 5]))
        s.step[k], s.step[k + 1], s.step[k + 2] = turn[0], turn[1], turn[2]
        s.step[k + 3], s.step[k + 4], s.step[k + 5] = move[0], move[1], move[2]
    for j in range(6 * (n - 1), s.d.shape[0]):
        s.step[j] = s.z[j]


# ------------------------------------------------------------------------------------------------------------- equations


@inlined
def evaluate_step(a, first):
    """Momenta are compared with those of all bodies together, constraints with the largest displacement of the step."""
    m, b, s, h = a.m, a.b, a.s, a.options.h
    evaluate(m, b, s, h, a.memory[TIME], a.options.retraction)
    if first:
        tol = a.options.tol
        a.memory[SCALE] = momentum_scale(m, b, s, h, tol)
        a.units[0], a.units[1] = tol * a.memory[SCALE], tol * length_scale(b, s, tol)
        grow_old(a.memory)
    rows = 6 * (s.node.shape[0] - 1)
    momenta = relative_size(largest_between(s.r, 0, rows), a.units[0])
    return max(momenta, relative_size(largest_between(s.r, rows, s.d.shape[0]), a.units[1]))


@inlined
def choose(a, size):
    used = choose_cheapest(a.memory, size)
    if used == EXACT:
        assemble(a.m, a.b, a.s, a.options.h, a.options.retraction, True)
        if a.m.law_on.shape[0] > 0:
            add_law_damping(a.m, a.b, a.s, a.options.retraction)
        factorise(a.b, a.s)
    return used


@inlined
def solve_linear(a):
    s = a.s
    solve(a.b, s)
    set_correction(s)
    for j in range(s.d.shape[0]):
        s.d_old[j] = s.d[j]
    return largest_between(s.z, 0, 6 * (s.node.shape[0] - 1))


@inlined
def move(a, fraction):
    s = a.s
    for j in range(s.d.shape[0]):
        s.d[j] = s.d_old[j] - fraction * s.step[j]


@inlined
def learn(a, used, rate, correction):
    learn_curvature(a.memory, used, rate, correction)


@inlined
def shrinks(a, new, old, fraction, correction, manner):
    """NATURAL: the next correction by the same matrix would be smaller (Deuflhard's monotonicity test).

    Near singular positions, where rods overlap, the residual says little about how far the solution is.
    """
    if manner != NATURAL:
        return residual_shrinks(a, new, old, fraction, correction, manner)
    solve(a.b, a.s)
    return new < UNBOUNDED and largest_between(a.s.z, 0, 6 * (a.s.node.shape[0] - 1)) < (1.0 - 0.25 * fraction) * correction


@inlined
def restart(a):
    s = a.s
    for j in range(s.d.shape[0]):
        s.d[j] = s.d_last[j]


EQUATIONS = Equations(evaluate_step, choose, solve_linear, move, learn, shrinks, restart, (BOLD, CAREFUL, NATURAL))


@inlined
def momentum_scale(m, b, s, h, tol):
    """What momenta are compared with: the sum of the bodies' momenta, whatever their directions, but not below what is rounded.

    Where nothing moves, positions are still rounded, and to put that right takes impulses.
    """
    angular, linear, mass, inertia = 0.0, 0.0, 0.0, 0.0
    for i in range(1, s.target.shape[0]):
        angular += max(abs(s.target[i, 0]), abs(s.target[i, 1]), abs(s.target[i, 2]))
        linear += max(abs(s.target[i, 3]), abs(s.target[i, 4]), abs(s.target[i, 5]))
        mass += b.body[i, MASS]
        inertia += max(b.body[i, INERTIA], b.body[i, INERTIA + 3], b.body[i, INERTIA + 5])
    top = max(angular, linear, 5e-16 / (tol * abs(h)) * max(mass * b.extent, inertia))
    if m.custom.shape[0] > 0:
        top = max(top, largest_between(s.load, 0, s.load.shape[0]))
    if m.law_on.shape[0] > 0:
        top = max(top, largest_law_impulse(s, h))
    return top


@inlined
def length_scale(b, s, tol):
    """What constraint errors are compared with: displacements, but not below what constraints are rounded to.

    Rounding does not vanish with the size of the bodies: directions are rounded as unit vectors, whose errors are those of numbers
    around 1, positions and angles that constraints compare as what they have grown to.
    """
    move = 0.0
    for i in range(1, s.node.shape[0]):
        for a in range(6):
            move = max(move, abs(s.d[6 * (i - 1) + a]))
    return max(move, 1e-4 * b.extent, 5e-16 / tol, 4e-15 * max(b.extent, largest_compared(b, s)) / tol)


@inlined
def largest_compared(b, s):
    """Largest distance, m, or coordinate of a gear, rad or m, that constraints look at."""
    top = 0.0
    for c in range(b.con.shape[0]):
        if b.con[c, CON_KIND] == GEAR:
            j = b.con[c, FIRST_ROW]
            top = max(top, abs(s.q[int(b.row[j, ROW_U + 2])]), abs(b.row[j, ROW_W + 1] * s.q[int(b.row[j, ROW_W])]))
        elif b.con[c, ROWS] > 0:
            for a in range(3):
                top = max(top, abs(s.apart[c, a]))
    return top


# ------------------------------------------------------------------------------------------------------------------ a step


@kernel
def apply_forces(m, b, s, kick):
    """target += kick * (gravity, wrenches, springs, potentials) at the node."""
    g = (m.gravity[0], m.gravity[1], m.gravity[2])
    for i in range(1, s.node.shape[0]):
        f = tmatvec(load9(s.node, i, POSE_R), scale(kick * b.body[i, MASS], g))
        for a in range(3):
            s.target[i, 3 + a] += f[a]
    kick_by_wrenches(m, b, s, kick)
    if m.pair_on.shape[0] > 0:
        kick_by_points(m, b, s, kick)
    if m.has_springs or m.energy_at.shape[0] > 0:
        kick_by_coordinates(m, b, s, kick)


@kernel
def arrive(m, b, s, h, t):
    """Move to the end of the step: new node, momenta arriving there and the kick, in `target`."""
    for i in range(1, s.node.shape[0]):
        k = 6 * (i - 1)
        D, move = load9(s.disp, i, D_R), (s.d[k + 3], s.d[k + 4], s.d[k + 5])
        # Ad_D' mu of docs/theory (2), less what is left of the residual, which enters the next step
        a, l = sub(load3(s.mu, i, 0), (s.r[k], s.r[k + 1], s.r[k + 2])), sub(load3(s.mu, i, 3), (s.r[k + 3], s.r[k + 4], s.r[k + 5]))
        store3(s.target, i, 0, tmatvec(D, sub(a, cross(move, l))))
        store3(s.target, i, 3, tmatvec(D, l))
        w, u = s.end[i, POSE_W], load3(s.end, i, POSE_U)
        n = 1.0 / (w * w + dot(u, u)) ** 0.5
        w, u = n * w, scale(n, u)
        s.node[i, POSE_W] = w
        store3(s.node, i, POSE_U, u)
        store9(s.node, i, POSE_R, quat_to_matrix(w, u))
        store3(s.node, i, POSE_X, load3(s.end, i, POSE_X))
    for c in range(s.apart.shape[0]):
        store3(s.apart, c, 0, load3(s.apart_end, c, 0))
    for j in range(s.off.shape[0]):
        s.off[j] = s.r[6 * (s.node.shape[0] - 1) + j]
    coordinates(m, b, s, s.node, s.apart, s.q_end)
    if depends_on_speed(m):
        increments(m, s.q, s.q_end, True, s.dq)
        joint_impulses(m, s, h, t, s.q_end)
        add_joint_forces(m, b, s, s.node, s.apart, s.q_end, s.load_row, 0, 1.0, s.target)
    if m.law_on.shape[0] > 0:
        push_at_end(m, b, s, h, t)
    for j in range(s.q.shape[0]):
        s.q[j] = s.q_end[j]
    apply_forces(m, b, s, h)
    force_directions(m, b, s)


@inlined
def any_force(tau, row):
    top = 0.0
    for j in range(tau.shape[1]):
        top = max(top, abs(tau[row, j]))
    return top > 0.0


@inlined
def begin(a):
    """`target` holds momenta: add the half kick."""
    apply_forces(a.m, a.b, a.s, 0.5 * a.options.h)


@inlined
def step(a, tau, row):
    m, b, s, memory, h = a.m, a.b, a.s, a.memory, a.options.h
    unknowns, first = s.d.shape[0], 6 * (s.node.shape[0] - 1)
    forced = any_force(tau, row)
    for i in range(1, s.target.shape[0]):
        for e in range(6):
            s.target_last[i, e] = s.target[i, e]
    if forced:
        add_joint_forces(m, b, s, s.node, s.apart, s.q, tau, row, 0.5 * h, s.target)
    for j in range(unknowns):
        s.d_last[j] = s.d[j]
    known = int(memory[HISTORY])
    continue_polynomial(s.d, s.history, known, 0, first, False, False)
    continue_polynomial(s.d, s.history, known, first, unknowns, False, False)
    count, size = solve_equations(EQUATIONS, a, memory, a.options.tol, a.options.most)
    if not (size <= 1.0):
        restart(a)
        for i in range(1, s.target.shape[0]):
            for e in range(6):
                s.target[i, e] = s.target_last[i, e]
        memory[HISTORY], memory[RATE] = 0.0, ALWAYS_NEW
        return count, STALLED if size < UNBOUNDED else NOT_FINITE
    tick(memory, h)
    arrive(m, b, s, h, memory[TIME])
    if forced:
        add_joint_forces(m, b, s, s.node, s.apart, s.q, tau, row, 0.5 * h, s.target)
    if m.has_charts:
        change_charts(m, s)
    return count, FINISHED


@inlined
def write(a, record):
    s = a.s
    joint_momenta(a.m, a.b, s, s.q, s.target, s.load)
    first = 6 * (s.node.shape[0] - 1)
    k = write_node(record, a.memory[TIME], s.q, s.load, largest(s.off))
    for j in range(record.multipliers.shape[1]):
        record.multipliers[k, j] = s.d[first + j]


METHOD = Method(begin, step, write)


@entry
def run(a, record, tau, steps, end):
    return make_steps(METHOD, a, a.memory, record, tau, steps, end)
