"""Very long programs: a list of operations that one compiled loop goes through, in place of machine code of their own.

LLVM takes about a millisecond per statement, so that ten thousand terms would take half a minute, and runs hardly faster than the loop:
what such a program costs is fetching it from memory.  A step of the list is (operation, where to, from, from, from), places in a short
memory on the stack that are used again as soon as what stood there is not needed any more.
"""

from __future__ import annotations

import base64
import math
import zlib
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numba import config

from ..compiling.address import integers_at, pointer_at
from ..compiling.decorators import apart
from ..lie.trig import half_sincos, sincos

if TYPE_CHECKING:  # it brings SymPy, which simulations do not need
    from .program import Block

LONG = 6000  # nodes, from which on a block becomes a list

_ORDER = ("number", "add", "sub", "mul", "div", "neg", "sincos", "half_sincos", "lt", "select", "sqrt", "exp", "log", "sinh", "cosh",
          "atan2", "abs", "sign", "floor", "expm1", "log1p")  # fmt: skip
(NUMBER, ADD, SUB, MUL, DIV, NEG, SINCOS, HALF_SINCOS, LT, SELECT, SQRT, EXP, LOG, SINH, COSH, ATAN2, ABS, SIGN, FLOOR, EXPM1,
 LOG1P) = range(21)  # fmt: skip
_OPERATION = {name: k for k, name in enumerate(_ORDER)}
_PAIRS = {"sin": ("sincos", 0), "cos": ("sincos", 1), "half_sin": ("half_sincos", 0), "half_cos": ("half_sincos", 1)}
_TWIN = {"sin": "cos", "cos": "sin", "half_sin": "half_cos", "half_cos": "half_sin"}
WIDTH = 5


class Tape:
    """Operations and numbers of a program, to be kept as long as it is used; `code`, `length`, `numbers` are what `interpret` takes."""

    def __init__(self, text: str):
        raw = zlib.decompress(base64.b64decode(text))
        length, count = np.frombuffer(raw, "<i8", 2)
        self._numbers = np.frombuffer(raw, "<f8", count, 16).astype(np.float64)
        self._code = np.frombuffer(raw, "<i4", WIDTH * length, 16 + 8 * count).astype(np.int64)
        self.length = int(length)
        plain = config.DISABLE_JIT  # type: ignore[attr-defined]
        self.code = self._code.tolist() if plain else self._code.ctypes.data
        self.numbers = self._numbers.tolist() if plain else self._numbers.ctypes.data


class _Recorder:
    """Goes through the nodes of a block once and gives each a place."""

    def __init__(self, block: Block, loads: Mapping[str, str]):
        self.graph = g = block.graph
        outputs = [n for _, n in block.writes]
        order = g.needed_together(outputs)
        self.last = {n: k for k, n in enumerate(order)} | dict.fromkeys(outputs, len(order))  # when a node is needed last
        for k, n in enumerate(order):
            if g.op[n] not in ("const", "input"):
                self.last.update((a, max(k, self.last[a])) for a in g.args[n])
        self.code: list[tuple[int, ...]] = []
        self.numbers: list[float] = []
        self.lines: list[str] = []
        self._place: dict = {}
        self._free: list[int] = []
        self.size = 0
        for n in order:
            if g.op[n] == "input":
                self.lines.append(f"M[{self._new(n)}] = {loads[g.args[n][0]]}")
        for k, n in enumerate(order):
            if g.op[n] not in ("const", "input"):
                self._step(n)
                self._release(k, g.args[n])
        self.writes = [f"{target} = M[{self._at(n)}]" for target, n in block.writes]

    def _new(self, key) -> int:
        if self._free:
            place = self._free.pop()
        else:
            place, self.size = self.size, self.size + 1
        self._place[key] = place
        return place

    def _at(self, n: int) -> int:
        """Where a node stands; a number is fetched when it is first needed."""
        if n not in self._place:
            self.code.append((NUMBER, self._new(n), len(self.numbers), 0, 0))
            self.numbers.append(self.graph.args[n][0])
        return self._place[n]

    def _step(self, n: int) -> None:
        op, args = self.graph.op[n], self.graph.args[n]
        places = [self._at(a) for a in args]
        if op not in _PAIRS:
            self.code.append((_OPERATION[op], self._new(n), *places, *[0] * (3 - len(places))))
            return
        function, which = _PAIRS[op]
        pair = (function, args[0])
        if pair not in self._place:
            self._place[pair] = -1  # done
            twin = self.graph.known(_TWIN[op], args[0])  # the cosine that comes with a sine, or the other way round
            own, other = self._new(n), self._new(twin)
            self.code.append((_OPERATION[function], *((own, places[0], other) if which == 0 else (other, places[0], own)), 0))
            if twin not in self.last:
                self._free.append(self._place.pop(twin))

    def _release(self, k: int, nodes) -> None:
        """Places of what is not needed after the step k are free."""
        for n in {*nodes}:
            if self.last[n] <= k and n in self._place:
                self._free.append(self._place.pop(n))

    def text(self) -> str:
        raw = np.array([len(self.code), len(self.numbers)], "<i8").tobytes() + np.array(self.numbers, "<f8").tobytes()
        return base64.b64encode(zlib.compress(raw + np.array(self.code, "<i4").tobytes(), 1)).decode()


def is_long(block: Block) -> bool:
    return len(block.graph.needed([n for _, n in block.writes])) > LONG


def function(name: str, arguments: str, doc: str, block: Block, loads: Mapping[str, str], end: tuple[str, ...] = ()) -> str:
    """Source of a function that goes through the list of a block, and of the list."""
    recorder = _Recorder(block, loads)
    text = recorder.text()
    rows = [f'    "{text[k : k + 120]}"' for k in range(0, len(text), 120)]
    head = [f"{name}_tape = Tape(", *rows, ")", *(f"{name}_{part} = {name}_tape.{part}" for part in ("code", "length", "numbers"))]
    go = f"interpret({name}_code, {name}_length, {name}_numbers, M)"
    lines = [f'"""{doc}"""', f"M = stack({max(1, recorder.size)})", *recorder.lines, go, *recorder.writes, *end]
    return "\n".join([*head, "on_disk = False  # the code knows where the list is", "", "", "@kernel", f"def {name}({arguments}):",
                      *(f"    {line}" for line in lines)])  # fmt: skip


@apart
def _interpret(code, length, numbers, M):
    i = 0
    for _ in range(length):
        op, to, x = code[i], code[i + 1], code[i + 2]
        if op == NUMBER:
            M[to] = numbers[x]
        elif op == MUL:
            M[to] = M[x] * M[code[i + 3]]
        elif op == ADD:
            M[to] = M[x] + M[code[i + 3]]
        elif op == SUB:
            M[to] = M[x] - M[code[i + 3]]
        elif op == NEG:
            M[to] = -M[x]
        elif op == SINCOS:
            s, c = sincos(M[x])
            M[to] = s
            M[code[i + 3]] = c
        elif op == HALF_SINCOS:
            s, c = half_sincos(M[x])
            M[to] = s
            M[code[i + 3]] = c
        elif op == DIV:
            M[to] = M[x] / M[code[i + 3]]
        elif op == LT:
            M[to] = 1.0 if M[x] < M[code[i + 3]] else 0.0
        elif op == SELECT:
            M[to] = M[code[i + 3]] if M[x] != 0.0 else M[code[i + 4]]
        elif op == SQRT:
            M[to] = math.sqrt(M[x])
        elif op == EXP:
            M[to] = math.exp(M[x])
        elif op == LOG:
            M[to] = math.log(M[x])
        elif op == SINH:
            M[to] = math.sinh(M[x])
        elif op == COSH:
            M[to] = math.cosh(M[x])
        elif op == ATAN2:
            M[to] = math.atan2(M[x], M[code[i + 3]])
        elif op == ABS:
            M[to] = abs(M[x])
        elif op == SIGN:
            M[to] = math.copysign(1.0, M[x]) if M[x] != 0.0 else 0.0
        elif op == FLOOR:
            M[to] = M[x] - M[x] % 1.0
        elif op == EXPM1:
            M[to] = math.expm1(M[x])
        elif op == LOG1P:
            M[to] = math.log1p(M[x])
        i += WIDTH


@apart
def _interpret_at(code, length, numbers, M):
    _interpret(integers_at(code), length, pointer_at(numbers), M)  # type: ignore[call-arg]


#: (code, length, numbers, M) of a Tape and the memory it works in
interpret = _interpret if config.DISABLE_JIT else _interpret_at  # type: ignore[attr-defined]
