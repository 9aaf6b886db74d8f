"""The linear-time variational integrator in lanes: several simulations of one mechanism at once (compiling/lanes.py).

The equations and Newton's method are those of variational.py, read for vectors: every lane chooses its factorisations, is done when it is
done, and waits for the others.  The sweeps are generated for one mechanism (specialise/lanes.py) and include all that acts on the joints.
"""

from typing import Any, NamedTuple

import numpy as np

from ...compiling.records import allocate, floats, integers
from ..solving.memory import SIZE, TIME, make_memory
from ..solving.newton import solve_equations
from ..solving.sizes import UNBOUNDED
from ..tree.layout import FACTOR_COLUMNS, LINEAR_COLUMNS, ROW_COLUMNS, Tree, Work
from ..tree.step import start_step
from .loop import FINISHED, NOT_FINITE, STALLED, tick
from .variational import EQUATIONS, Options, Step, guess

# rows of Arrays.state
STATUS, MADE = 0, 1


class LaneWork(NamedTuple):
    """As Work, for every lane."""

    row: floats("n+1", ROW_COLUMNS, "lanes")
    S0: floats("nv", 6, "lanes")
    S1: floats("nv", 6, "lanes")
    factor: floats("nv", FACTOR_COLUMNS, "lanes")
    linear: floats("n+1", LINEAR_COLUMNS, "lanes")
    art: floats("n+1", 36, "lanes")
    q: floats("nq", "lanes")
    d: floats("nv", "lanes")
    d_old: floats("nv", "lanes")
    d_last: floats("nv", "lanes")
    r: floats("nv", "lanes")
    z: floats("nv", "lanes")
    step: floats("nv", "lanes")
    target: floats("nv", "lanes")
    target_last: floats("nv", "lanes")
    load: floats("nv", "lanes")
    history: floats(6, "nv", "lanes")
    live: floats(1, "lanes")  # not 0: the lane takes part in a factorisation
    actuation: Any  # None: servos do not run in lanes
    laws: Any  # None: nor do laws on bodies


class Arrays(NamedTuple):
    """Memory of as many simulations as there are lanes."""

    m: Tree
    w: LaneWork
    memory: floats(SIZE, "lanes")
    state: floats(2, "lanes")  # how the simulation ended, FINISHED as long as it runs; steps made
    started: integers(1)  # have the first nodes been set up?
    options: Options


class Block(NamedTuple):
    """The last steps; rows of a lane that has ended are of no use."""

    t: floats("rows", "lanes")
    q: floats("rows", "nq", "lanes")
    p: floats("rows", "nv", "lanes")
    evaluations: integers("rows", "lanes")


class Sweeps(NamedTuple):
    """What is generated."""

    begin: Any
    residual: Any
    assemble: Any
    factorise: Any
    solve: Any
    arrive: Any


class Bare(NamedTuple):
    """The model as the equations see it: what acts on the joints is in the sweeps."""

    tree: Any
    has_armature: Any
    has_dampers: Any
    custom: Any
    law_on: Any
    felt: Any  # None: parts that are very unequal do not run in lanes


class Empty(NamedTuple):
    shape: Any


def make_arrays(tree: Tree, work: Work, options: Options, lanes: int) -> tuple[Arrays, np.ndarray]:
    """The memory, and the piece that all of its numbers are in, each array at an address that vectors are loaded from in one go."""
    sizes = {"n": len(tree.link) - 1, "nq": len(work.q), "nv": len(work.d), "lanes": lanes}
    plain = {name: getattr(work, name) for name in LaneWork._fields if name not in ("live", "actuation", "laws")}
    plain |= {"live": np.zeros(1), "state": np.zeros(2), "memory": make_memory(0.0), "started": np.zeros(lanes)}
    size = sum(array.size for array in plain.values()) * lanes
    raw = np.zeros(size + 8)
    first = -raw.ctypes.data % 64 // 8
    piece, views = raw[first : first + size], {}
    for name, array in plain.items():
        views[name], piece_left = piece[: array.size * lanes].reshape(*array.shape, lanes), piece[array.size * lanes :]
        views[name][...] = array[..., None]
        piece = piece_left
    views["started"] = views["started"].reshape(-1)[:1].view(np.int64)
    inner = {name: views.pop(name) for name in LaneWork._fields if name not in ("actuation", "laws")}
    w = allocate(LaneWork, sizes, actuation=None, laws=None, **inner)
    return allocate(Arrays, sizes, m=tree, w=w, options=options, **views), raw[first : first + size]


def several_steps(sweeps, a, block, tau, steps):
    """Make `steps` steps in all lanes that have not ended.  tau: (1 or steps, nv, lanes)"""
    empty = Empty((0,))
    s = Step(sweeps, Bare(a.m, 0, 0, empty, empty, None), a.w, None, None, a.memory, a.options)
    if a.started[0] == 0:
        sweeps.begin(s.m, s.w, s.options.h)
        a.started[0] = 1
    for k in range(steps):
        if a.state[STATUS] == FINISHED:
            count, status = step(s, tau, k if tau.shape[0] > 1 else 0)
            block.evaluations[k] = count
            a.state[STATUS] = status
            if status == FINISHED:
                a.state[MADE] += 1.0
        block.t[k] = s.memory[TIME]
        for j in range(s.w.q.shape[0]):
            block.q[k, j] = s.w.q[j]
        for j in range(s.w.d.shape[0]):
            block.p[k, j] = s.w.target[j]


def step(s, tau, row):
    """A step; a lane in which it fails is of no use afterwards: its member is run again, alone."""
    h = s.options.h
    start_step(s.w, h, tau, row)
    guess(s.w.d, s.w.history, s.con, s.memory)
    count, size = solve_equations(EQUATIONS, s, s.memory, s.options.tol, s.options.most)
    if not (size <= 1.0):
        return count, (STALLED if size < UNBOUNDED else NOT_FINITE)
    tick(s.memory, h)
    s.sweeps.arrive(s.m, s.w, h)
    for j in range(s.w.d.shape[0]):
        s.w.target[j] += 0.5 * h * tau[row, j]
    return count, FINISHED
