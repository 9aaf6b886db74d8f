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
from ..solving.guess import continue_polynomial
from ..solving.memory import HISTORY, TIME
from ..solving.newton import UNBOUNDED, solve_equations
from ..tree.articulated import mass_factor, mass_solve
from ..tree.evaluate import acceleration, place
from ..tree.layout import KIND, NV, QI, VI, Middle, Tree, Work
from ..tree.step import SWEEPS, arrive, begin, give_up
from .loop import BAD_DENSITY, FINISHED, NOT_FINITE, STALLED, Method, make_steps
from .record import write_node
from .variational import EQUATIONS, Options, Step

# entries of Controller.clock
DENSITY, FIRST_HALF = range(2)


class Controller(NamedTuple):
    """Memory of the step control beside Work."""

    reversible: int  # 0: naive
    address: int  # of the compiled density, or -1: sqrt(1 + |v|^2 / speed^2)
    speed: float
    clock: floats(2)  # density at the last half step (at the node before the first one), has a step been made?
    work: Work  # for evaluations at the node, so that the factorisation of the solver survives
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
    controller: Controller
    memory: NDArray[np.float64]
    options: Options  # h is the step where the density is 1


class Adaptive(NamedTuple):
    """The same with the sweeps to use."""

    sweeps: Any
    m: Tree
    w: Work
    mid: Middle | None
    controller: Controller
    memory: NDArray[np.float64]
    options: Options


@kernel
def density_near(m, c, t, q, seconds):
    """Q of the state that the present one becomes when it moves on for a short time."""
    for j in range(q.shape[0]):
        c.q[j] = q[j]
    for j in range(c.v.shape[0]):
        c.d[j] = seconds * c.v[j]
    for i in range(1, m.link.shape[0]):
        dispatch.advance(m.link[i, KIND], c.q, m.link[i, QI], c.d, m.link[i, VI], m.link[i, NV])
    for j in range(c.v.shape[0]):
        c.d[j] = c.v[j] + seconds * c.a[j]
    return density(c, t + seconds, c.q, c.d)


@kernel
def density(c, t, q, v):
    if c.address >= 0:
        c.out[0] = 0.0
        call_force(c.address, t, q, v, c.out)
        return c.out[0]
    s = 0.0
    for j in range(v.shape[0]):
        s += v[j] * v[j]
    return math.sqrt(1.0 + s / (c.speed * c.speed))


@kernel
def evaluate_node(m, w, c, t, tau):
    """Writes v, a and force of the node with momentum target."""
    place(m, c.work, w.q, c.work.r)
    for j in range(c.v.shape[0]):
        c.force[j] = c.work.r[j]
    mass_factor(m, c.work)
    mass_solve(m, c.work, w.target, c.v)
    acceleration(m, c.work, t, w.q, c.v, tau, c.bodies, c.a)


@kernel
def growth(m, w, c, t, dt):
    """G = (dQ/dt)/Q by a difference along the motion over a hundredth of the wanted step.

    It has to be exactly antisymmetric under reversal, so its width may depend on the node alone, not on the steps around it.
    """
    now = density(c, t, w.q, c.v)
    width = 0.01 * dt / now
    return (density_near(m, c, t, w.q, width) - density_near(m, c, t, w.q, -width)) / (2.0 * width * now)


@kernel
def next_step(m, w, c, t, dt):
    """Length of the next step; NaN or negative if the density is not positive."""
    now = density(c, t, w.q, c.v)
    if not c.reversible:
        return dt / now
    if c.clock[FIRST_HALF] == 0.0:
        if c.clock[DENSITY] == 0.0:  # not given
            c.clock[DENSITY] = now
        c.clock[DENSITY] += 0.5 * dt * growth(m, w, c, t, dt)
    else:
        c.clock[DENSITY] += dt * growth(m, w, c, t, dt)
    return dt / c.clock[DENSITY]


@entry
def node_density(a, tau):
    """Density at the present node, between two half steps: what a simulation has to start with to continue or to go back."""
    c, t, dt = a.controller, a.memory[TIME], a.options.h
    if c.clock[FIRST_HALF] == 0.0:
        return c.clock[DENSITY]
    evaluate_node(a.m, a.w, c, t, tau)
    return c.clock[DENSITY] + 0.5 * dt * growth(a.m, a.w, c, t, dt)


@inlined
def begin_step(s):
    begin(s.sweeps, s.m, s.w, s.mid, 0.0)


@inlined
def step(s, tau, row):
    c, memory = s.controller, s.memory
    evaluate_node(s.m, s.w, c, memory[TIME], tau[row])
    before = c.clock[DENSITY]
    h = next_step(s.m, s.w, c, memory[TIME], s.options.h)
    if not (0.0 < h < UNBOUNDED):
        c.clock[DENSITY] = before
        return 0, BAD_DENSITY
    kick(s.w, s.mid, c, int(memory[HISTORY]), h, tau, row)
    length = Options(h, s.options.tol, s.options.retraction, s.options.most, s.options.patient)
    count, size = solve_equations(EQUATIONS, Step(s.sweeps, s.m, s.w, s.mid, None, memory, length), memory, s.options.tol, s.options.most)
    if not (size <= 1.0):
        give_up(s.w, memory)
        to_velocity(s.w, h)
        c.clock[DENSITY] = before
        return count, STALLED if size < UNBOUNDED else NOT_FINITE
    memory[TIME] += h
    memory[HISTORY] += 1.0
    c.clock[FIRST_HALF] = 1.0
    arrive(s.sweeps, s.m, s.w, s.mid, h, 0.5 * h, memory[TIME])
    for j in range(s.w.d.shape[0]):
        s.w.target[j] += 0.5 * h * tau[row, j]
    to_velocity(s.w, h)
    return count, FINISHED


@inlined
def kick(w, mid, c, known, h, tau, row):
    """The left half impulse, and the guess of the increment from the mean velocities of the last steps."""
    for j in range(w.d.shape[0]):
        w.target_last[j] = w.target[j]
        w.target[j] += 0.5 * h * ((c.force[j] if mid is None else 0.0) + tau[row, j])
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
    write_node(record, s.memory[TIME], s.w.q, s.w.target, 0.0)


METHOD = Method(begin_step, step, write)


@entry
def run(a, record, tau, steps, end):
    """Make `steps` steps or as many as it takes to reach the time `end`; returns (steps made, status)."""
    s = Adaptive(SWEEPS, a.m, a.w, a.mid, a.controller, a.memory, a.options)
    return make_steps(METHOD, s, a.memory, record, tau, steps, end)
