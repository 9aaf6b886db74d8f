"""Symbolic joints: the graph of a pose against high precision, generated code on disk, and what users are told."""

import math
from pathlib import Path

import mpmath
import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st
from support.symbolic_samples import symbolic_samples

import leastaction as la
from leastaction.errors import MechanismError
from leastaction.symbolic.emit import Writer
from leastaction.symbolic.graph import Graph
from leastaction.symbolic.program import Block
from leastaction.symbolic.transform import words
from leastaction.testing.joint_alone import JointAlone
from leastaction.yardsticks import Svi

A, B = sympy.symbols("a b", real=True)
SAFE = 2 + A**2  # positive, for logarithms and roots
FUNCTIONS = [sympy.sin, sympy.cos, sympy.exp, sympy.sinh, sympy.cosh, sympy.tanh]


def smaller(e):
    """An expression between -1 and 1."""
    return sympy.sin(e)


expressions = st.recursive(
    st.sampled_from([A, B, A + B, sympy.Float(0.7), SAFE]),
    lambda inner: st.one_of(
        st.builds(lambda x, y: x + y, inner, inner),
        st.builds(lambda x, y: x * y, inner, inner),
        st.builds(lambda x, y: x / (2 + smaller(y)), inner, inner),
        st.builds(lambda x: smaller(x) ** 3, inner),
        st.builds(lambda x, f: f(smaller(x)), inner, st.sampled_from(FUNCTIONS)),
        st.builds(lambda x: sympy.sqrt(2 + smaller(x)), inner),
        st.builds(lambda x: sympy.log(2 + smaller(x)), inner),
        st.builds(lambda x: (2 + smaller(x)) ** sympy.Rational(1, 3), inner),
        st.builds(lambda x, y: sympy.atan2(smaller(x), 2 + smaller(y)), inner, inner),
        st.builds(lambda x: sympy.asin(smaller(x) / 2), inner),
    ),
    max_leaves=6,
)


def run(graph, outputs, values):
    """Evaluate nodes as the generated code would."""
    block = Block(graph)
    block.write("out{}", 0, outputs)
    names = {name: f"values[{name!r}]" for name in values}
    lines = Writer(graph, names).block(block)
    scope = {
        name: getattr(math, name) for name in ("sqrt", "exp", "log", "sinh", "cosh", "atan2", "expm1", "log1p")
    } | {
        "values": values, "sincos": lambda x: (math.sin(x), math.cos(x)), "half_sincos": lambda x: (math.sin(x / 2), math.cos(x / 2)),
        "sign": lambda x: math.copysign(1.0, x),
    }  # fmt: skip
    exec("\n".join(lines), scope)
    return [scope[f"out{k}"] for k in range(len(outputs))]


@settings(max_examples=60, deadline=None)
@given(e=expressions, a=st.floats(-1, 1), b=st.floats(-1, 1), power=st.integers(1, 12))
def test_values_derivatives_and_differences_against_fifty_digits(e, a, b, power):
    graph = Graph()
    n, na, nb = graph.of(e), graph.input("a"), graph.input("b")
    da, db = 10.0**-power, -0.7 * 10.0**-power
    slope = graph.tangent(n, {na: graph.one, nb: graph.const(2.0)})
    grown = graph.difference(n, {na: graph.input("da"), nb: graph.input("db")}, {})
    value, slope, grown = run(graph, [n, slope, grown], {"a": a, "b": b, "da": da, "db": db})
    with mpmath.workdps(50):
        f = sympy.lambdify([A, B], e, "mpmath")
        x, y = mpmath.mpf(a), mpmath.mpf(b)
        exact = f(x, y)
        exact_slope = mpmath.diff(lambda s: f(x + s, y + 2 * s), 0)
        exact_grown = f(x + mpmath.mpf(da), y + mpmath.mpf(db)) - exact
        size = 1 + abs(exact) + abs(exact_slope)
        assert abs(value - exact) < 1e-13 * size
        assert abs(slope - exact_slope) < 1e-12 * size
        # small against the increment, however small that is; a slope that cancels leaves the size of its terms
        assert abs(grown - exact_grown) < 2e-13 * abs(da) * 10 * (10 + abs(exact) + abs(exact_slope))


def test_piecewise_absolute_value_minimum_and_maximum():
    graph = Graph()
    e = sympy.Piecewise((A**2, A < 0), (3 * A, True)) + sympy.Abs(B) + sympy.Max(A, B) - sympy.Min(A, 2 * B)
    n = graph.of(e)
    seeds = {graph.input("a"): graph.one, graph.input("b"): graph.const(1.0)}
    for a, b in ((-0.5, 0.3), (0.4, -0.2), (0.1, 0.7)):
        slope = graph.tangent(n, seeds)
        grown = graph.difference(n, {graph.input("a"): graph.input("da"), graph.input("b"): graph.input("db")}, {})
        got = run(graph, [n, slope, grown], {"a": a, "b": b, "da": 1e-3, "db": 1e-3})
        f = sympy.lambdify([A, B], e, "math")
        assert got[0] == pytest.approx(f(a, b))
        assert got[1] == pytest.approx((f(a + 1e-6, b + 1e-6) - f(a - 1e-6, b - 1e-6)) / 2e-6, abs=1e-8)
        assert got[2] == pytest.approx(f(a + 1e-3, b + 1e-3) - f(a, b))


def test_zeros_and_ones_are_folded():
    graph = Graph()
    x = graph.input("x")
    assert graph.mul(graph.zero, x) == graph.zero
    assert graph.mul(graph.one, x) == x and graph.add(x, graph.zero) == x
    assert graph.sub(x, x) == graph.zero
    assert graph.neg(graph.neg(x)) == x
    assert graph.of(sympy.sin(0) + sympy.cos(0)) == graph.one
    assert graph.tangent(graph.of(SAFE), {graph.input("b"): graph.one}) == graph.zero


@pytest.mark.parametrize("joint", symbolic_samples(), ids=lambda joint: joint.name)
def test_displacement_keeps_the_digits_of_a_tiny_increment(joint):
    """Against the pose in fifty digits."""
    description = joint._description
    rng = np.random.default_rng(0)
    q, d = joint.neutral() + 0.3 * rng.normal(size=joint.nq), 1e-10 * rng.normal(size=joint.nq)
    got = JointAlone(joint).displacement(q, d)
    with mpmath.workdps(50):
        entries = description.charts[0].transform.matrix()
        f = sympy.lambdify([*description.q, *description.parameters], entries, "mpmath")
        start = mpmath.matrix(f(*map(mpmath.mpf, q), *joint.parameters()))
        end = mpmath.matrix(f(*(mpmath.mpf(x) + mpmath.mpf(y) for x, y in zip(q, d, strict=True)), *joint.parameters()))
        D = mpmath.inverse(start) * end
        turn = [(D[2, 1] - D[1, 2]) / 4, (D[0, 2] - D[2, 0]) / 4, (D[1, 0] - D[0, 1]) / 4]
        wanted = np.array([float(x) for x in [*turn, D[0, 3], D[1, 3], D[2, 3]]])
    assert np.abs(got[1:] - wanted).max() < 1e-13 * np.abs(wanted).max()


def test_generated_code_is_kept_on_disk_and_shared():
    joint, again = (
        la.SymbolicJoint("cam", lambda q, sp, p: sp.rot_z(q[0]) @ sp.move(0, 0, p.lift * sp.sin(2 * q[0]) + sp.exp(-q[0] ** 2)), 1,
                         parameters={"lift": lift})
        for lift in (0.2, 0.7)
    )  # fmt: skip
    assert again.kind == joint.kind == joint.with_parameters(lift=0.1).kind
    source = joint.source()
    assert "def displacement(" in source and "sincos(" in source
    assert Path(joint._description.module.__file__).read_text().rpartition("# checksum")[0] == source


@pytest.mark.parametrize("joint", symbolic_samples(), ids=lambda joint: joint.name)
def test_compiled_code_equals_the_expression(joint):
    q = joint.neutral() + 0.2
    pose, columns = joint.compiled(q)
    assert np.abs(pose - joint.reference_pose(q)).max() < 1e-14 * (1 + np.abs(pose).max())
    assert np.abs(columns - joint.columns(q)).max() < 1e-13 * np.abs(columns).max()


def test_parameters_differ_from_joint_to_joint():
    bowl = symbolic_samples()[1]
    mech = la.Mechanism()
    for k, depth in enumerate((0.1, 0.4)):
        mech.add_body(f"ball{k}", joint=bowl.with_parameters(depth=depth), mass=1.0, inertia=(0.1, 0.1, 0.1))
    model = mech.compile()
    assert [la.dynamics.pose(model, {f"ball{k}": (1.0, 2.0)}, f"ball{k}").p[2] for k in (0, 1)] == pytest.approx([0.5, 2.0])


def test_angles_are_recognised():
    assert symbolic_samples()[2].angular == (True, True, True)
    assert symbolic_samples()[1].angular == (False, False)


def rail(q, sp):
    return sp.move(q[0], 0, 0)


@pytest.mark.parametrize("make, words_of_the_message", [
    (lambda: la.SymbolicJoint("j", rail, 0), "nq = 0; a joint has 1 to 6"),
    (lambda: la.SymbolicJoint("j", rail, 7), "1 to 6 coordinates"),
    (lambda: la.SymbolicJoint("j", "rot_z", 1), "is not a function; give for example pose=lambda"),
    (lambda: la.SymbolicJoint("j", lambda q, sp: q[0], 1), "a pose is a product such as .* got Symbol"),
    (lambda: la.SymbolicJoint("j", lambda q, sp: sp.eye(3), 1), r"4x4 matrix; got .* of shape \(3, 3\)"),
    (lambda: la.SymbolicJoint("j", lambda q, sp: sp.move(sp.Symbol("alpha"), 0, 0), 1), "depends on alpha, .* parameters="),
    (lambda: la.SymbolicJoint("j", lambda q, sp: sp.move(q[1], 0, 0), 1), "pose function fails with IndexError"),
    (lambda: la.SymbolicJoint("j", lambda q, sp: sp.diag(2, 1, 1, 1), 1), "not a rigid transform .* off by"),
    (lambda: la.SymbolicJoint("j", lambda q, sp: sp.diag(-1, 1, 1, 1), 1), "mirrors"),
    (lambda: la.SymbolicJoint("j", lambda q, sp: sp.rot_z(q[0] + q[1]), 2), "singular at its start .* 'q0' and 'q1' move"),
    (lambda: la.SymbolicJoint("j", lambda q, sp: sp.rot_z(q[0] ** 2), 1), "moving 'q0' does nothing .* another start="),
    (lambda: la.SymbolicJoint("j", lambda q, sp: sp.move(sp.log(q[0]), 0, 0), 1), r"not finite at its start q = \(0\)"),
    (lambda: la.SymbolicJoint("j", lambda q, sp: sp.move(sp.gamma(q[0]), 0, 0), 1, start=1.0).kind, "gamma is not among the functions"),
    (lambda: la.SymbolicJoint("j", rail, 1, start=(1, 2)), "start = .* needs 1 number"),
    (lambda: la.SymbolicJoint("j", rail, 1, coordinates=("a", "b")), "2 names of coordinates .* nq = 1"),
    (lambda: la.SymbolicJoint("j", rail, 1, parameters={"a": 1.0}), r"does not take them; .* pose\(q, sp, p\)"),
    (lambda: la.SymbolicJoint("j", rail, 1, parameters={"a": "x"}), "parameter 'a' = 'x'"),
    (lambda: la.SymbolicJoint("j", lambda q, sp, p: sp.move(p.b, 0, q[0]), 1, parameters={"a": 1.0}), "uses the parameter 'b'; .* 'a'"),
    (lambda: symbolic_samples()[0].with_parameters(height=1.0), "no parameter 'height'; it has 'lift'"),
    (lambda: symbolic_samples()[0].with_parameters(lift=(1.0, 2.0)), r"shape \(2,\)"),
    (lambda: la.SymbolicJoint("j", rail, 1, second_chart=(rail, rail)), "both need a way back"),
    (lambda: la.SymbolicJoint("j", rail, 1, inverse=lambda R, x, sp: (2 * x[0],), second_chart=(rail, lambda R, x, sp: (x[0],))),
     "inverse does not lead back to the pose"),
    (lambda: la.SymbolicJoint("j", rail, 1, inverse=lambda R, x, sp: (1, 2), second_chart=(rail, rail)), "inverse gives 2 coordinates"),
])  # fmt: skip
def test_errors_name_the_value_and_the_remedy(make, words_of_the_message):
    with pytest.raises(MechanismError, match=words_of_the_message):
        make()


def test_springs_on_changing_coordinates_are_refused():
    twice, half = lambda q, sp: sp.move(2 * q[0], 0, 0), lambda R, x, sp: (x[0] / 2,)
    joint = la.SymbolicJoint("j", rail, 1, inverse=lambda R, x, sp: (x[0],), second_chart=(twice, half))
    mech = la.Mechanism()
    mech.add_body("slider", joint=joint, mass=1.0)
    mech.add_force(la.Spring("slider", 1.0))
    with pytest.raises(MechanismError, match="changes between 2 charts"):
        mech.compile()


def test_words_know_sympy_and_transforms_multiply():
    sp = words()
    t = sp.rot_z(A) @ sp.move(1, 2, 3)
    assert sp.sqrt(4) == 2
    assert sympy.simplify((t @ t.inverse()).matrix() - sympy.eye(4)) == sympy.zeros(4)
    assert (sp.eye(4) @ t).matrix() == t.matrix()


def test_svi_says_that_it_has_no_symbolic_joints():
    mech = la.Mechanism()
    mech.add_body("a", joint=symbolic_samples()[0], mass=1.0, inertia=(1, 1, 1))
    with pytest.raises(la.LeastActionError, match="symbolic|Symbolic|'cam'"):
        la.simulate(mech.compile(), dt=1e-3, steps=1, integrator=Svi("riqn", "ig2"))
