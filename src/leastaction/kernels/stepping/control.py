"""Steps of changing length that stay reversible (Hairer and Soederlind 2005).

The step density rho = dt / h is a variable of its own.  It follows the wanted density Q(q, v) in a leapfrog with the steps,
    rho_{k+1/2} = rho_{k-1/2} + dt G(y_k),   h_{k+1/2} = dt / rho_{k+1/2},   G = (dQ/dt) / Q
G changes its sign when velocities do, so the same steps lead back.  Taking h = dt / Q(y_k) instead (naive) does not.

What differs between integrators comes as a record of kernels, `Controlled`.  They keep the momentum itself at a node, without a kick.
"""

import math
from typing import Any, NamedTuple

from ...compiling.address import call_force
from ...compiling.decorators import entry, inlined, kernel
from ...compiling.records import floats
from ...joints import dispatch
from ..constraints.ties import Ties, constrain_node
from ..constraints.velocities import constrained_acceleration, impulse_responses, project
from ..solving.memory import ALWAYS_NEW, HISTORY, RATE, TIME
from ..solving.sizes import UNBOUNDED
from ..tree.articulated import mass_factor, mass_solve
from ..tree.evaluate import acceleration, place
from ..tree.layout import KIND, NV, QI, VI, Work
from .loop import BAD_DENSITY, FINISHED, NOT_FINITE, STALLED

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


class Controlled(NamedTuple):
    """What the step control has to know of an integrator; s is its memory."""

    node: Any  # (s) -> (q, p): coordinates and joint momenta at the present node
    solve: Any  # (s, h, tau, row) -> (evaluations, size of the residual; solved if not above 1): a step of length h
    arrive: Any  # (s, h, t, tau, row): on to its end, at time t
    back: Any  # (s, h): as before the step


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
def evaluate_node(m, q, p, control, con, t, tau):
    """Writes v, a and force of the node with momentum p; con: Controller.con."""
    place(m, control.work, q, control.work.r)
    for j in range(control.v.shape[0]):
        control.force[j] = control.work.r[j]
    mass_factor(m, control.work)
    mass_solve(m, control.work, p, control.v)
    if con is None:
        acceleration(m, control.work, t, q, control.v, tau, control.bodies, control.a)
    else:  # the momentum that arrives is not yet one the constraints allow
        constrain_node(m, control.work, con, t)
        impulse_responses(m, control.work, con)
        project(con, con.rate, control.v)
        constrained_acceleration(m, control.work, con, t, q, control.v, tau, control.bodies, control.a)


@kernel
def growth(m, q, control, t, dt):
    """G = (dQ/dt)/Q by a difference along the motion over a hundredth of the wanted step.

    It has to be exactly antisymmetric under reversal, so its width may depend on the node alone, not on the steps around it.
    """
    now = density(control, t, q, control.v)
    width = 0.01 * dt / now
    return (density_near(m, control, t, q, width) - density_near(m, control, t, q, -width)) / (2.0 * width * now)


@kernel
def next_step(m, q, control, t, dt):
    """Length of the next step; NaN or negative if the density is not positive."""
    now = density(control, t, q, control.v)
    if not control.reversible:
        return dt / now
    if control.clock[FIRST_HALF] == 0.0:
        if control.clock[DENSITY] == 0.0:  # not given
            control.clock[DENSITY] = now
        control.clock[DENSITY] += 0.5 * dt * growth(m, q, control, t, dt)
    else:
        control.clock[DENSITY] += dt * growth(m, q, control, t, dt)
    return dt / control.clock[DENSITY]


@entry
def node_density(m, q, p, control, t, dt, tau):
    """Density at the node (q, p), between two half steps: what a simulation has to start with to continue or to go back."""
    if control.clock[FIRST_HALF] == 0.0:
        return control.clock[DENSITY]
    evaluate_node(m, q, p, control, control.con, t, tau)
    return control.clock[DENSITY] + 0.5 * dt * growth(m, q, control, t, dt)


@entry
def first_length(m, q, p, control, t, dt, tau):
    """Length of the step of a simulation that begins at the node (q, p)."""
    control.clock[DENSITY], control.clock[FIRST_HALF] = 0.0, 0.0
    evaluate_node(m, q, p, control, control.con, t, tau)
    return next_step(m, q, control, t, dt)


@inlined
def make_controlled_step(method, s, control, memory, dt, tau, row):
    """One step, dt long where the density is 1; returns (evaluations, status)."""
    q, p = method.node(s)
    evaluate_node(s.m, q, p, control, control.con, memory[TIME], tau[row])
    before = control.clock[DENSITY]
    h = next_step(s.m, q, control, memory[TIME], dt)
    if not (0.0 < h < UNBOUNDED):
        control.clock[DENSITY] = before
        return 0, BAD_DENSITY
    count, size = method.solve(s, h, tau, row)
    if not (size <= 1.0):
        method.back(s, h)
        memory[HISTORY], memory[RATE] = 0.0, ALWAYS_NEW
        control.clock[DENSITY] = before
        return count, STALLED if size < UNBOUNDED else NOT_FINITE
    memory[TIME] += h
    memory[HISTORY] += 1.0
    control.clock[FIRST_HALF], control.clock[LAST_STEP] = 1.0, h
    method.arrive(s, h, memory[TIME], tau, row)
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
def to_velocity(d, h):
    """From increments to mean velocities, which are smooth where the length of steps changes."""
    for j in range(d.shape[0]):
        d[j] /= h
