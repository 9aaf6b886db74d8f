"""Random inputs, one for every (seed, number): each is described by a grammar that is mostly right and sometimes broken on purpose.

An input ends in one of two ways: `right`, all oracles agree, or `named`, an error of ours.  Anything else is a failure of the package.
"""

from __future__ import annotations

import contextlib
import io
import math
import pickle
import re
from pathlib import Path

import numpy as np
import sympy
from support.public_calls import LEFT_OUT, calls, known

import leastaction as la
from leastaction.errors import LeastActionError
from leastaction.io.sexp import parse_mechanism, write
from leastaction.io.urdf import parse_robot
from leastaction.io.urdf import write as write_robot
from leastaction.symbolic import grammar

RIGHT, NAMED = "right", "named"


class Wrong(Exception):
    """An oracle disagrees."""


def try_one(seed: int, number: int, trap: Path, integrators=(la.Variational,)) -> tuple[str, str]:
    """(kind of the input, how it ended); raises whatever is not an error of ours."""
    rng = np.random.default_rng((seed, number))
    kind = ROUND[number % len(ROUND)]
    try:
        KINDS[kind](Source(rng, trap), integrators)
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
        wanted = eval(re.sub(r"(?<![\w.])0+(?=\d)", "", text.strip()), scope)  # Python takes no numbers as 08, the grammar does
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


# ------------------------------------------------------------------------------------------------ whole workflows


def sane(s: Source) -> la.Mechanism:
    """A mechanism of bodies that all integrators take."""
    mech = la.Mechanism(gravity=(0.0, 0.0, s.choose(0.0, -9.81)), name="fuzz")
    for k in range(int(s.rng.integers(1, 4))):
        make = s.choose(la.Revolute, la.Prismatic)
        place = la.Pose(s.rng.uniform(-1, 1, 3), rpy=s.rng.uniform(-3, 3, 3))
        com, moments = s.rng.uniform(-0.3, 0.3, 3), np.sort(s.rng.uniform(0.1, 0.2, 3))
        mech.add_body(
            f"body{k}", s.choose("world", *mech.bodies), make(axis=s.rng.normal(size=3)), place, mass=float(s.rng.uniform(0.5, 2.0)),
            com=com, inertia=moments,
        )  # fmt: skip
    for name in list(mech.bodies):
        made = s.choose(
            None, la.Spring(name, 3.0), la.Damper(name, 0.3), la.Wrench(name, (1.0, 0.0, 2.0)), la.Drag(name, 0.2, 0.1),
            la.LinearSpring(name, "world", 5.0, 0.4),
        )  # fmt: skip
        if made is not None:
            mech.add_force(made)
    return mech


def workflow(s: Source, integrators) -> None:
    """The same numbers on every way: two integrators, other coordinates, less recorded, interrupted, sent, written and read."""
    mech = sane(s)
    model = mech.compile()
    v, tau, dt, steps = s.rng.normal(size=model.nv), s.rng.normal(size=model.nv), 2e-3, int(s.rng.integers(4, 9))
    first = s.choose(*integrators)()
    options = {"dt": dt, "integrator": first, "tau": tau}
    run = la.simulate(model, v=v, steps=steps, strict=True, **options)
    moved = np.abs(run.q - run.q[0]).max() + dt
    second = s.choose(la.RK4(), la.Midpoint(), la.Maximal(), la.Variational("cayley"))
    other = la.simulate(model, v=v, steps=steps, dt=dt, tau=tau, integrator=second)
    accuracy = 0.5 if la.SemiImplicitEuler in (type(first), type(second)) else 0.05
    if np.abs(run.q - other.q).max() > accuracy * moved:
        raise Wrong(f"{run.integrator!r} and {other.integrator!r} go different ways: {np.abs(run.q - other.q).max()} of {moved}")
    if np.abs(run.energy_balance).max() > 2.0 * accuracy * (np.ptp(run.potential) + run.kinetic.max()):
        raise Wrong(f"{np.abs(run.energy_balance).max()} J are not explained")
    some = la.simulate(model, v=v, steps=steps, record_every=3, **options)
    if not np.array_equal(some.work, run.work[[*range(0, steps, 3), steps]]) or not np.array_equal(some.q[-1], run.q[-1]):
        raise Wrong("what is recorded changes the run")
    half = la.simulate(model, v=v, steps=steps // 2, **options)
    rest = la.simulate(pickle.loads(pickle.dumps(model)), half.state(), steps=steps - steps // 2, **options)
    if not np.array_equal(rest.q, run.q[steps // 2 :]):
        raise Wrong("a run that is continued is another run")
    twin = mech if any(isinstance(f, la.Drag) for f in mech.forces) else parse_mechanism(write(mech))  # files know no laws on bodies
    again = twin.compile()
    if again.nq == model.nq and again.joint_names == model.joint_names:
        there = la.simulate(again, v=v, steps=steps, **options)
        if not np.allclose(there.q, run.q, rtol=1e-7, atol=1e-9 * moved):
            raise Wrong("saved and loaded, the mechanism moves differently")


# ------------------------------------------------------------------------------------------------ arguments


def arguments(s: Source, integrators) -> None:
    """A public function with something else in one of its places: an error of ours, or the result that it has without it."""
    x = s.choose(s.thing(), s.number(), s.vector(), s.text(), [], {s.text(): s.number()}, np.zeros(int(s.rng.integers(6))))
    if s.rng.random() < 0.5:
        any_argument(s, x)
        return
    (model, state, run), d = known(), la.dynamics
    s.choose(
        lambda: model.state(q=x), lambda: model.state(v=x), lambda: model.state(t=x), lambda: model.assemble(x), lambda: model.inputs(x),
        lambda: model.torques(x), lambda: model.project_velocity(x, [0, 0]), lambda: model.equilibrium(x), lambda: d.mass_matrix(model, x),
        lambda: d.mass_matrix(x), lambda: d.forward(model, x, x, x), lambda: d.forward(model, None, t=x), lambda: d.inverse(model, x, x, x),
        lambda: d.energy(x, x), lambda: d.pose(model, None, x), lambda: d.frame(model, x, "tip"), lambda: la.load(x), lambda: la.open(x),
        lambda: la.save(model.description, x) if not isinstance(x, str) else None, lambda: la.Pose(x), lambda: la.Pose(rpy=x),
        lambda: la.Revolute(axis=x), lambda: la.Mechanism(gravity=x), lambda: la.Variational(x), lambda: la.Variational(tol=x),
        lambda: la.Composition(x), lambda: la.AdaptiveStep(density=x), lambda: la.Midpoint(alpha=x), lambda: la.Spring("a", x),
        lambda: la.Servo("upper", kp=x, kd=x), lambda: la.Motor("upper", gear=x), lambda: la.Distance("a", "b", x),
        lambda: la.Prescribed("upper", x), lambda: la.CustomForce(x), lambda: la.Every(max, steps=x), lambda: la.Every(x, seconds=1.0),
        lambda: la.passes("upper", x), lambda: la.passes(x, 0.1), lambda: la.solvability.report(model, state, x),
        lambda: la.simulate(model, x, dt=1e-3, steps=1), lambda: la.simulate(model, dt=x, steps=1), lambda: la.simulate(x, dt=1, steps=1),
        lambda: la.simulate(model, dt=1e-3, steps=x if not isinstance(x, int) else 1), lambda: la.simulate(model, dt=1e-3, steps=1, tau=x),
        lambda: la.simulate(model, dt=1e-3, steps=1, record_every=x), lambda: la.simulate(model, dt=1e-3, steps=1, strict=x),
        lambda: la.simulate(model, dt=1e-3, steps=1, control=x), lambda: la.simulate(model, dt=1e-3, steps=1, when=x),
        lambda: la.simulate(model, dt=1e-3, steps=1, guard=x, limits=x), lambda: la.simulate(model, dt=1e-3, steps=1, integrator=x),
        lambda: la.Simulator(model, dt=1e-3).step(x), lambda: la.linearize(model, la.Variational(), x, 1e-3), lambda: mech_with(x),
        lambda: la.constraints.values(model, None, x), lambda: la.constraints.jacobian(model, x), lambda: d.condition(model, x),
        lambda: la.discrete.residual(model, x, [0, 0], [0, 0], 1e-3), lambda: la.discrete.residual(model, [0, 0], [0, 0], [0, 0], x, x),
        lambda: la.discrete.momenta(model, [0, 0], [0, 0], 1, t=x), lambda: la.discrete.jacobian(model, [0, 0], [0, 0], 1, retraction=x),
        lambda: la.rollout(model, x, dt=1e-3, steps=2), lambda: la.rollout(model, [state], dt=x, steps=2), lambda: la.Coincident(x, x),
        lambda: la.rollout(model, [state, x], dt=1e-3, steps=2, tau=x), lambda: la.Wrench("a", x, x), lambda: la.Gear("a", "b", x),
        lambda: la.UserPotential(x, joints=x), lambda: la.NonlinearSpring(x, joint="upper"), lambda: la.examples.chain(s.thing()),
        lambda: la.SymbolicJoint(x, x, x), lambda: la.SymbolicConstraint("c", x, x), lambda: la.Drag("a", x, x), lambda: la.Skate(x),
        lambda: model.modes(hold=x), lambda: la.Damper(x, 1.0),
        lambda: la.crosscheck(model, dt=x, duration=0.002), lambda: la.crosscheck(x, dt=1e-3, duration=x), lambda: la.Every(max, seconds=x),
        lambda: run.state(x), lambda: run.frame(x), lambda: run[x], lambda: run.until(1).save(x) if not isinstance(x, str) else None,
    )()  # fmt: skip


#: calls that take seconds whatever is given to them, or some of whose arguments may
_SLOW = {"view", "Trajectory.to_video", "gallery.write", "solvability.report", "solvability.empirical_limit"}


def any_argument(s: Source, x) -> None:
    """Any public function at all, with one or two of its arguments exchanged."""
    name = s.choose(*(name for name in calls() if name not in _SLOW))
    call = calls()[name]
    free = [argument for argument in call.names() if (name, argument) not in LEFT_OUT and not callable(x)]  # functions are the user's
    if not free or (isinstance(x, int) and x > 1000):
        return
    given = {s.choose(*free): x} | ({s.choose(*free): s.thing()} if s.odd() else {})
    if not any(callable(value) for value in given.values()):
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            call.function(**(call.arguments | given))


def mech_with(x) -> None:
    mech = la.Mechanism()
    mech.add_body("body", x, la.Revolute(), mass=x)


# ------------------------------------------------------------------------------------------------ robots in XML

_URDF = """<robot name="r"><link name="base"/><link name="arm"><inertial><origin xyz="0 0 0.2"/><mass value="1.5"/>
<inertia ixx="0.1" iyy="0.1" izz="0.05" ixy="0" ixz="0" iyz="0"/></inertial></link><link name="hand"><inertial><mass value="0.5"/>
<inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="shoulder" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 1 0"/><limit lower="-1" upper="1"
effort="10" velocity="3"/><dynamics damping="0.1"/></joint><joint name="wrist" type="continuous"><parent link="arm"/><child link="hand"/>
<origin xyz="0 0 0.4" rpy="0 0.1 0"/><axis xyz="1 0 0"/></joint></robot>"""


def robot(s: Source, integrators) -> None:
    """A URDF file with some places changed: what can be read has the masses it says, and is the same after writing and reading."""
    text = _URDF
    for _ in range(int(s.rng.integers(3)) + bool(s.oddness)):
        at, size = int(s.rng.integers(len(text))), int(s.rng.integers(8))
        new = s.choose("", "<", ">", '"', "0", "nan", "1e999", "-", "&a;", "<!--", s.text(), text[at : at + 25] * 2)
        text = text[:at] + new + text[at + size :]
    model = parse_robot(text).compile()
    if not np.isfinite(la.dynamics.mass_matrix(model)).all():
        raise Wrong("a mass matrix that is not finite")
    twin = parse_robot(write_robot(parse_robot(text))).compile()
    M, N = la.dynamics.mass_matrix(model), la.dynamics.mass_matrix(twin)
    if M.shape == N.shape and not np.allclose(M, N, rtol=1e-9, atol=1e-9 * np.abs(M).max()):
        raise Wrong("saved and loaded, the robot has another mass matrix")


KINDS = {
    "python": python, "sexp": sexp, "expression": expression, "potential": potential, "arguments": arguments, "robot": robot,
    "workflow": workflow,
}  # fmt: skip
#: which kind the inputs are, one after the other; whole workflows take longest
ROUND = 6 * ["python", "sexp", "expression", "potential", "arguments", "robot", "arguments", "expression"] + ["workflow"]
