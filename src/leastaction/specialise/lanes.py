"""The variational step in lanes (kernels/stepping/lanes.py): all that acts on the joints is traced with the sweeps."""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace

from ..joints.dispatch import COUNT
from ..kernels.tree import drnea, step
from ..kernels.tree import newton_matrix as tree_newton
from ..kernels.tree.layout import KIND, Tree
from .plan import Unit


def covers(tree: Tree) -> bool:
    """Is all that the mechanism has traced here?  Not forces on bodies, servos, friction, functions of the user, joints from formulas,
    very unequal parts."""
    others = (tree.wrench_on, tree.pair_on, tree.custom, tree.law_on, tree.energy_on[1:], tree.servo_on, tree.felt)
    return not any(map(len, others)) and not tree.has_friction and not tree.has_charts and bool((tree.link[1:, KIND] < COUNT).all())


def lane_units(retraction: int) -> list[Unit]:
    """In the order in which a simulation first runs them."""

    def sweeps(tracer):
        return SimpleNamespace(set_node=tracer.copy(drnea.set_node), residual=tracer.copy(drnea.residual))

    def linearise(exact):
        def run(tracer, m, w, a):
            tracer.run(tree_newton.assemble, m, w, tracer.parameter("h"), retraction, exact)
            tracer.run(tree_newton.factorise, m, w, tracer.parameter("h"))

        return run

    def begin(tracer, m, w, a):
        tracer.run(step.begin, sweeps(tracer), m, w, None, tracer.parameter("h"))

    def residual(tracer, m, w, a):
        tracer.run(step.forced_residual, sweeps(tracer), m, w, None, tracer.parameter("h"), 0.0, retraction)

    def arrive(tracer, m, w, a):
        h = tracer.parameter("h")
        tracer.run(step.arrive, sweeps(tracer), m, w, None, h, h, 0.0)

    unit = partial(Unit, in_lanes=True)
    return [
        unit("begin_unit", "m, w, h", begin),
        unit("residual_unit", "m, w, h", residual),
        unit("exact_unit", "m, w, h", linearise(True), masked=True),
        unit("first_order_unit", "m, w, h", linearise(False), masked=True),
        unit("solve_unit", "m, w", lambda tracer, m, w, a: tracer.run(tree_newton.solve, m, w)),
        unit("arrive_unit", "m, w, h", arrive),
    ]


HEADER = '''"""{what} of one mechanism in {lanes} lanes, constants folded.  Generated; see docs/specialise.md.

Names: i body, p its parent, j its first degree of freedom, k its first coordinate; columns as in leastaction.kernels.tree.layout.
"""

from math import sqrt

import numpy as np
from leastaction.compiling.decorators import entry, inlined
from leastaction.compiling.lanes import in_lanes
from leastaction.lie.retraction_exp import gamma2, gammas, half_angle_ratio
from leastaction.lie.trig import half_sincos, sincos

straight, masked = in_lanes({lanes}), in_lanes({lanes}, masked=True)
'''

RUN = '''
from leastaction.kernels.stepping.lanes import Sweeps, several_steps


def begin(m, w, h):
    begin_unit(m.tree, w, h)


def residual(m, w, h, retraction):
    residual_unit(m.tree, w, h)


def assemble(m, w, h, retraction, exact):
    """Only in the lanes that want it."""
    if exact:
        w.live[0] = 1.0
        exact_unit(m.tree, w, h)
        w.live[0] = 0.0
    else:
        w.live[0] = 1.0
        first_order_unit(m.tree, w, h)
        w.live[0] = 0.0


def factorise(m, w, h):
    """Done by `assemble`."""


def solve(m, w):
    solve_unit(m.tree, w)


def arrive(m, w, h):
    arrive_unit(m.tree, w, h)


SWEEPS = Sweeps(begin, residual, assemble, factorise, solve, arrive)


@in_lanes({lanes})
def in_all_lanes(a, block, tau, steps):
    several_steps(SWEEPS, a, block, tau, steps)


@entry
def run(a, block, tau, steps, end):
    in_all_lanes(a, block, tau, steps)
    return steps, np.int64(0)
'''
