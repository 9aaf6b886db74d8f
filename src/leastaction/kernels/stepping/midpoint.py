"""The time loop of Johnson and Murphey's integrator: Newton's method on the discrete Euler-Lagrange equations.

Discrete Lagrangian Ld(q, q + d) = h L(q + alpha d, d/h), paper (19), forces f half at each end of the step:

    r = -D1 Ld - h/2 f - p = dL/dqd - (1 - alpha) h dL/dq - h/2 f - p = 0                                        (20), (44)
    next p = D2 Ld + h/2 f = dL/dqd + alpha h dL/dq + h/2 f                                                           (21)
    dr/dd = Lvv/h + alpha Lqv' - (1 - alpha) Lqv - alpha (1 - alpha) h Lqq - h/2 (alpha f_q + f_v/h)                  (22)

With constraints `con` (else None) r - Dh(q)' lam = 0 and h(q + d) = 0, a bordered system (45), (46): see kernels/bordered.py.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...compiling.decorators import entry, kernel
from ...yardsticks.frame_derivatives import sum_curvatures, sum_gradients
from ..constraints.bordered import correct, impulse_size, products, set_scales, violation
from ..constraints.ties import RANK, constrain_node, place_anchors, row_values
from ..constraints.ties import gradients as constraint_gradients
from ..lagrangian.derivatives import curvatures, gradients
from ..lagrangian.laws import add_law_damping, add_law_forces
from ..solving.dense import lu_factor, lu_solve, rank_factor
from ..tree.drnea import set_node
from ..tree.layout import AGE, ALWAYS_NEW, EXTRAPOLATE, HISTORY, LAST_RESIDUAL, RATE, SCALE, STARTED, TIME, P, R
from ..tree.loads import calls_user_functions, custom_forces
from ..tree.step import extrapolate, give_up, largest, start_step
from .variational import CONVERGED, EXACT, NOT_FINITE, OLD, STALLED, back_to_last, grow_old, guess_multipliers, learn


class Newton(NamedTuple):
    """Memory of Newton's method."""

    middle: NDArray[np.float64]  # (nv,) configuration q + alpha d
    velocity: NDArray[np.float64]  # (nv,) d/h
    force: NDArray[np.float64]  # (nv,) forces without a potential
    custom: NDArray[np.float64]  # (nv,) those of the user
    J: NDArray[np.float64]  # (nv, nv) factors of the Jacobian
    pivot: NDArray[np.int64]  # (nv,)


def make_newton(nv: int) -> Newton:
    return Newton(
        middle=np.zeros(nv), velocity=np.zeros(nv), force=np.zeros(nv), custom=np.zeros(nv), J=np.zeros((nv, nv)),
        pivot=np.zeros(nv, dtype=np.int64),
    )  # fmt: skip


@kernel
def evaluate(m, f, s, tables, w, n, alpha, h, t):
    """Gradients of L and all forces at the increment w.d; r = residual.  Returns its largest entry."""
    nv = w.d.shape[0]
    for j in range(nv):
        n.middle[j] = w.q[j] + alpha * w.d[j]
        n.velocity[j] = w.d[j] / h
    if tables is None:
        gradients(m, f, s, w, n.middle, n.velocity)
    else:
        sum_gradients(f, tables, s, n.middle, n.velocity)
    if calls_user_functions(m):
        custom_forces(m, t + alpha * h, n.middle, w.d, h, w.z, n.custom)
        if m.law_on.shape[0] > 0:
            add_law_forces(m, f, s, w, t + alpha * h, n.custom)
    for j in range(nv):
        n.force[j] = s.force[j] - m.damping[j] * n.velocity[j] + n.custom[j]
        w.r[j] = s.v[j] - (1.0 - alpha) * h * s.q[j] - 0.5 * h * n.force[j] - w.target[j]
    return largest(w.r)


@kernel
def jacobian(m, f, s, tables, w, n, alpha, h, J):
    """J = dr/dd where `evaluate` was called last.  User forces are taken as constant; laws on bodies in the pose only."""
    nv = J.shape[0]
    if tables is None:
        curvatures(m, f, s, w, n.middle)
    else:
        sum_curvatures(f, tables, s, n.middle, n.velocity)
    one, two = 1.0 - alpha, alpha * (1.0 - alpha) * h
    for i in range(nv):
        for j in range(nv):
            J[i, j] = s.vv[i, j] / h + alpha * s.qv[j, i] - one * s.qv[i, j] - two * s.qq[i, j]
        J[i, i] += 0.5 * m.damping[i]
    if m.wrench_on.shape[0] > 0:
        for i in range(nv):
            for j in range(nv):
                J[i, j] -= 0.5 * h * alpha * s.force_q[i, j]
    if m.law_on.shape[0] > 0:
        add_law_damping(m, f, s, w, J)


@kernel
def hold(m, w, end, con, t):
    """Let the constraints act: r -= Dh(q)' lam, con.value = h(q + d).  `end` becomes the node at the end of the step."""
    for a in range(con.lam.shape[0]):
        for j in range(w.r.shape[0]):
            w.r[j] -= con.lam[a] * con.J0[a, j]
    for j in range(w.q.shape[0]):
        end.q[j] = w.q[j] + w.d[j]
    set_node(m, end, 1.0, 0.0, False, end.load)
    place_anchors(m, end, con)
    row_values(m, end, con, con.start, con.apart, t, 0.0)


@kernel
def border(m, w, n, end, con, t):
    """Y and the factorised Schur complement for the factors of the Jacobian just made, at the node `end`."""
    constraint_gradients(m, end, con, con.start, con.apart, end.row, R, P, end.S0, t, con.J1)
    for a in range(con.J0.shape[0]):
        for j in range(con.J0.shape[1]):
            con.Y[a, j] = con.J0[a, j]
        lu_solve(n.J, n.pivot, con.J0.shape[1], con.Y[a])
    products(con.J1, con.Y, con.S)
    con.rank[RANK] = rank_factor(con.S, con.swap)


@kernel
def newton(m, f, s, tables, w, n, end, con, memory, alpha, h, tol, max_evaluations):
    """Solve the step; returns (evaluations, residual).

    The factors at hand are used if they promise to get there with one correction; a correction by them that fails is taken
    back.  One by new factors is halved until the residual shrinks.
    """
    nv = w.d.shape[0]
    evaluations, norm, limit, fraction = 0, 0.0, 0.0, 1.0
    used, taken_back = OLD, True
    while True:
        new = evaluate(m, f, s, tables, w, n, alpha, h, memory[TIME])
        evaluations += 1
        if evaluations == 1:
            memory[SCALE] = max(largest(w.target), h * max(s.size[0], largest(n.force)))
            if con is not None:
                memory[SCALE] = max(memory[SCALE], impulse_size(con))
                set_scales(w, con)
            limit = tol * memory[SCALE]
            grow_old(memory)
        if con is not None:
            hold(m, w, end, con, memory[TIME] + h)
            new = max(largest(w.r), memory[SCALE] * violation(con))
        if taken_back or new <= limit or new < (1.0 - 0.25 * fraction) * norm:
            if not taken_back:
                learn(memory, used, new / norm if fraction == 1.0 else ALWAYS_NEW)
            norm = new
            if not (norm < 1e300) or (norm <= limit and (evaluations > 1 or norm <= 1e-3 * limit)):
                break
            fraction, taken_back, used = 1.0, False, OLD
            if memory[RATE] * norm > 0.3 * limit:
                jacobian(m, f, s, tables, w, n, alpha, h, n.J)
                lu_factor(n.J, n.pivot, nv)
                if con is not None:
                    border(m, w, n, end, con, memory[TIME] + h)
                memory[AGE] = 0.0
                used = EXACT
            for j in range(nv):
                w.z[j] = w.r[j]
            lu_solve(n.J, n.pivot, nv, w.z)
            if con is not None:
                correct(w, con)
                for a in range(con.lam.shape[0]):
                    con.lam_old[a] = con.lam[a]
            for j in range(nv):
                w.d_old[j], w.step[j] = w.d[j], w.z[j]
        elif used == EXACT:
            fraction *= 0.5
            if fraction < 1e-4:
                norm = new
                break
        else:
            learn(memory, used, ALWAYS_NEW)
            fraction, taken_back = 0.0, True
        if evaluations >= max_evaluations:
            break
        for j in range(nv):
            w.d[j] = w.d_old[j] - fraction * w.step[j]
        if con is not None:
            for a in range(con.lam.shape[0]):
                con.lam[a] = con.lam_old[a] - fraction * con.step[a]
    return evaluations, norm


@entry
def run(
    m, f, s, tables, w, n, end, con, memory, alpha, h, steps, tau, tol, max_evaluations, stride, out_q, out_p, out_error, evaluations
):  # fmt: skip
    """Make `steps` steps of length h; returns (steps made, status).  w.target holds the momentum at the present node.

    tables  None, or those of kernels/frame_derivatives.py
    con     None, or the constraints; then `end` is a Work for the end of the step
    """
    nv = w.d.shape[0]
    if con is not None and memory[STARTED] == 0.0:
        for j in range(nv):
            end.q[j] = w.q[j]
        set_node(m, end, 1.0, 0.0, False, end.load)
        constrain_node(m, end, con, memory[TIME])
        memory[STARTED] = 1.0
    for step in range(steps):
        row = step if tau.shape[0] > 1 else 0
        start_step(w, h, tau, row)
        extrapolate(w, int(memory[HISTORY]))
        if con is not None:
            guess_multipliers(con, memory, EXTRAPOLATE)
        count, norm = newton(m, f, s, tables, w, n, end, con, memory, alpha, h, tol, max_evaluations)
        if not (norm <= tol * memory[SCALE]):  # a misleading guess: once more from the last increment
            back_to_last(w, con)
            memory[RATE] = ALWAYS_NEW
            more, norm = newton(m, f, s, tables, w, n, end, con, memory, alpha, h, tol, max_evaluations)
            count += more
        evaluations[step] = count
        memory[LAST_RESIDUAL] = norm
        if not (norm <= tol * memory[SCALE]):
            give_up(w, memory)
            back_to_last(w, con)
            return step, STALLED if norm < 1e300 else NOT_FINITE
        for j in range(nv):
            # what is left of the residual enters the next step, so that errors of the solver do not add up
            w.target[j] = s.v[j] + alpha * h * s.q[j] + 0.5 * h * (n.force[j] + tau[row, j]) - w.r[j]
            w.q[j] += w.d[j]
        memory[TIME] += h
        memory[HISTORY] += 1.0
        if con is not None:
            constraint_gradients(m, end, con, con.start, con.apart, end.row, R, P, end.S0, memory[TIME], con.J0)
        if (step + 1) % stride == 0:
            k = (step + 1) // stride - 1
            if con is not None:
                out_error[k] = largest(con.value)
            for j in range(nv):
                out_q[k, j], out_p[k, j] = w.q[j], w.target[j]
    return steps, CONVERGED


@entry
def step_derivatives(m, f, s, w, n, alpha, h, t, J):
    """Everything at the step (w.q, w.d) with the momentum w.target: residual in w.r, forces in n.force, derivatives in s, J."""
    evaluate(m, f, s, None, w, n, alpha, h, t)
    jacobian(m, f, s, None, w, n, alpha, h, J)
