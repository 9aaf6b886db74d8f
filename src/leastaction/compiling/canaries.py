"""Guarded memory: a test mode in which no compiled code can write past the end of an array without being caught.

With LEASTACTION_GUARD=1 in the environment when the package is imported, every array of a call, those inside records too, is copied into a
buffer with canaries before and behind it.  Compiled code works on the copies; afterwards the canaries are checked and the arrays are
copied back.  The canaries are NaNs as floating-point numbers, so that reading them shows as well.  Arrays that share memory keep sharing
it.  One thread at a time, since others may write elsewhere into the same arrays; what they write meanwhile is not seen.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

ON = os.environ.get("LEASTACTION_GUARD", "0") not in ("", "0")

_CANARY = np.uint64(0x7FF8DEADDEADDEAD)  # a NaN
_WIDTH = 128  # numbers on each side
_ALONE = threading.RLock()


class _Block:
    """A piece of memory that one or several arrays of a call lie in, and its guarded copy."""

    def __init__(self, start: int, end: int):
        self.start, self.end = start, end
        self.arrays: list[tuple[str, np.ndarray]] = []

    def copy(self) -> None:
        words = -(-(self.end - self.start) // 8)
        self.buffer = np.full(words + 2 * _WIDTH, _CANARY, dtype=np.uint64)
        self.copies = []
        for _, array in self.arrays:
            twin: np.ndarray = np.ndarray(array.shape, array.dtype, self.buffer, 8 * _WIDTH + _address(array) - self.start)
            twin[...] = array
            self.copies.append(twin)

    def check(self, entry: str) -> None:
        names = " or ".join(name for name, _ in self.arrays)
        for side, words in (("before the start", self.buffer[:_WIDTH]), ("past the end", self.buffer[-_WIDTH:])):
            hurt = np.flatnonzero(words != _CANARY)
            if len(hurt):
                distance = int(hurt[0]) if side == "past the end" else _WIDTH - int(hurt[-1]) - 1
                shapes = ", ".join(str(a.shape) for _, a in self.arrays)
                raise MemoryError(
                    f"{entry} wrote {side} of {names}, shape {shapes}: "
                    f"{len(hurt)} of {_WIDTH} numbers beside it, the nearest {distance} away"
                )

    def copy_back(self) -> None:
        for (_, array), twin in zip(self.arrays, self.copies, strict=True):
            array[...] = twin


def guarded(function: Callable[..., Any], entry: str, parameters: tuple[str, ...]) -> Callable[..., Any]:
    """The function, called with guarded copies of its arrays."""

    def call(*arguments: Any) -> Any:
        found: list[tuple[str, np.ndarray]] = []
        for name, value in zip(parameters, arguments, strict=True):
            _collect(name, value, found)
        blocks = _blocks(found)
        twins: dict[tuple, np.ndarray] = {}
        for block in blocks:
            block.copy()
            for (_, array), twin in zip(block.arrays, block.copies, strict=True):
                twins[_key(array)] = twin
        result = function(*[_replaced(value, twins) for value in arguments])
        for block in blocks:
            block.check(entry)
        for block in blocks:
            block.copy_back()
        return result

    def call_alone(*arguments: Any) -> Any:
        with _ALONE:
            return call(*arguments)

    return call_alone


def _address(array: np.ndarray) -> int:
    return array.__array_interface__["data"][0]


def _key(array: np.ndarray) -> tuple:
    return _address(array), array.shape, array.dtype.char


def _collect(name: str, value: Any, found: list[tuple[str, np.ndarray]]) -> None:
    if isinstance(value, np.ndarray):
        found.append((name, value))
    elif isinstance(value, tuple):
        fields = getattr(value, "_fields", None) or tuple(map(str, range(len(value))))
        for field, member in zip(fields, value, strict=True):
            _collect(f"{name}.{field}", member, found)


def _blocks(found: list[tuple[str, np.ndarray]]) -> list[_Block]:
    """Pieces of memory that do not overlap, each with the arrays that lie in it.  Empty arrays are pieces of their own."""
    blocks: list[_Block] = []
    filled: _Block | None = None
    for name, array in sorted(found, key=lambda item: _address(item[1])):
        start = _address(array)
        if array.nbytes == 0:
            blocks.append(_Block(start, start))
            blocks[-1].arrays.append((name, array))
            continue
        if filled is None or start >= filled.end:
            filled = _Block(start, start)
            blocks.append(filled)
        filled.end = max(filled.end, start + array.nbytes)
        filled.arrays.append((name, array))
    return blocks


def _replaced(value: Any, twins: dict[tuple, np.ndarray]) -> Any:
    if isinstance(value, np.ndarray):
        return twins[_key(value)]
    if isinstance(value, tuple):
        members = [_replaced(member, twins) for member in value]
        return type(value)(*members) if hasattr(value, "_fields") else tuple(members)
    return value
