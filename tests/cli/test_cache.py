"""`leastaction cache`: what is kept where, and clearing it."""

import ast
import io
import json
import os
import subprocess
import sys

import numpy as np
import pytest
from numba import config

from leastaction import progress
from leastaction.cli import main
from leastaction.compiling import cache, numba_private
from leastaction.compiling.decorators import entry, kernel
from leastaction.compiling.modules import generated_module


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty cache for this test alone."""
    monkeypatch.setenv("LEASTACTION_CACHE_DIR", str(tmp_path / "cache"))
    cache.folder.cache_clear()
    cache._directory.cache_clear()
    yield tmp_path / "cache"
    cache.folder.cache_clear()
    cache._directory.cache_clear()


def shown(capsys, *options):
    assert main(["cache", "--json", *options]) == 0
    return json.loads(capsys.readouterr().out)


def test_an_empty_cache(folder, capsys):
    found = shown(capsys)
    assert found["folder"] == str(folder) and found["enabled"] and found["files"] == found["bytes"] == 0
    assert set(found["kinds"]) == {"entries", "parts", "generated", "old"}
    assert main(["cache"]) == 0
    text = capsys.readouterr().out
    assert str(folder) in text and cache.version() in text and "0 B" in text


@pytest.mark.skipif(config.DISABLE_JIT, reason="nothing is compiled")
def test_machine_code_of_every_kind_is_in_the_folder(folder, capsys):
    @entry
    def total(a):
        s = 0.0
        for i in range(a.shape[0]):
            s += a[i]
        return s

    assert total(np.arange(4.0)) == 6.0
    found = shown(capsys)["kinds"]
    assert found["entries"]["files"] == 2 and found["entries"]["bytes"] > 1000 and found["generated"]["files"] == 0
    source = "from leastaction.compiling.decorators import entry\n\n\n@entry\ndef half(x):\n    return 0.5 * x\n"
    module = generated_module("test", f"half {folder}", lambda: source)
    assert module.half(3.0) == 1.5
    assert shown(capsys)["kinds"]["generated"]["files"] >= 3  # the module, its index, its code
    assert all(cache.version() in str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())


def test_clear_removes_what_the_cache_has_made_and_nothing_else(folder, capsys):
    (cache.directory("entries") / "code.nbc").write_bytes(b"12345")
    other = folder / "public-0123" / "entries"
    other.mkdir(parents=True)
    (other / "old.nbc").write_bytes(b"123")
    (folder / "notes.txt").write_text("mine")
    found = shown(capsys)
    assert found["kinds"]["entries"] == {"files": 1, "bytes": 5}
    assert found["kinds"]["old"]["bytes"] == 3 + 4
    found = shown(capsys, "--clear")
    assert found["files"] == 1 and (folder / "notes.txt").read_text() == "mine"
    assert cache.directory("entries").is_dir()  # and it can be used again


def test_old_versions_are_forgotten(folder):
    for k in range(8):
        place = folder / f"standard-{k:04d}"
        place.mkdir(parents=True)
        os.utime(place, (k, k))
    (folder / "standard-bounds-0000").mkdir()
    cache.forget_old(folder, "standard")
    assert sorted(p.name for p in folder.iterdir()) == [*(f"standard-{k:04d}" for k in range(4, 8)), "standard-bounds-0000"]


def test_switched_off(folder, monkeypatch, capsys):
    monkeypatch.setenv("LEASTACTION_CACHE", "0")
    assert not shown(capsys)["enabled"] and not str(cache.folder()).startswith(str(folder))
    assert main(["cache"]) == 0
    assert "LEASTACTION_CACHE=0" in capsys.readouterr().out


def test_the_places_in_their_order(tmp_path, monkeypatch):
    monkeypatch.setenv("LEASTACTION_CACHE_DIR", str(tmp_path / "ours"))
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "numba"))
    assert cache.places()[:3] == [tmp_path / "ours", tmp_path / "numba" / "leastaction", cache.PACKAGE / "__pycache__" / "machine-code"]
    (tmp_path / "ours").write_text("a file where a folder should be")
    assert cache.folder.__wrapped__() == tmp_path / "numba" / "leastaction"


def test_warm_runs_everything():
    """With the compiler switched off, so that it takes seconds; `make test` runs it with the compiler on."""
    done = subprocess.run(
        [sys.executable, "-c", "from leastaction.cli import main; main(['cache', '--warm', '--json'])"],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"}, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    for word in ("Variational", "Maximal", "AdaptiveStep", "linearisation"):
        assert word in done.stderr


def test_everything_is_found_without_the_extras():
    """A wheel is built where nothing but the dependencies is installed."""
    extras = ("gymnasium", "matplotlib", "mujoco", "h5py", "distributed", "websockets", "trimesh", "pandas", "xarray")
    without = f"import sys; sys.modules.update(dict.fromkeys({extras}))"
    code = f"{without}; from leastaction.cli.cache import all_integrators; print(all_integrators())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, "NUMBA_DISABLE_JIT": "1"})
    assert done.returncode == 0, done.stderr[-2000:]
    assert {"Variational", "Maximal", "Composition", "RK4"} <= set(ast.literal_eval(done.stdout))


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize("screen", [Terminal, io.StringIO])
def test_who_waits_for_the_compiler_sees_how_far_it_is(screen, monkeypatch):
    shown = screen()
    monkeypatch.setattr(sys, "stderr", shown)
    monkeypatch.setattr(progress, "_REDRAW", -1.0)
    told = progress.Compilation("kernels.some.run")
    for _ in range(progress._FUNCTIONS + 10):  # more than there usually are
        told.add()
    told.end()
    *bars, last = shown.getvalue().split("\r")
    assert last == "leastaction: compiling kernels, kernels.some.run: 0 s\n"
    assert bool(bars) == (screen is Terminal)
    if bars:
        filled = [bar.count("#") for bar in bars[1:-1]]
        assert filled == sorted(filled) and filled[0] == 0 and filled[-1] == progress._WIDTH - 1  # never full before the end
        assert f"{progress._FUNCTIONS + 10} of about" in bars[-2] and not bars[-1].strip()


def test_functions_of_an_entry_are_counted(monkeypatch):
    """On a terminal; by what Numba says when it has compiled one."""
    if config.DISABLE_JIT or not numba_private.AVAILABLE:
        pytest.skip("nothing is compiled, or nothing is said")
    monkeypatch.setenv("LEASTACTION_CACHE", "0")  # or an earlier run of this test has left its code there
    counted = []
    monkeypatch.setattr(progress.Compilation, "add", lambda told, functions: counted.extend([told.what] * functions))
    assert quadruple(1.5) == 6.0
    assert len(counted) == 1 and counted[0].endswith(".quadruple")


@kernel
def twice(x):
    return 2.0 * x


@entry
def quadruple(x):
    return twice(twice(x))
