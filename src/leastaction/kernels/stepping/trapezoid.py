"""The trapezoidal variational integrator in joint velocities: Kobilarov 2014, (21)-(25) and, on ball and free joints, (62)-(64).

    Ld = h/2 [L(q_k, v) + L(q_{k+1}, v)],    q_{k+1} = q_k tau(h v)   (q_k + h v for plain coordinates)
Momenta at both ends, in left-trivialised variations, S(x) = dtau^-1_x on ball and free joints and 1 elsewhere:
    p_k     = S(hv)'  [M(q_k) + M(q_{k+1})] v / 2 - h/2 [dT/dq (q_k, v)     + f(q_k, v)]
    p_{k+1} = S(-hv)' [M(q_k) + M(q_{k+1})] v / 2 + h/2 [dT/dq (q_{k+1}, v) + f(q_{k+1}, v)]
T = v' M v / 2 and f all forces, those of potentials included.  Every term is a sweep over the tree.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...compiling.decorators import entry, kernel
from ...joints import dispatch
from ...lie.algebra import add, cross, dot, load3, scale, sub
from ..solving.dense import dense_solve
from ..tree.articulated import mass_factor, mass_solve
from ..tree.continuous import joint_twist, momentum
from ..tree.drnea import carry_residual
from ..tree.evaluate import applied_forces, place
from ..tree.layout import ETA, HISTORY, KIND, LAST_RESIDUAL, NV, QI, SCALE, STARTED, TIME, VI, F
from ..tree.step import extrapolate, largest
from .explicit import advance_on_group
from .variational import CONVERGED, NOT_FINITE, STALLED

CHORD_CORRECTIONS = 8  # with M(q_k) in place of the Jacobian, before Newton's method takes over


class Trapezoid(NamedTuple):
    """Memory beside the Work of the start and of the end of the step."""

    v: NDArray[np.float64]  # (nv,) the unknown: velocity of the step
    v_old: NDArray[np.float64]  # (nv,) before the last correction
    x: NDArray[np.float64]  # (nv,) h v
    q1: NDArray[np.float64]  # (nq,) end of the step
    momentum0: NDArray[np.float64]  # (nv,) M(q_k) v
    momentum1: NDArray[np.float64]  # (nv,) M(q_{k+1}) v
    mean: NDArray[np.float64]  # (nv,) their mean, seen from one end of the step
    slope: NDArray[np.float64]  # (nv,) dT/dq
    potential0: NDArray[np.float64]  # (nv,) forces at q_k that do not depend on v
    potential1: NDArray[np.float64]  # (nv,) at q_{k+1}
    force: NDArray[np.float64]  # (nv,) all forces at one end
    rate: NDArray[np.float64]  # (nv,) scratch
    r_old: NDArray[np.float64]  # (nv,) residual before the last correction
    J: NDArray[np.float64]  # (nv, nv) Jacobian of Newton's method
    pivot: NDArray[np.int64]  # (nv,)
    q_start: NDArray[np.float64]  # (nq,) where the (composed) step began
    p_start: NDArray[np.float64]  # (nv,)
    v_start: NDArray[np.float64]  # (nv,)


def make_trapezoid(nq: int, nv: int) -> Trapezoid:
    def zeros(n):
        return np.zeros(n)

    return Trapezoid(
        v=zeros(nv), v_old=zeros(nv), x=zeros(nv), q1=zeros(nq), momentum0=zeros(nv), momentum1=zeros(nv), mean=zeros(nv),
        slope=zeros(nv), potential0=zeros(nv), potential1=zeros(nv), force=zeros(nv), rate=zeros(nv), r_old=zeros(nv),
        J=np.zeros((nv, nv)), pivot=np.zeros(nv, dtype=np.int64), q_start=zeros(nq), p_start=zeros(nv), v_start=zeros(nv),
    )  # fmt: skip


@kernel
def kinetic_slope(m, w, v, rate, out):
    """out = dT/dq at the node, velocities held fixed; after `momentum`, which leaves twists in ETA and momenta in F.

    A variation s of joint i changes the twist of its body by [A, s] + (dS/dq) v, A the twist that comes from the parent.
    """
    for i in range(1, m.link.shape[0]):
        first, n, kind = m.link[i, VI], m.link[i, NV], m.link[i, KIND]
        ja, jl = joint_twist(m, w, i, v)
        Aa, Al = sub(load3(w.row, i, ETA), ja), sub(load3(w.row, i, ETA + 3), jl)
        Fa, Fl = load3(w.row, i, F), load3(w.row, i, F + 3)
        for j in range(first, first + n):
            sa, sl = load3(w.S0, j, 0), load3(w.S0, j, 3)
            a, l = cross(Aa, sa), add(cross(Aa, sl), cross(Al, sa))
            if dispatch.columns_change(kind):
                ca, cl = column_change(m, w, i, j, v, ja, jl, rate)
                a, l = add(a, ca), add(l, cl)
            out[j] = dot(Fa, a) + dot(Fl, l)


@kernel
def column_change(m, w, i, j, v, ja, jl, rate):
    """(dS/dq_j) v of a joint with plain coordinates, from its bias B(v, v) = sum_j v_j (dS/dq_j) v alone.

    The symmetric part of B by polarisation, the other from the Maurer-Cartan equation: B(a, b) - B(b, a) = -[S a, S b].
    """
    kind, k, first = m.link[i, KIND], m.link[i, QI], m.link[i, VI]
    va, vl = dispatch.bias(kind, m.param, i, w.q, k, v, first)
    for c in range(first, first + m.link[i, NV]):
        rate[c] = 0.0
    rate[j] = 1.0
    ea, el = dispatch.bias(kind, m.param, i, w.q, k, rate, first)
    for c in range(first, first + m.link[i, NV]):
        rate[c] += v[c]
    a, l = dispatch.bias(kind, m.param, i, w.q, k, rate, first)
    sa, sl = load3(w.S0, j, 0), load3(w.S0, j, 3)
    a = sub(sub(sub(a, ea), va), cross(sa, ja))
    l = sub(sub(sub(l, el), vl), add(cross(sa, jl), cross(sl, ja)))
    return scale(0.5, a), scale(0.5, l)


@kernel
def set_end(m, w, e, t, h, retraction):
    """End of the step for the velocity v: x, the increment d of joints/dispatch.py, q1, poses and forces there."""
    for j in range(t.v.shape[0]):
        t.x[j] = h * t.v[j]
    for i in range(1, m.link.shape[0]):
        dispatch.retract(m.link[i, KIND], retraction, t.x, m.link[i, VI], m.link[i, NV], w.d)
    advance_on_group(m, w.q, w.d, t.q1)
    place(m, e, t.q1, t.potential1)


@kernel
def mean_momentum(m, t, sign, retraction):
    """mean = S(sign h v)' (momentum0 + momentum1) / 2."""
    for j in range(t.mean.shape[0]):
        t.mean[j] = 0.5 * (t.momentum0[j] + t.momentum1[j])
    for i in range(1, m.link.shape[0]):
        dispatch.retraction_cotangent(m.link[i, KIND], retraction, t.x, m.link[i, VI], m.link[i, NV], sign, t.mean)


@kernel
def residual(m, w, e, t, h, time, tau, retraction):
    """w.r = momentum the step leaves q_k with, minus target; returns its largest entry."""
    set_end(m, w, e, t, h, retraction)
    momentum(m, e, t.v, t.momentum1)
    momentum(m, w, t.v, t.momentum0)
    kinetic_slope(m, w, t.v, t.rate, t.slope)
    for j in range(t.v.shape[0]):
        t.force[j] = t.potential0[j]
    applied_forces(m, w, time, t.v, tau, t.force)
    mean_momentum(m, t, 1.0, retraction)
    for j in range(t.v.shape[0]):
        w.r[j] = t.mean[j] - 0.5 * h * (t.slope[j] + t.force[j]) - w.target[j]
    return largest(w.r)


@kernel
def numerical_jacobian(m, w, e, t, h, time, tau, retraction):
    """J = dr/dv by differences, O(n^2).  Keeps w.r."""
    size = largest(t.v) + 1e-3 / abs(h)
    step = 1e-7 * size
    nv = t.v.shape[0]
    for j in range(nv):
        t.r_old[j] = w.r[j]
    for l in range(nv):
        keep = t.v[l]
        t.v[l] = keep + step
        residual(m, w, e, t, h, time, tau, retraction)
        for j in range(nv):
            t.J[j, l] = (w.r[j] - t.r_old[j]) / step
        t.v[l] = keep
    for j in range(nv):
        w.r[j] = t.r_old[j]


@kernel
def solve_velocity(m, w, e, t, h, time, tau, tol, retraction, max_evaluations, memory):
    """Find v; returns (evaluations, residual).  Chords with M(q_k) while they converge fast, else damped Newton."""
    nv = t.v.shape[0]
    norm = residual(m, w, e, t, h, time, tau, retraction)
    memory[SCALE] = max(largest(w.target), 0.5 * abs(h) * largest(t.force))
    limit, evaluations, newton = tol * memory[SCALE], 1, False
    mass_factor(m, w)
    while norm > limit and evaluations < max_evaluations and norm < 1e300:
        for j in range(nv):
            t.v_old[j] = t.v[j]
        if newton:
            numerical_jacobian(m, w, e, t, h, time, tau, retraction)
            dense_solve(t.J, t.pivot, w.r, w.z)
        else:
            mass_solve(m, w, w.r, w.z)
        before, fraction = norm, 1.0
        while True:
            for j in range(nv):
                t.v[j] = t.v_old[j] - fraction * w.z[j]
            norm = residual(m, w, e, t, h, time, tau, retraction)
            evaluations += 1
            if not newton or norm < (1.0 - 0.25 * fraction) * before or fraction < 1e-3 or evaluations >= max_evaluations:
                break
            fraction *= 0.5
        if not newton and norm > limit and not (norm < 0.3 * before and evaluations <= CHORD_CORRECTIONS):
            newton = True
            if not norm < before:
                for j in range(nv):
                    t.v[j] = t.v_old[j]
                norm = residual(m, w, e, t, h, time, tau, retraction)
                evaluations += 1
    return evaluations, norm


@kernel
def arrive(m, w, e, t, h, time, tau, retraction):
    """Move to the end of the step: q, the momentum p there in target, and the forces."""
    momentum(m, e, t.v, t.momentum1)
    kinetic_slope(m, e, t.v, t.rate, t.slope)
    for j in range(t.v.shape[0]):
        t.force[j] = t.potential1[j]
    applied_forces(m, e, time, t.v, tau, t.force)
    mean_momentum(m, t, -1.0, retraction)
    for j in range(t.v.shape[0]):
        w.target[j] = t.mean[j] + 0.5 * h * (t.slope[j] + t.force[j])
    carry_residual(m, w)
    place(m, w, t.q1, t.potential0)


@kernel
def remember(w, t):
    for j in range(w.q.shape[0]):
        t.q_start[j] = w.q[j]
    for j in range(t.v.shape[0]):
        t.p_start[j] = w.target[j]
        t.v_start[j] = t.v[j]


@kernel
def go_back(m, w, t):
    for j in range(t.v.shape[0]):
        w.target[j] = t.p_start[j]
        t.v[j] = t.v_start[j]
    place(m, w, t.q_start, t.potential0)


@entry
def leaving(m, w, e, t, h, time, tau, retraction):
    """w.r = momentum with which the step of velocity t.v leaves t.q_start; for solvability and checks."""
    for j in range(t.v.shape[0]):
        w.target[j] = 0.0
    place(m, w, t.q_start, t.potential0)
    residual(m, w, e, t, h, time, tau, retraction)


@entry
def slope(m, w, t):
    """t.slope = dT/dq at t.q_start and the velocity t.v."""
    place(m, w, t.q_start, t.potential0)
    momentum(m, w, t.v, t.momentum0)
    kinetic_slope(m, w, t.v, t.rate, t.slope)


@entry
def run(m, w, e, t, gamma, memory, h, steps, tau, tol, retraction, max_evaluations, stride, out_q, out_p, evaluations):
    """Make `steps` steps, each of stages of the lengths gamma[i] h; arguments and result as in kernels/variational.run.

    w.target is the momentum p at the node.
    """
    nv = t.v.shape[0]
    if memory[STARTED] == 0.0:
        for j in range(w.q.shape[0]):
            t.q_start[j] = w.q[j]
        place(m, w, t.q_start, t.potential0)
        memory[STARTED] = 1.0
    for step in range(steps):
        row = step if tau.shape[0] > 1 else 0
        remember(w, t)
        began = memory[TIME]
        evaluations[step] = 0
        for i in range(gamma.shape[0]):
            length = gamma[i] * h
            if gamma.shape[0] == 1:  # velocities of consecutive steps are smooth, those of stages are not
                for j in range(nv):
                    w.d[j] = t.v[j]
                extrapolate(w, int(memory[HISTORY]))
                for j in range(nv):
                    t.v[j] = w.d[j]
            used, norm = solve_velocity(m, w, e, t, length, memory[TIME], tau[row], tol, retraction, max_evaluations, memory)
            evaluations[step] += used
            memory[LAST_RESIDUAL] = norm
            if not (norm <= tol * memory[SCALE]):
                go_back(m, w, t)
                memory[HISTORY] = 0.0
                memory[TIME] = began
                return step, STALLED if norm < 1e300 else NOT_FINITE
            memory[TIME] += length
            arrive(m, w, e, t, length, memory[TIME], tau[row], retraction)
        memory[HISTORY] += 1.0
        memory[TIME] = began + h
        if (step + 1) % stride == 0:
            k = (step + 1) // stride - 1
            for j in range(w.q.shape[0]):
                out_q[k, j] = w.q[j]
            for j in range(nv):
                out_p[k, j] = w.target[j]
    return steps, CONVERGED
