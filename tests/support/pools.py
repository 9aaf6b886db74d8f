"""Roll-outs in pools of every kind:  PYTHONPATH=tests python -m support.pools [COUNT [KIND ...]]

COUNT roll-outs (100), one in ten of which fails on the way, of a model with a user potential, a spring with an energy, a custom force, a
symbolic joint, a function between coordinates and a loop.  Every kind of pool has to give the bits of one process: results, and errors by
type, message and what had been recorded until then.  Kinds that are not installed (joblib, dask) are said to be left out.
"""

from __future__ import annotations

import json
import multiprocessing
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from typing import Any

import numpy as np

import leastaction as la
from leastaction.errors import LeastActionError

WORKERS = 2
STEPS = 40
STRENGTH = 0.3
FAR = 1.2  # m: a bead that starts beyond it makes the force fail


def friction(t, q, v, tau):
    if q[len(q) - 2] > FAR:  # the bead
        raise ValueError("too far")
    for i in range(len(v)):
        tau[i] -= STRENGTH * v[i]


def everything() -> la.Mechanism:
    """User potential, spring with an energy, custom force, symbolic joint, a constraint with a function and a loop."""
    mech = la.examples.four_bar()
    first, second = mech.joint_names[:2]
    mech.add_force(la.UserPotential(lambda q, sp: 3 * sp.cos(q[0] - q[1]), joints=[first, second]))
    mech.add_force(la.NonlinearSpring("k * x**4", joint=first, parameters={"k": 2.0}))
    mech.add_force(la.CustomForce(friction))
    slope = la.SymbolicJoint("slope", lambda q, sp, p: sp.move(q[0], 0, q[0] ** 2 / p.width), 1, parameters={"width": 2.0})
    mech.add_body("bead", joint=slope, mass=1.0, inertia=(1.0, 1.0, 1.0))
    mech.add_body("follower", joint=la.Prismatic((0, 0, 1)), mass=1.0)
    mech.add_constraint(la.Cam("follower", "bead", lambda x, sp: 0.1 * sp.cos(x)))
    return mech


def starts(model: la.Model, count: int) -> list[la.State]:
    """The bead at many places; every tenth slides away so fast that it soon is too far."""
    rng = np.random.default_rng(1)
    found = []
    for k in range(count):
        fails = k % 10 == 7
        q = model.assemble({"bead": 1.1 if fails else rng.uniform(-0.9, 0.9)}, hold=["bead"])
        v = model.project_velocity(q, model.velocities({"bead": 4.0 if fails else 0.0}))
        found.append(model.state(q, v))
    return found


def roll_out(model: la.Model, state: la.State) -> la.Trajectory:
    return la.simulate(model, state, dt=1e-3, steps=STEPS)


def outcome(function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """What it returns, or the error of ours that it raises."""
    try:
        return function(*arguments, **options)
    except LeastActionError as error:
        return error


def futures(pool: Any, model: la.Model, states: list[la.State]) -> list[Any]:
    return [outcome(future.result, 600) for future in [pool.submit(roll_out, model, state) for state in states]]


def executor(method: str) -> Callable[..., list[Any]]:
    def run(model: la.Model, states: list[la.State]) -> list[Any]:
        with ProcessPoolExecutor(WORKERS, mp_context=multiprocessing.get_context(method)) as pool:
            return futures(pool, model, states)

    return run


def pool(method: str) -> Callable[..., list[Any]]:
    def run(model: la.Model, states: list[la.State]) -> list[Any]:
        with multiprocessing.get_context(method).Pool(WORKERS) as workers:
            waiting = [workers.apply_async(roll_out, (model, state)) for state in states]
            one_by_one = [outcome(result.get, 600) for result in waiting]
            good = [(model, s) for s, r in zip(states, one_by_one, strict=True) if not isinstance(r, LeastActionError)]
            raised = outcome(workers.starmap, roll_out, [(model, state) for state in states])  # map hands on the first error, and ends
            assert isinstance(raised, LeastActionError), raised
            assert workers.starmap(roll_out, good) == [r for r in one_by_one if not isinstance(r, LeastActionError)]
            return one_by_one

    return run


def threads(model: la.Model, states: list[la.State]) -> list[Any]:
    with ThreadPoolExecutor(WORKERS) as workers:
        return futures(workers, model, states)


def with_joblib(model: la.Model, states: list[la.State]) -> list[Any]:
    from joblib import Parallel, delayed

    return Parallel(n_jobs=WORKERS)(delayed(outcome)(roll_out, model, state) for state in states)


def with_dask(model: la.Model, states: list[la.State]) -> list[Any]:
    from distributed import Client, LocalCluster

    with LocalCluster(n_workers=WORKERS, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        return [outcome(future.result, 600) for future in [client.submit(roll_out, model, state, pure=False) for state in states]]


KINDS: dict[str, Callable[..., list[Any]]] = {
    "ProcessPoolExecutor fork": executor("fork"), "ProcessPoolExecutor spawn": executor("spawn"),
    "ProcessPoolExecutor forkserver": executor("forkserver"), "mp.Pool fork": pool("fork"), "mp.Pool spawn": pool("spawn"),
    "mp.Pool forkserver": pool("forkserver"), "joblib": with_joblib, "dask": with_dask, "threads": threads,
}  # fmt: skip


def differences(serial: list[Any], found: list[Any]) -> Iterator[str]:
    """What is not as it was in one process."""
    for k, (here, there) in enumerate(zip(serial, found, strict=True)):
        if type(here) is not type(there):
            yield f"{k}: {there!r} in place of {here!r}"
            continue
        if isinstance(here, LeastActionError):
            if str(here) != str(there):
                yield f"{k}: {there} in place of {here}"
            here, there = here.trajectory, there.trajectory  # type: ignore[attr-defined]
        for name in ("t", "q", "v", "p", "energy", "multipliers", "iterations"):
            if getattr(here, name).tobytes() != getattr(there, name).tobytes():
                yield f"{k}: {name} differs"
        if here != there:
            yield f"{k}: the runs differ"


def main(count: int, kinds: list[str]) -> int:
    """How many results are not those of one process."""
    started, missing_kinds = time.perf_counter(), []
    model = everything().compile()
    states = starts(model, count)
    serial = [outcome(roll_out, model, state) for state in states]
    failed = [result for result in serial if isinstance(result, LeastActionError)]
    assert len(failed) == count // 10 and all("too far" in str(error) for error in failed), (len(failed), failed[:1])
    wrong = 0
    for kind in kinds:
        began = time.perf_counter()
        try:
            found = KINDS[kind](model, states)
        except ImportError as missing:
            print(json.dumps({"pool": kind, "left out": str(missing)}), flush=True)
            missing_kinds.append(kind)
            continue
        unlike = list(differences(serial, found))
        named = sum(isinstance(result, LeastActionError) for result in found)
        counts = {"results": len(found) - named, "named errors": named, "unlike": unlike[:3]}
        print(json.dumps({"pool": kind, **counts, "s": round(time.perf_counter() - began, 1)}), flush=True)
        wrong += len(unlike)
    total = {"pools": len(kinds) - len(missing_kinds), "left out": missing_kinds, "roll-outs each": count, "of which fail": len(failed)}
    print(json.dumps(total | {"not as in one process": wrong, "s": round(time.perf_counter() - started)}))
    return wrong


if __name__ == "__main__":
    sys.exit(1 if main(int(sys.argv[1]) if len(sys.argv) > 1 else 100, sys.argv[2:] or list(KINDS)) else 0)
