"""Variational steps of changing length that stay reversible (Hairer and Soederlind 2005).

The step density rho = dt / h is a variable of its own.  It follows the wanted density Q(q, v) in a leapfrog with the steps,
    rho_{k+1/2} = rho_{k-1/2} + dt G(y_k),   h_{k+1/2} = dt / rho_{k+1/2},   G = (dQ/dt) / Q
G changes its sign when velocities do, so the same steps lead back.  Taking h = dt / Q(y_k) instead (naive) does not.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...compiling.address import call_force
from ...compiling.decorators import entry, inlined, kernel
from ...compiling.records import floats
from ...joints import dispatch
from ..constraints.ties import Ties, constrain_node
from ..constraints.velocities import constrained_acceleration, impulse_responses, project
from ..solving.guess import continue_polynomial
from ..solving.memory import HISTORY, TIME
from ..solving.newton import solve_equations
from ..solving.sizes import UNBOUNDED
from ..tree.articulated import mass_factor, mass_solve
from ..tree.evaluate import acceleration, place
from ..tree.layout import KIND, NV, QI, VI, Middle, Tree, Work
from ..tree.step import SWEEPS, arrive, begin, give_up
from .loop import BAD_DENSITY, FINISHED, NOT_FINITE, STALLED, Method, make_steps
from .variational import EQUATIONS, Options, Step, hold_node, restore_impulses, write_step

# entries of Controller.clock
DENSITY, FIRST_HALF, LAST_STEP = range(3)


class Controller(NamedTuple):
    """Memory of the step control beside Work."""

    reversible: int  # 0: naive
    address: int  # of the compiled density, or -1: sqrt(1 + |v|^2 / speed^2)
    speed: float
    clock: floats(3)  # density at the last half step (at the node before the first one), has a step been made, how long was it?
    work: Work  # for evaluations at the node, so that the factorisation of the solver survives
    con: Ties  # likewise, None where there are no constraints
    bodies: floats("n+1", 6)  # scratch
    v: floats("nv")  # velocities at the node
    a: floats("nv")  # accelerations
    force: floats("nv")  # gravity, wrenches and springs
    q: floats("nq")  # scratch
    d: floats("nv")  # scratch
    out: floats("nv")  # what the density function writes to


class Arrays(NamedTuple):
    """Memory of a simulation.  w.target is the momentum p itself at a node; w.d the mean velocity of the last step, which is smooth."""

    m: Tree
    w: Work
    mid: Middle | None
    con: Ties | None
    controller: Controller
    memory: NDArray[np.float64]
    options: Options  # h is the step where the density is 1


class Adaptive(NamedTuple):
    """The same with the sweeps to use."""

    sweeps: Any
    m: Tree
    w: Work
    mid: Middle | None
    con: Ties | None
    controller: Controller
    memory: NDArray[np.float64]
    options: Options


@kernel
def density_near(m, control, t, q, seconds):
    """Q of the state that the present one becomes when it moves on for a short time."""
    for j in range(q.shape[0]):
        control.q[j] = q[j]
    for j in range(control.v.shape[0]):
        control.d[j] = seconds * control.v[j]
    for i in range(1, m.link.shape[0]):
        dispatch.advance(m.link[i, KIND], control.q, m.link[i, QI], control.d, m.link[i, VI], m.link[i, NV])
    for j in range(control.v.shape[0]):
        control.d[j] = control.v[j] + seconds * control.a[j]
    return density(control, t + seconds, control.q, control.d)


@kernel
def density(control, t, q, v):
    if control.address >= 0:
        control.out[0] = 0.0
        call_force(control.address, t, q, v, control.out)
        return control.out[0]
    s = 0.0
    for j in range(v.shape[0]):
        s += v[j] * v[j]
    return math.sqrt(1.0 + s / (control.speed * control.speed))


@kernel
def evaluate_node(m, w, control, con, t, tau):
    """Writes v, a and force of the node with momentum target; con: Controller.con."""
    place(m, control.work, w.q, control.work.r)
    for j in range(control.v.shape[0]):
        control.force[j] = control.work.r[j]
    mass_factor(m, control.work)
    mass_solve(m, control.work, w.target, control.v)
    if con is None:
        acceleration(m, control.work, t, w.q, control.v, tau, control.bodies, control.a)
    else:  # the momentum that arrives is not yet one the constraints allow
        constrain_node(m, control.work, con, t)
        impulse_responses(m, control.work, con)
        project(con, con.rate, control.v)
        constrained_acceleration(m, control.work, con, t, w.q, control.v, tau, control.bodies, control.a)


@kernel
def growth(m, w, control, t, dt):
    """G = (dQ/dt)/Q by a difference along the motion over a hundredth of the wanted step.

    It has to be exactly antisymmetric under reversal, so its width may depend on the node alone, not on the steps around it.
    """
    now = density(control, t, w.q, control.v)
    width = 0.01 * dt / now
    return (density_near(m, control, t, w.q, width) - density_near(m, control, t, w.q, -width)) / (2.0 * width * now)


@kernel
def next_step(m, w, control, t, dt):
    """Length of the next step; NaN or negative if the density is not positive."""
    now = density(control, t, w.q, control.v)
    if not control.reversible:
        return dt / now
    if control.clock[FIRST_HALF] == 0.0:
        if control.clock[DENSITY] == 0.0:  # not given
            control.clock[DENSITY] = now
        control.clock[DENSITY] += 0.5 * dt * growth(m, w, control, t, dt)
    else:
        control.clock[DENSITY] += dt * growth(m, w, control, t, dt)
    return dt / control.clock[DENSITY]


@entry
def node_density(a, tau):
    """Density at the present node, between two half steps: what a simulation has to start with to continue or to go back."""
    control, t, dt = a.controller, a.memory[TIME], a.options.h
    if control.clock[FIRST_HALF] == 0.0:
        return control.clock[DENSITY]
    evaluate_node(a.m, a.w, control, control.con, t, tau)
    return control.clock[DENSITY] + 0.5 * dt * growth(a.m, a.w, control, t, dt)


@inlined
def begin_step(s):
    begin(s.sweeps, s.m, s.w, s.mid, 0.0)
    hold_node(s.m, s.w, s.con, s.memory[TIME])


@inlined
def step(s, tau, row):
    control, memory = s.controller, s.memory
    evaluate_node(s.m, s.w, control, control.con, memory[TIME], tau[row])
    before = control.clock[DENSITY]
    h = next_step(s.m, s.w, control, memory[TIME], s.options.h)
    if not (0.0 < h < UNBOUNDED):
        control.clock[DENSITY] = before
        return 0, BAD_DENSITY
    kick(s.w, s.mid, control, int(memory[HISTORY]), h, tau, row)
    scale_impulses(s.con, h, control.clock[LAST_STEP])
    length = Options(h, s.options.tol, s.options.retraction, s.options.most, s.options.patient)
    count, size = solve_equations(EQUATIONS, Step(s.sweeps, s.m, s.w, s.mid, s.con, memory, length), memory, s.options.tol, s.options.most)
    if not (size <= 1.0):
        give_up(s.w, memory)
        restore_impulses(s.con)
        to_velocity(s.w, h)
        control.clock[DENSITY] = before
        return count, STALLED if size < UNBOUNDED else NOT_FINITE
    memory[TIME] += h
    memory[HISTORY] += 1.0
    control.clock[FIRST_HALF], control.clock[LAST_STEP] = 1.0, h
    arrive(s.sweeps, s.m, s.w, s.mid, h, 0.5 * h, memory[TIME])
    for j in range(s.w.d.shape[0]):
        s.w.target[j] += 0.5 * h * tau[row, j]
    hold_node(s.m, s.w, s.con, memory[TIME])
    to_velocity(s.w, h)
    return count, FINISHED


@inlined
def scale_impulses(con, h, last):
    """The guess of the multipliers: the last impulses, for a step of another length."""
    if con is not None:
        for a in range(con.lam.shape[0]):
            con.lam_last[a] = con.lam[a]
            if last > 0.0:
                con.lam[a] *= h / last


@inlined
def kick(w, mid, control, known, h, tau, row):
    """The left half impulse, and the guess of the increment from the mean velocities of the last steps."""
    for j in range(w.d.shape[0]):
        w.target_last[j] = w.target[j]
        w.target[j] += 0.5 * h * ((control.force[j] if mid is None else 0.0) + tau[row, j])
        w.d_last[j] = h * w.d[j]
    continue_polynomial(w.d, w.history, known, 0, w.d.shape[0], True, False)
    for j in range(w.d.shape[0]):
        w.d[j] *= h


@inlined
def to_velocity(w, h):
    for j in range(w.d.shape[0]):
        w.d[j] /= h


@inlined
def write(s, record):
    write_step(s.w.q, s.w.target, s.con, s.memory, record)


METHOD = Method(begin_step, step, write)


@entry
def run(a, record, tau, steps, end):
    """Make `steps` steps or as many as it takes to reach the time `end`; returns (steps made, status)."""
    s = Adaptive(SWEEPS, a.m, a.w, a.mid, a.con, a.controller, a.memory, a.options)
    return make_steps(METHOD, s, a.memory, record, tau, steps, end)
