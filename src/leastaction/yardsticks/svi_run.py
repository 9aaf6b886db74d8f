"""Time loop with Johnson and Murphey's residual (kernels/svi.py), solved by RIQN or Broyden's method."""

from ..compiling.decorators import entry
from ..kernels.tree.articulated import mass_factor, mass_solve
from ..kernels.tree.drnea import set_node
from ..kernels.tree.layout import BROYDEN, EXTRAPOLATE, HISTORY, IG1, LAST_RESIDUAL, SCALE, TIME
from ..kernels.tree.step import extrapolate, give_up, largest, start_step
from .comparison import broyden_update
from .svi import svi_momentum, svi_residual


@entry
def run(m, w, frames, scratch, evaluation, other, memory, h, steps, tau, tol, guess, max_evaluations, stride, out_q, out_p, evaluations):
    """Make `steps` steps; returns how many were solved.  w.target holds the momentum p at the present configuration."""
    nv = w.d.shape[0]
    for step in range(steps):
        row = step if tau.shape[0] > 1 else 0
        start_step(w, h, tau, row)
        if guess == EXTRAPOLATE:
            extrapolate(w, int(memory[HISTORY]))
        elif guess == IG1:
            for j in range(nv):
                w.d[j] = 0.0
        set_node(m, w, h, h, False, w.load)  # poses for the mass matrix, and the impulse of gravity for the scale
        mass_factor(m, w)
        memory[SCALE] = max(largest(w.target), largest(w.load))
        limit = tol * memory[SCALE]
        count = 0
        norm = 1e300
        while count < max_evaluations:
            svi_residual(frames, scratch, w.q, w.d, w.target, h, evaluation, w.r)
            norm = largest(w.r)
            count += 1
            if norm <= limit or not (norm < 1e300):
                break
            mass_solve(m, w, w.r, w.z)
            for j in range(nv):
                w.z[j] *= h
            if other.solver == BROYDEN:
                broyden_update(w.z, other.steps, count - 1)
            for j in range(nv):
                w.d[j] -= w.z[j]
        evaluations[step] = count
        memory[LAST_RESIDUAL] = norm
        if not (norm <= limit):
            give_up(w, memory)
            return step
        svi_momentum(frames, scratch, w.q, w.d, h, evaluation, w.target)
        for j in range(nv):
            w.target[j] += 0.5 * h * tau[row, j]
            w.q[j] += w.d[j]
        memory[TIME] += h
        memory[HISTORY] += 1.0
        if (step + 1) % stride == 0:
            k = (step + 1) // stride - 1
            for j in range(nv):
                out_q[k, j] = w.q[j]
                out_p[k, j] = w.target[j]
    return steps
