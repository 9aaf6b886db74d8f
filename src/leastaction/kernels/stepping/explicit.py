"""Explicit time steps: semi-implicit Euler, and Runge-Kutta on coordinates or on the group (Munthe-Kaas).

The Runge-Kutta methods here need only the last stage and the running sum:
    Y_s = y + a_s h F(Y_{s-1}) at the time t + a_s h,    y <- y + h sum_s b_s F(Y_s)
On coordinates, quaternions are differentiated like any other number and normalised.  On the group (Munthe-Kaas 1998), a
ball or free joint is q exp(x), and x moves by
    dx/dt = dexp^-1_{-x} V = V + [x, V]/2 + [x, [x, V]]/12 + O(x^4)
for a body velocity V; what is left out is of the order h^5 in a step.  Other joints have plain coordinates: no difference.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...compiling.decorators import entry, inlined, kernel
from ...compiling.records import floats
from ...joints import dispatch
from ...lie.retractions import EXP
from ..constraints.ties import Ties, constrain_node, largest_slip
from ..constraints.velocities import constrained_acceleration
from ..solving.memory import TIME
from ..tree.charts import switch_charts
from ..tree.evaluate import acceleration, place
from ..tree.layout import KIND, NV, QI, VI, Tree, Work
from .loop import FINISHED, NOT_FINITE, Method, make_steps, tick
from .record import write_node

# schemes
SEMI_IMPLICIT_EULER, HEUN, RK4, RKMK4 = range(4)

BLOWN_UP = 1e100  # beyond it even the energy would overflow


class Stage(NamedTuple):
    """Memory of one simulation beside Work."""

    q: floats("nq")  # coordinates of the node
    v: floats("nv")  # velocities of the node
    new_q: floats("nq")  # coordinates of a stage
    new_v: floats("nv")  # velocities of a stage
    x: floats("nq")  # increment from node to stage: coordinates, or canonical coordinates of the group (nv)
    d: floats("nv")  # the same as an increment of joints/dispatch.py
    drift: floats("nq")  # time derivative of x
    a: floats("nv")  # time derivative of v
    drift_sum: floats("nq")  # weighted sum over the stages
    a_sum: floats("nv")
    bodies: floats("n+1", 6)  # scratch of the forward dynamics


class Arrays(NamedTuple):
    """Memory of a simulation."""

    m: Tree
    w: Work
    con: Ties | None
    stage: Stage
    memory: NDArray[np.float64]
    scheme: int  # SEMI_IMPLICIT_EULER, HEUN, RK4 or RKMK4
    h: float


@inlined
def tableau(scheme, stage):
    """(a, b) of a stage: how far it goes along the last one, and its weight."""
    if scheme == HEUN:
        return (0.0, 0.5) if stage == 0 else (1.0, 0.5)
    if stage == 0:
        return 0.0, 1.0 / 6.0
    if stage == 3:
        return 1.0, 1.0 / 6.0
    return 0.5, 1.0 / 3.0


@kernel
def copy(source, target):
    for j in range(target.shape[0]):
        target[j] = source[j]


@kernel
def rotate_and_slide(m, x, d):
    """d = the increment that turns by the rotation vectors in x and translates by x in the axes of the step's start."""
    for i in range(1, m.link.shape[0]):
        dispatch.rotate_and_slide(m.link[i, KIND], x, m.link[i, VI], m.link[i, NV], d)


@kernel
def exponential(m, x, d):
    """d = the increment exp(x) of every joint, a screw motion for free joints."""
    for i in range(1, m.link.shape[0]):
        dispatch.retract(m.link[i, KIND], EXP, x, m.link[i, VI], m.link[i, NV], d)


@kernel
def advance_on_group(m, q, d, out):
    """out = q + d."""
    copy(q, out)
    for i in range(1, m.link.shape[0]):
        dispatch.advance(m.link[i, KIND], out, m.link[i, QI], d, m.link[i, VI], m.link[i, NV])


@kernel
def coordinate_rates(m, q, v, out):
    for i in range(1, m.link.shape[0]):
        dispatch.rate(m.link[i, KIND], q, m.link[i, QI], v, m.link[i, VI], m.link[i, NV], out)


@kernel
def canonical_rates(m, x, v, out):
    """out[:nv] = dexp^-1_{-x} v of every joint, to second order in x."""
    for i in range(1, m.link.shape[0]):
        dispatch.canonical_rate(m.link[i, KIND], x, m.link[i, VI], m.link[i, NV], v, out)


@kernel
def move(m, s, scheme):
    """new_q = q moved by the increment x."""
    if scheme == RKMK4:
        exponential(m, s.x, s.d)
        advance_on_group(m, s.q, s.d, s.new_q)
    else:
        for j in range(s.q.shape[0]):
            s.new_q[j] = s.q[j] + s.x[j]
        for i in range(1, m.link.shape[0]):
            dispatch.normalise(m.link[i, KIND], s.new_q, m.link[i, QI])


@inlined
def accelerate(m, w, con, s, t, q, v, tau):
    """s.a = acceleration; `con` is None for a tree, and its `Ties` if there are constraints."""
    if con is None:
        acceleration(m, w, t, q, v, tau, s.bodies, s.a)
    else:
        constrained_acceleration(m, w, con, t, q, v, tau, s.bodies, s.a)


@kernel
def euler_step(m, w, con, s, t, h, tau):
    """v + h a(q, v), then q with the new velocity.  Writes new_q, new_v; returns the number of force evaluations."""
    accelerate(m, w, con, s, t, s.q, s.v, tau)
    for j in range(s.v.shape[0]):
        s.new_v[j] = s.v[j] + h * s.a[j]
        s.x[j] = h * s.new_v[j]
    rotate_and_slide(m, s.x, s.d)
    advance_on_group(m, s.q, s.d, s.new_q)
    return 1


@kernel
def runge_kutta_step(m, w, con, s, scheme, t, h, tau):
    """Writes new_q, new_v; returns the number of force evaluations."""
    nq, nv = s.q.shape[0], s.v.shape[0]
    for j in range(nq):
        s.drift_sum[j] = 0.0
        s.drift[j] = 0.0
    for j in range(nv):
        s.a_sum[j] = 0.0
        s.a[j] = 0.0
    stages = 2 if scheme == HEUN else 4
    for stage in range(stages):
        along, weight = tableau(scheme, stage)
        for j in range(nq):
            s.x[j] = along * h * s.drift[j]
        for j in range(nv):
            s.new_v[j] = s.v[j] + along * h * s.a[j]
        move(m, s, scheme)
        accelerate(m, w, con, s, t + along * h, s.new_q, s.new_v, tau)
        if scheme == RKMK4:
            canonical_rates(m, s.x, s.new_v, s.drift)
        else:
            coordinate_rates(m, s.new_q, s.new_v, s.drift)
        for j in range(nq):
            s.drift_sum[j] += weight * s.drift[j]
        for j in range(nv):
            s.a_sum[j] += weight * s.a[j]
    for j in range(nq):
        s.x[j] = h * s.drift_sum[j]
    for j in range(nv):
        s.new_v[j] = s.v[j] + h * s.a_sum[j]
    move(m, s, scheme)
    return stages


@kernel
def is_sound(a):
    """False if a number has blown up or is NaN."""
    sound = True
    for j in range(a.shape[0]):
        sound &= abs(a[j]) < BLOWN_UP
    return sound


@inlined
def begin(s):
    """Nothing to set up: every force is taken at a known state."""


@inlined
def step(s, tau, row):
    """A step that is not finite is not made."""
    return explicit_step(s.m, s.w, s.con, s.stage, s.memory, s.scheme, s.h, tau[row])


@inlined
def explicit_step(m, w, con, s, memory, scheme, h, tau):
    if scheme == SEMI_IMPLICIT_EULER:
        evaluations = euler_step(m, w, con, s, memory[TIME], h, tau)
    else:
        evaluations = runge_kutta_step(m, w, con, s, scheme, memory[TIME], h, tau)
    if not (is_sound(s.new_q) and is_sound(s.new_v)):
        return evaluations, NOT_FINITE
    copy(s.new_q, s.q)
    copy(s.new_v, s.v)
    switch_charts(w.charts, m, w, s.q, s.v, w.r)  # there is no momentum to rewrite
    tick(memory, h)
    return evaluations, FINISHED


@inlined
def write(s, record):
    write_step(s.m, s.w, s.con, s.stage, s.memory, record)


@inlined
def write_step(m, w, con, s, memory, record):
    k = write_node(record, memory[TIME], s.q, s.v, 0.0)
    if con is not None:
        place(m, w, s.q, w.r)
        record.error[k] = max(constrain_node(m, w, con, memory[TIME]), largest_slip(con, s.v))


METHOD = Method(begin, step, write)


@entry
def run(a, record, tau, steps, end):
    return make_steps(METHOD, a, a.memory, record, tau, steps, end)
