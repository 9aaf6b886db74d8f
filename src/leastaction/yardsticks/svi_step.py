"""A step with Johnson and Murphey's residual (yardsticks/svi.py), solved by RIQN or Broyden's method."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..compiling.decorators import entry, inlined
from ..kernels.lagrangian.frames import Frames
from ..kernels.solving.memory import LAST_RESIDUAL, SCALE, TIME
from ..kernels.solving.sizes import UNBOUNDED, largest, relative_size
from ..kernels.stepping.loop import FINISHED, NOT_FINITE, STALLED, Method, make_steps, tick
from ..kernels.stepping.record import write_node
from ..kernels.stepping.variational import Options
from ..kernels.tree.articulated import mass_factor, mass_solve
from ..kernels.tree.drnea import set_node
from ..kernels.tree.layout import Tree, Work
from ..kernels.tree.step import give_up, start_step
from .comparison import BROYDEN, Comparison, broyden_update, guess_increment
from .svi import Scratch, svi_momentum, svi_residual


class Arrays(NamedTuple):
    """Memory of a simulation.  w.target is the momentum p at the present configuration."""

    m: Tree
    w: Work
    frames: Frames
    scratch: Scratch
    evaluation: int
    other: Comparison
    memory: NDArray[np.float64]
    options: Options


@inlined
def begin(s):
    """Nothing to set up."""


@inlined
def step(s, tau, row):
    w, memory, h = s.w, s.memory, s.options.h
    nv = w.d.shape[0]
    start_step(w, h, tau, row)
    guess_increment(s.m, w, s.other, memory, h, tau[row])
    set_node(s.m, w, h, h, 0.0, w.load)  # poses for the mass matrix, and the impulse of gravity for the scale
    mass_factor(s.m, w)
    memory[SCALE] = max(largest(w.target), largest(w.load))
    count, size = 0, UNBOUNDED
    while count < s.options.most:
        svi_residual(s.frames, s.scratch, w.q, w.d, w.target, h, s.evaluation, w.r)
        memory[LAST_RESIDUAL] = largest(w.r)
        size = relative_size(memory[LAST_RESIDUAL], s.options.tol * memory[SCALE])
        count += 1
        if size <= 1.0 or not (size < UNBOUNDED):
            break
        mass_solve(s.m, w, w.r, w.z)
        for j in range(nv):
            w.z[j] *= h
        if s.other.solver == BROYDEN:
            broyden_update(w.z, s.other.steps, count - 1)
        for j in range(nv):
            w.d[j] -= w.z[j]
    if not (size <= 1.0):
        give_up(w, memory)
        return count, STALLED if size < UNBOUNDED else NOT_FINITE
    svi_momentum(s.frames, s.scratch, w.q, w.d, h, s.evaluation, w.target)
    for j in range(nv):
        w.target[j] += 0.5 * h * tau[row, j]
        w.q[j] += w.d[j]
    tick(memory, h)
    return count, FINISHED


@inlined
def write(s, record):
    write_node(record, s.memory[TIME], s.w.q, s.w.target, 0.0)


METHOD = Method(begin, step, write)


@entry
def run(a, record, tau, steps, end):
    return make_steps(METHOD, a, a.memory, record, tau, steps, end)
