"""Functions that users write in Python and compiled kernels call by address: compiled when the mechanism is, and tried once before.

Compiled code neither checks indices nor looks at what is returned, and an exception could not leave the time loop.  So every function is
called once in Python, with harmless arguments of the right sizes: what is always wrong is found there and named.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import carray, config, njit
from numpy.typing import NDArray

from ..compiling.address import compile_answer, compile_force
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
    try:
        compiled = compile_force(function)
    except Exception as error:
        raise MechanismError(f"{what} does not compile with Numba as f(t, q, v, tau): {error}") from error
    _try(what, function, arguments, "tau")
    return compiled


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
        raise MechanismError(f"{what} does not compile with Numba: {error}") from error
    return Law(code.address, slopes is not None, code)


def _compiled(law: Any, energy: Any, slopes: Any, count: int) -> Any:
    if config.DISABLE_JIT:  # type: ignore[attr-defined]
        return compile_answer(_plain(law, energy, slopes, count))
    # division by zero gives infinity, which the solver reports
    law, energy, slopes = (njit(function, error_model="numpy") for function in (law, energy, slopes))

    def answer(what, param, pose, twist, t, out, columns):
        T, V, p = carray(pose, (12,)), carray(twist, (6,)), carray(param, (count,))
        R, x = T[:9].reshape((3, 3)), T[9:]
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
        raise MechanismError(f"{what} returns {returned!r}, which would be ignored; add to {out} instead, as in {out}[0] += 1.0")
    if not out and not isinstance(returned, (int, float)):
        raise MechanismError(f"{what} returns {returned!r}; it needs to return one number, in J")


def _sizes(arguments: dict[str, Any]) -> str:
    """How many entries each array has; those of equal size together."""
    names: dict[tuple[int, ...], list[str]] = {}
    for name, value in arguments.items():
        if isinstance(value, np.ndarray):
            names.setdefault(value.shape, []).append(name)
    counted = [(" and ".join(same), "has" if len(same) == 1 else "have", " x ".join(map(str, shape))) for shape, same in names.items()]
    return ", ".join(f"{who} {have} {count} entries" for who, have, count in counted)
