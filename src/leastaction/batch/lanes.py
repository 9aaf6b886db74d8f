"""Members that run several at once in the lanes of the vector registers: trees with `Variational` after `model.specialise()`."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ..checks import whole_number
from ..compiling.address import run_address
from ..compiling.decorators import Direct
from ..compiling.lanes import lanes_of_this_machine
from ..compiling.records import allocate
from ..errors import StateError
from ..integrators import Integrator, Variational
from ..kernels.solving.memory import START, TIME
from ..kernels.stepping import lane_members as kernels
from ..kernels.stepping.lanes import make_arrays
from ..kernels.stepping.loop import FINISHED
from ..kernels.stepping.members import BEYOND_LIMIT, STATUS, STOPPED, Nodes
from ..model import Model
from .asked import Asked
from .compiled import Group, Worker

_WIDTHS = (2, 4, 8)


def chosen_lanes(lanes: int | None, model: Model, integrator: Integrator, guard: bool, own: bool) -> tuple[int, str]:
    """How many members run at once in a core, and if only one, why; None: as many as this machine takes, where there is code for it.

    own: do members have parameters of their own?
    """
    if lanes is not None and whole_number(lanes, 1, "lanes") not in (1, *_WIDTHS):
        raise StateError(f"lanes = {lanes}; it is 1, 2, 4 or 8, or None for what this machine takes")
    if lanes == 1:
        return 1, "lanes=1 was asked for"
    width = lanes or lanes_of_this_machine()
    why = "members with parameters of their own run one after the other" if own else _obstacle(model, integrator, guard, width)
    if why and lanes is not None:
        raise StateError(f"lanes = {lanes}: {why}; leave lanes out, or give lanes=1")
    return (1, why) if why else (width, "")


def _obstacle(model: Model, integrator: Integrator, guard: bool, width: int) -> str:
    """Why members cannot run in lanes; "" if they can."""
    if model.specialised is None:
        return "only specialised models run in lanes, model.specialise()"
    if type(integrator) is not Variational or integrator.quadrature != "trapezoid":
        return f"only Variational() with the trapezoidal quadrature runs in lanes, not {integrator!r}"
    if guard:
        return "guarded members run one by one"
    if model.closures:
        return f"{model.name!r} has loops or other constraints"
    if model.is_actuated:
        return f"{model.name!r} has servos or dry friction"
    if lanes_of_this_machine() == 1:
        return "this processor, or this way of compiling, has no vectors of four numbers or more"
    if model.specialised.run_lanes(integrator.retraction, width) is None:
        return (
            f"{model.name!r} has what the code for lanes lacks: forces on bodies, potentials or functions of the user, joints from "
            "formulas, or too many different bodies"
        )
    return ""


class LaneGroup(Group):
    """Members whose steps have one length, in lanes."""

    def __init__(self, asked: Asked, which: NDArray[np.int64], nodes: Nodes, stop: NDArray[np.int64], lanes: int):
        super().__init__(asked, which, nodes, stop)
        self.lanes = lanes

    def worker(self) -> LaneWorker:  # type: ignore[override]
        return LaneWorker(self)


class LaneWorker:
    """Runs members of a group in the memory of one thread; those that fail once more alone, which says why."""

    def __init__(self, group: LaneGroup):
        self.group, self.members, self.nodes = group, group.members, group.nodes
        stepper, model, lanes = group.new_stepper(), group.asked.model, group.lanes
        assert model.specialised is not None
        options = stepper.arrays.options._replace(patient=1)  # as all code for one mechanism (specialise/build.py)
        arrays, piece = make_arrays(model.tree, model.make_work(), options, lanes)
        w, memory = arrays.w, arrays.memory
        starts = [memory[START], memory[TIME], *w.q, *w.target, *w.d]  # in the order of VariationalStepper.place_starts
        at = [(part.ctypes.data - piece.ctypes.data) // 8 for part in starts]
        sizes = {"rows": kernels.ROWS, "nq": model.nq, "nv": model.nv, "lanes": lanes, "size": piece.size, "numbers": len(at)}
        forces = kernels.ROWS if self.members.tau.shape[1] > 1 else 1
        self.own = allocate(kernels.Memory, {**sizes, "forces": forces}, all=piece, fresh=piece.copy(), at=np.array(at))
        self.arrays = arrays
        assert isinstance(stepper.integrator, Variational)
        entry = model.specialised.run_lanes(stepper.integrator.retraction, lanes)
        self.address = run_address(entry, (arrays, self.own.block, self.own.tau, 1, np.inf))
        self._run: Callable = Direct(kernels.run_in_lanes)
        self._alone: Worker | None = None
        self(0, 0)  # compiles what is new

    def __call__(self, first: int, last: int) -> dict[int, str]:
        """Run some of the members; returns why those failed that did."""
        self._run(self.address, self.arrays, self.own, self.members, self.nodes, first, last)
        failed: dict[int, str] = {}
        status = self.nodes.end[self.members.which[first:last], STATUS]
        for i in np.flatnonzero(~np.isin(status, (FINISHED, BEYOND_LIMIT, STOPPED))).tolist():
            self._alone = self._alone or Worker(self.group)
            failed.update(self._alone(first + i, first + i + 1))
        return failed
