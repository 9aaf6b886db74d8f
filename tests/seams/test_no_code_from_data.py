"""Text of the user never becomes code: neither names, which stood in generated docstrings once, nor expressions, which SymPy would run."""

import functools
import math

import numpy as np
import pytest

import leastaction as la
from leastaction.errors import MechanismError
from leastaction.io.sexp import parse_mechanism
from leastaction.symbolic import grammar

BODY = {"mass": 1.0, "inertia": (1.0, 1.0, 1.0)}


@pytest.fixture
def trap(tmp_path):
    """Texts that would leave a file if they ran, and a function that says whether one did."""
    left = tmp_path / "ran"
    call = f"__import__('pathlib').Path({str(left)!r}).touch()"
    quoted = [f'a"""+str({call})+"""', f"a'''+str({call})+'''", f"{{{call}}}"]
    texts = [call, *quoted, f"\\\n{call}\n", f"x\n\n{call}", f"q0 if {call} else 1", "#\r" + call]
    return texts, left.exists


def joint_energy(joint):
    mech = la.Mechanism()
    mech.add_body("b", joint=joint, **BODY)
    joint.source()
    return mech.compile()


def test_names_do_not_run(trap):
    texts, ran = trap
    for text in texts:
        joint_energy(la.SymbolicJoint(text, lambda q, sp: sp.rot_z(q[0]), 1, coordinates=[text]))
        mech = la.examples.double_pendulum()
        mech.add_constraint(la.SymbolicConstraint(text, ["upper", "lower"], lambda q, sp: sp.sin(q[0]) + q[1]))
        mech.compile()
        for key in (text, "class", "1k", ""):
            if key.isidentifier():
                continue
            with pytest.raises(MechanismError, match="not an identifier"):
                la.UserPotential(lambda q, sp, p: q[0], joints=["upper"], parameters={key: 1.0})
        tree = la.FrameTree(name=text)
        tree.tx(text, name=text, mass=1.0)
        tree.add_force(la.NonlinearSpring(lambda x, sp: x**2, joint=text))
        tree.compile().specialise()
    parse_mechanism('(system (tx "a\\"\\"\\"+str(1/0)+\\"\\"\\"" (mass 1)))').compile()
    assert not ran()


def test_expressions_do_not_run(trap):
    texts, ran = trap
    for text in texts:
        for attempt in attempts(text):
            with pytest.raises(MechanismError):
                attempt()
    assert not ran()


def attempts(text):
    """All ways to give a text as an expression."""
    return [
        lambda: la.SymbolicJoint("j", lambda q, sp: [[text] * 4] * 4, 1),
        lambda: la.SymbolicJoint("j", lambda q, sp: sp.rot_z(text), 1),
        lambda: la.SymbolicJoint("j", lambda q, sp: sp.move(q[0], text, 0), 1),
        lambda: la.SymbolicJoint("j", lambda q, sp: sp.frame((1, 0, 0), (0, 1, text), (0, 0, 1)), 1),
        lambda: with_force(la.UserPotential(lambda q, sp: text, joints=["upper"])),
        lambda: with_force(la.UserPotential(text, joints=["upper"])),
        lambda: with_force(la.NonlinearSpring(text, joint="upper")),
        lambda: with_constraint(la.SymbolicConstraint("c", ["upper"], text)),
        lambda: with_constraint(la.SymbolicConstraint("c", ["upper"], lambda q, sp: text)),
        lambda: with_constraint(la.Prescribed("upper", text)),
        lambda: with_constraint(la.Cam("upper", "lower", text)),
    ]


def with_force(force):
    mech = la.examples.double_pendulum()
    mech.add_force(force)
    return mech.compile()


def with_constraint(constraint):
    mech = la.examples.double_pendulum()
    mech.add_constraint(constraint)
    return mech.compile()


def test_text_means_what_the_function_means():
    assert with_force(la.UserPotential("3 * cos(q0 - q1) + k*q0**2", ["upper", "lower"], {"k": 2.0})) == with_force(
        la.UserPotential(lambda q, sp, p: 3 * sp.cos(q[0] - q[1]) + p.k * q[0] ** 2, ["upper", "lower"], {"k": 2.0})
    )
    assert with_constraint(la.Prescribed("upper", "0.3 * sin(2 * t)")) == with_constraint(
        la.Prescribed("upper", lambda t, sp: 0.3 * sp.sin(2 * t))
    )
    assert with_constraint(la.Cam("upper", "lower", "0.1 * cos(x)")) == with_constraint(
        la.Cam("upper", "lower", lambda x, sp: 0.1 * sp.cos(x))
    )
    assert with_constraint(la.SymbolicConstraint("c", ["upper", "lower"], "sin(q0) + q1/2")) == with_constraint(
        la.SymbolicConstraint("c", ["upper", "lower"], lambda q, sp: sp.sin(q[0]) + q[1] / 2)
    )


NAMES = {"a": 0.3, "b": -1.7, "c": 2.5}


@pytest.mark.parametrize(
    "text",
    [
        "1", "-2.5e-3", ".5", "1.", "a + b * c", "a - b - c", "a / b / c", "2 ** 3 ** 2", "-a ** 2", "a ** -2",
        "2 ** -1 * a", "(a + b) * (c - 1)",
        "--a", "-+-a", "a*-b", "sin(a) ** 2 + cos(a) ** 2", "atan2(a, b)", "max(a, b, c) - min(a, b)", "exp(log(c))", "sqrt(2) * pi",
        "abs(b) + sign(b)", "tan(a) + asin(a) + acos(a) + atan(a) + sinh(a) + cosh(a) + tanh(a)",
    ],
)  # fmt: skip
def test_the_grammar_agrees_with_python(text):
    import sympy

    symbols = {name: sympy.Symbol(name, real=True) for name in NAMES}
    scope = {name: getattr(math, name) for name in dir(math)} | {"abs": abs, "sign": lambda x: math.copysign(1, x), "max": max, "min": min}
    value = grammar.parse(text, symbols, "it").subs({symbols[name]: value for name, value in NAMES.items()})
    assert float(value) == pytest.approx(eval(text, scope | NAMES), rel=1e-14)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "not complete"), ("a +", "not complete"), ("a b", "should end"), ("(a", "missing"), ("a)", "should end"),
        ("a..b", "no meaning"),
        ("a.real", "no meaning"), ("f(a)", "unknown"), ("sin", "missing"), ("sin()", "wanted"), ("atan2(a)", "2 argument"),
        ("a[0]", "no meaning"),
        ("lambda: a", "unknown"), ("a; b", "no meaning"), ("'a'", "no meaning"), ("9**9**9**9", "finite"),
        ("1e999", "finite"), ("1/0", "finite"),
        ("sqrt(-1)", "finite"), ("exp(exp(exp(99)))", "finite"), ("(" * 200 + "a" + ")" * 200, "deep"),
        ("a" + "**a" * 200, "deep"), ("a\x00", "meaning"),
        ("a + " * 60_000 + "a", "characters"), ("\N{GREEK SMALL LETTER ALPHA}", "no meaning"), ("1_000", "should end"),
        ("0x10", "should end"),
    ],
)  # fmt: skip
def test_what_the_grammar_refuses(text, words):
    import sympy

    with pytest.raises(MechanismError, match=words):
        grammar.parse(text, {"a": sympy.Symbol("a"), "b": sympy.Symbol("b")}, "it")


def test_odd_but_legal_expressions():
    """Choices in a joint, and expressions nested deeper than Python's recursion."""
    hill = la.SymbolicJoint("hill", lambda q, sp: sp.move(q[0], 0, sp.Piecewise((q[0] ** 2, q[0] < 1), (2 * q[0] - 1, q[0] < 5))), 1)
    joint_energy(hill)
    for x in (0.5, 2.0):
        pose, columns = hill.compiled([x])
        np.testing.assert_allclose(pose[:3, 3], [x, 0.0, x**2 if x < 1 else 2 * x - 1])
        np.testing.assert_allclose(columns[0, 3:], [1.0, 0.0, 2 * min(x, 1.0)])
    with_force(la.UserPotential(lambda q, sp: functools.reduce(lambda e, _: sp.sin(e), range(200), q[0]), joints=["upper"]))
    with pytest.raises(MechanismError, match="RecursionError"):
        with_force(la.UserPotential(lambda q, sp: functools.reduce(lambda e, _: sp.sin(e), range(5000), q[0]), joints=["upper"]))
    with pytest.raises(MechanismError, match="no finite derivative in 'q0'"):
        la.SymbolicJoint("root", lambda q, sp: sp.move(sp.sqrt(q[0]), 0, 0), 1)
    for energy in (lambda q, sp: None, lambda q, sp: q[0] < 1, lambda q, sp: [q[0]], lambda q, sp: sp.I * q[0], lambda q, sp: sp.oo * q[0],
                   lambda q, sp: 10**400 * q[0], lambda q, sp: sp.exp(sp.exp(sp.exp(9))) * q[0], lambda q, sp: sp.gamma(q[0])):  # fmt: skip
        with pytest.raises(MechanismError, match="UserPotential"):
            with_force(la.UserPotential(energy, joints=["upper"]))
