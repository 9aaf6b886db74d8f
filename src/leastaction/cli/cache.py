"""`leastaction cache`: where machine code is kept, how much of it there is; clear it, or compile everything in advance, also for others."""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

import leastaction as la

from ..compiling import bitcode, cache
from ..compiling.numba_private import AVAILABLE
from ..errors import LeastActionError

HELP = "show where compiled code is kept, clear it, or compile everything in advance"

_MEANING = {
    "entries": "entry points of the package",
    "parts": "kernels that they share, so that the next one takes less time",
    "generated": "code made for joints, constraints, potentials and mechanisms",
    "old": "of other versions of the sources",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--clear", action="store_true", help="remove all of it; the next simulation compiles again")
    parser.add_argument("--warm", action="store_true", help="compile everything now, which takes some minutes")
    parser.add_argument(
        "--bitcode", metavar="FOLDER",
        help="compile everything from source and keep it there as intermediate code, from which other machines start sooner",
    )  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print what is there as JSON")


def run(arguments: argparse.Namespace) -> None:
    if arguments.clear:
        cache.clear()
    if arguments.bitcode:
        count, size = collect(Path(arguments.bitcode))
        print(f"{arguments.bitcode}: {count} entry points, {_size(size)}")
        return
    if arguments.warm:
        warm()
    print(json.dumps(described(), indent=2) if arguments.json else as_text())


def described() -> dict[str, object]:
    kinds = {kind: {"files": files, "bytes": size} for kind, (files, size) in cache.contents().items()}
    return {
        "folder": str(cache.folder()),
        "version": cache.version(),
        "enabled": cache.enabled(),
        "files": sum(k["files"] for k in kinds.values()),
        "bytes": sum(k["bytes"] for k in kinds.values()),
        "kinds": kinds,
    }


def as_text() -> str:
    contents = cache.contents()
    lines = [f"folder   {cache.folder()}", f"version  {cache.version()}", ""]
    if not cache.enabled():
        lines[1:] = ["switched off by LEASTACTION_CACHE=0: every process compiles for itself", ""]
    lines.append(f"{'':10} {'files':>6} {'size':>10}")
    lines += [f"{kind:10} {files:6d} {_size(size):>10}   {_MEANING[kind]}" for kind, (files, size) in contents.items()]
    total = [sum(column) for column in zip(*contents.values(), strict=True)]
    return "\n".join([*lines, f"{'together':10} {total[0]:6d} {_size(total[1]):>10}"])


def _size(number: float) -> str:
    for unit in ("B", "kB", "MB"):
        if number < 1000.0:
            return f"{number:.0f} {unit}" if unit == "B" else f"{number:.1f} {unit}"
        number /= 1000.0
    return f"{number:.1f} GB"


def collect(folder: Path) -> tuple[int, int]:
    """Intermediate code of all that `warm` compiles, for wheels and shared disks; number of files and their bytes."""
    if not AVAILABLE:
        raise LeastActionError("intermediate code is made with private parts of Numba, which LEASTACTION_PUBLIC_NUMBA=1 switches off")
    folder = folder.absolute()
    with tempfile.TemporaryDirectory() as empty:
        warm(_begin_collecting, str(folder), empty)
    made = [path.stat().st_size for path in (folder / cache.bitcode_version()).glob(f"*{bitcode.SUFFIX}")]
    return len(made), sum(made)


def _begin_collecting(folder: str, empty: str) -> None:
    """In a new process: everything is compiled from source."""
    os.environ |= {"LEASTACTION_CACHE_DIR": empty, "LEASTACTION_BITCODE": "0"}
    bitcode.collect_in(folder)


def warm(*beginning: Any) -> None:
    """Compile every entry point that simulations, batches, `la.dynamics`, `la.discrete` and `la.linearize` use, on all cores.

    beginning: what every process does first, a function and its arguments
    """
    # first two that share little and whose parts most of the others have: two that are made at the same time compile what they share twice
    tasks: list[tuple[Callable[..., str], tuple[str, ...]]] = [(_simulate, ("Maximal", "loop"))]
    tasks += [(_simulate_and_roll_out, ("Variational", "chain"))]
    tasks += [(_simulate_and_roll_out, ("Midpoint", "chain")), (_simulate, ("Variational", "loop"))]
    tasks += [(_simulate_and_roll_out, ("CertifiedStep", "chain"))]
    tasks += [(_simulate, ("Variational", "loop", "midpoint")), (_dynamics, ("chain",)), (_simulate, ("Variational", "driven"))]
    tasks += [(_simulate, ("RK4", "loop")), (_dynamics, ("loop",)), (_simulate, ("Variational", "rolling"))]
    others = [name for name in all_integrators() if name not in ("Variational", "Midpoint", "CertifiedStep")]
    tasks += [(_simulate_and_roll_out, (name, "chain")) for name in others]
    # processes that start afresh: what the first one has loaded does not decide what the others compile
    with ProcessPoolExecutor(os.cpu_count(), get_context("spawn"), beginning[0] if beginning else None, beginning[1:]) as pool:
        for task in as_completed([pool.submit(_timed, *task) for task in tasks]):
            print(task.result(), file=sys.stderr, flush=True)


def all_integrators() -> list[str]:
    """Their names.  Only classes are looked at: a room may need a package that is not installed."""
    return [name for name in la.__all__ if name[0].isupper() and _is_integrator(getattr(la, name))]


def _is_integrator(thing: object) -> bool:
    return isinstance(thing, type) and issubclass(thing, la.Integrator) and thing is not la.Integrator


def _timed(task: Callable[..., str], arguments: tuple[str, ...]) -> str:
    began = time.perf_counter()
    what = task(*arguments)
    return f"{time.perf_counter() - began:6.1f} s  {what}"


def _example(name: str) -> tuple[la.Model, la.State]:
    if name == "chain":
        chain = la.examples.chain(2).compile()
        return chain, chain.state(v=[0.1, 0.2])
    if example_of_its_own := {"driven": _driven, "rolling": la.examples.chaplygin_sleigh}.get(name):
        model = example_of_its_own().compile()
        return model, model.state()
    loop = la.examples.four_bar().compile()
    return loop, loop.state(q=loop.assemble({"rod1": 0.8, "rod2": -2.0, "rod3": -1.3}))


def _driven() -> la.Mechanism:
    """With what is taken at the end of a step: a servo and dry friction."""
    mechanism = la.examples.chain(2)
    mechanism.add_servo(la.Servo("link1", kp=10.0, kd=1.0))
    mechanism.add_force(la.DryFriction("link2", 0.1))
    return mechanism


def _simulate(name: str, example: str, quadrature: str = "") -> str:
    model, state = _example(example)
    integrator = getattr(la, name)(**({"quadrature": quadrature} if quadrature else {}))
    run = la.simulate(model, state, steps=2, dt=1e-3, integrator=integrator, progress=False)
    assert run.energy.shape == (3,)  # evaluated, so that this is compiled too
    return f"{name} on a {model.name}" + (f", {quadrature} quadrature" if quadrature else "")


def _simulate_and_roll_out(name: str, example: str) -> str:
    what = _simulate(name, example)
    model, state = _example(example)
    la.rollout(model, [state], dt=1e-3, steps=1, integrator=getattr(la, name)(), progress=False)
    return f"{what}, and batches"


def _dynamics(example: str) -> str:
    model, state = _example(example)
    la.dynamics.inverse(model, state.q, [0.0] * model.nv, la.dynamics.forward(model, state.q))
    la.dynamics.mass_matrix(model, state.q)
    la.linearize(model, la.Variational(), state, 1e-3)
    if example == "chain":
        la.discrete.residual(model, None, None, None, 1e-3)
        la.discrete.newton_direction(model, None, None, 1e-3, np.array([0.1, 0.2]))
    return f"dynamics, discrete equations and linearisation of a {model.name}"
