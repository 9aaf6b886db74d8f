"""How every compiled function of the package is compiled and cached.

`inlined`  tiny function on tuples of floats; LLVM always inlines it
`kernel`   a sweep over the bodies; compiled when an entry point first needs it
`apart`    a kernel that few mechanisms need: LLVM never inlines it, so that it does not slow down the loops around its call
`entry`    what Python calls; its machine code is kept on disk

Kernels are compiled without Numba's memory manager: a kernel that tries to allocate does not compile.
"""

import hashlib
import os
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from numba import config, njit
from numba.core.caching import (
    CompileResultCacheImpl,
    FunctionCache,
    InTreeCacheLocator,
    UserProvidedCacheLocator,
    UserWideCacheLocator,
)
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.event import Listener, register

from ..progress import announce_compilation
from .gate import Direct, Entry

__all__ = ["Direct", "Entry", "apart", "entry", "inlined", "kernel", "source_hash"]

_PACKAGE = Path(__file__).resolve().parent.parent
_COMPILED_ROOMS = ("compiling", "lie", "symbolic", "joints", "kernels", "yardsticks")

# contract: fused multiply-add; nsz: -0.0 may become 0.0.  Neither removes a check for NaN or infinity.
_OPTIONS = {"fastmath": {"contract", "nsz"}, "error_model": "numpy", "_nrt": False, "no_cfunc_wrapper": True}


class _PartOfAnEntry(JITCodeLibrary):
    """Intermediate code that is only ever linked into an entry point.

    Numba would optimise every inner function and turn it into machine code on its own, and then do it again for each
    function that calls it.  Leaving that out halves the time of the first simulation on a new machine.
    """

    def _optimize_final_module(self):
        pass

    def _finalize_final_module(self):
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, name):
        self._ensure_finalized()
        return 0

    @property
    def codegen(self):
        return self

    def set_env(self, name, env):
        """Nothing to set: the function has no address of its own."""


class _InnerCompiler(Compiler):
    def define_pipelines(self):
        self.state.library = _PartOfAnEntry(self.state.targetctx.codegen(), self.state.func_id.func_qualname)
        return super().define_pipelines()


class _ApartLibrary(_PartOfAnEntry):
    def add_ir_module(self, ir_module):
        for function in ir_module.functions:
            if not function.is_declaration and "alwaysinline" not in function.attributes:
                function.attributes.add("noinline")
        super().add_ir_module(ir_module)


class _ApartCompiler(Compiler):
    def define_pipelines(self):
        self.state.library = _ApartLibrary(self.state.targetctx.codegen(), self.state.func_id.func_qualname)
        return super().define_pipelines()


_INNER = {**_OPTIONS, "no_cpython_wrapper": True, "pipeline_class": _InnerCompiler}


@lru_cache(maxsize=1)
def source_hash() -> str:
    """Hash of all sources that compiled code is made of.

    Numba checks only the file of the entry point itself, but kernels are inlined from many files: an edit in
    any of them must invalidate the machine code of all entry points.
    """
    digest = hashlib.sha256()
    for room in _COMPILED_ROOMS:
        for path in sorted((_PACKAGE / room).rglob("*.py")):
            digest.update(str(path.relative_to(_PACKAGE)).encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()


class _WholeSourceStamp:
    def get_source_stamp(self):
        return source_hash()


class _UserProvided(_WholeSourceStamp, UserProvidedCacheLocator):
    pass


class _InTree(_WholeSourceStamp, InTreeCacheLocator):
    pass


class _UserWide(_WholeSourceStamp, UserWideCacheLocator):
    pass


class _CacheImpl(CompileResultCacheImpl):
    _locator_classes = [_UserProvided, _InTree, _UserWide]


class _EntryCache(FunctionCache):
    _impl_class = _CacheImpl

    def load_overload(self, sig, target_context):
        try:
            return super().load_overload(sig, target_context)
        except (AttributeError, ImportError):  # an index of an older version, which names classes that have moved since
            self.flush()
            return None


_entries: set = set()


def inlined(function):
    return njit(function, forceinline=True, **_INNER)


def kernel(function):
    return njit(function, **_INNER)


def apart(function):
    return njit(function, **{**_INNER, "pipeline_class": _ApartCompiler})


def entry(function):
    """What Python calls, through the gate (gate.py)."""
    return Entry(function, _dispatcher)


def _dispatcher(function):
    dispatcher = njit(function, nogil=True, **_OPTIONS)
    if not config.DISABLE_JIT and os.environ.get("LEASTACTION_CACHE", "1") != "0":
        with suppress(RuntimeError):  # no writable place for a cache: compile in every process
            dispatcher._cache = _EntryCache(dispatcher.py_func)
    _entries.add(dispatcher)
    return dispatcher


class _Announcer(Listener):
    """Says once per process that an entry point is being compiled from source; a load from the cache says nothing."""

    def __init__(self):
        self.said = False

    def on_start(self, event):
        if not self.said and event.data["dispatcher"] in _entries:
            self.said = True
            announce_compilation()

    def on_end(self, event):
        pass


register("numba:compile", _Announcer())
