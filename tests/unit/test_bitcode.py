"""Intermediate code that a wheel brings along: the same numbers as from source, on any processor; never the reason why something fails."""

import os
import platform
import subprocess
import sys
from math import sqrt
from pathlib import Path

import numpy as np
import pytest
from numba import config

import leastaction
from leastaction.cli import main
from leastaction.compiling import bitcode, cache, files
from leastaction.compiling.decorators import apart, entry, inlined, kernel
from leastaction.compiling.numba_private import AVAILABLE

pytestmark = pytest.mark.skipif(config.DISABLE_JIT or not AVAILABLE, reason="there is no intermediate code")


@inlined
def turned(x, y):
    return (x - 0.01 * y) / sqrt(1.0001), (y + 0.01 * x) / sqrt(1.0001)


@apart
def checked(a):
    if a.shape[0] < 2:
        raise ValueError("too short")


@kernel
def turn(a):
    for k in range(a.shape[0] - 1):
        a[k], a[k + 1] = turned(a[k], a[k + 1])


def spiral(a, rounds):
    checked(a)
    for _ in range(rounds):
        turn(a)
    return a.sum()


@pytest.fixture
def shelf(tmp_path, monkeypatch):
    """Where intermediate code is found; at first there is none."""
    monkeypatch.setenv("LEASTACTION_BITCODE", str(tmp_path / "bitcode"))
    monkeypatch.setattr(bitcode, "_collected", [])
    monkeypatch.setattr(cache, "_outside", {})  # as in a new process, in which no other test has compiled functions of its own
    yield tmp_path / "bitcode"
    cache.folder.cache_clear()
    cache._directory.cache_clear()


def on_a_new_machine(folder, monkeypatch, capsys, function=spiral):
    """(numbers, what was said) of a process with the cache `folder`."""
    monkeypatch.setenv("LEASTACTION_CACHE_DIR", str(folder))
    cache.folder.cache_clear()
    cache._directory.cache_clear()
    files._said.clear()
    a = np.linspace(0.1, 1.3, 50)
    total = entry(function)(a, 300)
    return (a.tobytes(), total), capsys.readouterr().err


@pytest.fixture
def collected(shelf, tmp_path, monkeypatch, capsys):
    """What compiling from source gives, and the one file it has left."""
    bitcode.collect_in(shelf)
    numbers, said = on_a_new_machine(tmp_path / "source", monkeypatch, capsys)
    assert "seconds to a minute" in said
    bitcode._collected.clear()
    (path,) = [path for path in shelf.rglob("*") if path.is_file()]
    assert path.parent.name == cache.bitcode_version() and path.stat().st_mode & 0o777 == 0o644
    return numbers, path


def test_the_same_machine_code_as_from_source(collected, tmp_path, monkeypatch, capsys):
    numbers, said = on_a_new_machine(tmp_path / "new", monkeypatch, capsys)
    assert numbers == collected[0] and "some seconds" in said and "a minute" not in said
    assert on_a_new_machine(tmp_path / "new", monkeypatch, capsys) == (collected[0], "")  # kept, as what is compiled from source is
    with pytest.raises(ValueError, match="too short"):
        entry(spiral)(np.ones(1), 1)


def test_kinds_of_arguments_and_sources_it_was_not_made_for(collected, tmp_path, monkeypatch, capsys):
    """They are compiled from source, without a word about it."""
    monkeypatch.setattr(cache, "_SOURCES", "edited")
    _, said = on_a_new_machine(tmp_path / "edited", monkeypatch, capsys)
    assert "seconds to a minute" in said and "damaged" not in said
    monkeypatch.undo()
    monkeypatch.setenv("LEASTACTION_BITCODE", "0")
    _, said = on_a_new_machine(tmp_path / "off", monkeypatch, capsys)
    assert "seconds to a minute" in said


def damages(path):
    """(what was done to the file, its new content)"""
    whole = path.read_bytes()
    key, (name, linked, rest) = bitcode.pickle.loads(bitcode.lzma.decompress(files.read(path)))
    yield "cut off", whole[: len(whole) // 2]
    yield "empty", b""
    yield "a bit", whole[:500] + bytes([whole[500] ^ 1]) + whole[501:]
    for what, content in (("no archive", b"nonsense"), ("no code", pack((key, (name, linked[: len(linked) // 2], rest))))):
        files.write(path, content)
        yield what, path.read_bytes()


def pack(thing):
    from numba.core.serialize import dumps

    return bitcode.lzma.compress(dumps(thing))


def test_damaged_files(collected, tmp_path, monkeypatch, capsys):
    """They are removed with one message, and the code is compiled from source."""
    numbers, path = collected
    for what, content in list(damages(path)):
        path.write_bytes(content)
        found, said = on_a_new_machine(tmp_path / what, monkeypatch, capsys)
        assert found == numbers and not path.exists(), what
        assert said.count("is damaged") == 1 and "compiled from source" in said and "seconds to a minute" in said, what


@pytest.mark.skipif(platform.machine() != "x86_64", reason="another kind of processor")
def test_a_processor_it_was_not_made_on(collected, tmp_path):
    """Code for x86-64-v3 from what this machine has collected: the numbers agree to rounding."""
    code = f"""
import sys
import numpy as np
from {__name__} import spiral
from leastaction.compiling.decorators import entry
a = np.linspace(0.1, 1.3, 50)
print(float(entry(spiral)(a, 300)).hex(), a.tobytes().hex())
"""
    *packages, name = __name__.split(".")  # which depends on how pytest imports
    here = tmp_path.joinpath(*packages)
    here.mkdir(parents=True, exist_ok=True)
    (here / f"{name}.py").write_text(Path(__file__).read_text())
    for k in range(1, len(packages) + 1):
        (tmp_path.joinpath(*packages[:k]) / "__init__.py").touch()
    place = {"PYTHONPATH": os.pathsep.join([str(Path(leastaction.__file__).parent.parent), str(tmp_path)])}
    target = {"NUMBA_CPU_NAME": "x86-64-v3", "NUMBA_CPU_FEATURES": "+avx2,+fma,+bmi,+bmi2", "LEASTACTION_CACHE_DIR": str(tmp_path / "v3")}
    done = subprocess.run([sys.executable, "-c", code], env=os.environ | place | target, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "some seconds" in done.stderr and "a minute" not in done.stderr
    total, bits = done.stdout.split()
    (wanted, wanted_total), _ = collected
    assert np.allclose(np.frombuffer(bytes.fromhex(bits)), np.frombuffer(wanted), rtol=1e-13, atol=1e-13)
    assert abs(float.fromhex(total) - wanted_total) < 1e-12


def test_refused_where_the_private_parts_of_numba_are_not_used(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr("leastaction.cli.cache.AVAILABLE", False)
    assert main(["cache", "--bitcode", str(tmp_path)]) != 0
    assert "LEASTACTION_PUBLIC_NUMBA" in capsys.readouterr().err
