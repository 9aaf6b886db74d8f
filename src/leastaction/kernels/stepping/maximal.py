"""The variational integrator in maximal coordinates: how its equations are solved, and one step of it.   Bruedigam and Manchester 2020

The equations, in momentum form, are in kernels/maximal/step.py.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...compiling.decorators import entry, inlined, kernel
from ...lie.algebra import axpy, cross, dot, load3, load9, matvec, quat_to_matrix, scale, store3, store9, sub, tmatvec
from ..maximal.constraints import force_directions
from ..maximal.friction import begin_attempt, forget_rows, holds_others, largest_friction, rough_rows, rough_size, stay, turns
from ..maximal.fronts import factorise, solve
from ..maximal.functions import largest_argument
from ..maximal.half_way import add_half_way_at_end, largest_half_way, stiffest_half_way
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
from ..maximal.step import assemble, depends_on_step, evaluate, joint_impulses
from ..maximal.symbolic import change_charts
from ..solving.choice import EXACT, choose_cheapest, grow_old, learn_curvature
from ..solving.guess import continue_polynomial
from ..solving.memory import ALWAYS_NEW, HISTORY, RATE, SCALE, TIME
from ..solving.newton import BOLD, CAREFUL, NATURAL, Equations, residual_shrinks, solve_equations
from ..solving.sizes import UNBOUNDED, largest, largest_between, relative_size
from ..tree.actuation import arrive_driven, begin_actuation, keep_slopes, largest_impulse, slopes_changed, steepest, take_aim
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
    net: Net
    flow: Flow
    memory: NDArray[np.float64]
    units: NDArray[np.float64]  # (2,) what is allowed: residuals of momenta, errors of constraints
    options: Options


@inlined
def set_correction(flow):
    """step = the solution z of the linear system, turned into a change of the unknowns d."""
    n = flow.node.shape[0]
    for i in range(1, n):
        k = 6 * (i - 1)
        c, e = (flow.d[k], flow.d[k + 1], flow.d[k + 2]), (flow.z[k], flow.z[k + 1], flow.z[k + 2])
        turn = axpy(0.25 * dot(c, e), c, axpy(0.5, cross(c, e), e))
        move = matvec(load9(flow.disp, i, D_R), (flow.z[k + 3], flow.z[k + 4], flow.z[k + 5]))
        flow.step[k], flow.step[k + 1], flow.step[k + 2] = turn[0], turn[1], turn[2]
        flow.step[k + 3], flow.step[k + 4], flow.step[k + 5] = move[0], move[1], move[2]
    for j in range(6 * (n - 1), flow.d.shape[0]):
        flow.step[j] = flow.z[j]


# ------------------------------------------------------------------------------------------------------------- equations


@inlined
def evaluate_step(a, first):
    """Momenta are compared with those of all bodies together, constraints with the largest displacement of the step."""
    m, net, flow, h = a.m, a.net, a.flow, a.options.h
    if first:
        begin_attempt(flow.rough)
    evaluate(m, net, flow, h, a.memory[TIME], a.options.retraction)
    if first:
        tol = a.options.tol
        a.memory[SCALE] = momentum_scale(m, net, flow, h, tol)
        a.units[0], a.units[1] = tol * a.memory[SCALE], tol * length_scale(net, flow, tol)
        grow_old(a.memory)
    rows, last = 6 * (flow.node.shape[0] - 1), flow.d.shape[0] - rough_rows(flow.rough)
    momenta = relative_size(largest_between(flow.r, 0, rows), a.units[0])
    size = max(momenta, relative_size(largest_between(flow.r, rows, last), a.units[1]))
    return rough_size(flow.rough, flow, a.units, size)


@inlined
def choose(a, size):
    if slopes_changed(a.flow.actuation) or holds_others(a.flow.rough):
        a.memory[RATE] = ALWAYS_NEW
    used = choose_cheapest(a.memory, size)
    if used == EXACT:
        keep_slopes(a.flow.actuation)
        assemble(a.m, a.net, a.flow, a.options.h, a.options.retraction, True)
        add_law_damping(a.flow.laws, a.m, a.net, a.flow, a.options.retraction)
        factorise(a.net, a.flow)
    return used


@inlined
def solve_linear(a):
    flow = a.flow
    solve(a.net, flow)
    set_correction(flow)
    for j in range(flow.d.shape[0]):
        flow.d_old[j] = flow.d[j]
    return largest_between(flow.z, 0, 6 * (flow.node.shape[0] - 1))


@inlined
def move(a, fraction):
    flow = a.flow
    for j in range(flow.d.shape[0]):
        flow.d[j] = flow.d_old[j] - fraction * flow.step[j]


@inlined
def shrinks(a, new, old, fraction, correction, manner):
    """NATURAL: the next correction by the same matrix would be smaller (Deuflhard's monotonicity test).

    Near singular positions, where rods overlap, the residual says little about how far the solution is.
    """
    if turns(a.flow.rough, new):
        return True
    if manner != NATURAL:
        return residual_shrinks(a, new, old, fraction, correction, manner)
    solve(a.net, a.flow)
    return new < UNBOUNDED and largest_between(a.flow.z, 0, 6 * (a.flow.node.shape[0] - 1)) < (1.0 - 0.25 * fraction) * correction


@inlined
def restart(a):
    flow = a.flow
    for j in range(flow.d.shape[0]):
        flow.d[j] = flow.d_last[j]


EQUATIONS = Equations(evaluate_step, choose, solve_linear, move, learn_curvature, shrinks, restart, (BOLD, CAREFUL, NATURAL))


@inlined
def momentum_scale(m, net, flow, h, tol):
    """What momenta are compared with: the sum of the bodies' momenta, whatever their directions, but not below what is rounded.

    Where nothing moves, positions are still rounded, and to put that right takes impulses; dampers and servos feel it as a motion.
    """
    angular, linear, mass, inertia = 0.0, 0.0, 0.0, 0.0
    for i in range(1, flow.target.shape[0]):
        angular += max(abs(flow.target[i, 0]), abs(flow.target[i, 1]), abs(flow.target[i, 2]))
        linear += max(abs(flow.target[i, 3]), abs(flow.target[i, 4]), abs(flow.target[i, 5]))
        mass += net.body[i, MASS]
        inertia += max(net.body[i, INERTIA], net.body[i, INERTIA + 3], net.body[i, INERTIA + 5])
    top = max(angular, linear, 5e-16 / (tol * abs(h)) * max(mass * net.extent, inertia))
    stiff = max(largest(m.damping), steepest(flow.actuation), stiffest_half_way(flow.half, m, flow, h))
    if stiff > 0.0:  # a place half way is the product of poses, each of which is rounded
        top = max(top, 1e-15 / tol * stiff * max(1.0, net.extent, largest_compared(net, flow)))
    if m.custom.shape[0] > 0:
        top = max(top, largest_between(flow.load, 0, flow.load.shape[0]))
    top = max(top, 2e-15 / tol * largest_friction(flow.rough, flow.actuation, m))
    return max(top, largest_law_impulse(flow.laws, h), largest_impulse(flow.actuation), largest_half_way(flow.half, h))


@inlined
def length_scale(net, flow, tol):
    """What constraint errors are compared with: displacements, but not below what constraints are rounded to.

    Rounding does not vanish with the size of the bodies: directions are rounded as unit vectors, whose errors are those of numbers
    around 1, positions and angles that constraints compare as what they have grown to.
    """
    move = 0.0
    for i in range(1, flow.node.shape[0]):
        for a in range(6):
            move = max(move, abs(flow.d[6 * (i - 1) + a]))
    return max(move, 1e-4 * net.extent, 5e-16 / tol, 4e-15 * max(net.extent, largest_compared(net, flow)) / tol)


@inlined
def largest_compared(net, flow):
    """Largest distance, m, or coordinate, rad or m, that constraints look at."""
    top = largest_argument(net.special, flow)
    for c in range(net.con.shape[0]):
        if net.con[c, CON_KIND] == GEAR:
            j = net.con[c, FIRST_ROW]
            top = max(top, abs(flow.q[int(net.row[j, ROW_U + 2])]), abs(net.row[j, ROW_W + 1] * flow.q[int(net.row[j, ROW_W])]))
        elif net.con[c, ROWS] > 0:
            for a in range(3):
                top = max(top, abs(flow.apart[c, a]))
    return top


# ------------------------------------------------------------------------------------------------------------------ a step


@inlined
def apply_forces(m, net, flow, kick):
    """target += kick * (gravity, wrenches, springs, potentials) at the node; nothing where they act half way."""
    apply_at_node(flow.half, m, net, flow, kick)


@kernel
def apply_at_node(half, m, net, flow, kick):
    if half is None:
        g = (m.gravity[0], m.gravity[1], m.gravity[2])
        for i in range(1, flow.node.shape[0]):
            f = tmatvec(load9(flow.node, i, POSE_R), scale(kick * net.body[i, MASS], g))
            for a in range(3):
                flow.target[i, 3 + a] += f[a]
        kick_by_wrenches(m, net, flow, kick)
        if m.pair_on.shape[0] > 0:
            kick_by_points(m, net, flow, kick)
        if m.has_springs or m.energy_at.shape[0] > 0:
            kick_by_coordinates(m, net, flow, kick)


@kernel
def arrive(m, net, flow, h, kick, t):
    """Move to the end of the step: new node, momenta arriving there and the kick, in `target`.

    kick   impulse of the potential there over its force: h, or the mean of both if the next step has another length
    """
    for i in range(1, flow.node.shape[0]):
        k = 6 * (i - 1)
        D, move = load9(flow.disp, i, D_R), (flow.d[k + 3], flow.d[k + 4], flow.d[k + 5])
        # Ad_D' mu of docs/theory (2), less what is left of the residual, which enters the next step
        a = sub(load3(flow.mu, i, 0), (flow.r[k], flow.r[k + 1], flow.r[k + 2]))
        l = sub(load3(flow.mu, i, 3), (flow.r[k + 3], flow.r[k + 4], flow.r[k + 5]))
        store3(flow.target, i, 0, tmatvec(D, sub(a, cross(move, l))))
        store3(flow.target, i, 3, tmatvec(D, l))
        w, u = flow.end[i, POSE_W], load3(flow.end, i, POSE_U)
        n = 1.0 / (w * w + dot(u, u)) ** 0.5
        w, u = n * w, scale(n, u)
        flow.node[i, POSE_W] = w
        store3(flow.node, i, POSE_U, u)
        store9(flow.node, i, POSE_R, quat_to_matrix(w, u))
        store3(flow.node, i, POSE_X, load3(flow.end, i, POSE_X))
    for c in range(flow.apart.shape[0]):
        store3(flow.apart, c, 0, load3(flow.apart_end, c, 0))
    for j in range(flow.off.shape[0]):
        flow.off[j] = flow.r[6 * (flow.node.shape[0] - 1) + j]
    forget_rows(flow.rough, flow)
    coordinates(m, net, flow, flow.node, flow.apart, flow.q_end)
    stay(flow.rough, flow)
    if depends_on_step(flow.half, m):
        increments(m, flow.q, flow.q_end, True, flow.dq)
        joint_impulses(m, flow, h, t, flow.q_end, 1.0)
        add_half_way_at_end(flow.half, flow, h)
        arrive_driven(flow.actuation, flow.load, h, kick)
        add_joint_forces(m, net, flow, flow.node, flow.apart, flow.q_end, flow.load_row, 0, 1.0, flow.target)
    push_at_end(flow.laws, m, net, flow, h, t)
    for j in range(flow.q.shape[0]):
        flow.q[j] = flow.q_end[j]
    apply_forces(m, net, flow, kick)
    flow.time[0] = t
    force_directions(m, net, flow)


@inlined
def any_force(tau, row):
    top = 0.0
    for j in range(tau.shape[1]):
        top = max(top, abs(tau[row, j]))
    return top > 0.0


@inlined
def begin(a):
    """`target` holds momenta: add the half kick."""
    apply_forces(a.m, a.net, a.flow, 0.5 * a.options.h)
    begin_actuation(a.flow.actuation, a.options.h)


@inlined
def push_by_motors(m, net, flow, h, tau, row):
    """target += half the impulse of the joint forces over a step of length h, at the node."""
    if any_force(tau, row):
        add_joint_forces(m, net, flow, flow.node, flow.apart, flow.q, tau, row, 0.5 * h, flow.target)


@inlined
def go_on(m, net, flow, h, kick, t, tau, row):
    """To the end of the step, with the right half impulse of the joint forces."""
    arrive(m, net, flow, h, kick, t)
    push_by_motors(m, net, flow, h, tau, row)
    if m.has_charts:
        change_charts(net.special, m, flow)


@inlined
def copy_rows(source, target):
    for i in range(source.shape[0]):
        for e in range(source.shape[1]):
            target[i, e] = source[i, e]


@inlined
def step(a, tau, row):
    m, net, flow, memory, h = a.m, a.net, a.flow, a.memory, a.options.h
    unknowns, first = flow.d.shape[0], 6 * (flow.node.shape[0] - 1)
    copy_rows(flow.target, flow.target_last)
    push_by_motors(m, net, flow, h, tau, row)
    take_aim(flow.actuation, flow.dq.shape[0], tau, row)
    for j in range(unknowns):
        flow.d_last[j] = flow.d[j]
    known = int(memory[HISTORY])
    continue_polynomial(flow.d, flow.history, known, 0, first, False, False)
    continue_polynomial(flow.d, flow.history, known, first, unknowns, False, False)
    count, size = solve_equations(EQUATIONS, a, memory, a.options.tol, a.options.most)
    if not (size <= 1.0):
        restart(a)
        copy_rows(flow.target_last, flow.target)
        memory[HISTORY], memory[RATE] = 0.0, ALWAYS_NEW
        return count, STALLED if size < UNBOUNDED else NOT_FINITE
    tick(memory, h)
    go_on(m, net, flow, h, h, memory[TIME], tau, row)
    return count, FINISHED


@inlined
def write(a, record):
    write_bodies(a.m, a.net, a.flow, a.memory, record, 1.0)


@inlined
def write_bodies(m, net, flow, memory, record, factor):
    """The present node; factor: of the multipliers, so that they are the impulses of the last step."""
    joint_momenta(m, net, flow, flow.q, flow.target, flow.load)
    first = 6 * (flow.node.shape[0] - 1)
    k = write_node(record, memory[TIME], flow.q, flow.load, largest(flow.off))
    for j in range(record.multipliers.shape[1]):
        record.multipliers[k, j] = factor * flow.d[first + j]


METHOD = Method(begin, step, write)


@entry
def run(a, record, tau, steps, end):
    return make_steps(METHOD, a, a.memory, record, tau, steps, end)
