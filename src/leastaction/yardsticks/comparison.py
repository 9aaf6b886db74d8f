"""The other ways to solve a step, to compare the O(n) Newton with: RIQN (Lee 2016 Alg. 3), Broyden, dense Newton (Alg. 4)."""

from ..compiling.decorators import kernel
from ..kernels.solving.dense import dense_solve
from ..kernels.tree.articulated import forward_dynamics, mass_factor, mass_solve
from ..kernels.tree.dense_jacobian import dense_jacobian, exact_direction
from ..kernels.tree.drnea import project
from ..kernels.tree.layout import BROYDEN, DENSE, GRAVITY, IG3, RIQN, SCALE, TIME, F
from ..kernels.tree.loads import gravity_wrench
from ..kernels.tree.newton_matrix import assemble
from ..kernels.tree.step import full_residual, momentum_scale
from ..lie.algebra import load3, store3


@kernel
def find_root(m, w, mid, other, memory, h, tol, retraction, guess, max_evaluations):
    """Solve the step by the chosen method; returns (evaluations, residual).  No safeguards, as in the paper."""
    nv = w.d.shape[0]
    if guess == IG3:
        semi_implicit_guess(m, w, other, h)
    if other.solver == RIQN or other.solver == BROYDEN:
        mass_factor(m, w)
    norm = full_residual(m, w, mid, h, memory[TIME], retraction)
    memory[SCALE] = momentum_scale(m, w, mid, h)
    limit = tol * memory[SCALE]
    evaluations = 1
    while evaluations < max_evaluations and norm > limit and norm < 1e300:
        if other.solver == RIQN or other.solver == BROYDEN:
            mass_solve(m, w, w.r, w.z)
            for j in range(nv):
                w.z[j] *= h
            if other.solver == BROYDEN:
                broyden_update(w.z, other.steps, evaluations - 1)
        elif other.solver == DENSE:
            assemble(m, w, h, retraction, True)
            dense_jacobian(m, w, mid, other, h)
            dense_solve(other.J, other.pivot, w.r, w.z)
        else:
            exact_direction(m, w, mid, h, retraction)
        for j in range(nv):
            w.d[j] -= w.z[j]
        norm = full_residual(m, w, mid, h, memory[TIME], retraction)
        evaluations += 1
    return evaluations, norm


@kernel
def semi_implicit_guess(m, w, other, h):
    """IG3: the last increment plus h^2 times the acceleration of gravity and inertia; other forces are left to the solver."""
    nv = w.d.shape[0]
    for j in range(nv):
        w.step[j] = w.d[j] / h
    for i in range(1, m.link.shape[0]):
        a, l = gravity_wrench(m.body, i, load3(w.row, i, GRAVITY))
        store3(w.row, i, F, a)
        store3(w.row, i, F + 3, l)
    project(m, w, w.load)
    forward_dynamics(m, w, w.step, w.load, other.scratch, w.z)
    for j in range(nv):
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
