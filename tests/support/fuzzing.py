"""Many random inputs, counted by how they end:

    NUMBA_DISABLE_JIT=1 PYTHONPATH=tests python -m support.fuzzing [COUNT [SEED [PROCESSES [SECONDS]]]]

The inputs of tests/fuzz/inputs.py, in processes with limited memory, each of which makes a batch of them: one that dies, or takes too long,
is a failure like any other and is named by its number.  In plain Python thousands take a few seconds, and every index is checked.

Arithmetic that raises in plain Python, as the floor of NaN does, gives a number in machine code: such inputs are tried once more, compiled.
"""

from __future__ import annotations

import importlib.util
import json
import multiprocessing
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path

BATCH = 2000
PATIENCE = 120  # s of the processor for one input; ten times that by the clock, on a machine that has other work to do
MOST_BYTES = 6 * 2**30  # of address space
ARITHMETIC = ("ValueError: cannot convert float", "ValueError: math domain error", "OverflowError", "ZeroDivisionError")


class Hang(BaseException):
    """An input that does not end."""


def _hangs(*_: object) -> None:
    raise Hang


def batch(seed: int, first: int, last: int, trap: Path, told: Path) -> None:
    """Try inputs; a line in the file `told` for each."""
    resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
    for clock in (signal.SIGALRM, signal.SIGPROF):
        signal.signal(clock, _hangs)
    warnings.simplefilter("ignore")  # of NumPy, about numbers near the largest
    os.chdir(told.parent)  # some inputs are paths
    place = Path(__file__).parents[1] / "fuzz" / "inputs.py"
    spec = importlib.util.spec_from_file_location("fuzz_inputs", place)
    assert spec is not None and spec.loader is not None
    inputs = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(inputs)
    la = inputs.la
    integrators = (la.Variational, la.Midpoint, la.Maximal, la.Trapezoid, la.RK4, la.SemiImplicitEuler)
    with open(told, "a", buffering=1) as file:
        for number in range(first, last):
            kind, why = inputs.ROUND[number % len(inputs.ROUND)], ""
            signal.setitimer(signal.ITIMER_PROF, PATIENCE)
            signal.alarm(10 * PATIENCE)
            try:
                kind, how = inputs.try_one(seed, number, trap, integrators)
            except inputs.Wrong as error:
                how, why = "WRONG", str(error)
            except Hang:
                how = "HANG"
            except Exception as error:
                how, why = "RAW", f"{type(error).__name__}: {error}"
            finally:
                signal.setitimer(signal.ITIMER_PROF, 0)
                signal.alarm(0)
            file.write(json.dumps([number, kind, how, why[:300]]) + "\n")


def compiled(seed: int, number: int, trap: Path, told: Path) -> tuple[str, str]:
    """How an input ends in machine code."""
    arguments = f"{seed}, {number}, {number + 1}, Path({str(trap)!r}), Path({str(told)!r})"
    code = f"from pathlib import Path; from support.fuzzing import batch; batch({arguments})"
    subprocess.run([sys.executable, "-c", code], env=os.environ | {"NUMBA_DISABLE_JIT": "0"}, capture_output=True, timeout=10 * PATIENCE)
    lines = told.read_text().splitlines() if told.exists() else []
    return tuple(json.loads(lines[-1])[2:]) if lines else ("CRASH", "compiled")  # type: ignore[return-value]


def main(count: int, seed: int, processes: int, seconds: float = 1e9) -> bool:
    found: Counter[str] = Counter()
    failures: list[str] = []
    began, done = time.perf_counter(), 0
    fork = multiprocessing.get_context("fork")
    with tempfile.TemporaryDirectory() as name:
        trap, waiting, running = Path(name) / "ran", list(range(0, count, BATCH)), {}
        while waiting or running:
            if time.perf_counter() - began > seconds:
                waiting.clear()  # what has begun is finished
            while waiting and len(running) < processes:
                first = waiting.pop(0)
                told = Path(name) / str(first)
                last = min(first + BATCH, count)
                process = fork.Process(target=batch, args=(seed, first, last, trap, told))
                process.start()
                running[process] = (told, last)
            for process in [p for p in running if not p.is_alive()]:
                told, last = running.pop(process)
                lines = [json.loads(line) for line in told.read_text().splitlines()] if told.exists() else []
                for number, kind, how, why in lines:
                    if how == "RAW" and why.startswith(ARITHMETIC) and os.environ.get("NUMBA_DISABLE_JIT") == "1":
                        how, why = compiled(seed, number, trap, Path(name) / f"compiled{number}")
                        found["tried again, compiled"] += 1
                    found[f"{kind} {how}"] += 1
                    if how not in ("right", "named"):
                        failures.append(f"seed {seed}, number {number}, {kind} {how}: {why}")
                        print(failures[-1], flush=True)
                if process.exitcode != 0:
                    number = lines[-1][0] + 1 if lines else int(told.name)
                    found["CRASH"] += 1
                    failures.append(f"seed {seed}, number {number} ended its process with {process.exitcode}")
                    print(failures[-1], flush=True)
                    if number + 1 < last:  # go on behind it
                        again = Path(name) / str(number + 1)
                        process = fork.Process(target=batch, args=(seed, number + 1, last, trap, again))
                        process.start()
                        running[process] = (again, last)
                done += len(lines)
            time.sleep(0.01)
        executed = trap.exists()
    total = {"inputs": done, "seed": seed, **dict(sorted(found.items())), "executed code": executed, "failures": len(failures)}
    print(json.dumps(total | {"s": round(time.perf_counter() - began), "cpu s": round(sum(os.times()[2:4]))}))
    return not failures and not executed and (done == count or time.perf_counter() - began > seconds)


if __name__ == "__main__":
    given = [int(text) for text in sys.argv[1:]]
    sys.exit(0 if main(*[*given, *(100_000, 1, 2)[len(given) :]]) else 1)
