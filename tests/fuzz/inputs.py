"""Random inputs, one for every (seed, number): each is described by a grammar that is mostly right and sometimes broken on purpose.

An input ends in one of two ways: `right`, all oracles agree, or `named`, an error of ours.  Anything else is a failure of the package.
"""

from __future__ import annotations

import math
import pickle
from pathlib import Path

import numpy as np
import sympy

import leastaction as la
from leastaction.errors import LeastActionError
from leastaction.io.sexp import parse_mechanism, write
from leastaction.symbolic import grammar

RIGHT, NAMED = "right", "named"


class Wrong(Exception):
    """An oracle disagrees."""


def try_one(seed: int, number: int, trap: Path, integrators=(la.Variational,)) -> tuple[str, str]:
    """(kind of the input, how it ended); raises whatever is not an error of ours."""
    rng = np.random.default_rng((seed, number))
    kind, make = list(KINDS.items())[number % len(KINDS)]
    try:
        make(Source(rng, trap), integrators)
    except LeastActionError as error:
        if not str(error) or len(str(error)) > 20_000:
            raise Wrong(f"a message of {len(str(error))} characters") from error
        return kind, NAMED
    return kind, RIGHT


class Source:
    """Random choices, with now and then something odd among them."""

    def __init__(self, rng: np.random.Generator, trap: Path):
        self.rng = rng
        self.oddness = rng.choice([0.0, 0.03, 0.3])
        self.code = f"__import__('pathlib').Path({str(trap)!r}).touch()"

    def odd(self) -> bool:
        return self.rng.random() < self.oddness

    def choose(self, *options):
        return options[int(self.rng.integers(len(options)))]

    def text(self) -> str:
        return self.choose("", "a", "b", "link 1", "world", "a\nb", '"', "\\", "\0",
        "\N{SNOWMAN}", self.code, f'"""+str({self.code})+"""', "q0", "x" * 300)

    def thing(self):
        """Anything but what was asked for."""
        return self.choose(None, True, 1j, [1j, 2.0], math.nan, -math.inf, 10**400,
        "3", self.text(), [], {}, object(), np.zeros((3, 3, 3)), b"x", len, -1.0)

    def number(self, low=-2.0, high=2.0):
        if self.odd():
            return self.choose(self.thing(), 0.0, 1e300, -1e300, 1e-300, 5e-324)
        return float(self.rng.uniform(low, high))

    def positive(self):
        return self.number(0.1, 2.0)

    def vector(self, size=3):
        if self.odd():
            return self.choose(self.thing(), [self.number() for _ in range(int(self.rng.integers(6)))])
        return [self.number() for _ in range(size)]

    def name(self, known):
        return self.text() if self.odd() or not known else self.choose(*known)


# ------------------------------------------------------------------------------------------------ descriptions in Python


def description(s: Source) -> la.Mechanism:
    mech = la.Mechanism(gravity=s.vector(), name="fuzz")
    for k in range(int(s.rng.integers(1, 5))):
        make = s.choose(la.Revolute, la.Prismatic, la.Spherical, la.Free, la.Fixed, la.Universal, la.Cylindrical, la.Planar, la.Helical)
        joint = make(axis=s.vector()) if make in (la.Revolute, la.Prismatic) else make()
        moments = np.sort(s.rng.uniform(0.1, 0.2, 3)).tolist()
        mech.add_body(
            f"body{k}" if not s.odd() else s.text(), s.name(["world", *mech.bodies]), s.thing() if s.odd() else joint,
            s.thing() if s.odd() else la.Pose(s.vector(), rpy=s.vector()), mass=s.positive(), com=s.vector(),
            inertia=s.thing() if s.odd() else moments,
        )  # fmt: skip
    names = list(mech.bodies)
    if s.rng.random() < 0.5:
        mech.add_frame("tip", s.name(names), la.Pose(s.vector()))
        names.append("tip")
    for _ in range(int(s.rng.integers(4))):
        a, b = s.name([*names, "world"]), s.name(names)
        mech.add_force(force(s, a, b))
    if s.rng.random() < 0.3:
        mech.add_constraint(s.choose(lambda: la.Distance(s.name(names), "world", s.positive()), lambda: la.Coincident(s.name(names),
        "world"), s.thing)())
    return mech


def force(s: Source, a, b):
    make = s.choose(
        lambda: la.Spring(a, s.positive()), lambda: la.Damper(a, s.positive()), lambda: la.LinearSpring(a, b, s.positive(), s.positive()),
        lambda: la.Wrench(b, s.vector(), s.vector(), s.vector(), s.choose("world", "body")), lambda: la.Drag(b, s.positive(), s.positive()),
        lambda: s.thing() if s.odd() else la.Damper(a, 0.1),
    )  # fmt: skip
    return make()


def python(s: Source, integrators) -> None:
    """Describe, compile, pickle, simulate: the twin that travelled gives the same bits, the energy can be explained."""
    mech = description(s)
    model = mech.compile()
    twin = pickle.loads(pickle.dumps(mech)).compile()
    if twin != model or hash(twin) != hash(model):
        raise Wrong("a pickled description compiles to another model")
    q = model.assemble(s.thing() if s.odd() else None)
    v = s.thing() if s.odd() else model.project_velocity(q, s.rng.normal(size=model.nv))
    options = {"dt": s.thing() if s.odd() else 1e-3, "steps": s.thing() if s.odd() else int(s.rng.integers(12)),
    "integrator": s.choose(*integrators)()}
    options["record_every"] = s.choose(1, 1, 3, s.thing()) if s.odd() else 1
    run = la.simulate(model, q=q, v=v, **options)
    again = la.simulate(twin, q=q, v=v, **options)
    if run != again or run.steps != options["steps"]:
        raise Wrong("two runs of one model differ")
    if not np.isfinite(run.energy).all() or run.state() != run.state(len(run) - 1):
        raise Wrong("a finished run is not finite")
    str(run)


# ------------------------------------------------------------------------------------------------ files

_WORDS = ["tx", "ty", "tz", "rx", "ry", "rz"]


def frames(s: Source, depth: int, names: list[str]) -> str:
    out = []
    for _ in range(int(s.rng.integers(1, 3))):
        name = f"f{len(names)}"
        names.append(name)
        parameter = s.choose(f'"c{len(names)}"', number(s), number(s))
        inner = frames(s, depth - 1, names) if depth and s.rng.random() < 0.7 else ""
        out.append(f'({s.choose(*_WORDS)} {parameter} (Name "{name}") (Mass {number(s, 0.1)} 0.1 0.1 0.1) {inner})')
    return " ".join(out)


def number(s: Source, low: float = -2.0) -> str:
    return s.choose("nan", "1e999", "-0", "1_0", "0x1", "1e-320", "()") if s.odd() else f"{s.rng.uniform(low, 2.0):.3g}"


def sexp(s: Source, integrators) -> None:
    """Read a text that is broken in some places; what can be read is written and read again: the same mechanism."""
    names: list[str] = []
    body = frames(s, 3, names)
    a, b = (s.choose(*names) for _ in range(2))
    extra = s.choose("", f'(distance-constraint "{a}" "{b}" {number(s)})', f'(linear-spring "{a}" "{b}" {number(s)} 1)',
    f'(world-wrench "{a}" (1 0 {number(s)}))')
    text = f"(mechanical-system (gravity 0 0 {number(s)}) {body} {extra})"
    for _ in range(int(s.rng.integers(4)) if s.oddness else 0):
        at, size = int(s.rng.integers(len(text))), int(s.rng.integers(6))
        text = text[:at] + s.choose("", "(", ")", '"', ";", " ", "\n", s.text(), text[at : at + 20] * 2) + text[at + size :]
    mech = parse_mechanism(text)
    again = parse_mechanism(write(mech))
    if [*again.bodies] != [*mech.bodies] and {*mech.bodies} - {*again.bodies}:
        raise Wrong("saving lost a body")
    model, twin = mech.compile(), again.compile()
    if (model.nq, model.joint_names) != (twin.nq, twin.joint_names):
        raise Wrong("saved and loaded, the mechanism has other joints")
    q = s.rng.normal(size=model.nq)
    M, N = la.dynamics.mass_matrix(model, q), la.dynamics.mass_matrix(twin, q)
    if not np.allclose(M, N, rtol=1e-9, atol=1e-9 * np.abs(M).max()):
        raise Wrong("saved and loaded, the mechanism has another mass matrix")


# ------------------------------------------------------------------------------------------------ expressions

_FUNCTIONS = {name: getattr(math, name) for name in ("sin", "cos", "tan", "atan", "sqrt", "exp", "log", "sinh", "cosh",
"tanh")} | {"abs": abs}


def term(s: Source, depth: int) -> str:
    if depth == 0 or s.rng.random() < 0.2:
        return s.choose("a", "b", "2", "0.5", "1e-3", "pi", f"{s.rng.normal():.4g}", s.text() if s.odd() else "a")
    x, y = term(s, depth - 1), term(s, depth - 1)
    return s.choose(f"{x} + {y}", f"{x} - {y}", f"({x}) * ({y})", f"({x}) / ({y})", f"({x}) ** 2", f"-({x})",
    f"{s.choose(*_FUNCTIONS)}({x})", f"atan2({x}, 2 + abs({y}))")


def expression(s: Source, integrators) -> None:
    """Text as an expression: what is read has the value that Python gives it."""
    text = term(s, int(s.rng.integers(1, 6)))
    if s.odd():
        at = int(s.rng.integers(len(text) + 1))
        text = text[:at] + s.choose("(", ")", "**", ",", ".", "9**9**9**9", "[0]", s.text()) + text[at:]
    symbols = {name: sympy.Symbol(name, real=True) for name in "ab"}
    found = grammar.parse(text, symbols, "it")
    values = {"a": 0.7, "b": -1.3}
    scope = _FUNCTIONS | {"atan2": math.atan2, "pi": math.pi, "__builtins__": {}} | values
    try:  # what the grammar has accepted consists of numbers, names and calls of these functions
        wanted = eval(text.strip(), scope)
    except (ValueError, ZeroDivisionError, OverflowError):
        return
    got = complex(found.subs({symbols[name]: value for name, value in values.items()}))
    if isinstance(wanted, complex) or not math.isfinite(wanted) or abs(wanted) > 1e12:
        return
    if abs(got - wanted) > 1e-6 * (1.0 + abs(wanted)):
        raise Wrong(f"{text!r} is {wanted}, not {got}")


def potential(s: Source, integrators) -> None:
    """The same as an energy: its gradient in compiled form is that of the expression."""
    from leastaction.symbolic.potential import PotentialExpression

    text = term(s, int(s.rng.integers(1, 4))).replace("a", "q0").replace("q0bs", "abs").replace("q0t", "at").replace("tq0n",
    "tan") if not s.odd() else s.thing()
    found = PotentialExpression("energy", text if isinstance(text, str) else lambda q, sp: text, 2, {"b": 0.5})
    graph = found.block.graph
    outputs = [n for _, n in found.block.writes]
    at = {"q0": 0.3, "q1": 0.2, "p0": 0.5}
    value, slope = graph.evaluate(outputs, at)[:2]
    step = 1e-6
    ends = [graph.evaluate(outputs, at | {"q0": 0.3 + h})[0] for h in (step, -step)]
    wanted = (ends[0] - ends[1]) / (2 * step)
    curvature = graph.evaluate(outputs, at)[3]
    tame = all(abs(x) < 1e4 for x in (value, slope, wanted, curvature))  # not NaN either
    if tame and abs(slope - wanted) > 1e-3 * (1.0 + abs(wanted)):
        raise Wrong(f"the derivative of {text!r} is {wanted}, not {slope}")


KINDS = {"python": python, "sexp": sexp, "expression": expression, "potential": potential}
