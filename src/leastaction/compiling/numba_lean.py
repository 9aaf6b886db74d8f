"""What is changed in Numba while something of ours is compiled, so that it does less and leaves less behind: an annexe of numba_private.py.

The code that comes out is the same to the instruction.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from types import CodeType
from typing import Any

from llvmlite.binding.newpassmanagers import FunctionPassManager, ModulePassManager, NewPassManager
from numba.core import config, event, funcdesc, typed_passes, types, untyped_passes
from numba.core.codegen import CPUCodegen
from numba.core.targetconfig import TargetConfig
from numba.core.types.functions import BaseFunction

_LONG_NAME = 200  # letters
_USES = 16  # of a pass builder

# passes for what no kernel contains: arrays that are made, blocks `with`, functions to be inlined or taken literally by Numba; and listings
_NEEDLESS = {
    "WithLifting", "InlineInlinables", "FindLiterallyCalls", "LiteralUnroll", "LiteralPropagationSubPipelinePass", "InlineOverloads",
    "NopythonRewrites", "NoPythonSupportedFeatureValidation", "AnnotateTypes", "DumpParforDiagnostics",
}  # fmt: skip
# passes for functions inside of functions
_CLOSURES = {"InlineClosureLikes", "MakeFunctionToJitFunction"}


def needed_passes(passes: list[Any], function: Callable[..., Any]) -> list[Any]:
    """Those of Numba's passes (pass, description) that do something for a kernel."""
    nested = any(isinstance(constant, CodeType) for constant in function.__code__.co_consts)
    needless = _NEEDLESS if nested else _NEEDLESS | _CLOSURES
    return [each for each in passes if not _is_one_of(needless, each[0])]


def _is_one_of(names: set[str], known: Any) -> bool:
    """Is it a pass of Numba of such a name?  Another version of Numba may not have it."""
    return known.__name__ in names and known.__module__ in (typed_passes.__name__, untyped_passes.__name__)


@contextmanager
def lean() -> Iterator[None]:
    """What Numba compiles inside takes less time and leaves less behind.  One thread at a time, as Numba itself is changed."""
    with ExitStack() as stack:
        for change in (_quick_comparison_of_flags, _short_names, _few_pass_builders, _calls_typed_once, _no_timers):
            stack.enter_context(change())
        yield


@contextmanager
def _replaced(owner: Any, **attributes: Any) -> Iterator[None]:
    before = {name: getattr(owner, name) for name in attributes}
    try:
        for name, value in attributes.items():
            setattr(owner, name, value)
        yield
    finally:
        for name, value in before.items():
            setattr(owner, name, value)


@contextmanager
def _quick_comparison_of_flags() -> Iterator[None]:
    """Numba compares the flags of functions tens of thousands of times, each time by making two dictionaries of all options."""
    hash_before, equality_before = TargetConfig.__hash__, TargetConfig.__eq__

    def equal(flags, other):
        return flags is other or (isinstance(other, TargetConfig) and flags._values == other._values) or equality_before(flags, other)

    constants: dict[type, int] = {}  # Numba's hash is one of the names of the options, so the same for all flags of a class

    def constant_hash(flags):
        known = constants.get(type(flags))
        if known is None:
            known = constants[type(flags)] = hash_before(flags)
        return known

    with _replaced(TargetConfig, __hash__=constant_hash, __eq__=equal):
        yield


@contextmanager
def _short_names() -> Iterator[None]:
    """Numba names a function after the types of its arguments, all arrays of all records: some thousand letters in every call of it, to
    be written, read and kept for ever.  Here a long name ends in its hash."""
    long_name = funcdesc.default_mangler

    def short_name(name, argtypes, *, abi_tags=(), uid=None):
        if isinstance(uid, str):  # the key of a part, which says all, and the same in every process; the tags of flags do not
            return long_name(name, (), uid=uid)
        whole = long_name(name, argtypes, abi_tags=abi_tags, uid=uid)
        if len(whole) <= _LONG_NAME:
            return whole
        return f"{long_name(name, (), uid=uid)}_{hashlib.sha256(whole.encode()).hexdigest()[:32]}"

    with _replaced(funcdesc, default_mangler=short_name):
        yield


@contextmanager
def _few_pass_builders() -> Iterator[None]:
    """llvmlite never gives back a kilobyte and a half of each, and Numba makes one for every function.  A builder gets slower with use,
    so it is not kept for long."""
    new_builder = CPUCodegen._pass_builder
    made: dict[Any, list[Any]] = {}

    def shared_builder(codegen, **choices):
        key = (codegen, *sorted(choices.items()))
        if not made.get(key):
            made[key] = [new_builder(codegen, **choices)] * _USES
        return made[key].pop()

    keep = config.LLVM_PASS_TIMINGS  # which are kept by the builder
    with _replaced(CPUCodegen, _pass_builder=new_builder if keep else shared_builder):
        yield


@contextmanager
def _calls_typed_once() -> Iterator[None]:
    """Numba tries all that `+` may mean, for dates and sets too, wherever two numbers are added.  What follows from the types of numbers
    and arrays is found out once."""
    find = BaseFunction.get_call_type
    known: dict[Any, tuple[Any, Any, Any]] = {}  # with the function and the context, so that their places are not given to others

    def get_call_type(function, context, arguments, named):
        if named or not all(isinstance(kind, (types.Number, types.Boolean, types.Literal, types.Array)) for kind in arguments):
            return find(function, context, arguments, named)
        key = id(function), id(context), tuple(arguments)
        if key not in known:
            known[key] = find(function, context, arguments, named), function, context
        return known[key][0]

    with _replaced(BaseFunction, get_call_type=get_call_type):
        yield


@contextmanager
def _no_timers() -> Iterator[None]:
    """Numba measures how long functions wait for its locks: a kernel twenty calls deep is told of every lock twenty times."""
    with _replaced(event, install_timer=lambda kind, callback: nullcontext()):
        yield


for _manager in (FunctionPassManager, ModulePassManager):  # llvmlite wrote how they are disposed of where Python does not find it
    if "_dispose" not in vars(_manager):
        _manager._dispose = NewPassManager._dispose
