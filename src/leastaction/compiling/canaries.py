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
_WIDTH = 128  # numbers between two arrays
_LINE = 8  # numbers of a cache line
_ALONE = threading.RLock()


class _Block:
    """A piece of memory that one or several arrays of a call lie in."""

    def __init__(self, start: int):
        self.start = self.end = start
        self.arrays: list[tuple[str, np.ndarray, int]] = []  # name, array, address

    def add(self, name: str, array: np.ndarray, address: int) -> None:
        self.arrays.append((name, array, address))
        self.end = max(self.end, address + array.nbytes)

    @property
    def words(self) -> int:
        return -(-(self.end - self.start) // 8)


class _Guarded:
    """Copies of all blocks in one buffer, canaries between them; each lies in its cache line as the original does."""

    def __init__(self, blocks: list[_Block]):
        self.blocks = blocks
        places, end = [], _WIDTH  # in words
        for block in blocks:
            places.append(-(-end // _LINE) * _LINE + block.start % (8 * _LINE) // 8)
            end = places[-1] + block.words + _WIDTH
        room = np.full(end + _LINE, _CANARY, dtype=np.uint64)
        self.buffer = room[-(_address(room) // 8) % _LINE :]
        self.places, self.beside = np.array(places, dtype=np.int64), np.ones(len(self.buffer), dtype=bool)
        self.pairs: list[tuple[np.ndarray, np.ndarray]] = []
        self.twins: dict[tuple, np.ndarray] = {}
        for block, place in zip(blocks, places, strict=True):
            self.beside[place : place + block.words] = False
            for _, array, address in block.arrays:
                twin: np.ndarray = np.ndarray(array.shape, array.dtype, self.buffer, 8 * place + address - block.start)
                twin[...] = array
                self.pairs.append((array, twin))
                self.twins[address, array.shape, array.dtype.char] = twin

    def check(self, entry: str) -> None:
        hurt = np.flatnonzero((self.buffer != _CANARY) & self.beside)
        if not len(hurt):
            return
        first = int(hurt[0])
        k = int(np.searchsorted(self.places, first, side="right"))  # the block behind it
        before = int(self.places[k]) - 1 - first if k < len(self.blocks) else len(self.buffer)
        past = first - int(self.places[k - 1]) - self.blocks[k - 1].words if k > 0 else len(self.buffer)
        block = self.blocks[k - 1 if past <= before else k]
        side, distance = ("past the end", past) if past <= before else ("before the start", before)
        names = " or ".join(name for name, _, _ in block.arrays)
        shapes = ", ".join(str(array.shape) for _, array, _ in block.arrays)
        raise MemoryError(f"{entry} wrote {side} of {names}, shape {shapes}: {len(hurt)} number(s) beside it, the first {distance} away")

    def copy_back(self) -> None:
        for array, twin in self.pairs:
            array[...] = twin


def guarded(function: Callable[..., Any], entry: str, parameters: tuple[str, ...]) -> Callable[..., Any]:
    """The function, called with guarded copies of its arrays."""

    def call(*arguments: Any) -> Any:
        found: list[tuple[str, np.ndarray, int]] = []
        for name, value in zip(parameters, arguments, strict=True):
            _collect(name, value, found)
        with _ALONE:
            copies = _Guarded(_blocks(found))
            result = function(*[_replaced(value, copies.twins) for value in arguments])
            copies.check(entry)
            copies.copy_back()
        return result

    return call


def _address(array: np.ndarray) -> int:
    return array.__array_interface__["data"][0]


def _collect(name: str, value: Any, found: list[tuple[str, np.ndarray, int]]) -> None:
    if isinstance(value, np.ndarray):
        found.append((name, value, _address(value)))
    elif isinstance(value, tuple):
        fields = getattr(value, "_fields", None) or tuple(map(str, range(len(value))))
        for field, member in zip(fields, value, strict=True):
            _collect(f"{name}.{field}", member, found)


def _blocks(found: list[tuple[str, np.ndarray, int]]) -> list[_Block]:
    """Pieces of memory that do not overlap, each with the arrays that lie in it.  Empty arrays are pieces of their own."""
    blocks: list[_Block] = []
    filled: _Block | None = None
    for name, array, start in sorted(found, key=lambda item: item[2]):
        if array.nbytes == 0:
            blocks.append(_Block(start))
            blocks[-1].add(name, array, start)
            continue
        if filled is None or start >= filled.end:
            filled = _Block(start)
            blocks.append(filled)
        filled.add(name, array, start)
    return blocks


def _replaced(value: Any, twins: dict[tuple, np.ndarray]) -> Any:
    if isinstance(value, np.ndarray):
        return twins[_address(value), value.shape, value.dtype.char]
    if isinstance(value, tuple):
        members = [_replaced(member, twins) for member in value]
        return type(value)(*members) if hasattr(value, "_fields") else tuple(members)
    return value
