"""Functions that users write in Python and compiled kernels call by address: compiled when the mechanism is, and tried once before.

Every function is called once in Python, with harmless arguments of the right sizes: what is always wrong is found there and named.  In
compiled code it checks its indices and cannot write to what it may only read.  An exception cannot leave the time loop: the function gives
NaN then, which ends the run, and `explain_failure` finds the exception again.
"""

from __future__ import annotations

import inspect
import traceback
import typing
import weakref
from collections import deque
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from types import FunctionType, ModuleType
from typing import Any

import numpy as np
from numba import carray, config
from numpy.typing import NDArray

from ..checks import shown
from ..compiling.address import compile_answer, compile_force, compile_users, read_only
from ..errors import MechanismError
from ..kernels.forces.laws import ENERGY, SLOPES, WRENCH

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Law:
    """Compiled functions of a force on a body; to be kept as long as their address is in use."""

    address: int
    has_slopes: bool
    code: Any


def compile_joint_force(function: Callable[..., None], neutral: Array, nv: int) -> Any:
    """function(t, q, v, tau) of a CustomForce; the result has an `address`."""
    function = _python(function)
    what = f"CustomForce {_name(function)}"
    arguments = {"t": np.float64(0.0), "q": neutral.copy(), "v": np.zeros(nv), "tau": np.zeros(nv)}
    _check_arguments(what, function, arguments)
    _try(what, function, arguments, "tau")
    try:
        compiled = once(compile_force, function)
    except Exception as error:
        raise MechanismError(f"{what} does not compile with Numba as f(t, q, v, tau): {_cannot(error, 'q and v')}") from error
    compiled.function = function
    return compiled


def explain_failure(code: Any) -> str:
    """Why the function of a CustomForce gave up in compiled code, in words; empty if it did not."""
    trace = getattr(code, "trace", None)
    if trace is None or trace[0] == 0.0:
        return ""
    trace[0], t, nq, nv = 0.0, float(trace[1]), int(trace[2]), int(trace[3])
    what = f"CustomForce {_name(code.function)} raised an exception at t = {t:g} s"
    if 4 + nq + nv > len(trace):
        return what
    q, v = trace[4 : 4 + nq].copy(), trace[4 + nq : 4 + nq + nv].copy()
    try:
        with np.errstate(all="ignore"):
            code.function(t, q, v, np.zeros(nv))
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        return f"{what}, {type(error).__name__}: {error}, in line {place.lineno} of {place.filename}: {place.line}"
    return f"{what} with q = {q.tolist()}, v = {v.tolist()}, which it does not raise in Python"


def _cannot(error: Exception, readable: str) -> str:
    """Numba's words, and ours where its words are obscure."""
    return f"it changes one of {readable}, which it may only read" if "readonly array" in str(error) else str(error)


def compile_law(
    what: str, law: Callable[..., None], energy: Callable[..., float] | None, slopes: Callable[..., None] | None, parameters: Array
) -> Law:
    """The functions of `builders.LoadBuilder.add_body_force`, as one that answers the questions of kernels/forces/laws.py."""
    place: dict[str, Any] = {"R": np.eye(3), "x": np.zeros(3)}
    moving = {"t": np.float64(0.0), **place, "V": np.zeros(6), "p": parameters.copy()}
    wanted: list[tuple[str, Any, dict[str, Any], str]] = [("law", law, {**moving, "W": np.zeros(6)}, "W")]
    if energy is not None:
        wanted.append(("energy", energy, {**place, "p": parameters.copy()}, ""))
    if slopes is not None:
        wanted.append(("slopes", slopes, {**moving, "D": np.zeros((6, 12))}, "D"))
    functions = {}
    for role, given, arguments, out in wanted:
        function = _python(given)
        of = f"{what}: its {role} {_name(function)}"
        _check_arguments(of, function, arguments)
        _try(of, function, arguments, out)
        functions[role] = function
    try:
        code = _compiled(functions["law"], functions.get("energy", _no_energy), functions.get("slopes", _no_slopes), len(parameters))
    except Exception as error:
        raise MechanismError(f"{what} does not compile with Numba: {_cannot(error, 'R, x, V and p')}") from error
    return Law(code.address, slopes is not None, code)


#: machine code by what it was made of, while it is in use
_known: weakref.WeakValueDictionary[Hashable, Any] = weakref.WeakValueDictionary()
_last: deque[Any] = deque(maxlen=16)  # what was used last, also after the models that used it


def _compiled(law: Any, energy: Any, slopes: Any, count: int) -> Any:
    if config.DISABLE_JIT:  # type: ignore[attr-defined]
        return once(lambda law, energy, slopes: compile_answer(_plain(law, energy, slopes, count)), law, energy, slopes, also=(count,))
    return once(lambda law, energy, slopes: _compile(law, energy, slopes, count), law, energy, slopes, also=(count,))


def once(compile_functions: Callable[..., Any], *functions: Any, also: tuple[Hashable, ...] = ()) -> Any:
    """compile_functions(*functions), or what it made of the same functions before: equal models run the same machine code."""
    try:
        parts = [_made_of(function) for function in functions]
    except RecursionError:  # functions that call each other
        parts = [None]
    if None in parts:
        return compile_functions(*functions)
    key = (*parts, *also)
    found = _known.get(key)
    if found is None:
        found = _known[key] = compile_functions(*functions)
    _last.append(found)
    return found


def _made_of(function: Any) -> Hashable:
    """All that the machine code of a function depends on: its code and the values it takes from around it; None if that cannot be told."""
    function = _python(function)
    if not isinstance(function, FunctionType):
        return None
    around = inspect.getclosurevars(function)
    values: list[Hashable] = [function.__code__, repr(function.__defaults__)]
    for name, value in sorted({**around.globals, **around.nonlocals}.items()):
        if isinstance(value, ModuleType):
            values.append((name, value.__name__))
        elif isinstance(value, (int, float)):
            values.append((name, type(value), repr(value)))
        else:
            inner = _made_of(value) if value is not function else name
            if inner is None:
                return None
            values.append((name, inner))
    return tuple(values)


def _compile(law: Any, energy: Any, slopes: Any, count: int) -> Any:
    law, energy, slopes = (compile_users(function) for function in (law, energy, slopes))

    @typing.no_type_check
    def answer(what, param, pose, twist, t, out, columns):
        R, x = read_only(carray(pose, (3, 3))), read_only(carray(pose, (12,)))[9:]
        V, p = read_only(carray(twist, (6,))), read_only(carray(param, (count,)))
        try:
            if what == WRENCH:
                W = carray(out, (6,))
                for k in range(6):
                    W[k] = 0.0
                law(t, R, x, V, p, W)
            elif what == ENERGY:
                out[0] = energy(R, x, p)
            elif what == SLOPES:
                D = carray(columns, (6, 12))
                for r in range(6):
                    for c in range(12):
                        D[r, c] = 0.0
                slopes(t, R, x, V, p, D)
        except Exception:  # cannot leave the time loop
            out[0] = np.nan

    return compile_answer(answer, on_disk=False)


def _plain(law, energy, slopes, count):
    """The same while compilation is switched off."""

    def answer(what, param, pose, twist, t, out, columns):
        T, V, p = np.ravel(pose)[:12], np.ravel(twist)[:6], param[:count]
        R, x = T[:9].reshape(3, 3), T[9:]
        if what == WRENCH:
            W = np.zeros(6)
            law(t, R, x, V, p, W)
            out[:6] = W.tolist()
        elif what == ENERGY:
            out[0] = energy(R, x, p)
        elif what == SLOPES:
            D = np.zeros((6, 12))
            slopes(t, R, x, V, p, D)
            columns[:72] = D.ravel()

    return answer


def _no_energy(R, x, p):
    return 0.0


def _no_slopes(t, R, x, V, p, D):
    pass


def _python(function: Any) -> Any:
    """The source of a function that is compiled already."""
    return getattr(function, "py_func", function)


def _name(function: Any) -> str:
    return repr(getattr(function, "__name__", function))


def _check_arguments(what: str, function: Any, arguments: dict[str, Any]) -> None:
    if not callable(function):
        raise MechanismError(f"{what} is not a function; give one of ({', '.join(arguments)})")
    try:
        inspect.signature(function).bind(*arguments.values())
    except TypeError as error:
        raise MechanismError(f"{what} is called with ({', '.join(arguments)}): {error}") from None
    except ValueError:
        return  # a builtin that does not tell its signature


def _try(what: str, function: Callable, arguments: dict[str, Any], out: str) -> None:
    """Call the Python function once; `out` names what it adds to, or is empty if it returns a number."""
    for name, value in arguments.items():
        if isinstance(value, np.ndarray):
            value.flags.writeable = name == out
    try:
        with np.errstate(all="ignore"):
            returned = function(*arguments.values())
    except IndexError as error:
        raise MechanismError(f"{what}: {error}; here {_sizes(arguments)}") from error
    except ValueError as error:
        if "read-only" in str(error):
            names = ", ".join(name for name in arguments if name != out)
            raise MechanismError(f"{what} changes one of {names}, which it may only read") from error
        return
    except Exception:
        return  # arithmetic at the zero position, which a simulation need not meet
    if out and returned is not None:
        raise MechanismError(f"{what} returns {shown(returned)}, which would be ignored; add to {out} instead, as in {out}[0] += 1.0")
    if not out and not isinstance(returned, (int, float)):
        raise MechanismError(f"{what} returns {shown(returned)}; it needs to return one number, in J")


def _sizes(arguments: dict[str, Any]) -> str:
    """How many entries each array has; those of equal size together."""
    names: dict[tuple[int, ...], list[str]] = {}
    for name, value in arguments.items():
        if isinstance(value, np.ndarray):
            names.setdefault(value.shape, []).append(name)
    counted = [(" and ".join(same), "has" if len(same) == 1 else "have", " x ".join(map(str, shape))) for shape, same in names.items()]
    return ", ".join(f"{who} {have} {count} entries" for who, have, count in counted)
