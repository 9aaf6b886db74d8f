"""How Numba takes kernels from the disk and leaves them there: the private side of parts.py."""

from __future__ import annotations

import hashlib
import io
import pickle
import sys
import weakref
from typing import Any

from . import parts
from .numba_private import AVAILABLE

if AVAILABLE:
    from llvmlite.binding import parse_bitcode
    from numba.core import funcdesc, types
    from numba.core.caching import NullCache
    from numba.core.codegen import JITCodeLibrary
    from numba.core.compiler import CompileResult
    from numba.core.environment import Environment
    from numba.core.runtime import rtsys

    from .numba_private import ApartLibrary, PartOfAnEntry

    _KINDS = (PartOfAnEntry, ApartLibrary, JITCodeLibrary)  # the last: what Numba itself has compiled, max() of two numbers for example
    _RUNTIME = "runtime"  # Numba's own library, in place of a key
    _GIVEN = {"typemap": None, "calltypes": None, "global_dict": None, "doc": ""}  # what only compiling needs

    _here: weakref.WeakValueDictionary[str, Any] = weakref.WeakValueDictionary()  # libraries of this process, by key

    class _Missing(Exception):
        """It is on no disk."""

    class _Cache(NullCache):
        """What Numba asks before and tells after it compiles a version of a kernel."""

        def __init__(self, dispatcher: Any):
            self._dispatcher = weakref.ref(dispatcher)

        def load_overload(self, sig: Any, target_context: Any) -> Any:
            dispatcher, codegen = self._dispatcher(), target_context.codegen()
            key = parts.key_of(dispatcher, tuple(sig), codegen.magic_tuple()) if parts.store.is_open and isinstance(sig, tuple) else None
            if key is None:
                return None
            try:
                library = _library(codegen, key)
                description, result = _Unpickler(io.BytesIO(_found(key)[-1])).load()
            except _Missing:
                parts.asked[dispatcher.py_func] = key
                return None
            descriptor = funcdesc.PythonFunctionDescriptor.__new__(funcdesc.PythonFunctionDescriptor)
            for name, value in (description | _GIVEN | {"restype": result, "argtypes": tuple(sig)}).items():
                setattr(descriptor, name, value)
            environment = Environment.from_fndesc(descriptor)
            parts.store.taken += 1
            return CompileResult(
                target_context=target_context, typing_context=target_context.typing_context, library=library, environment=environment,
                entry_point=target_context.get_executable(library, descriptor, environment), fndesc=descriptor, type_annotation="",
                signature=result(*sig), objectmode=False, lifted=(), typing_error=None, call_helper=None, metadata=None, reload_init=(),
                referenced_envs=(),
            )  # fmt: skip

        def save_overload(self, sig: Any, data: Any) -> None:
            library = data.library
            if library.key is None:
                return
            try:
                below = [_key_of_library(callee) for callee in library._linking_libraries]
            except _Missing:
                library.key = None
                return
            names = set(funcdesc.FunctionDescriptor.__slots__) - {*_GIVEN, "restype", "argtypes"}
            stream = io.BytesIO()
            _Pickler(stream).dump(({name: getattr(data.fndesc, name) for name in names}, data.signature.return_type))
            _keep(library.key, library, below, stream.getvalue())

    class _Pickler(pickle.Pickler):
        def persistent_id(self, thing: Any) -> Any:
            """Functions by name: they are not made anew."""
            return parts.name_of(thing.dispatcher) if isinstance(thing, types.Dispatcher) else None

    class _Unpickler(pickle.Unpickler):
        def persistent_load(self, name: Any) -> Any:
            module, function = name
            return types.Dispatcher(getattr(sys.modules[module], function))

    def _found(key: str) -> tuple[Any, ...]:
        part = parts.store.find(key)
        if part is None:
            raise _Missing
        return pickle.loads(part)

    def _library(codegen: Any, key: str) -> Any:
        """The library with this key and all that it calls, of this process or from the disk."""
        if key == _RUNTIME:
            return rtsys.library
        library = _here.get(key)
        if library is None:
            kind, name, code, below, _ = _found(key)
            callees = [_library(codegen, callee) for callee in below]
            library = _KINDS[kind](codegen, name)
            if isinstance(library, PartOfAnEntry):
                library._final_module, library.key = parse_bitcode(code), key
            else:
                library._shared_module = parse_bitcode(code)
            library._linking_libraries[:] = callees
            library._finalized = True  # it is only ever linked into an entry point
            _here[key] = library
        return library

    def _key_of_library(library: Any) -> str:
        if isinstance(library, PartOfAnEntry):
            if library.key is None:
                raise _Missing
            return library.key
        if library is rtsys.library:
            return _RUNTIME
        code = library._get_module_for_linking().as_bitcode()
        key = hashlib.sha256(code).hexdigest()[:24]
        if key not in _here:
            if library._reload_init:  # more than code
                raise _Missing
            parts.store.add(key, pickle.dumps((_KINDS.index(JITCodeLibrary), library.name, code, [], b"")))
            _here[key] = library
        return key

    def _keep(key: str, library: Any, below: list[str], rest: bytes) -> None:
        if library._reload_init or library._dynamic_globals:  # more than code
            library.key = None
            return
        code = library._own_module().as_bitcode()
        parts.store.add(key, pickle.dumps((_KINDS.index(type(library)), library.name, code, below, rest)))
        _here[key] = library

    def share(dispatcher: Any) -> None:
        """From now on its versions are taken from the disk where another process has compiled them."""
        dispatcher._cache = _Cache(dispatcher)

else:

    def share(dispatcher: Any) -> None:
        """Numba's public interface keeps entry points only."""
