"""Kernels that entry points share: compiled once, the same machine code wherever that was, never the reason why something fails."""

import json
import os
import subprocess
import sys
from collections import namedtuple

import pytest
from numba import config, njit, typeof, types

from leastaction.compiling import parts
from leastaction.compiling.decorators import kernel
from leastaction.compiling.numba_private import AVAILABLE
from leastaction.joints import dispatch
from leastaction.kernels.tree.layout import Charts
from leastaction.lie import algebra, retractions

pytestmark = pytest.mark.skipif(config.DISABLE_JIT or not AVAILABLE, reason="there are no parts")

# two entry points that share kernels, small ones, kernels chosen by number and what Numba itself compiles (max)
PROGRAM = r"""
import json, re, sys
import numpy as np
from numba.core.event import Listener, register
from leastaction.compiling.decorators import entry
from leastaction.lie.algebra import cross, dot
from leastaction.lie.retractions import coordinates

class Names(Listener):
    def __init__(self): self.seen = []
    def on_start(self, event): self.seen.append(event.data["dispatcher"].py_func.__name__)
    def on_end(self, event): pass

names = Names()
register("numba:compile", names)

def first(a, out):
    b = cross((a[0], a[1], a[2]), (a[1], a[2], a[3]))
    out[0] = max(dot(b, b), 0.125)

def second(a, out):
    b = cross((a[0], a[1], a[2]), (a[1], a[2], a[3]))
    x, y = coordinates(0, 0.96, (0.28 * a[0], 0.0, 0.0), b)
    out[0] = dot(x, y) + max(dot(b, b), 0.125)

if "outside" in sys.argv:  # somebody else's function, which compiles our kernels by itself
    import numba
    numba.njit(lambda a, b: cross(a, b))((1.0, 2.0, 3.0), (3.0, 2.0, 1.0))
    sys.argv.remove("outside")
if "plainly" in sys.argv:  # with all that Numba does, however often
    from contextlib import nullcontext
    from leastaction.compiling import numba_lean, numba_private
    numba_private.needed_passes = lambda passes, function: passes
    numba_lean._calls_typed_once = numba_lean._no_timers = numba_lean._quick_comparison_of_flags = nullcontext
    sys.argv.remove("plainly")

numbers, code = [], []
for function in [globals()[name] for name in sys.argv[1:]]:
    made, out = entry(function), np.zeros(1)
    made(np.linspace(0.1, 0.9, 4), out)
    numbers.append(out[0].hex())
    (version,) = made.dispatcher.overloads.values()
    instructions = re.findall(r"^\t[a-z].*", version.library.get_asm_str(), re.M)
    code.append([re.sub(r"(\S*_ZN|\.const|_\.const)\S*", "name", line) for line in instructions])  # not what the entry itself is called
print(json.dumps([numbers, code, names.seen]))
"""


def ran(tmp_path, *functions, cache="cache", seed="0"):
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    environment = {**os.environ, "LEASTACTION_CACHE_DIR": str(tmp_path / cache), "LEASTACTION_BITCODE": "0", "PYTHONHASHSEED": seed}
    done = subprocess.run([sys.executable, script, *functions], env=environment, capture_output=True, text=True, timeout=300, check=True)
    return *json.loads(done.stdout), done.stderr


def packs(tmp_path, cache="cache"):
    return sorted((tmp_path / cache).rglob(f"*{parts.SUFFIX}"))


def test_what_another_entry_has_compiled_is_not_compiled_again(tmp_path):
    _, _, seen, _ = ran(tmp_path, "first")
    assert {"first", "cross", "dot"} <= set(seen)
    assert len(packs(tmp_path)) == 1
    numbers, code, seen, _ = ran(tmp_path, "second")
    assert {"second", "coordinates"} <= set(seen) and not {"cross", "dot"} & set(seen)
    fresh_numbers, fresh_code, everything, _ = ran(tmp_path, "second", cache="fresh")
    assert {"cross", "dot"} <= set(everything)
    assert numbers == fresh_numbers and code == fresh_code and any("fma" in line for line in code[0])
    assert len(packs(tmp_path)) == 2
    ran(tmp_path, "first", "second")  # both entry points are there: nothing new
    assert len(packs(tmp_path)) == 2


def test_what_numba_does_in_vain_can_be_left_out(tmp_path):
    numbers, code, seen, _ = ran(tmp_path, "second")
    plain_numbers, plain_code, plain_seen, _ = ran(tmp_path, "plainly", "second", cache="plain")
    assert (numbers, code, seen) == (plain_numbers, plain_code, plain_seen) and len(code[0]) > 100


@pytest.mark.parametrize("damage", [lambda a: a[: len(a) // 2], lambda a: a[:100] + b"x" + a[101:], lambda a: b""])
def test_damaged_parts_are_made_again(tmp_path, damage):
    ran(tmp_path, "first")
    (pack,) = packs(tmp_path)
    pack.write_bytes(damage(pack.read_bytes()))
    numbers, code, seen, said = ran(tmp_path, "second")
    assert {"cross", "dot"} <= set(seen) and "damaged" in said
    assert (numbers, code) == ran(tmp_path, "second", cache="fresh")[:2]
    assert not pack.exists() and len(packs(tmp_path)) == 1


def test_parts_whose_callees_are_gone_are_made_again(tmp_path):
    ran(tmp_path, "first")
    ran(tmp_path, "second")
    for entry_file in (tmp_path / "cache").glob("*/entries/**/*.nb?"):
        entry_file.unlink()
    oldest = min(packs(tmp_path), key=lambda path: path.stat().st_ctime)
    oldest.unlink()
    numbers, _, seen, said = ran(tmp_path, "second")
    assert {"cross", "dot"} <= set(seen) and not said.count("damaged")
    assert numbers == ran(tmp_path, "second", cache="fresh")[0]


def test_parts_that_two_processes_made_at_once_go_together(tmp_path):
    """Of the same kernel there are two then; callers of the one find the other, whatever Numba made of the order of its flags."""
    ran(tmp_path, "first", seed="1")
    for seed in "234":
        ran(tmp_path, "second", cache=seed, seed=seed)
        (pack,) = packs(tmp_path, seed)
        pack.rename(packs(tmp_path)[0].with_name(f"{pack.stem}{parts.SUFFIX}"))
    numbers, code, seen, said = ran(tmp_path, "second", seed="5")
    assert set(seen) == {"second", "impl"} and "damaged" not in said  # impl: of max
    assert (numbers, code) == ran(tmp_path, "second", cache="fresh", seed="6")[:2]


def test_what_others_compile_with_our_kernels_is_not_shared(tmp_path):
    """There they have names of Numba's, which callers in other processes would not find."""
    numbers, _, _, _ = ran(tmp_path, "outside", "second", seed="1")
    ran(tmp_path, "first", seed="2")
    for entry_file in (tmp_path / "cache").glob("*/entries/**/*.nb?"):
        entry_file.unlink()
    assert ran(tmp_path, "second", seed="3")[0] == numbers


def test_without_a_cache_nothing_is_kept(tmp_path, monkeypatch):
    monkeypatch.setenv("LEASTACTION_CACHE", "0")
    numbers, _, seen, _ = ran(tmp_path, "first")
    assert "cross" in seen and not packs(tmp_path) and numbers


VECTOR = types.UniTuple(types.float64, 3)


def test_a_key_tells_kernels_types_and_processors_apart():
    known = parts.key_of(algebra.cross, (VECTOR, VECTOR), ("x86", "zen4", ""))
    assert known == parts.key_of(algebra.cross, (VECTOR, VECTOR), ("x86", "zen4", ""))
    others = [
        parts.key_of(algebra.dot, (VECTOR, VECTOR), ("x86", "zen4", "")),
        parts.key_of(algebra.cross, (VECTOR, types.UniTuple(types.int64, 3)), ("x86", "zen4", "")),
        parts.key_of(algebra.cross, (VECTOR, types.UniTuple(types.float64, 4)), ("x86", "zen4", "")),
        parts.key_of(algebra.cross, (VECTOR, VECTOR), ("x86", "znver3", "")),
        parts.key_of(algebra.cross, (VECTOR, types.literal(3)), ()), parts.key_of(algebra.cross, (VECTOR, types.literal(4)), ()),
        parts.key_of(algebra.cross, (VECTOR, types.Dispatcher(algebra.dot)), ()),
        parts.key_of(algebra.cross, (VECTOR, types.Dispatcher(algebra.cross)), ()),
        parts.key_of(algebra.cross, (VECTOR, types.none), ()), parts.key_of(algebra.cross, (VECTOR, types.boolean), ()),
        parts.key_of(algebra.cross, (VECTOR, types.Array(types.float64, 1, "C")), ()),
        parts.key_of(algebra.cross, (VECTOR, types.Array(types.float64, 1, "A")), ()),
        parts.key_of(algebra.cross, (VECTOR, types.Array(types.float64, 1, "C", readonly=True)), ()),
    ]  # fmt: skip
    assert None not in others and len({known, *others}) == len(others) + 1


def test_kernels_that_choose_by_number_are_known_by_their_cases():
    trees, bodies = retractions.coordinates, retractions.BODY.coordinates
    assert parts.name_of(trees) != parts.name_of(bodies)
    assert parts.key_of(dispatch.pose, (), ()) and parts.key_of(dispatch.pose, (), ()) != parts.key_of(dispatch.displacement, (), ())


def test_what_has_no_lasting_name_has_no_key(monkeypatch):
    @kernel
    def local(a):
        return a

    assert parts.key_of(local, (), ()) is None
    assert parts.key_of(njit(lambda a: a), (), ()) is None
    assert parts.key_of(algebra.cross, (types.Dispatcher(local),), ()) is None
    like_one = namedtuple("Charts", Charts._fields)
    record = like_one(*[1.0] * len(Charts._fields))
    assert parts.key_of(algebra.cross, (typeof(record),), ()) is None
    assert parts.key_of(algebra.cross, (typeof(Charts(*record)),), ())
    assert parts.key_of(algebra.cross, (types.unicode_type,), ()) is None
    cross = algebra.cross
    monkeypatch.setattr(algebra, "cross", local)  # no longer what stands in the module
    assert parts.key_of(cross, (), ()) is None


AROUND = r"""
import numpy as np
from numba import njit
from leastaction.compiling.decorators import apart, entry

@apart
def fill(a, unused, left, right, out):
    for k in range(out.shape[0]):
        out[k] = left * a[k] + right

@entry
def inside(a, unused, out):
    fill(a, unused, 2.0, 1.0, out)
    fill(out, unused, 2.0, 1.0, out)

@njit
def around(a, unused, out):
    fill(a, unused, 2.0, 1.0, out)
    fill(out, unused, 2.0, 1.0, out)

a, unused, results = np.arange(5.0), np.zeros((2, 3)), [np.zeros(5), np.zeros(5)]
for call, out in zip((inside, around), results):
    call(a, unused, out)
    print(out.tolist())
"""


def test_functions_around_kernels_call_their_own_copies(tmp_path):
    """Where an entry point has the same kernel without the arguments that are the same in all its calls."""
    (tmp_path / "around.py").write_text(AROUND)
    env = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    done = subprocess.run([sys.executable, str(tmp_path / "around.py")], env=env, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.splitlines() == [str([4.0 * k + 3.0 for k in range(5)])] * 2
