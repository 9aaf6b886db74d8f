"""The programs that are specialised, and their modules."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import ModuleType

from ..compiling.modules import generated_module
from ..kernels.stepping import composition, variational
from ..kernels.tree import articulated, drnea, evaluate, step
from ..kernels.tree import newton_matrix as tree_newton
from ..kernels.tree.layout import Tree, Work
from ..lie.retractions import NAMES as RETRACTIONS
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
from leastaction.compiling.straight import straight
from leastaction.lie.trig import half_sincos, sincos
'''

# kernels that call the units, copied into the generated module
_SOLVING = [step.full_residual, variational.choose_factorisation, variational.newton, variational.solve_step]
_MOVING = [step.begin, step.arrive_with_kick]


class Specialised:
    """Entry points made for one mechanism; each is generated and compiled when it is first used.

    They are None where the mechanism has so many different bodies that one program for all is better, and where functions of the user act
    on bodies, which ask for more than traced kernels keep in memory.
    """

    def __init__(self, tree: Tree, work: Work):
        self._tree, self._work = tree, work
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

    def forward_module(self) -> ModuleType | None:
        callers = [evaluate.place, evaluate.acceleration, evaluate.forward]
        return self._module("forward", "Forward dynamics", forward_units(), callers)

    def step_module(self, retraction: str) -> ModuleType | None:
        callers = [*_SOLVING, *_MOVING, step.arrive, variational.run]
        return self._module(f"step_{retraction}", f"Variational step ({retraction})", step_units(RETRACTIONS[retraction]), callers)

    def composed_module(self, retraction: str) -> ModuleType | None:
        callers = [*_SOLVING, *_MOVING, composition.back_to_start, composition.run]
        return self._module(f"composed_{retraction}", f"Composed step ({retraction})", step_units(RETRACTIONS[retraction]), callers)

    def _module(self, title: str, what: str, units: list[Unit], callers: list) -> ModuleType | None:
        if title not in self._modules:
            source = "" if len(self._tree.law_on) else program_source(what, units, callers, self._tree, self._work)
            self._modules[title] = generated_module(title, source, lambda: source) if source else None
        return self._modules[title]


def forward_units() -> list[Unit]:
    return [
        Unit(
            "set_node", "m, w, h, kick, arriving, out",
            lambda tracer, m, w, a: tracer.run(drnea.set_node, m, w, 1.0, 1.0, False, a["out"]), ("out",),
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
            tracer.run(tree_newton.factorise, m, w)

        return run

    return [
        Unit("set_first_node", "m, w, h, kick, out", set_node(False), ("out",)),
        Unit(
            "residual", "m, w, h, retraction",
            lambda tracer, m, w, a: tracer.run(drnea.residual, m, w, tracer.parameter("h"), retraction),
        ),
        Unit("linearise_exactly", "m, w, h", linearise(True)),
        Unit("linearise_to_first_order", "m, w, h", linearise(False)),
        Unit("solve", "m, w", lambda tracer, m, w, a: tracer.run(tree_newton.solve, m, w)),
        Unit("set_next_node", "m, w, h, kick, out", set_node(True), ("out",)),
    ]  # fmt: skip


_STEP_GLUE = '''
@kernel
def set_node(m, w, h, kick, arriving, out):
    if arriving:
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
def factorise(m, w):
    """Done by `assemble`: what is known about the stiffness of a body is of use there."""
'''


def program_source(what: str, units: list[Unit], callers: list, tree: Tree, work: Work) -> str:
    """Source of the module with the units of a program and copies of the kernels that call them; "" if not worth it."""
    for coarse in (False, True):
        planned = plan(units, tree, work, coarse)
        if operations(planned) <= MOST_OPERATIONS:
            break
    else:
        return ""
    bodies = Bodies(tree.link)
    parts = [unit_source(p, bodies) for p in planned]
    names = {u.name for u in units}
    if "linearise_exactly" in names:
        parts.append(_STEP_GLUE.strip("\n"))
        names |= {"set_node", "assemble", "factorise"}
    imports, copies = _copied(callers, names)
    return _HEADER.format(what=what) + "\n".join(imports) + "\n\n\n" + "\n\n\n".join([*parts, *copies]) + "\n"


def _copied(callers: list, replaced: set[str]) -> tuple[list[str], list[str]]:
    """Sources of the callers, and imports of what they use besides each other and the replaced kernels."""
    functions = [getattr(c, "py_func", c) for c in callers]
    here = replaced | {f.__name__ for f in functions}
    imports: dict[str, str] = {}
    for f in functions:
        for name in f.__code__.co_names:
            if name in f.__globals__ and name not in here:
                imports[name] = f.__module__
    lines = [f"from {module} import {name}" for name, module in sorted(imports.items(), key=lambda x: (x[1], x[0]))]
    return lines, [inspect.getsource(f).rstrip() for f in functions]
