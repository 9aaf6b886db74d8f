"""Other ways to solve a step, to compare the O(n) Newton with: RIQN (Lee 2016 Alg. 3), Broyden, dense Newton (Alg. 4); and guesses."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..compiling.decorators import entry, inlined, kernel
from ..compiling.records import floats, integers
from ..kernels.solving.dense import dense_solve
from ..kernels.solving.guess import continue_polynomial
from ..kernels.solving.memory import HISTORY, LAST_RESIDUAL, SCALE, TIME
from ..kernels.solving.newton import solve_equations
from ..kernels.solving.sizes import relative_size
from ..kernels.stepping.loop import Method, make_steps
from ..kernels.stepping.variational import EQUATIONS, Options, Step, begin_at, finish_step, write_step
from ..kernels.tree.articulated import mass_factor, mass_solve
from ..kernels.tree.dense_jacobian import Columns, dense_jacobian
from ..kernels.tree.evaluate import acceleration
from ..kernels.tree.layout import Middle, Tree, Work
from ..kernels.tree.newton_matrix import assemble
from ..kernels.tree.step import SWEEPS, full_residual, momentum_scale, start_step

# solvers
NEWTON, RIQN, BROYDEN, DENSE = range(4)

# guesses of the increment: zero, the last one (explicit Euler), semi-implicit Euler, polynomial extrapolation
IG1, IG2, IG3, EXTRAPOLATE = range(4)


class Comparison(NamedTuple):
    """What is compared, and its memory."""

    solver: int  # NEWTON, RIQN, BROYDEN or DENSE
    guess: int  # IG1, IG2, IG3 or EXTRAPOLATE
    columns: Columns  # of the dense Jacobian
    pivot: integers("nv")
    steps: floats("most+1", "nv")  # corrections of Broyden's method
    bodies: floats("n+1", 6)  # scratch of the forward dynamics


class Arrays(NamedTuple):
    """Memory of a simulation."""

    m: Tree
    w: Work
    mid: Middle | None
    other: Comparison
    memory: NDArray[np.float64]
    options: Options


@inlined
def guess_increment(m, w, other, memory, h, tau):
    if other.guess == EXTRAPOLATE:
        continue_polynomial(w.d, w.history, int(memory[HISTORY]), 0, w.d.shape[0], True, False)
    elif other.guess == IG1:
        for j in range(w.d.shape[0]):
            w.d[j] = 0.0
    elif other.guess == IG3:
        semi_implicit_guess(m, w, other, h, memory[TIME], tau)


@inlined
def find_root(m, w, mid, other, memory, options):
    """Solve the step by the chosen method; returns (evaluations, size of the residual).  No safeguards, as in the paper."""
    h, nv = options.h, w.d.shape[0]
    if other.solver != DENSE:
        mass_factor(m, w)
    norm = full_residual(SWEEPS, m, w, mid, h, memory[TIME], options.retraction)
    memory[SCALE] = momentum_scale(m, w, mid, h)
    limit = options.tol * memory[SCALE]
    evaluations = 1
    while evaluations < options.most and norm > limit and norm < 1e300:
        if other.solver == DENSE:
            assemble(m, w, h, options.retraction, True)
            dense_jacobian(m, w, mid, other.columns, h)
            dense_solve(other.columns.J, other.pivot, w.r, w.z)
        else:
            mass_solve(m, w, w.r, w.z)
            for j in range(nv):
                w.z[j] *= h
            if other.solver == BROYDEN:
                broyden_update(w.z, other.steps, evaluations - 1)
        for j in range(nv):
            w.d[j] -= w.z[j]
        norm = full_residual(SWEEPS, m, w, mid, h, memory[TIME], options.retraction)
        evaluations += 1
    memory[LAST_RESIDUAL] = norm
    return evaluations, relative_size(norm, limit)


@inlined
def begin(s):
    begin_at(SWEEPS, s.m, s.w, s.mid, None, s.memory, s.options)


@inlined
def step(s, tau, row):
    start_step(s.w, s.options.h, tau, row)
    guess_increment(s.m, s.w, s.other, s.memory, s.options.h, tau[row])
    if s.other.solver == NEWTON:
        solved = Step(SWEEPS, s.m, s.w, s.mid, None, s.memory, s.options)
        count, size = solve_equations(EQUATIONS, solved, s.memory, s.options.tol, s.options.most)
    else:
        count, size = find_root(s.m, s.w, s.mid, s.other, s.memory, s.options)
    return count, finish_step(SWEEPS, s.m, s.w, s.mid, None, s.memory, s.options, tau, row, size)


@inlined
def write(s, record):
    write_step(s.w.q, s.w.target, None, s.memory, record)


METHOD = Method(begin, step, write)


@entry
def run(a, record, tau, steps, end):
    return make_steps(METHOD, a, a.memory, record, tau, steps, end)


@kernel
def semi_implicit_guess(m, w, other, h, t, tau):
    """IG3, (23) of the paper: the last increment plus h^2 times the acceleration under all forces.  Writes the node again, d_old, z."""
    for j in range(w.d.shape[0]):
        w.d_old[j] = w.d[j] / h
    acceleration(m, w, t, w.q, w.d_old, tau, other.bodies, w.z)
    for j in range(w.d.shape[0]):
        w.d[j] += h * h * w.z[j]


@kernel
def broyden_update(z, steps, k):
    """Good Broyden correction number k, matrix-free (Kelley 1995): z holds the one of the first approximation."""
    nv = z.shape[0]
    for i in range(k):
        top, bottom = 0.0, 0.0
        for j in range(nv):
            top += steps[i, j] * z[j]
            bottom += steps[i, j] * steps[i, j]
        f = top / bottom
        if i < k - 1:
            for j in range(nv):
                z[j] += f * steps[i + 1, j]
        else:
            for j in range(nv):
                z[j] /= 1.0 - f
    for j in range(nv):
        steps[k, j] = z[j]
