"""A damaged file, a full disk, a folder that is not there: the cache is slow then, never wrong and never the end of a run."""

import errno
import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import leastaction
from leastaction.compiling import cache, files, modules
from leastaction.compiling.modules import generated_module

SOURCE = '''
import numpy as np
from leastaction.compiling.decorators import entry
from leastaction.compiling.address import compile_answer


@entry
def double(a):
    for k in range(len(a)):
        a[k] *= 2.0


def answer(what, param, q, d, f, out, S):
    out[0] = 3.0 * f


compiled = compile_answer(answer)
'''

USE = """
import numpy as np
from leastaction.compiling.modules import generated_module
module = generated_module("trouble", "test", lambda: SOURCE)
a = np.ones(3)
module.double(a)
out = np.zeros(12)
import ctypes
pointer = ctypes.POINTER(ctypes.c_double)
none = out.ctypes.data_as(pointer)
module.compiled.ctypes(0, none, none, none, 2.0, out.ctypes.data_as(pointer), none)
print(a.tolist(), out[0])
"""
RESULT = "[2.0, 2.0, 2.0] 6.0"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A cache of its own, of which nothing has been said yet."""
    monkeypatch.setenv("LEASTACTION_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(files, "_said", set())
    cache.folder.cache_clear()
    cache._directory.cache_clear()
    yield tmp_path / "cache"
    cache.folder.cache_clear()
    cache._directory.cache_clear()


in_use = []  # a module lives as long as it is in use


def use(capsys):
    """As a new process would: what it gets, and what is said."""
    modules._alive.clear()
    in_use[:] = [{"SOURCE": SOURCE}]
    exec(USE, in_use[0])
    told = capsys.readouterr()
    assert told.out.strip() == RESULT
    return "\n".join(line for line in told.err.splitlines() if "compiling kernels" not in line)


def hits():
    """How often machine code came from disk."""
    module = generated_module("trouble", "test", lambda: SOURCE)
    return sum(module.double.dispatcher.stats.cache_hits.values()), module.compiled.cache_hits


def stored(folder):
    return sorted(path for path in folder.rglob("*") if path.is_file())


def test_what_is_on_disk_is_used(folder, capsys):
    assert use(capsys) == "" and hits() == (0, 0)
    assert use(capsys) == "" and hits() == (1, 1)
    assert {path.suffix for path in stored(folder)} == {".py", ".nbi", ".nbc"}


def test_damaged_files_are_made_again(folder, capsys):
    """Cut off, emptied, or with some bytes changed: sixty damages of all files, alone and together."""
    use(capsys)
    said = []
    rng = np.random.default_rng(0)
    for _ in range(60):
        files._said.clear()
        names = stored(folder)
        for path in rng.choice(names, size=rng.integers(1, len(names) + 1), replace=False):
            content = path.read_bytes()
            how = rng.integers(3)
            if how == 0:
                damaged = content[: rng.integers(len(content) + 1)]
            elif how == 1:
                at = rng.integers(len(content) + 1)
                damaged = content[:at] + rng.bytes(8) + content[at + 8 :]
            else:
                damaged = bytes(len(content))
            path.write_bytes(damaged)
        said.append(use(capsys).count("is damaged"))
        use(capsys)
        assert hits() == (1, 1)
    assert set(said) == {0, 1} and sum(said) > 30  # 0: nothing that was damaged is in use any more


def test_files_that_were_exchanged_are_made_again(folder, capsys):
    """Each is whole, but it is not what its name says: another function, another module."""
    use(capsys)
    generated_module("trouble", "another", lambda: SOURCE.replace("3.0 * f", "4.0 * f"))
    sources = [path for path in stored(folder) if path.suffix == ".py"]
    codes = [path for path in stored(folder) if path.suffix == ".nbc"]
    assert len(sources) == 2 and len(codes) >= 2
    for first, second in (sources, codes[:2]):
        files._said.clear()
        one, two = first.read_bytes(), second.read_bytes()
        first.write_bytes(two)
        second.write_bytes(one)
        assert "is damaged" in use(capsys)


def test_a_full_disk(folder, capsys, monkeypatch):
    def full(*arguments, **options):
        raise OSError(errno.ENOSPC, "No space left on device")

    cache.directory("generated")
    monkeypatch.setattr(files.tempfile, "mkstemp", full)
    assert use(capsys).count("No space left on device") == 1
    assert use(capsys) == "" and hits() == (0, 0) and not stored(folder)


def test_no_folder_at_all(folder, capsys, monkeypatch):
    def refuse(*arguments, **options):
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(cache, "directory", refuse)
    assert "machine code is not kept" in use(capsys)


def test_a_user_without_a_home(folder, capsys, monkeypatch, tmp_path):
    """Nothing can be written but temporary files, and nobody knows where home is."""

    def nobody():
        raise RuntimeError("Could not determine home directory.")

    for name in ("HOME", "XDG_CACHE_HOME", "NUMBA_CACHE_DIR"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "file").touch()
    monkeypatch.setenv("LEASTACTION_CACHE_DIR", str(tmp_path / "file" / "no folder"))
    monkeypatch.setattr(cache, "PACKAGE", tmp_path / "file")
    monkeypatch.setattr(cache.Path, "home", nobody)
    assert use(capsys) == ""
    assert cache.folder().name.startswith("leastaction-")


def test_a_folder_for_one_process_goes_with_it():
    """Not with a child that was forked from it."""
    code = "import os\nfrom leastaction.compiling import cache\nmade = cache.folder()\nif os.fork() == 0: raise SystemExit\n"
    code += "os.wait()\nprint(made, made.is_dir())"
    place = {"PYTHONPATH": str(Path(leastaction.__file__).parent.parent), "LEASTACTION_CACHE": "0"}
    done = subprocess.run([sys.executable, "-c", code], env=os.environ | place, capture_output=True, text=True, check=True)
    path, was_there = done.stdout.split()
    assert was_there == "True" and not Path(path).exists()


def test_many_processes_on_an_empty_cache(folder):
    code = f"SOURCE = {SOURCE!r}\n{USE}"
    place = {"PYTHONPATH": str(Path(leastaction.__file__).parent.parent)}
    started = [subprocess.Popen([sys.executable, "-c", code], env=os.environ | place, stdout=subprocess.PIPE, text=True) for _ in range(5)]
    assert [process.communicate(timeout=120)[0].strip() for process in started] == [RESULT] * 5


def test_threads_that_save_at_once_do_not_mix_their_code_up(tmp_path):
    """Two signatures of one function: each gets its own machine code back, whoever wrote the index last."""
    from leastaction.compiling.numba_private import AVAILABLE

    if not AVAILABLE:
        pytest.skip("only the public interface of Numba is used")
    from leastaction.compiling.numba_private import _CheckedFile

    saved = _CheckedFile(str(tmp_path), "f", "stamp")
    threads = [threading.Thread(target=saved.save, args=(k, f"code {k}")) for k in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(saved.load(k) in (None, f"code {k}") for k in range(20)) and any(saved.load(k) for k in range(20))


def test_the_cache_does_not_grow_for_ever(tmp_path):
    place = tmp_path / "standard-1" / "generated"
    place.mkdir(parents=True)
    for k in range(20):
        for suffix in ("py", "joint-1.py311.nbi", "joint-1.py311.1.nbc"):
            path = place / f"leastaction_joint_{k}.{suffix}"
            path.write_bytes(bytes(1000))
            os.utime(path, (1e9 + k, 1e9 + k))
    os.utime(place / "leastaction_joint_3.joint-1.py311.nbi")  # used just now
    cache.evict(tmp_path, 60_000)
    assert len(stored(tmp_path)) == 60
    cache.evict(tmp_path, 40_000)
    left = {path.name.split(".")[0] for path in stored(tmp_path)}
    assert left == {f"leastaction_joint_{k}" for k in (3, *range(11, 20))}
