"""The programs that are specialised, and their modules."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

from ..compiling.modules import generated_module
from ..kernels.tree import articulated, drnea
from ..kernels.tree import newton_matrix as tree_newton
from ..kernels.tree.layout import Tree, Work
from ..lie.retractions import NAMES as RETRACTIONS
from . import lanes as in_lanes
from .emit import unit_source
from .memory import Bodies
from .plan import Unit, operations, plan

MOST_OPERATIONS = 20_000  # in the code of a program: what is compiled in well under a minute

_HEADER = '''"""{what} of one mechanism, constants folded.  Generated; see docs/specialise.md.

Names: i body, p its parent, j its first degree of freedom, k its first coordinate; columns as in leastaction.kernels.tree.layout.
"""

from math import sqrt

import numpy as np
from leastaction.joints import dispatch
from leastaction.kernels.tree.loads import add_wrenches
from leastaction.compiling.decorators import entry, inlined, kernel
from leastaction.lie.retraction_exp import gamma2, gammas, half_angle_ratio
from leastaction.compiling.in_a_row import in_a_row
from leastaction.compiling.straight import straight
from leastaction.compiling.together import together
from leastaction.lie.trig import half_sincos, sincos
'''

class Specialised:
    """Entry points made for one mechanism; each is generated and compiled when it is first used.

    They are None where the mechanism has so many different bodies that one program for all is better, and where functions of the user act
    on bodies, which ask for more than traced kernels keep in memory.
    """

    def __init__(self, tree: Tree, work: Work, sources: dict[str, str] | None = None):
        """sources: programs that were made elsewhere for this mechanism, by title; those made here are added."""
        self._tree, self._work = tree, work
        self._sources = {} if sources is None else sources
        self._modules: dict[str, ModuleType | None] = {}

    def __reduce__(self):
        return Specialised, (self._tree, self._work)  # modules cannot be pickled; they are on disk

    @property
    def forward(self) -> Callable | None:
        """As kernels.evaluate.forward."""
        return getattr(self.forward_module(), "forward", None)

    def run(self, retraction: str) -> Callable | None:
        """As kernels.variational.run with mid = other = None and this retraction."""
        return getattr(self.step_module(retraction), "run", None)

    def run_composed(self, retraction: str) -> Callable | None:
        """As kernels.composition.run with mid = None and this retraction."""
        return getattr(self.composed_module(retraction), "run", None)

    def run_lanes(self, retraction: str, lanes: int) -> Callable | None:
        """As kernels.stepping.lanes.several_steps with this retraction, in so many lanes."""
        return getattr(self.lanes_module(retraction, lanes), "run", None)

    def forward_module(self) -> ModuleType | None:
        return self._module("forward", "Forward dynamics", forward_units(), _FORWARD)

    def step_module(self, retraction: str) -> ModuleType | None:
        return self._module(f"step_{retraction}", f"Variational step ({retraction})", step_units(RETRACTIONS[retraction]), _STEP)

    def composed_module(self, retraction: str) -> ModuleType | None:
        return self._module(f"composed_{retraction}", f"Composed step ({retraction})", step_units(RETRACTIONS[retraction]), _COMPOSED)

    def lanes_module(self, retraction: str, lanes: int) -> ModuleType | None:
        if not in_lanes.covers(self._tree):
            return None
        header, run = (text.replace("{lanes}", str(lanes)) for text in (in_lanes.HEADER, in_lanes.RUN))
        title, what = f"lanes{lanes}_{retraction}", f"Variational step ({retraction})"
        return self._module(title, what, in_lanes.lane_units(RETRACTIONS[retraction]), run, header)

    def _module(self, title: str, what: str, units: list[Unit], run: str, header: str = _HEADER) -> ModuleType | None:
        if title not in self._modules:
            source = self._sources.get(title)
            if source is None:
                source = "" if len(self._tree.law_on) else program_source(header.format(what=what), units, run, self._tree, self._work)
                self._sources[title] = source
            self._modules[title] = generated_module(title, source, lambda: source) if source else None
        return self._modules[title]


def forward_units() -> list[Unit]:
    return [
        Unit(
            "set_node", "m, w, h, kick, arriving, out",
            lambda tracer, m, w, a: tracer.run(drnea.set_node, m, w, 1.0, 1.0, 0.0, a["out"]), ("out",),
        ),
        Unit(
            "forward_dynamics", "m, w, velocity, tau, scratch, out",
            lambda tracer, m, w, a: tracer.run(articulated.forward_dynamics, m, w, a["velocity"], a["tau"], a["scratch"], a["out"]),
            ("velocity", "tau", "out"),
        ),
    ]  # fmt: skip


def step_units(retraction: int) -> list[Unit]:
    """In the order in which a simulation first runs them."""

    def set_node(arriving):
        def run(tracer, m, w, a):
            tracer.run(drnea.set_node, m, w, tracer.parameter("h"), tracer.parameter("kick"), arriving, a["out"])

        return run

    def linearise(exact):
        def run(tracer, m, w, a):
            tracer.run(tree_newton.assemble, m, w, tracer.parameter("h"), retraction, exact)
            tracer.run(tree_newton.factorise, m, w, tracer.parameter("h"))

        return run

    return [
        Unit("set_first_node", "m, w, h, kick, out", set_node(0.0), ("out",)),
        Unit(
            "residual", "m, w, h, retraction",
            lambda tracer, m, w, a: tracer.run(drnea.residual, m, w, tracer.parameter("h"), retraction),
        ),
        Unit("linearise_exactly", "m, w, h", linearise(True)),
        Unit("linearise_to_first_order", "m, w, h", linearise(False)),
        Unit("solve", "m, w", lambda tracer, m, w, a: tracer.run(tree_newton.solve, m, w)),
        Unit("set_next_node", "m, w, h, kick, out", set_node(1.0), ("out",)),
    ]  # fmt: skip


# how the entry points are made of the units
_FORWARD = '''
from leastaction.kernels.tree.evaluate import acceleration_by


@entry
def forward(m, w, t, q, v, tau, scratch, out):
    acceleration_by(set_node, forward_dynamics, m, w, t, q, v, tau, scratch, out)
'''

_SWEEPS = '''
from leastaction.kernels.stepping.loop import make_steps
from leastaction.kernels.tree.step import Sweeps


@kernel
def set_node(m, w, h, kick, arriving, out):
    if arriving > 0.0:
        set_next_node(m, w, h, kick, out)
    else:
        set_first_node(m, w, h, kick, out)


@kernel
def assemble(m, w, h, retraction, exact):
    if exact:
        linearise_exactly(m, w, h)
    else:
        linearise_to_first_order(m, w, h)


@inlined
def factorise(m, w, h):
    """Done by `assemble`: what is known about the stiffness of a body is of use there."""


SWEEPS = Sweeps(set_node, residual, assemble, factorise, solve)
'''

_STEP = _SWEEPS + '''
from leastaction.kernels.stepping.variational import METHOD, Options, Step


@entry
def run(a, record, tau, steps, end):
    o = a.options  # always patient: an exact factorisation costs more than three to first order
    s = Step(SWEEPS, a.m, a.w, a.mid, a.con, a.memory, Options(o.h, o.tol, o.retraction, o.most, 1))
    return make_steps(METHOD, s, a.memory, record, tau, steps, end)
'''

_COMPOSED = _SWEEPS + '''
from leastaction.kernels.stepping.composition import METHOD, Composed


@entry
def run(a, record, tau, steps, end):
    s = Composed(SWEEPS, a.m, a.w, a.mid, a.con, a.stages, a.options)
    return make_steps(METHOD, s, a.stages.course.memory[0], record, tau, steps, end)
'''


def program_source(header: str, units: list[Unit], run: str, tree: Tree, work: Work) -> str:
    """Source of the module with the units of a program and the entry point made of them; "" if not worth it."""
    for coarse in (False, True):
        planned = plan(units, tree, work, coarse)
        if operations(planned) <= MOST_OPERATIONS:
            break
    else:
        return ""
    bodies = Bodies(tree.link)
    return header + "\n\n" + "\n\n\n".join(unit_source(p, bodies) for p in planned) + "\n\n" + run
