"""Trouble with the cache of machine code:  PYTHONPATH=tests python -m support.cache_trouble [CORRUPTIONS [KILLS]]

1000 random corruptions, a full disk, a read-only folder, a user without a home, two versions of the package that share a folder, 50 kills
while something is being compiled, 8 processes at once on an empty cache.  Every trial is a process of its own that loads or compiles small
functions of two modules, and has to come to the right result; so has the one after it, in what the trial left behind.  Trials are forked
with everything imported, and take a fifth of a second.  The last line says all of it in short.
"""

from __future__ import annotations

import contextlib
import ctypes
import io
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np

import leastaction.compiling.address  # noqa: F401 - loaded before the trials are forked
import leastaction.compiling.decorators
from leastaction.compiling import cache, files, modules
from leastaction.compiling.modules import generated_module
from leastaction.lie import algebra  # noqa: F401

SOURCE = '''
from leastaction.compiling.address import compile_answer
from leastaction.compiling.decorators import entry
from leastaction.lie.algebra import dot


@entry
def double(a):
    a[0] = dot((a[0], a[1], a[2]), (1.0, 0.0, 0.0)) + a[0]
    for k in range(1, len(a)):
        a[k] *= 2.0


def answer(what, param, q, d, f, out, S):
    out[0] = 3.0 * f


compiled = compile_answer(answer)
'''
RIGHT = [2.0, 2.0, 2.0, 6.0]


def use() -> list[float]:
    """Load or compile both functions and call them."""
    for what, factor in (("other", "4.0"), ("test", "3.0")):  # the first one is there to be exchanged for the second
        module = generated_module("trouble", what, lambda factor=factor: SOURCE.replace("3.0", factor))  # type: ignore[misc]
    a, out = np.ones(3), np.zeros(12)
    module.double(a)
    pointer = ctypes.POINTER(ctypes.c_double)
    none = out.ctypes.data_as(pointer)
    module.compiled.ctypes(0, none, none, none, 2.0, none, none)
    return [*a.tolist(), float(out[0])]


def trial(folder: Path, prepare: Callable[[], None] = lambda: None) -> int:
    """Start a process that uses the cache in a folder; `wait` says how it ended."""
    child = os.fork()
    if child:
        return child
    code = 99
    try:
        os.environ["LEASTACTION_CACHE_DIR"] = str(folder)
        cache.folder.cache_clear()
        cache._directory.cache_clear()
        prepare()
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            result = use()
        damaged, not_kept = "is damaged" in said.getvalue(), "cannot be written" in said.getvalue() or "not kept" in said.getvalue()
        code = (1 if damaged else 0) + (2 if not_kept else 0) if result == RIGHT else 98
    except BaseException as error:
        os.write(2, f"{type(error).__name__}: {error}\n".encode())
    os._exit(code)


def wait(child: int) -> str:
    status = os.waitpid(child, 0)[1]
    if os.WIFSIGNALED(status):
        return f"signal {os.WTERMSIG(status)}"
    names = {0: "right", 1: "right, said: damaged", 2: "right, said: not kept", 3: "right, said: both", 98: "WRONG", 99: "RAISED"}
    return names.get(os.WEXITSTATUS(status), "?")


def stored(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def corrupt(folder: Path, rng: np.random.Generator) -> None:
    """Cut off, empty, overwrite, exchange, lengthen, remove or make unreadable one or several files."""
    names = stored(folder)
    for path in rng.choice(names, size=int(rng.integers(1, 3)), replace=False):  # type: ignore[arg-type]
        content = path.read_bytes()
        at = int(rng.integers(len(content) + 1))
        how = int(rng.integers(8))
        if how == 6:
            path.unlink()
        elif how == 7:
            path.unlink()
            path.mkdir()  # something else under its name
        else:
            other = names[int(rng.integers(len(names)))]
            path.write_bytes([
                content[:at], content[:at] + rng.bytes(8) + content[at + 8 :], bytes(len(content)), content + rng.bytes(9),
                other.read_bytes() if other.is_file() else b"", rng.bytes(len(content)),
            ][how])  # fmt: skip


def corruptions(count: int) -> Counter[str]:
    rng, found = np.random.default_rng(0), Counter[str]()
    with tempfile.TemporaryDirectory() as name:
        whole, folder = Path(name) / "whole", Path(name) / "cache"
        assert wait(trial(whole)) == "right"
        for k in range(count):
            if k % 3 == 0:  # two of three begin with what the one before left
                shutil.rmtree(folder, ignore_errors=True)
                shutil.copytree(whole, folder)
            corrupt(folder, rng)
            found[wait(trial(folder))] += 1
            if k % 100 == 99:
                print(f"after {k + 1}: {dict(found)}", flush=True)
    return found


def kills(count: int) -> Counter[str]:
    """Killed at a random moment while compiling or writing; then the next process gets on with what is left."""
    rng, found = np.random.default_rng(1), Counter[str]()
    with tempfile.TemporaryDirectory() as name:
        began = time.perf_counter()
        assert wait(trial(Path(name) / "first")) == "right"
        seconds = time.perf_counter() - began
        for k in range(count):
            folder = Path(name) / str(k)
            child = trial(folder)
            time.sleep(float(rng.uniform(0.0, seconds)))
            os.kill(child, signal.SIGKILL)
            ended = wait(child)
            found[f"{ended}, then|{wait(trial(folder))}"] += 1
    return found


def at_once(count: int) -> Counter[str]:
    with tempfile.TemporaryDirectory() as name:
        children = [trial(Path(name) / "cache") for _ in range(count)]
        return Counter(wait(child) for child in [*children, trial(Path(name) / "cache")])


def full_disk() -> Counter[str]:
    """Files cannot grow beyond so many bytes: the disk is full before, in the middle of, or after the first file."""
    found = Counter[str]()

    def limit(size: int) -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    for size in (0, 1, 100, 1000, 2000, 4000, 8000, 16000):
        with tempfile.TemporaryDirectory() as name:
            found[wait(trial(Path(name), lambda size=size: limit(size)))] += 1  # type: ignore[misc]
            found["afterwards|" + wait(trial(Path(name)))] += 1
    return found


def somebody_else() -> None:
    """Not root, who may write everywhere, but a user that nobody knows."""
    if os.getuid() == 0:
        os.setgid(54321)
        os.setuid(54321)
    for variable in ("HOME", "XDG_CACHE_HOME", "NUMBA_CACHE_DIR"):
        os.environ.pop(variable, None)


def read_only_and_no_home() -> Counter[str]:
    found = Counter[str]()
    with tempfile.TemporaryDirectory() as name:
        os.chmod(name, 0o755)
        folder = Path(name) / "cache"
        assert wait(trial(folder)) == "right"
        for path in [folder, *folder.rglob("*")]:
            os.chmod(path, 0o555 if path.is_dir() else 0o444)
        found["read-only|" + wait(trial(folder, somebody_else))] += 1
        found["no home, nothing can be written|" + wait(trial(Path(name) / "new", somebody_else))] += 1
        for path in [folder, *folder.rglob("*")]:
            os.chmod(path, 0o755)
    return found


def two_versions() -> Counter[str]:
    """A copy of the package in which `dot` is twice as large: each finds its own code in the folder that both use."""
    found, package = Counter[str](), Path(leastaction.__file__).parent
    code = f"import sys; sys.path.insert(0, {str(Path(__file__).parents[1])!r}); from support.cache_trouble import use; print(use())"
    with tempfile.TemporaryDirectory() as name:
        shutil.copytree(package, Path(name) / "leastaction", ignore=shutil.ignore_patterns("__pycache__"))
        edited = Path(name) / "leastaction" / "lie" / "algebra.py"
        before, after = edited.read_text().split("def dot(a, b):\n    return ", 1)
        value, rest = after.split("\n", 1)
        edited.write_text(f"{before}def dot(a, b):\n    return 2.0 * ({value})\n{rest}")
        for _ in range(2):
            for place, wanted in ((package.parent, RIGHT), (Path(name), [3.0, *RIGHT[1:]])):
                env = os.environ | {"PYTHONPATH": str(place), "LEASTACTION_CACHE_DIR": str(Path(name) / "cache")}
                done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
                found["right" if done.stdout.strip() == str(wanted) else f"WRONG {done.stdout} {done.stderr[-300:]}"] += 1
    return found


def main(corrupted: int, killed: int) -> bool:
    os.environ["LEASTACTION_CACHE_DIR"] = tempfile.mkdtemp()
    use()  # so that all that Numba imports when it compiles is there, also for a user who may not read it
    shutil.rmtree(os.environ.pop("LEASTACTION_CACHE_DIR"))
    modules._alive.clear()
    files._said.clear()
    checks: dict[str, Callable[[], Counter[str]]] = {
        f"{corrupted} corruptions": lambda: corruptions(corrupted), f"{killed} kills": lambda: kills(killed),
        "8 processes on an empty cache": lambda: at_once(8), "full disk": full_disk, "read-only, no home": read_only_and_no_home,
        "two versions": two_versions,
    }  # fmt: skip
    good, started, trials = True, time.perf_counter(), 0
    for name, check in checks.items():
        began = time.perf_counter()
        found = check()
        print(json.dumps({name: dict(sorted(found.items())), "s": round(time.perf_counter() - began, 1)}), flush=True)
        good &= all(ended.split("|")[-1].startswith("right") for ended in found)
        trials += found.total()
    print(json.dumps({"trials": trials, "every run right": good, "s": round(time.perf_counter() - started)}))
    return good


if __name__ == "__main__":
    given = [int(text) for text in sys.argv[1:]]
    sys.exit(0 if main(*[*given, *(1000, 50)[len(given) :]]) else 1)
