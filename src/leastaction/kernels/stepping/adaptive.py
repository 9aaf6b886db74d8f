"""Variational steps of changing length that stay reversible (Hairer and Soederlind 2005).

The step density rho = dt / h is a variable of its own.  It follows the wanted density Q(q, v) in a leapfrog with the steps,
    rho_{k+1/2} = rho_{k-1/2} + dt G(y_k),   h_{k+1/2} = dt / rho_{k+1/2},   G = (dQ/dt) / Q
G changes its sign when velocities do, so the same steps lead back.  Taking h = dt / Q(y_k) instead (naive) does not.
"""

import math
from typing import NamedTuple

from ...compiling.address import call_force
from ...compiling.decorators import entry, kernel
from ...compiling.records import floats
from ...joints import dispatch
from ..tree.articulated import mass_factor, mass_solve
from ..tree.evaluate import acceleration, place
from ..tree.layout import HISTORY, KIND, LAST_RESIDUAL, NV, QI, SCALE, STARTED, TIME, VI, Work
from ..tree.step import arrive_with_kick, begin, extrapolate, give_up
from .variational import CONVERGED, NOT_FINITE, STALLED, solve_step

# status of a run beside those of the plain time loop
BAD_DENSITY = 3

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
def node_density(m, w, c, t, dt, tau):
    """Density at the present node, between two half steps: what a simulation has to start with to continue or to go back."""
    if c.clock[FIRST_HALF] == 0.0:
        return c.clock[DENSITY]
    evaluate_node(m, w, c, t, tau)
    return c.clock[DENSITY] + 0.5 * dt * growth(m, w, c, t, dt)


@entry
def run(m, w, mid, c, memory, dt, end, steps, tau, tol, retraction, max_evaluations, stride, out_q, out_p, out_t, evaluations):
    """Make `steps` steps or as many as it takes to reach the time `end`; returns (steps made, status).

    target holds the momentum p itself at a node; w.d the mean velocity of the last step, which is smooth in the steps.
    out_t: times of the recorded nodes; other arguments as in kernels/variational.run
    """
    nv = w.d.shape[0]
    if memory[STARTED] == 0.0:
        begin(m, w, mid, 0.0)
        memory[STARTED] = 1.0
    for step in range(steps):
        if not memory[TIME] < end:
            return step, CONVERGED
        row = step if tau.shape[0] > 1 else 0
        evaluate_node(m, w, c, memory[TIME], tau[row])
        before = c.clock[DENSITY]
        h = next_step(m, w, c, memory[TIME], dt)
        if not (0.0 < h < 1e300):
            c.clock[DENSITY] = before
            return step, BAD_DENSITY
        for j in range(nv):
            w.target_last[j] = w.target[j]
            w.target[j] += 0.5 * h * ((c.force[j] if mid is None else 0.0) + tau[row, j])
            w.step[j] = w.d[j]
        extrapolate(w, int(memory[HISTORY]))
        for j in range(nv):
            w.d[j] *= h
            w.d_last[j] = h * w.step[j]
        used, norm = solve_step(m, w, mid, None, memory, h, tol, retraction, max_evaluations, True)
        evaluations[step] = used
        memory[LAST_RESIDUAL] = norm
        if not (norm <= tol * memory[SCALE]):
            give_up(w, memory)
            for j in range(nv):
                w.d[j] /= h
            c.clock[DENSITY] = before
            return step, STALLED if norm < 1e300 else NOT_FINITE
        memory[TIME] += h
        memory[HISTORY] += 1.0
        c.clock[FIRST_HALF] = 1.0
        arrive_with_kick(m, w, mid, h, 0.5 * h, memory[TIME])
        for j in range(nv):
            w.target[j] += 0.5 * h * tau[row, j]
            w.d[j] /= h
        if (step + 1) % stride == 0:
            k = (step + 1) // stride - 1
            out_t[k] = memory[TIME]
            for j in range(w.q.shape[0]):
                out_q[k, j] = w.q[j]
            for j in range(nv):
                out_p[k, j] = w.target[j]
    return steps, CONVERGED
