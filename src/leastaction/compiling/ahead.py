"""A second process that compiles what an entry point will need, from the end, while this one compiles it from the beginning.

Most of the time of a first simulation goes into Numba's Python, which one process does on one core.  So where an entry point is on no
disk and there is a core to spare, another process is told which one and for which types of arguments.  It reads what that will call
(reading.py) and begins with what is met last; both leave parts on the disk as they go (parts.py) and look there before they compile, so
they meet somewhere in the middle.  Kernels have the same intermediate code, whoever made them.  But small functions of Numba's own (max,
int) are there twice then, which can make LLVM lay a time loop out in another way; so it is done only where LEASTACTION_AHEAD=1 asks for it.

The other process is of use while the entry point is being compiled, and ends with it: when it is told to, when it is done, when this one
is gone.  It says nothing, and if anything goes wrong there, all is compiled here as if it had never been.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from numba import config

from . import bitcode, cache, canaries, files, gate, parts, reading
from .numba_private import AVAILABLE, as_called_by, lean_compilation

_SWITCH = "LEASTACTION_AHEAD"
_PATIENCE = 1.0  # s in which it has to end when it is told to
_LOOK = 0.5  # s between two looks whether the one that started it is there
_BUSY = 0.5  # a machine of two cores is busy from a load of 1.5 on, of which this process may be 1
_LITTLE = 400  # nodes of syntax trees that a kernel may need and that are nowhere yet, or it waits for the other process to meet them


class Ahead:
    """The other process, as long as it is needed."""

    def __init__(self, job: bytes, label: str):
        self.label = label
        path = [p for p in sys.path if p]
        if str(cache.PACKAGE.parent) not in path:
            path.insert(0, str(cache.PACKAGE.parent))
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path), "LEASTACTION_CACHE_DIR": str(cache.folder()), _SWITCH: "0"}
        command = [sys.executable, "-P", "-c", f"from {__name__} import main; main()", str(os.getpid())]
        nowhere = subprocess.DEVNULL
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=nowhere, stderr=nowhere, env=environment)
        with suppress(OSError):  # it has ended already
            assert self._process.stdin is not None
            self._process.stdin.write(job)
            self._process.stdin.flush()

    def close(self) -> None:
        try:
            with suppress(OSError, subprocess.TimeoutExpired):
                if self._process.stdin is not None:
                    self._process.stdin.close()  # which it takes as the word to go
                self._process.wait(_PATIENCE)
        finally:
            self._process.kill()  # if it is there
            self._process.wait()


def start(entry: Any, arguments: tuple[Any, ...]) -> Ahead | None:
    """Let another process compile parts of this entry point; None if there is nothing to gain, or it cannot be started."""
    if not (_allowed() and entry.py_func.__module__.startswith("leastaction.")):
        return None
    label = os.urandom(8).hex()
    try:
        jobs = [(entry.py_func.__module__, entry.py_func.__qualname__, tuple(arguments)), *_expected(entry, arguments)]
        return Ahead(pickle.dumps((cache.version(), label, jobs)), label)
    except Exception:  # never the reason why something is not compiled
        return None


def _expected(compiled: Any, arguments: tuple[Any, ...]) -> Iterator[tuple[str, str, tuple[Any, ...]]]:
    """What will be asked for when this is compiled."""
    for earlier, later, types in gate.expectations:
        if earlier is None or earlier.py_func is compiled.py_func:
            expected = types(*arguments)
            if expected is not None:
                yield later.py_func.__module__, later.py_func.__qualname__, expected


def _allowed() -> bool:
    plain = AVAILABLE and not (config.DISABLE_JIT or config.BOUNDSCHECK or canaries.ON or bitcode.collecting())
    alone = multiprocessing.parent_process() is None  # or the others of a pool need the cores
    return plain and alone and cache.enabled() and os.environ.get(_SWITCH, "0") not in ("", "0") and _has_a_free_core() and _is_python()


def _has_a_free_core() -> bool:
    """Beside the one of this process: where others keep the cores busy, one more process makes all of them wait."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return cores > 1 and (os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0) < cores - _BUSY


def _is_python() -> bool:
    """Or it is a program that Python is a part of."""
    return "python" in Path(sys.executable or "").name.lower() and not getattr(sys, "frozen", False)


# ------------------------------------------------------------------------------------------------------ in the other process


def main() -> None:
    """Compile what the standard input says, until it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the one that started it
    if hasattr(os, "nice"):
        os.nice(5)  # which comes first
    files.writing = threading.Lock()
    if len(sys.argv) > 1:
        threading.Thread(target=_end_as_orphan, args=(int(sys.argv[1]),), daemon=True).start()
    version, label, jobs = pickle.load(sys.stdin.buffer)
    threading.Thread(target=_end_with_input, daemon=True).start()
    gc.set_threshold(200_000, 1000, 1000)
    if cache.version() == version:
        with lean_compilation():
            parts.store.write_in_pieces(label)
            for module, name, arguments in jobs:
                compile_from_the_end(getattr(import_module(module), name).dispatcher, arguments)
        for module, name, arguments in jobs[1:]:  # the first one is compiled by the other process
            with lean_compilation():
                getattr(import_module(module), name).dispatcher.compile(arguments)
    _end()


def _end_with_input() -> None:
    """The input ends when the other process says so, and when that is gone."""
    with suppress(OSError):
        sys.stdin.buffer.read()
    _end()


def _end_as_orphan(parent: int) -> None:
    """The input does not end while there is a process that was forked by the one that is gone."""
    while os.getppid() == parent:
        time.sleep(_LOOK)
    _end()


def _end() -> None:
    with files.writing:  # no half of a file is left
        os._exit(0)


def compile_from_the_end(entry: Any, arguments: tuple[Any, ...]) -> None:
    """All kernels that an entry point calls, the last one first, but for what needs much that is met earlier."""
    entry.targetctx.refresh()  # as where Numba looks for it on the disk: which of two ways it takes to an entry of a tuple depends on that
    reader = reading.Reader()
    target = entry.targetctx.codegen().magic_tuple()
    calls = reader.read(entry, arguments)[1:]
    left = {call: key for call in calls if (key := parts.key_of(*call, target))}  # others cannot be handed over
    while left:
        call = _next(reader, left)
        if call is not None:
            del left[call]
            with suppress(Exception), as_called_by(reader.way_to(call)):  # if it is not as it was read, it is compiled where it is needed
                call.kernel.compile(call.arguments)
            parts.store.write()


def _next(reader: reading.Reader, left: dict[reading.Call, str]) -> reading.Call | None:
    """The last one that needs little that is nowhere yet; what is somewhere goes from the list."""
    for call in [call for call, key in left.items() if call.arguments in call.kernel.overloads or parts.store.find(key) is not None]:
        del left[call]
    least: tuple[float, reading.Call | None] = float("inf"), None
    for call in reversed(left):
        needed = sum(reading.size(c) for c in reader.below(call) if c in left)
        if needed <= _LITTLE:
            return call
        if needed < least[0]:
            least = needed, call
    return least[1]
