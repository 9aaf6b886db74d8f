"""A joint and a retraction added to a copy of the package exactly as docs/extending.md says, two files each, and what they then can do.

The copy runs in a process of its own, without compilation, which would take minutes; `check_joint` and a run of every integrator.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import leastaction

PAGE = Path(__file__).resolve().parents[2] / "docs" / "extending.md"


def blocks():
    """file -> source, of the page."""
    found = re.findall(r"^```python file=(\S+)\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    return dict(found)


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

RUN_JOINT = '''
import numpy as np
import leastaction as la
from leastaction import joints
from leastaction.testing import Kinematics, arriving_momentum, check_joint, leaving_momentum, random_mechanism, random_state

kind = joints.ALL[-1]
assert kind.__name__ == "{name}" and kind.kind == len(joints.ALL) - 2
check_joint(kind)
rng = np.random.default_rng(0)
mech = random_mechanism(rng, 2, joints=[kind], oddities=False)
model, kin = mech.compile(), Kinematics(mech)
q, v = random_state(model, rng, 0.5)
exact = la.simulate(model, q=q, v=v, dt=1e-3, steps=4, integrator=la.RK4()).q[-1]
for integrator in (
    la.Variational(), la.Variational("cayley"), la.Variational(quadrature="midpoint"), la.Maximal(), la.Midpoint(), la.Trapezoid(),
    la.FloatingBase(), la.RKMK4(),
):
    run = la.simulate(model, q=q, v=v, dt=1e-3, steps=4, integrator=integrator)
    assert np.abs(run.q[-1] - exact).max() < 1e-5, (integrator, run.q[-1], exact)
    assert np.abs(run.q[-1] - q).max() > 1e-4
sim = la.Simulator(model, q=q, v=v, dt=1e-2, integrator=la.Variational(tol=1e-13))
before = sim.state.p
sim.step()
for got, law in ((before, leaving_momentum), (sim.state.p, arriving_momentum)):
    wanted = law(kin, q, sim.q, 1e-2)
    assert np.abs(got - wanted).max() <= 1e-9 * np.abs(wanted).max()
la.linearize(model, la.Variational(), model.state(q, v), 1e-2)
'''

RUN_RETRACTION = '''
import numpy as np
import leastaction as la
from leastaction.testing import check_retraction

check_retraction("split")
model = la.examples.ball_chain(2).compile()
start = {"q": {"link1": (0.8, 0.6, 0.0, 0.0)}, "v": {"link2": (1.0, 2.0, 3.0)}}
ends = [la.simulate(model, dt=1e-3, steps=5, integrator=la.Maximal(name), **start).q[-1] for name in ("split", "exp")]
assert 0.0 < np.abs(ends[0] - ends[1]).max() < 1e-6
'''


@pytest.fixture
def copy(tmp_path):
    shutil.copytree(Path(leastaction.__file__).parent, tmp_path / "leastaction", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


def write(copy, file, source):
    (copy / "leastaction" / file).write_text(source, encoding="utf-8")


def change(copy, file, old, new):
    path = copy / "leastaction" / file
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times in {file}"
    path.write_text(text.replace(old, new), encoding="utf-8")


def run(copy, program):
    environment = os.environ | {"PYTHONPATH": str(copy), "NUMBA_DISABLE_JIT": "1"}
    return subprocess.run([sys.executable, "-c", program], cwd=copy, env=environment, capture_output=True, text=True, timeout=600)


def add_joint(copy, file, source):
    write(copy, f"joints/{file}.py", source)
    change(copy, "joints/__init__.py", "from .fixed import", f"from .{file} import {file.title()}\nfrom .fixed import")
    change(copy, "joints/__init__.py", "Spherical, Free,\n)", f"Spherical, Free, {file.title()},\n)")


@pytest.mark.parametrize(("file", "source"), [("slot", blocks()["joints/slot.py"]), ("gimbal", GIMBAL)], ids=["slot", "gimbal"])
def test_a_new_joint_works_with_every_integrator(copy, file, source):
    add_joint(copy, file, source)
    done = run(copy, RUN_JOINT.replace("{name}", file.title()))
    assert done.returncode == 0, done.stderr[-3000:]


@pytest.mark.parametrize("function", ["pose", "displacement", "columns", "coordinates_of"])
def test_a_missing_kernel_is_an_error_at_import(copy, function):
    source = blocks()["joints/slot.py"].replace(f"def {function}(", f"def not_{function}(")
    add_joint(copy, "slot", source)
    done = run(copy, "import leastaction")
    assert done.returncode == 1
    assert f"leastaction.joints.slot has no function {function}(param, i, " in done.stderr


def test_a_kernel_with_other_parameters_is_an_error_at_import(copy):
    add_joint(copy, "slot", blocks()["joints/slot.py"].replace("def bias(param, i, q, k, rate, v):", "def bias(q, k, rate, v):"))
    done = run(copy, "import leastaction")
    assert done.returncode == 1
    assert "leastaction.joints.slot.bias(q, k, rate, v) should take (param, i, q, k, rate, v)" in done.stderr


def test_a_new_retraction_obeys_its_laws(copy):
    write(copy, "lie/retraction_split.py", blocks()["lie/retraction_split.py"])
    change(copy, "lie/retractions.py", "import retraction_cayley, retraction_exp, retraction_quaternion",
           "import retraction_cayley, retraction_exp, retraction_quaternion, retraction_split")  # fmt: skip
    change(copy, "lie/retractions.py", ": retraction_quaternion}", ': retraction_quaternion, "split": retraction_split}')
    done = run(copy, RUN_RETRACTION)
    assert done.returncode == 0, done.stderr[-3000:]


def test_a_retraction_that_lacks_a_function_is_an_error_at_import(copy):
    change(copy, "lie/retraction_cayley.py", "def cotangent(", "def not_cotangent(")
    done = run(copy, "import leastaction")
    assert done.returncode == 1
    assert "leastaction.lie.retraction_cayley has no function cotangent(phi, rho, m, l)" in done.stderr
