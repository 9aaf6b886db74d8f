"""Kernels that choose by number: one branch for every case of a list, written by the machine.

    pose = switch("pose", "kind, param, i, q", [revolute, prismatic, ...])

is the kernel

    def pose(kind, param, i, q):
        if kind == 0:
            return case0(param, i, q)
        if kind == 1:
            ...

with case0 = revolute.pose.  A new case joins the list and nothing else; a case that lacks a function it must have is an error that
names it, when the list is read.
"""

from __future__ import annotations

import inspect
import linecache
from collections.abc import Callable, Sequence
from typing import Any

from .cache import depend_on
from .decorators import inlined, kernel


def switch(
    name: str,
    parameters: str,
    cases: Sequence[Any],
    default: Callable | None = None,
    *,
    doc: str = "",
    inline: bool = False,
    first: int = 0,
) -> Callable:
    """The kernel `name(parameters)` that calls the function `name` of cases[k] where its first parameter is first + k.

    Cases without that function, and numbers that are no case, go to `default`, which gets all parameters, the number too; without a
    default every case needs the function, and the last one is taken without looking at the number.
    """
    choice, *others = [p.strip() for p in parameters.split(",")]
    scope: dict[str, Any] = {}
    lines = [f"def {name}({parameters}):", f'    """{doc or f"{name} of case number `{choice}`."}"""']
    passed = ", ".join(others)
    for k, case in enumerate(cases, start=first):
        function = getattr(case, name, None)
        label = getattr(case, "__name__", repr(case))
        if function is None:
            if default is None:
                raise TypeError(f"{label} has no function {name}({passed}), which every case of this list needs")
            continue
        _check_parameters(function, others, label, name)
        depend_on(function)
        scope[f"{name}_{k}"] = function
        if default is None and k == first + len(cases) - 1:
            lines.append(f"    return {name}_{k}({passed})")
        else:
            lines += [f"    if {choice} == {k}:", f"        return {name}_{k}({passed})"]
    if default is not None:
        scope["otherwise"] = default
        lines.append(f"    return otherwise({parameters})")
    return (inlined if inline else kernel)(_made(name, lines, scope, inline))


def one_of(name: str, numbers: Sequence[int], *, doc: str = "") -> Callable:
    """The inlined test `name(kind)`: is the number one of these?  A comparison with each of them, no more."""
    tests = " or ".join(f"kind == {k}" for k in numbers) or "False"
    return inlined(_made(name, [f"def {name}(kind):", f'    """{doc}"""', f"    return {tests}"], {}, True))


def _made(name: str, lines: list[str], scope: dict[str, Any], inline: bool) -> Callable:
    """The Python function with this source, which tracebacks and `inspect` can show."""
    source, functions = "\n".join(lines) + "\n", tuple(scope.items())
    filename = f"<switch {name} {id(scope)}>"
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    exec(compile(source, filename, "exec"), scope)
    function = scope[name]
    function.__module__ = __name__
    function.made_from = (inline, source), functions  # by which other processes know it (parts.py)
    return function


def _check_parameters(function: Any, wanted: list[str], label: str, name: str) -> None:
    found = list(inspect.signature(getattr(function, "py_func", function)).parameters)
    if len(found) != len(wanted):
        raise TypeError(f"{label}.{name}({', '.join(found)}) should take ({', '.join(wanted)})")
