"""What needs a branch in compiled code: a joint and a retraction, added to a copy of the package exactly as docs/extending.md shows them.

The laws run with kernels as plain Python (`laws.py`): compiling everything once more would take minutes.  One simulation is compiled as
well and has to give the same numbers.  The copy has its own cache, so nothing of the installed package is used.
"""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from extending import page

LAWS = Path(__file__).with_name("laws.py")

# three angles: columns that are neither constant nor orthonormal, and a range in which they are coordinates
GIMBAL = '''"""Gimbal: X = Rx(q0) Ry(q1) Rz(q2)."""

import math

import numpy as np

from ..compiling.decorators import inlined
from ..lie.algebra import ZERO3, matmul, quat_mul
from ..lie.rotations import near, rot_z
from ..lie.trig import half_sincos, sincos
from . import reference
from .base import Joint
from .columns import set_column
from .primitives import TURN_X, TURN_Y, TURN_Z, Primitive
from .rows import SAME_POINT


class Gimbal(Joint):
    """Three angles about x, y and z."""

    nq = nv = 3
    coordinates = ("roll", "pitch", "yaw")
    angular = (True, True, True)

    def constraint_rows(self):
        return SAME_POINT

    def primitives(self):
        return Primitive(TURN_X), Primitive(TURN_Y), Primitive(TURN_Z)

    def limits(self):
        return np.array([[-np.inf, np.inf], [-1.2, 1.2], [-np.inf, np.inf]])

    def reference_pose(self, q):
        turns = [reference.turn(e, q[..., a]) for a, e in enumerate(np.eye(3))]
        return reference.rigid(turns[0] @ turns[1] @ turns[2], np.zeros(3))

    def reference_coordinates(self, R, p):
        lift = np.sqrt(R[..., 1, 2] ** 2 + R[..., 2, 2] ** 2)
        roll, pitch = reference.angle_of(-R[..., 1, 2], R[..., 2, 2]), reference.angle_of(R[..., 0, 2], lift)
        return np.stack([roll, pitch, reference.angle_of(-R[..., 0, 1], R[..., 0, 0])], -1)


@inlined
def pose(param, i, q, k, d, v, f):
    s0, c0 = sincos(q[k] + f * d[v])
    s1, c1 = sincos(q[k + 1] + f * d[v + 1])
    return matmul((c1, 0.0, s1, s0 * s1, c0, -s0 * c1, -c0 * s1, s0, c0 * c1), rot_z(q[k + 2] + f * d[v + 2])), ZERO3


@inlined
def axis(s1, c1, s2, c2):
    """The first axis in the body: Rz' Ry' e_x."""
    return c1 * c2, -c1 * s2, s1


@inlined
def displacement(param, i, q, k, d, v):
    s1, c1 = sincos(q[k + 1])
    s2, c2 = sincos(q[k + 2])
    h0, g0 = half_sincos(d[v])
    h1, g1 = half_sincos(d[v + 1])
    h2, g2 = half_sincos(d[v + 2])
    a = axis(s1, c1, s2, c2)
    w, u = quat_mul(g0, (h0 * a[0], h0 * a[1], h0 * a[2]), g1, (h1 * s2, h1 * c2, 0.0))
    w, u = quat_mul(w, u, g2, (0.0, 0.0, h2))
    return w, u, ZERO3


@inlined
def columns(param, i, q, k, d, v, f, S):
    s1, c1 = sincos(q[k + 1] + f * d[v + 1])
    s2, c2 = sincos(q[k + 2] + f * d[v + 2])
    set_column(S, v, 0, c1 * c2)
    S[v, 1], S[v, 2] = -c1 * s2, s1
    set_column(S, v + 1, 0, s2)
    S[v + 1, 1] = c2
    set_column(S, v + 2, 2, 1.0)


@inlined
def coordinates_of(param, i, R, p, old, k, out):
    out[k] = near(math.atan2(-R[5], R[8]), old[k])
    out[k + 1] = near(math.atan2(R[2], math.sqrt(R[5] * R[5] + R[8] * R[8])), old[k + 1])
    out[k + 2] = near(math.atan2(-R[1], R[0]), old[k + 2])


@inlined
def bias(param, i, q, k, rate, v):
    s1, c1 = sincos(q[k + 1])
    s2, c2 = sincos(q[k + 2])
    a, b, c = rate[v], rate[v + 1], rate[v + 2]
    return (a * (-b * s1 * c2 - c * c1 * s2) + b * c * c2, a * (b * s1 * s2 - c * c1 * c2) - b * c * s2, a * b * c1), ZERO3
'''


def python(copy, *arguments, jit=False):
    env = os.environ | {"PYTHONPATH": str(copy), "NUMBA_CACHE_DIR": str(copy / "cache"), "NUMBA_DISABLE_JIT": "0" if jit else "1"}
    return subprocess.run([sys.executable, *map(str, arguments)], env=env, cwd=copy, capture_output=True, text=True, timeout=1200)


def succeeds(copy, *arguments, jit=False):
    done = python(copy, *arguments, jit=jit)
    assert done.returncode == 0, f"exit code {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}"


def fails_to_import(copy):
    """The last line of what importing a name of the package says."""
    done = python(copy, "-c", "from leastaction import simulate")
    assert done.returncode == 1, f"exit code {done.returncode}: {done.stderr[-1000:]}"
    return done.stderr.strip().splitlines()[-1]


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """A copy with the joint and the retraction of the page."""
    return page.patched_copy(tmp_path_factory.mktemp("both"), "A joint", "A retraction")


@pytest.mark.parametrize("what", ["joint", "retraction"])
def test_laws_with_every_integrator(both, what):
    succeeds(both, LAWS, what)


@pytest.mark.slow
def test_compiled_code_does_the_same(both):
    """With the machine code of the copy, and without any."""
    ends = []
    for jit in (False, True):
        succeeds(both, LAWS, "run", both / f"end-{jit}.npy", jit=jit)
        ends.append(np.load(both / f"end-{jit}.npy"))
    assert np.isfinite(ends[0]).all()
    np.testing.assert_allclose(ends[1], ends[0], rtol=0.0, atol=1e-11)


def test_a_joint_whose_columns_depend_on_everything(tmp_path):
    copy = page.patched_copy(tmp_path)
    (copy / "leastaction" / "joints" / "gimbal.py").write_text(GIMBAL, encoding="utf-8")
    listing = copy / "leastaction" / "joints" / "__init__.py"
    page.change(listing, "from .helical import Helical", "from .gimbal import Gimbal\nfrom .helical import Helical")
    page.change(listing, "Spherical, Free,\n)", "Spherical, Free, Gimbal,\n)")
    succeeds(copy, LAWS, "joint")


# ------------------------------------------------------------------------------------------- getting it wrong, by name


def slot(copy):
    return copy / "leastaction" / "joints" / "slot.py"


@pytest.mark.parametrize("function", ["pose", "displacement", "columns", "coordinates_of"])
def test_a_missing_kernel_is_an_error_at_import(function, tmp_path):
    copy = page.patched_copy(tmp_path, "A joint")
    page.change(slot(copy), f"def {function}(", f"def not_{function}(")
    assert f"leastaction.joints.slot has no function {function}(param, i, " in fails_to_import(copy)


def test_a_kernel_with_other_parameters_is_an_error_at_import(tmp_path):
    copy = page.patched_copy(tmp_path, "A joint")
    page.change(slot(copy), "def bias(param, i, q, k, rate, v):", "def bias(q, k, rate, v):")
    assert "leastaction.joints.slot.bias(q, k, rate, v) should take (param, i, q, k, rate, v)" in fails_to_import(copy)


def test_a_joint_listed_twice_is_an_error_at_import(tmp_path):
    copy = page.patched_copy(tmp_path, "A joint")
    page.change(copy / "leastaction" / "joints" / "__init__.py", "Free, Slot,", "Free, Slot, Slot,")
    assert "Slot stands twice in joints.ALL" in fails_to_import(copy)


def test_a_retraction_that_lacks_a_function_is_an_error_at_import(tmp_path):
    copy = page.patched_copy(tmp_path, "A retraction")
    page.change(copy / "leastaction" / "lie" / "retraction_split.py", "def cotangent(", "def not_cotangent(")
    assert "leastaction.lie.retraction_split has no function cotangent(phi, rho, m, l)" in fails_to_import(copy)
