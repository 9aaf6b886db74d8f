"""`leastaction cache`: where machine code is kept, how much of it there is; clear it, or compile everything in advance."""

from __future__ import annotations

import argparse
import json
import sys
import time

import numpy as np

import leastaction as la

from ..compiling import cache

HELP = "show where compiled code is kept, clear it, or compile everything in advance"

_MEANING = {
    "entries": "entry points of the package",
    "generated": "code made for joints, constraints, potentials and mechanisms",
    "old": "of other versions of the sources",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--clear", action="store_true", help="remove all of it; the next simulation compiles again")
    parser.add_argument("--warm", action="store_true", help="compile everything now, which takes some minutes")
    parser.add_argument("--json", action="store_true", help="print what is there as JSON")


def run(arguments: argparse.Namespace) -> None:
    if arguments.clear:
        cache.clear()
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


def warm() -> None:
    """Compile every entry point that simulations, batches, `la.dynamics`, `la.discrete` and `la.linearize` use."""
    tree, loop = la.examples.chain(2).compile(), la.examples.four_bar().compile()
    closed = loop.assemble({"rod1": 0.8, "rod2": -2.0, "rod3": -1.3})
    of_package = [getattr(la, name) for name in la.__all__]
    integrators = [c() for c in of_package if isinstance(c, type) and issubclass(c, la.Integrator) and c is not la.Integrator]
    for integrator in integrators:
        _simulate(integrator, tree, tree.state(v=[0.1, 0.2]))
        la.rollout(tree, dt=1e-3, steps=1, integrator=integrator, progress=False)
    for integrator in (la.Variational(), la.Variational(quadrature="midpoint"), la.RK4(), la.Maximal()):
        _simulate(integrator, loop, loop.state(q=closed))
    began = time.perf_counter()
    for model, q in ((tree, None), (loop, closed)):
        la.dynamics.inverse(model, q, [0.0] * model.nv, la.dynamics.forward(model, q))
        la.dynamics.mass_matrix(model, q)
        la.linearize(model, la.Variational(), model.state(q=q), 1e-3)
    la.discrete.residual(tree, None, None, None, 1e-3)
    la.discrete.newton_direction(tree, None, None, 1e-3, np.array([0.1, 0.2]))
    _say("dynamics, discrete equations and linearisation", began)


def _simulate(integrator: la.Integrator, model: la.Model, state: la.State) -> None:
    began = time.perf_counter()
    run = la.simulate(model, state, steps=2, dt=1e-3, integrator=integrator, progress=False)
    assert run.energy.shape == (3,)  # evaluated, so that this is compiled too
    _say(f"{type(integrator).__name__} on a {model.name}", began)


def _say(what: str, began: float) -> None:
    print(f"{time.perf_counter() - began:6.1f} s  {what}", file=sys.stderr, flush=True)
