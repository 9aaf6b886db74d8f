"""How every compiled function of the package is compiled.

`inlined`  tiny function on tuples of floats; LLVM always inlines it
`kernel`   a sweep over the bodies; compiled when an entry point first needs it
`apart`    a kernel that few mechanisms need: LLVM never inlines it, so that it does not slow down the loops around its call
`entry`    what Python calls, through the gate (gate.py); its machine code is kept on disk (cache.py)

Kernels are compiled without Numba's memory manager: a kernel that tries to allocate does not compile.
"""

from pathlib import Path

from numba import config, njit

from . import ahead, cache, parts
from .gate import Direct, Entry
from .numba_parts import share
from .numba_private import APART, ENTRY, INLINED, KERNEL, announced, kernels

parts.store.folder = lambda: cache.directory("parts") if cache.enabled() else None
parts.store.help = ahead.start

__all__ = ["Direct", "Entry", "apart", "entry", "inlined", "kernel"]


def inlined(function):
    return _known(njit(function, **INLINED))


def kernel(function):
    return _known(njit(function, **KERNEL))


def apart(function):
    return _known(njit(function, **APART))


def _known(dispatcher):
    if not config.DISABLE_JIT:
        kernels.add(dispatcher)
        share(dispatcher)
    return dispatcher


def entry(function):
    return Entry(function, _dispatcher)


def _dispatcher(function):
    if config.DISABLE_JIT:
        return function
    kind = "generated" if Path(function.__code__.co_filename).parent.name == "generated" else "entries"
    with cache.storing(kind) as stored:
        try:
            dispatcher = njit(function, nogil=True, cache=stored, **ENTRY)
        except RuntimeError:  # Numba keeps no code of functions without a file: compile in every process
            dispatcher = njit(function, nogil=True, **ENTRY)
    announced.add(dispatcher)
    return dispatcher
