"""Long expressions: cut into pieces, or a list of operations, and the same numbers; in time that grows like their length."""

import ctypes
import math
import time

import numpy as np
import pytest

import leastaction as la
from leastaction.compiling import straight
from leastaction.symbolic import tape
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
    if how == "list":
        monkeypatch.setattr(tape, "LONG", 0)
    expression = PotentialExpression("U", everything({"whole": 11, "pieces": 12, "list": 13}[how]), 2, {"k": 0.7})
    assert ("Tape(\n" in expression.source()) == (how == "list")
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
