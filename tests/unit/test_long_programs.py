"""Long expressions: cut into pieces, or a list of operations, and the same numbers; in time that grows like their length."""

import ctypes
import gc
import math
import sys
import time
import weakref

import numba
import numpy as np
import pytest

import leastaction as la
from leastaction.compiling import straight
from leastaction.forces import functions
from leastaction.lie.trig import sincos
from leastaction.symbolic import emit, tape
from leastaction.symbolic.potential import PotentialExpression

POINTER = ctypes.POINTER(ctypes.c_double)
ANSWER = ctypes.CFUNCTYPE(None, ctypes.c_int64, POINTER, POINTER, POINTER, ctypes.c_double, POINTER, POINTER)


def values(expression, q):
    """Energy, gradient and Hessian by machine code."""
    out, S, q = np.zeros(12), np.zeros(1 + len(q) + len(q) ** 2), np.array(q)
    parameters = np.array([*expression.values, 0.0])
    addresses = [a.ctypes.data_as(POINTER) for a in (parameters, q, q, out, S)]
    ANSWER(expression.module.compiled.address)(0, *addresses[:3], 0.0, *addresses[3:])
    return S


def everything(number):
    """Every operation there is; `number` makes it another expression."""

    def energy(q, sp, p):
        x, y = q
        inner = sp.sin(x * y) / (2 + sp.cos(y + number)) - p.k * sp.exp(-(x**2)) + sp.log(3 + y) * sp.sqrt(2 + x)
        more = sp.sinh(x) * sp.cosh(y) + sp.atan2(y, 2 + x) + sp.asin(x / 3) + sp.tanh(x - y) + sp.Abs(x - 5) * sp.sign(y + 7)
        return inner + more * sp.Min(x, 2 * y) + sp.Max(x, y) ** 3 + sp.Piecewise((x**2, x < y), (y**2, True)) + number

    return energy


@pytest.mark.parametrize("how", ["whole", "pieces", "list"])
def test_every_way_of_running_it_gives_the_numbers_of_the_graph(how, monkeypatch):
    if how == "pieces":
        monkeypatch.setattr(straight, "LONGEST", 3)
        monkeypatch.setattr(emit, "_MANY", 10)
    if how == "list":
        monkeypatch.setattr(tape, "LONG", 0)
    expression = PotentialExpression("U", everything({"whole": 11, "pieces": 12, "list": 13}[how]), 2, {"k": 0.7})
    assert ("Tape(\n" in expression.source(), "@pieces" in expression.source()) == (how == "list", how == "pieces")
    graph, nodes = expression.block.graph, [n for _, n in expression.block.writes]
    for x, y in ((0.3, 0.9), (0.8, -0.4), (-0.2, -0.1)):
        exact = graph.evaluate(nodes, {"q0": x, "q1": y, "p0": 0.7})
        np.testing.assert_allclose(values(expression, [x, y]), exact, rtol=1e-13, atol=1e-13)


def waves(n):
    return lambda x, sp: sp.Add(*[sp.cos(0.1 * j * x + j) / j for j in range(1, n + 1)])


def test_ten_thousand_terms_are_a_matter_of_seconds():
    """Ten times the terms take ten times as long, and derivatives are right: of cosines, which are known."""
    seconds = {}
    for n in (1000, 10_000):
        k = np.arange(1, n + 1)
        began = time.process_time()
        expression = PotentialExpression("U", waves(n), 1, {}, single=True)
        found = values(expression, [0.3])
        seconds[n] = time.process_time() - began
        angle, slope = 0.1 * k * 0.3 + k, 0.1 * k
        exact = [math.fsum(f / k) for f in (np.cos(angle), -slope * np.sin(angle), -(slope**2) * np.cos(angle))]
        np.testing.assert_allclose(found, exact, atol=1e-13 * n)
    assert seconds[10_000] < 25.0  # measured: 7
    assert seconds[10_000] < 20.0 * seconds[1000] + 5.0


def test_a_joint_of_many_terms_runs():
    """A track of a hundred waves: long enough for pieces and lists; two integrators agree."""

    def pose(q, sp):
        height, turn = (sp.Add(*[f(j * q[0]) / j**4 for j in range(1, 101)]) for f in (sp.cos, sp.sin))
        return sp.move(q[0], 0, height) @ sp.rot_z(turn)

    mech = la.Mechanism()
    mech.add_body("bead", joint=la.SymbolicJoint("waves", pose, 1), mass=1.0, inertia=(0.01, 0.01, 0.01))
    model = mech.compile()
    start = model.state(q={"bead": 0.3}, v={"bead": 0.1})
    variational = la.simulate(model, start, dt=1e-3, steps=100)
    exact = la.simulate(model, start, dt=1e-3, steps=100, integrator=la.RK4())
    assert abs(variational.q - exact.q).max() < 1e-5
    assert abs(variational.energy - variational.energy[0]).max() < 1e-5


def test_what_a_kernel_returns_is_known_beyond_a_cut(tmp_path, monkeypatch):
    """A pair that one piece computes and a later one needs."""
    monkeypatch.setattr(straight, "LONGEST", 3)
    steps = [f"    t{k} = t{k - 1} * 1.0" for k in range(3, 20)]
    ends = ["    out[i] = t19 + c1[1]", "    out[i + 1] = t19 * c1[0]"]
    body = ["    t0 = x[i]", "    c1 = sincos(t0)", "    t2 = t0 * c1[0]", *steps, *ends]
    path = tmp_path / "piece.py"
    path.write_text("\n".join(["@straight", "def piece(x, out, i):", *body, ""]))
    scope = {"straight": straight.pieces, "sincos": sincos}
    exec(compile(path.read_text(), str(path), "exec"), scope)
    piece = scope["piece"]

    @numba.njit
    def run(x, out, i):
        piece(x, out, i)

    x, out = np.array([0.7, 0.3]), np.zeros(3)
    run(x, out, 1)
    np.testing.assert_allclose(out, [0.0, 0.3 * math.sin(0.3) + math.cos(0.3), 0.3 * math.sin(0.3) ** 2], rtol=1e-15)


def test_what_is_garbage_gives_its_memory_back():
    """A generated module lives as long as its model; intermediate code of its machine code is gone at once."""
    name = "waves that nobody else makes"
    mech = la.Mechanism(name=name)
    mech.add_body("bead", joint=la.Prismatic(axis=(1, 0, 0)), mass=1.0, inertia=(0.01, 0.01, 0.01))
    mech.add_force(la.UserPotential("3.25 * q0**2 + 0.125 * q0**3", joints=["bead"]))
    model = mech.compile()
    generated = weakref.ref(model.keep_alive[0].__wrapped__.__globals__["__generated__"])
    assert generated() is not None and generated().__name__ not in sys.modules
    del model, mech
    gc.collect()
    assert generated() is None


def test_one_function_is_compiled_once_and_freed_with_its_models():
    factor = 0.75

    def push(t, q, v, tau):
        tau[0] += factor * math.sin(t)

    def model():
        mech = la.examples.double_pendulum()
        mech.add_force(la.CustomForce(push))
        return mech.compile()

    first, second = model(), model()
    assert first.keep_alive[0] is second.keep_alive[0]
    code = weakref.ref(first.keep_alive[0])
    del first, second
    functions._last.clear()
    gc.collect()
    assert code() is None
