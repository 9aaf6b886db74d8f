"""Members that are started and run inside compiled code: all of them in the memory of one stepper."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..compiling.address import run_address
from ..compiling.decorators import Direct
from ..compiling.records import allocate
from ..integrators.base import CompiledStepper, Starts
from ..kernels.solving.memory import LAST_RESIDUAL, TIME
from ..kernels.stepping import members as kernels
from ..kernels.stepping.members import BLOCK, MADE, STATUS, STOPPED
from .asked import Asked

Array = NDArray[np.float64]


class Piece:
    """All arrays of a stepper in one piece of memory, but for the model if it is shared."""

    def __init__(self, stepper: CompiledStepper, shared: bool = True):
        self._shared = stepper.model.tree if shared else None
        self._parts: dict[int, tuple[Any, int]] = {}  # array of the stepper -> itself, first entry in the piece
        self.size = 0
        self.kind: list[Any] = []  #: shapes of the arrays, and all other numbers
        self._count(stepper.arrays)
        spans = sorted((array.ctypes.data, array.nbytes) for array, _ in self._parts.values() if array.nbytes)
        if any(start + size > following for (start, size), (following, _) in itertools.pairwise(spans)):
            raise TypeError(f"two arrays of {type(stepper).__name__} share memory and cannot be moved; let its place_starts return None")
        self.all = np.empty(self.size)
        self.arrays = self._moved(stepper.arrays)
        self.copy_in()

    def _count(self, value: Any) -> None:
        if isinstance(value, np.ndarray) and id(value) not in self._parts:
            self._parts[id(value)] = (value, self.size)
            self.size += value.size
            self.kind.append(value.shape)
        elif isinstance(value, tuple) and value is not self._shared:
            for member in value:
                self._count(member)
        elif not isinstance(value, (np.ndarray, tuple)):
            self.kind.append(value)

    def _moved(self, value: Any) -> Any:
        if isinstance(value, np.ndarray):
            return self._view(*self._parts[id(value)])
        if isinstance(value, tuple) and value is not self._shared:
            return type(value)(*map(self._moved, value))
        return value

    def _view(self, array: Any, first: int) -> Any:
        return self.all[first : first + array.size].view(array.dtype).reshape(array.shape)

    def copy_in(self) -> None:
        for array, first in self._parts.values():
            self._view(array, first)[...] = array

    def copy_out(self) -> None:
        """The arrays of the stepper as they are in the piece."""
        for array, first in self._parts.values():
            array[...] = self._view(array, first)

    def first(self, part: Array) -> int:
        """Where a part of an array of the stepper begins."""
        address = part.ctypes.data
        for array, first in self._parts.values():
            offset = address - array.ctypes.data
            if 0 <= offset < array.nbytes and part.flags.c_contiguous:
                return first + offset // 8
        raise TypeError("a start is written to what is not among the arrays of the stepper")


class Group:
    """Members whose steps have one length."""

    lanes = 1

    def __init__(self, asked: Asked, which: NDArray[np.int64], nodes: kernels.Nodes, stop: NDArray[np.int64]):
        """stop: an entry that becomes 1 to make an end."""
        self.asked, self.nodes, self.size = asked, nodes, len(which)
        self._first = asked.start(int(which[0]))
        self.dt = float(asked.dt[which[0]])
        places = self.new_stepper().place_starts(Starts(*(part[which] for part in asked.starts)))
        assert places is not None  # or the members would be run singly
        rows = np.concatenate([rows for _, rows in places], axis=1)
        column, lower, upper = asked.watch.arrays if asked.watch else (np.zeros(0, dtype=np.int64), np.zeros(0), np.zeros(0))
        sizes = {"members": len(which), "numbers": rows.shape[1], "nv": asked.model.nv, "limits": len(column)}
        sizes |= {"inputs": asked.tau.shape[0], "forces": asked.tau.shape[1], "entries": asked.tau.shape[2]}
        self.members = allocate(
            kernels.Members, sizes, which=which, start=rows, tau=asked.tau, column=column, lower=lower, upper=upper,
            plan=np.array([asked.steps, asked.every, asked.with_first], dtype=np.int64), stop=stop,
        )  # fmt: skip

    def new_stepper(self) -> CompiledStepper:
        stepper = self.asked.integrator.start(self.asked.model, self._first, self.dt)
        assert isinstance(stepper, CompiledStepper)
        return stepper

    def worker(self) -> Worker:
        """For one thread."""
        return Worker(self)


class Worker:
    """Runs members of a group in the memory of one thread."""

    def __init__(self, group: Group):
        stepper = self.stepper = group.new_stepper()
        self.group, self.members, self.nodes = group, group.members, group.nodes
        self.piece, at = self._piece(group)
        piece = self.piece
        node = [piece.first(stepper.memory[TIME:]), *map(piece.first, stepper.present)]
        self.own = allocate(
            kernels.Memory, {"size": piece.size, "numbers": self.members.start.shape[1]}, all=piece.all, fresh=piece.all.copy(),
            at=at, node=np.array(node), block=stepper.make_record(BLOCK, BLOCK),
        )  # fmt: skip
        self.address = run_address(stepper.entry, (piece.arrays, self.own.block, self.members.tau[0], 1, np.inf))
        self._run = Direct(kernels.run_members)
        self(0, 0)  # compiles what is new

    def _piece(self, group: Group) -> tuple[Piece, NDArray[np.int64]]:
        """The memory, and where in it the numbers of a start go."""
        piece = Piece(self.stepper)
        places = self.stepper.place_starts(Starts(*(part[:1] for part in group.asked.starts))) or []
        return piece, np.concatenate([piece.first(part) + np.arange(part.size) for part, _ in places])

    def __call__(self, first: int, last: int) -> dict[int, str]:
        """Run some of the members; returns why those failed that did."""
        failed: dict[int, str] = {}
        while True:
            at = self._run(self.address, self.piece.arrays, self.own, self.members, self.nodes, first, last)
            if at == last:
                return failed
            k = int(self.members.which[at])
            if self.nodes.end[k, STATUS] == STOPPED:
                return failed
            failed[k] = self._explain(k)
            first = at + 1

    def _explain(self, k: int) -> str:
        self.piece.copy_out()
        return failure_in_words(self.stepper, int(self.nodes.end[k, MADE]), int(self.nodes.end[k, STATUS]))


def failure_in_words(stepper: CompiledStepper, made: int, status: int) -> str:
    """Where and why a stepper could make no step more."""
    reason = stepper.explain(status, float(stepper.memory[LAST_RESIDUAL]))
    return f"step {made} at t = {stepper.memory[TIME]:g} s with dt = {stepper.dt:g} s: {reason}"
