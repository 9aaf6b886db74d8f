"""What compiling leaves behind in the process, and that Numba is as it was afterwards."""

import ctypes
import gc
import math
import subprocess
import sys
import threading
import time

import pytest
from numba import config, types

from leastaction.compiling import modules, numba_private
from leastaction.compiling.address import compile_force
from leastaction.compiling.decorators import entry, kernel

pytestmark = pytest.mark.skipif(
    bool(config.DISABLE_JIT) or not numba_private.AVAILABLE, reason="about machine code made with the private parts of Numba"
)


class _MallocInfo(ctypes.Structure):
    _fields_ = [
        (name, ctypes.c_size_t)
        for name in ("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks", "fordblks", "keepcost")
    ]


def bytes_in_use() -> int:
    """All that C and C++ hold in this process."""
    try:
        mallinfo = ctypes.CDLL(None).mallinfo2
    except (AttributeError, OSError, TypeError):
        pytest.skip("needs the mallinfo2 of glibc 2.33")
    mallinfo.restype = _MallocInfo
    gc.collect()
    found = mallinfo()
    return found.uordblks + found.hblkhd


def spring(stiffness):
    def force(t, q, v, tau):
        tau[0] -= stiffness * math.sin(q[0])

    return force


def test_a_function_of_the_user_leaves_little_behind():
    for k in range(3):
        compile_force(spring(1.0 + k))
    before = bytes_in_use()
    for k in range(8):
        compile_force(spring(10.0 + k))
    assert bytes_in_use() - before < 8 * 70_000  # 130,000 each with a pass builder for every function


def methods():
    from leastaction.compiling import numba_lean  # which is there only with the private parts of Numba

    return (
        numba_lean.CPUCodegen._pass_builder, numba_lean.funcdesc.default_mangler, numba_lean.TargetConfig.__hash__,
        numba_lean.TargetConfig.__eq__, numba_lean.BaseFunction.get_call_type, numba_lean.event.install_timer,
    )  # fmt: skip


@kernel
def with_a_function_inside(x):
    def twice(y):
        return y + y

    return twice(x) * twice(x + 1)


def test_kernels_may_have_functions_inside():
    made = entry(lambda x, k: (with_a_function_inside(x), with_a_function_inside(k)))
    assert made(1.5, 2) == (15.0, 24)


def test_versions_for_functions_that_are_gone_are_forgotten():
    """Numba knows functions that are arguments by weak references."""
    function = kernel(lambda x: 2.0 * x)
    kind = types.Tuple((types.float64, types.Dispatcher(function)))
    assert not numba_private._mentions(kind, lambda module: False) and numba_private._mentions(kind, lambda module: module == __name__)
    del function
    gc.collect()
    assert numba_private._mentions(kind, lambda module: False)


def test_numba_is_as_before():
    before = methods()
    with pytest.raises(RuntimeError, match="of the test"), numba_private.lean_compilation():
        assert all(now is not then for now, then in zip(methods(), before, strict=True))
        with numba_private.lean_compilation():
            pass
        assert all(now is not then for now, then in zip(methods(), before, strict=True))
        raise RuntimeError("of the test")
    assert methods() == before


def test_two_threads_do_not_mix_up_what_was_before():
    before, inside, seen, left = methods(), threading.Event(), threading.Event(), threading.Event()

    def first():
        with numba_private.lean_compilation():
            inside.set()
            seen.wait(0.2)  # the second does not get in while this one is inside
        left.set()

    def second():
        inside.wait(10)
        with numba_private.lean_compilation():
            seen.set()
            left.wait(10)

    threads = [threading.Thread(target=first), threading.Thread(target=second)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert methods() == before


def test_who_compiles_generated_code_does_not_wait_for_its_module_with_the_compiler_locked():
    """Whoever makes such a module holds its lock and may need the compiler."""
    source = f"from leastaction.compiling.decorators import entry\n\n\n@entry\ndef twice(x):\n    return 2.0 * x  # {time.time_ns()}\n"
    module, results = modules.generated_module("lock", source, lambda: source), []
    thread = threading.Thread(target=lambda: results.append(module.twice(1.5)))
    lock = numba_private.global_compiler_lock._lock
    with modules._lock:
        thread.start()
        time.sleep(0.5)
        assert not results
        free = lock.acquire(timeout=5.0)
        if free:
            lock.release()
    thread.join(60)
    assert free and results == [3.0]


def test_a_numba_that_lacks_a_pass_compiles_with_the_others():
    program = """
from numba.core import untyped_passes
del untyped_passes.FindLiterallyCalls
import leastaction
from leastaction.compiling import numba_lean, numba_private
assert numba_private.AVAILABLE
needed, needless = (untyped_passes.IRProcessing, ""), (untyped_passes.WithLifting, "")
assert numba_lean.needed_passes([needless, needed], lambda: None) == [needed]
"""
    subprocess.run([sys.executable, "-c", program], check=True)
