"""Everything of Numba that is not its public interface, behind one switch.

With LEASTACTION_PUBLIC_NUMBA=1, or where a Numba of another version does not have these parts, only the public interface is used: plain
`njit` and `numba.extending.intrinsic`.  The numbers are the same; compiling takes several times as long and steps are slower.

What the private parts give:
  kernels without code of their own   Numba would optimise every inner function, turn it into machine code, and do it again for each
                                      function that calls it; leaving that out halves the time of the first simulation on a new machine
  kernels without a memory manager    one that tries to allocate does not compile
  memory.py, straight.py              vector instructions by name, and generated code without type inference
  memory that is given back           intermediate code of finished functions, and what was compiled for one generated module only
  files with checksums                damaged files of the cache are found before they are used; writing never fails a run
  kernels shared by entry points      what another entry point has compiled is taken from the disk (parts.py)
  intermediate code in the wheel      a new machine leaves out all but the last part of compiling (bitcode.py)
"""

from __future__ import annotations

import os
import pickle
import time
import warnings
import weakref
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from functools import partial
from typing import Any

from ..progress import Compilation, announce_compilation
from . import bitcode, files, parts

# contract: fused multiply-add; nsz: -0.0 may become 0.0.  Neither removes a check for NaN or infinity.
PUBLIC_OPTIONS: dict[str, Any] = {"fastmath": {"contract", "nsz"}, "error_model": "numpy"}

#: are the private parts used?
AVAILABLE = os.environ.get("LEASTACTION_PUBLIC_NUMBA", "0") in ("", "0")

if AVAILABLE:
    try:
        from llvmlite.binding import Linkage, parse_bitcode
        from numba.core import ccallback, cgutils, dispatcher, types
        from numba.core.caching import FunctionCache, IndexDataCacheFile
        from numba.core.codegen import JITCodeLibrary
        from numba.core.compiler import Compiler, Flags
        from numba.core.compiler_lock import global_compiler_lock
        from numba.core.event import Listener, register
        from numba.core.serialize import dumps
        from numba.core.targetconfig import ConfigStack

        from .numba_lean import lean, needed_passes
    except (ImportError, AttributeError) as error:
        AVAILABLE = False
        warnings.warn(
            f"this version of Numba lacks a part that leastaction is built on ({error}); its public interface is used instead, "
            "which is slower",
            RuntimeWarning,
            stacklevel=2,
        )

#: dispatchers whose compilation is announced
announced: weakref.WeakSet[Any] = weakref.WeakSet()
#: dispatchers of all kernels
kernels: weakref.WeakSet[Any] = weakref.WeakSet()

if AVAILABLE:

    class PartOfAnEntry(JITCodeLibrary):
        """Intermediate code that is only ever linked into an entry point, once: Numba would link into every function all that it calls,
        and optimise each fully before it optimises the entry as a whole."""

        key: str | None = None  #: by which other processes know it (parts.py)

        def _optimize_functions(self, ll_module):
            ll_module.data_layout = self._codegen._data_layout
            for function in ll_module.functions:
                if not function.is_declaration:
                    passes, builder = self._codegen._function_pass_manager(opt=2, loop_vectorize=False, slp_vectorize=False)
                    passes.run(function, builder)

        def finalize(self):
            self._raise_if_finalized()
            for library in self._linking_libraries:
                self._reload_init.update(library._reload_init)
            self._finalize_dynamic_globals()
            self._finalized = True

        def _get_module_for_linking(self):
            """This part and all that it calls."""
            if self._shared_module is None:
                whole, defined = self._own_module().clone(), set()
                for library in self._below():
                    part = library._own_module() if isinstance(library, PartOfAnEntry) else library._get_module_for_linking()
                    defined.update(f.name for f in part.functions if not f.is_declaration)
                    whole.link_in(part, preserve=True)
                missing = [f.name for f in whole.functions if f.is_declaration and f.name in defined]
                if missing:
                    raise AssertionError(f"{missing} would be called at no address")
                self._shared_module = whole
            return self._shared_module

        def _own_module(self):
            """Its functions alone, in a form that may be linked several times."""
            for function in self._final_module.functions:
                if not function.is_declaration and function.linkage == Linkage.external:
                    function.linkage = "linkonce_odr"
            return self._final_module

        def _below(self):
            """All libraries that it calls, each after all that call it: LLVM links only what is called by what it has already linked."""
            after: dict = {}  # callees first

            def visit(library):
                if isinstance(library, PartOfAnEntry):
                    for callee in library._linking_libraries:
                        if callee not in after:
                            visit(callee)
                after[library] = None

            visit(self)
            return list(after)[-2::-1]

        def get_pointer_to_function(self, name):
            self._ensure_finalized()
            return 0

        @property
        def codegen(self):
            return self

        def set_env(self, name, env):
            """Nothing to set: the function has no address of its own."""

    class ApartLibrary(PartOfAnEntry):
        def add_ir_module(self, ir_module):
            for function in ir_module.functions:
                if not function.is_declaration and "alwaysinline" not in function.attributes:
                    function.attributes.add("noinline")
            super().add_ir_module(ir_module)

    class _EntryLibrary(JITCodeLibrary):
        """An entry point with its parts, which belong to it alone: LLVM inlines what is called once, drops what is not called, and passes
        arguments as it likes.

        Parts leave no symbol behind (private, not internal): the loader finds internal functions by name, too, and would have other
        functions around the same kernels, which bring their own copy with all its arguments, call this one.
        """

        optimised: bytes | None = None  #: with its parts, as it is turned into machine code; of those that are collected

        def _optimize_final_module(self):
            direct = [part for part in self._linking_libraries if isinstance(part, PartOfAnEntry)]
            parts = {part for first in direct for part in (first, *first._below()) if isinstance(part, PartOfAnEntry)}
            own = {f.name for part in parts for f in part._final_module.functions if not f.is_declaration}
            for function in self._final_module.functions:
                if function.name in own and not function.is_declaration:
                    function.linkage = "private"
            super()._optimize_final_module()
            if bitcode.collecting():
                self.optimised = self._final_module.as_bitcode()

        @classmethod
        def machine_code(cls, codegen, name, optimised):
            """What `optimised` was collected for, in the form in which Numba keeps libraries."""
            library = cls(codegen, name)
            library._final_module = parse_bitcode(optimised)
            library._final_module.verify()
            library._finalized = True  # but it is not loaded: what is loaded is what is kept
            return name, "object", (codegen._tm.emit_object(library._final_module), library._get_module_for_linking().as_bitcode())

    class _InnerCompiler(Compiler):
        library: type = PartOfAnEntry

        def define_pipelines(self):
            state = self.state
            state.library = self.library(state.targetctx.codegen(), state.func_id.func_qualname)
            state.library.key = parts.asked.pop(state.func_id.func, None)
            if state.library.key:
                state.func_id.unique_id = state.library.key  # the same name in LLVM in every process
            pipelines = super().define_pipelines()
            for pipeline in pipelines:
                pipeline.passes[:] = needed_passes(pipeline.passes, state.func_id.func)
            return pipelines

    class _ApartCompiler(_InnerCompiler):
        library = ApartLibrary

    class _EntryCompiler(_InnerCompiler):
        library = _EntryLibrary

        def define_pipelines(self):
            pipelines = super().define_pipelines()
            self.state.library.enable_object_caching()  # its machine code is kept on disk
            return pipelines

    @contextmanager
    def lean_compilation() -> Iterator[None]:
        """What Numba compiles inside takes less time and leaves less behind.  One thread at a time, as Numba itself is changed."""
        with global_compiler_lock, lean(), parts.store:
            yield

    @contextmanager
    def as_called_by(callers: list[Any]) -> Iterator[None]:
        """A kernel is compiled as when Numba meets it while these are being compiled, each called by the one before: inside an inlined
        function everything is inlined."""
        with ExitStack() as stack:
            for caller in callers:
                flags = Flags()
                caller.targetdescr.options.parse_as_flags(flags, caller.targetoptions)
                stack.enter_context(ConfigStack().enter(flags))
            yield

    @global_compiler_lock
    def forget_intermediate_code(library: Any) -> None:
        """Give back what the engine keeps of a finished function beside its machine code: a megabyte and more."""
        if library is None:
            return
        engine = library._codegen._engine._ee
        for part in (library, *library._linking_libraries):
            module = getattr(part, "_final_module", None)
            if not isinstance(part, PartOfAnEntry) and module in engine._modules:
                engine.remove_module(module)
                module.close()

    @global_compiler_lock
    def forget_versions_for(entry: Any, modules: Callable[[str], bool]) -> None:
        """Once an entry point of a generated module is machine code: forget the versions of kernels that only it needed, those of its own
        module and those of others for functions of it; and let Numba hold the entry itself no longer than we do."""
        for kernel in list(kernels):
            own = modules(kernel.py_func.__module__)
            for signature in [s for s in kernel.overloads if own or any(_mentions(t, modules) for t in s)]:
                _unlist(kernel, kernel.overloads.pop(signature))
        while entry.overloads:  # which a finalizer of Numba would keep for ever
            _unlist(entry, entry.overloads.popitem()[1])

    def _unlist(dispatcher: Any, version: Any) -> None:
        with suppress(KeyError):
            dispatcher.targetctx.remove_user_function(version.entry_point)

    def _mentions(kind: Any, modules: Callable[[str], bool]) -> bool:
        if isinstance(kind, types.Dispatcher):
            try:
                return modules(kind.dispatcher.py_func.__module__)
            except ReferenceError:  # it is gone, and nobody can ask for this version any more
                return True
        return isinstance(kind, types.BaseTuple) and any(_mentions(t, modules) for t in kind)

    class _CheckedFile(IndexDataCacheFile):
        """Index and data with checksums.  Data have names of their own: two processes that save at once do not mix theirs up."""

        def load(self, key):
            name = self._load_index().get(key)
            return None if name is None else self._unpickled(self._data_path(name))

        def save(self, key, data):
            name = self._data_name(int.from_bytes(os.urandom(7)))
            if files.write(self._data_path(name), self._dump(data)):
                self._save_index({**self._load_index(), key: name})

        def _load_index(self):
            found = self._unpickled(self._index_path)
            if found is None or found[:2] != (self._version, self._source_stamp):
                return {}
            with suppress(OSError):
                os.utime(self._index_path)  # what is used is not evicted
            return found[2]

        def _save_index(self, overloads):
            files.write(self._index_path, dumps((self._version, self._source_stamp, overloads)))

        @staticmethod
        def _unpickled(path):
            content = files.read(path)
            try:
                return None if content is None else pickle.loads(content)
            except Exception:  # written by something else
                files.discard(path)
                return None

    class _CheckedCache(FunctionCache):
        """A cache that never fails a compilation, and looks for intermediate code where it has no machine code."""

        def __init__(self, py_func, shelf=None):
            super().__init__(py_func)
            self._shelf = shelf
            self._cache_file = _CheckedFile(self._cache_path, self._impl.filename_base, self._impl.locator.get_source_stamp())

        def save_overload(self, sig, data):
            try:
                super().save_overload(sig, data)
                self._collect(sig, data)
            except OSError as error:
                files.say_once("write", f"{self._cache_path} cannot be written to ({error.strerror}); machine code is not kept")

        def _load_overload(self, sig, target_context):
            return super()._load_overload(sig, target_context) or self._from_bitcode(sig, target_context)

        def _from_bitcode(self, sig, target_context):
            """Machine code for this processor from the intermediate code for all; None if there is none."""
            codegen = target_context.codegen()
            found = self._shelf and self._shelf.take(self._impl.filename_base, self._key_of_all(sig, codegen))
            if not found:
                return None
            path, (name, optimised, rest) = found
            began, what = time.perf_counter(), _words(self._py_func)
            announce_compilation(what, quick=True)
            try:
                data = (_EntryLibrary.machine_code(codegen, name, optimised), *rest)
                whole = self._impl.rebuild(target_context, data)
            except Exception:  # LLVM cannot read it, or it is something else: never the reason why a simulation fails
                self._shelf.refuse(path)
                return None
            self._cache_file.save(self._index_key(sig, codegen), data)
            announce_compilation(what, time.perf_counter() - began)
            return whole

        def _collect(self, sig, data):
            optimised = getattr(data.library, "optimised", None)
            if self._shelf and optimised and self._impl.check_cachable(data):
                (name, _, _), *rest = self._impl.reduce(data)
                rest[5] = ""  # the listing of types, long and never looked at
                key = self._key_of_all(sig, data.codegen)
                self._shelf.put(self._impl.filename_base, key, dumps((key, (name, optimised, rest))))
                data.library.optimised = None

        def _key_of_all(self, sig, codegen):
            """The same for all processors."""
            sig, (triple, _, _), code = self._index_key(sig, codegen)
            return sig, triple, code

    @contextmanager
    def checked_cache(shelf: bitcode.Shelf | None = None) -> Iterator[None]:
        """What Numba decorates with cache=True inside has a cache with checksums; shelf: where intermediate code may be."""
        before = [(module, module.FunctionCache) for module in (dispatcher, ccallback)]
        for module, _ in before:
            module.FunctionCache = partial(_CheckedCache, shelf=shelf)
        try:
            yield
        finally:
            for module, original in before:
                module.FunctionCache = original

    class _Announcer(Listener):
        """Says which entry point is being compiled from source, how far it is and how long it took; a load from the cache says nothing."""

        def __init__(self):
            self.told: dict[Any, Compilation] = {}  # one at a time, by Numba's lock; but some call others

        def on_start(self, event):
            what = event.data["dispatcher"]
            if what in announced:
                announce_compilation(_words(what.py_func))
                self.told[what] = Compilation(_words(what.py_func))
                parts.store.begin(what, event.data["args"])

        def on_end(self, event):
            told = self.told.pop(event.data["dispatcher"], None)
            if told is not None:
                told.end()
            taken, parts.store.taken = parts.store.taken, 0
            for outer in tuple(self.told.values()):
                outer.add(1 + taken)

    def _words(function: Callable[..., Any]) -> str:
        """kernels.stepping.variational.run, or lanes8_exp.run of a generated module."""
        module = function.__module__.removeprefix("leastaction.")
        return f"{module[len('leastaction_') : -21] if module.startswith('leastaction_') else module}.{function.__name__}"

    register("numba:compile", _Announcer())
    ENTRY = {**PUBLIC_OPTIONS, "_nrt": False, "no_cfunc_wrapper": True, "pipeline_class": _EntryCompiler}
    KERNEL = {**ENTRY, "no_cpython_wrapper": True, "pipeline_class": _InnerCompiler}
    INLINED = {**KERNEL, "forceinline": True}
    APART = {**KERNEL, "pipeline_class": _ApartCompiler}
else:
    cgutils = None

    def forget_intermediate_code(library: Any) -> None:
        """Numba keeps it."""

    def forget_versions_for(entry: Any, modules: Callable[[str], bool]) -> None:
        """Numba keeps them."""

    checked_cache = lean_compilation = as_called_by = nullcontext  # which takes an argument too
    ENTRY = KERNEL = INLINED = APART = PUBLIC_OPTIONS
