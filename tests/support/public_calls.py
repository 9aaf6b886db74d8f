"""One call that works for every public function, so that any of its arguments can be exchanged for something else.

`calls()` names them as users write them.  `tests/plain/arguments.py` exchanges every argument for everything in HOSTILE,
`tests/fuzz/inputs.py` random ones for random things.  Whoever adds a public function is asked for its call by the former.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

import leastaction as la
from leastaction import film
from leastaction.dynamics import discrete
from leastaction.errors import LeastActionError
from leastaction.forces import Force
from leastaction.solvability import StepEquation

#: made by the package, or a base for people who extend it: nobody calls it
NOT_CALLED = {
    "Crosscheck", "Constraint", "Integrator", "Linearization", "Linearizations", "Model", "Occurrence", "Reaction", "Reactions", "Rollout",
    "Sweep", "Trajectory", "constraints.Closure", "dynamics.Evaluation", "dynamics.Evaluator", "dynamics.FrameMotion", "gallery.Entry",
    "page.Page", "solvability.Bounds", "solvability.Certificate", "solvability.Constants", "solvability.Report",
}  # fmt: skip


class Broken:
    """Fails whatever is asked of it."""

    def __repr__(self):
        raise RuntimeError("no words")

    def __float__(self):
        raise RuntimeError("no number")

    def __array__(self, *arguments, **options):
        raise RuntimeError("no array")


class Unhashable(Broken):
    __hash__ = None

    def __eq__(self, other):
        raise RuntimeError("not comparable")


def raises(*arguments, **options):
    raise ZeroDivisionError("of the user's")


def returns_text(*arguments, **options):
    return "text"


HOSTILE: dict[str, Any] = {
    "None": None, "True": True, "zero": 0, "minus one": -1, "a half": 0.5, "nan": np.nan, "inf": np.inf, "complex": 1j,
    "too large": 10**400, "too long": 10**5000, "tiny": 5e-324, "large": 1e300, "empty text": "", "text": "nobody", "a zero byte": "a\0b",
    "bytes": b"ab", "empty list": [], "pair": [0.1, 0.2], "three": (0.1, 0.2, 0.3), "nans": [np.nan, 0.0], "complexes": [1j, 0.0],
    "ragged": [[1, 2], [3]], "texts": ["a", "b"], "truths": [True, False], "cube": np.zeros((2, 2, 2)), "no rows": np.zeros((0, 3)),
    "dates": np.datetime64("2020-01-01"), "objects": np.array([None, 1.0]), "object": object(), "broken": Broken(),
    "unhashable": Unhashable(), "class": int, "builtin": len, "raises": raises, "returns text": returns_text, "empty dict": {},
    "names nobody": {"nobody": 1.0}, "names complex": {"upper": 1j}, "names a number": {1: 2}, "names None": {"upper": None},
}  # fmt: skip


#: arguments with which a call works as it should, but takes too long, or asks another package
LEFT_OUT: dict[tuple[str, str], tuple[str, ...]] = {
    ("view", "seconds"): ("None", "large"),  # until Ctrl-C
    ("gallery.write", "names"): ("empty list", "no rows", "empty dict"),  # all of it
    ("gallery.write", "steps"): ("None",),
    ("sweep", "executor"): ("None",),  # starts processes
    ("Trajectory.to_video", "renderer"): ("None",),  # starts a browser
    ("gym.Environment.reset", "seed"): tuple(HOSTILE),  # Gymnasium judges it, and raises an error of its own
}


class Call(NamedTuple):
    function: Callable[..., Any]
    arguments: dict[str, Any]

    def names(self) -> list[str]:
        """Of all arguments, also of those that the call leaves out."""
        parameters = inspect.signature(self.function).parameters.values()
        return [*dict.fromkeys([*self.arguments, *(p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY))])]


@cache
def known() -> tuple[la.Model, la.State, la.Trajectory]:
    """Something to ask questions about."""
    model = la.examples.double_pendulum().compile()
    state = model.state(q=[0.3, 0.2])
    return model, state, la.simulate(model, state, dt=1e-3, steps=2)


def put_to_work(make: type) -> Callable[..., Any]:
    """A force, constraint, joint, ... in a mechanism that is compiled: some things can be judged only there."""

    def work(*arguments, **options):
        made = make(*arguments, **options)
        mech = la.examples.double_pendulum()
        mech.add_frame("place", placement=la.Pose((0.3, 0.1, -1.0)))
        if isinstance(made, la.integrators.Integrator):
            la.simulate(known()[0], dt=1e-3, steps=1, integrator=made)
        elif isinstance(made, (la.Event, la.Every)):
            la.simulate(known()[0], dt=1e-3, steps=2, **{"when" if isinstance(made, la.Event) else "every": made})
        elif isinstance(made, la.Motor):
            mech.add_motor(made)
        elif isinstance(made, la.Servo):
            mech.add_servo(made)
        elif isinstance(made, la.Pose):
            mech.add_frame("there", placement=made)
        elif isinstance(made, la.Limit):
            mech.add_limit(made.joint, made.lower, made.upper, velocity=made.velocity, effort=made.effort)
        elif isinstance(made, (la.Box, la.Capsule, la.Cylinder, la.Mesh, la.Sphere)):
            mech.add_shape("upper", made)
        elif isinstance(made, Force):
            mech.add_force(made)
        elif isinstance(made, la.Constraint):
            mech.add_constraint(made)
        else:
            mech.add_body("new", joint=made, mass=1.0, inertia=(0.1, 0.1, 0.1))
        mech.compile()

    work.__signature__ = inspect.signature(make)  # type: ignore[attr-defined]
    return work


def _described() -> Iterator[tuple[str, Call]]:
    """What mechanisms are made of."""
    model, state, run = known()
    joined = {"a": "lower", "b": "place"}
    for name, arguments in {
        "Revolute": {}, "Prismatic": {}, "Helical": {}, "Cylindrical": {}, "Universal": {}, "Planar": {}, "Spherical": {}, "Free": {},
        "Fixed": {}, "SymbolicJoint": {"name": "j", "pose": lambda q, sp: sp.rot_z(q[0]), "nq": 1},
        "Spring": {"joint": "upper", "stiffness": 3.0}, "Damper": {"joint": "upper", "damping": 3.0},
        "DryFriction": {"joint": "upper", "torque": 0.1}, "Wrench": {"body": "upper"}, "Drag": {"body": "upper"},
        "LinearSpring": joined | {"stiffness": 3.0}, "PointDamper": joined | {"damping": 3.0},
        "NonlinearSpring": {"energy": "k * x**2", "joint": "upper", "parameters": {"k": 2.0}},
        "UserPotential": {"energy": "q0**2", "joints": ["upper"]}, "CustomForce": {"function": _push},
        "Cam": {"follower": "upper", "driver": "lower", "profile": "0.1 * x"}, "Coincident": joined | {"directions": [(1, 0, 0)]},
        "Close": joined | {"joint": la.Spherical()}, "Distance": joined | {"length": 1.0}, "PointOnPlane": {"point": "lower"},
        "Gear": {"joint1": "upper", "joint2": "lower", "ratio": 2.0}, "Prescribed": {"joint": "upper", "motion": "sin(t)"},
        "Screw": joined | {"pitch": 0.1}, "Skate": {"frame": "lower"}, "Rolling": {"frame": "lower", "radius": 0.1},
        "RollingBall": {"frame": "lower", "radius": 0.1}, "RollingEllipsoid": {"frame": "lower", "half_axes": (0.1, 0.2, 0.3)},
        "SymbolicConstraint": {"name": "c", "joints": ["upper", "lower"], "expression": "q0 - q1"},
        "VelocityConstraint": {"name": "c", "joints": ["upper", "lower"], "expression": "v0 - v1"},
        "Motor": {"joint": "upper"}, "Servo": {"joint": "upper", "kp": 3.0}, "Limit": {"joint": "upper"}, "Pose": {},
        "Box": {"size": (0.1, 0.2, 0.3)}, "Sphere": {"radius": 0.1}, "Capsule": {"radius": 0.1, "length": 0.2},
        "Cylinder": {"radius": 0.1, "length": 0.2}, "Mesh": {"path": "mesh.obj"},
        "Variational": {}, "Maximal": {}, "Midpoint": {}, "Trapezoid": {}, "FloatingBase": {}, "Composition": {}, "AdaptiveStep": {},
        "CertifiedStep": {}, "Heun": {}, "RK4": {}, "RKMK4": {}, "SemiImplicitEuler": {},
        "Event": {"condition": lambda t, s: t - 0.5}, "Every": {"function": lambda t, s: None, "steps": 1},
    }.items():  # fmt: skip
        yield name, Call(put_to_work(getattr(la, name)), arguments)
    yield "passes", Call(_watched(la.passes), {"joint": "upper", "value": 0.1})
    yield "crosses", Call(_watched(la.crosses), {"frame": "lower", "z": -0.5})
    yield "Mechanism", Call(la.Mechanism, {})
    mech = la.examples.double_pendulum
    for name, arguments in {
        "add_body": {"name": "new", "joint": la.Prismatic(), "mass": 1.0}, "add_frame": {"name": "new"},
        "add_force": {"force": la.Damper("upper", 1.0)},
        "add_constraint": {"constraint": la.Prescribed("upper", "t")}, "add_shape": {"body": "upper", "shape": la.Sphere(0.1)},
        "add_limit": {"joint": "upper"}, "add_motor": {"motor": la.Motor("upper")}, "add_servo": {"servo": la.Servo("upper", 1.0)},
        "note": {"sentence": "so be it"}, "save": {"path": "mech.sexp"}, "snapshot": {}, "compile": {},
    }.items():  # fmt: skip
        yield f"Mechanism.{name}", Call(_compiled_after(mech, name), arguments)
    yield "FrameTree", Call(la.FrameTree, {})
    for name, arguments in {
        "add": {"parent": "world", "primitive": "tx", "parameter": "y", "mass": 1.0}, "tx": {"parameter": "y", "mass": 1.0},
        "add_constraint": {"constraint": la.Prescribed("x", "t")}, "add_force": {"force": la.Damper("x", 1.0)}, "compile": {},
    }.items():  # fmt: skip
        yield f"FrameTree.{name}", Call(_compiled_after(_tree, name), arguments)
    yield "save", Call(la.save, {"mechanism": mech(), "path": "mech.sexp"})
    yield "load", Call(_loaded, {"path": "mech.sexp"})


def _loaded(path, **options):
    known()[0].description.save("mech.sexp")
    la.load(path, **options)


def _push(t, q, v, tau):
    tau[0] += 0.1


def _watched(make: Callable[..., la.Event]) -> Callable[..., Any]:
    def watch(*arguments, **options):
        la.simulate(known()[0], dt=1e-3, steps=2, when=make(*arguments, **options))

    watch.__signature__ = inspect.signature(make)  # type: ignore[attr-defined]
    return watch


def _tree() -> la.FrameTree:
    tree = la.FrameTree()
    tree.rx("x", mass=1.0, inertia=(0.1, 0.1, 0.1))
    return tree


def _compiled_after(make: Callable[[], Any], name: str) -> Callable[..., Any]:
    """A method of something new, which is then compiled."""

    def call(*arguments, **options):
        thing = make()
        getattr(thing, name)(*arguments, **options)
        thing.compile()

    call.__signature__ = inspect.signature(getattr(make(), name))  # type: ignore[attr-defined]
    return call


def _asked() -> Iterator[tuple[str, Call]]:
    """What is done with a mechanism."""
    model, state, run = known()
    for name, arguments in {
        "q_slice": {"joint_name": "upper"}, "v_slice": {"joint_name": "upper"}, "neutral": {}, "coordinates": {}, "velocities": {},
        "state": {}, "assemble": {}, "project_velocity": {"q": None, "v": None}, "torques": {"u": []}, "inputs": {}, "equilibrium": {},
        "modes": {},
    }.items():  # fmt: skip
        yield f"Model.{name}", Call(getattr(model, name), arguments)
    yield "State", Call(la.State, {"model": model, "t": 0.0, "q": [0.0, 0.0], "p": [0.0, 0.0]})
    yield "State[]", Call(lambda joint: state[joint], {"joint": "upper"})
    where = {"model": model, "q": [0.1, 0.2]}
    for name, arguments in {
        "mass_matrix": where, "forward": where, "inverse": where | {"v": None, "a": None}, "energy": where, "condition": where,
        "pose": where | {"name": "lower"}, "frame": where | {"name": "lower"}, "jacobian": where | {"name": "lower"},
        "momentum": where | {"v": None}, "spatial_momentum": where | {"v": None}, "velocity": where | {"p": None},
        "centre_of_mass": where, "centroidal_matrix": where, "explain_singular": where, "massless_joint": where,
    }.items():  # fmt: skip
        yield f"dynamics.{name}", Call(getattr(la.dynamics, name), arguments)
    step = {"model": model, "q0": [0.1, 0.2], "q1": [0.11, 0.21], "dt": 1e-3}
    ends = {"model": model, "q1": [0.1, 0.2], "q2": [0.11, 0.21], "dt": 1e-3}
    for name, arguments in {
        "increment": {key: step[key] for key in ("model", "q0", "q1")}, "momenta": step, "start": step,
        "residual": step | {"q2": [0.12, 0.22]}, "jacobian": ends, "newton_direction": ends | {"r": [1.0, 2.0]},
    }.items():  # fmt: skip
        yield f"discrete.{name}", Call(getattr(discrete, name), arguments)
    for name in ("values", "jacobian"):
        yield f"constraints.{name}", Call(getattr(la.constraints, name), where)
    made = {"model": model, "dt": 1e-3, "steps": 2}
    yield "simulate", Call(la.simulate, made)
    yield "simulate, written", Call(_written, made | {"record_to": "run.h5"})
    yield "Simulator", Call(la.Simulator, {"model": model, "dt": 1e-3})
    for name, arguments in {"step": {}, "reverse": {}, "run": {"steps": 2}}.items():
        yield f"Simulator.{name}", Call(_of_a_simulator(name), arguments)
    yield "rollout", Call(la.rollout, made | {"states": [state, state]})
    yield "rollout, made", Call(la.rollout, {"model": _swinging, "dt": 1e-3, "steps": 2, "parameters": {"mass1": [1.0, 2.0]}})
    yield "sweep", Call(la.sweep, {"task": _task, "parameters": {"x": [1.0, 2.0]}, "executor": AtOnce()})
    yield "linearize", Call(la.linearize, {"model": model, "integrator": la.Variational(), "state": state, "dt": 1e-3})
    yield "linearize, a run", Call(la.linearize, {"model": run})
    yield "crosscheck", Call(la.crosscheck, {"mechanism": model, "dt": 1e-3, "duration": 2e-3})
    yield "to_maximal", Call(la.to_maximal, {"state": state})
    yield "to_minimal", Call(la.to_minimal, {"model": model, "bodies": la.to_maximal(state)})
    bodies = la.to_maximal(state)
    yield "MaximalState", Call(_minimal, {"t": 0.0, "poses": bodies.poses, "twists": bodies.twists})
    yield from _bounded()
    yield "view", Call(la.view, {"model": model, "dt": 0.5, "browser": False, "seconds": 0.01})


def _written(**options):
    Path("run.h5").unlink(missing_ok=True)
    la.simulate(**options)


_written.__signature__ = inspect.signature(la.simulate)  # type: ignore[attr-defined]


def _minimal(t, poses, twists):
    la.to_minimal(known()[0], la.MaximalState(t, poses, twists))


def _of_a_simulator(name: str) -> Callable[..., Any]:
    def call(*arguments, **options):
        getattr(la.Simulator(known()[0], dt=1e-3), name)(*arguments, **options)

    call.__signature__ = inspect.signature(getattr(la.Simulator(known()[0], dt=1e-3), name))  # type: ignore[attr-defined]
    return call


def _swinging(mass1):
    return la.examples.double_pendulum(mass1=mass1)


def _task(x):
    return x


class AtOnce(Executor):
    """Needs no processes."""

    def submit(self, function, /, *arguments, **options):
        future: Future[Any] = Future()
        try:
            future.set_result(function(*arguments, **options))
        except Exception as error:
            future.set_exception(error)
        return future


def _bounded() -> Iterator[tuple[str, Call]]:
    """How long a step may be."""
    model, state, run = known()
    equation = StepEquation(model, state)
    constants = la.solvability.certified_constants(equation, 1e-2)
    both, about = {"model": model, "state": state}, {"equation": equation}
    for name, arguments in {
        "report": both, "certified": both, "bound_in_words": both, "StepEquation": both, "MassTensors": {"model": model},
        "certified_dt": both | {"integrator": None}, "certified_constants": about | {"radius": 1e-2}, "certified_regular_step": about,
        "certified_step": about, "certify": about | {"h": 1e-3}, "empirical_limit": about | {"start": 1e-2, "longest": 0.02},
        "paper_step": about, "regular_step": {"c": constants, "speed": 1.0}, "residual_bound": about | {"c": constants},
        "sampled_constants": about | {"radius": 1e-2, "samples": 2}, "stable_step": {"model": model, "q": [0.1, 0.2]},
        "tried_limit": both | {"integrator": la.Variational()},
    }.items():  # fmt: skip
        yield f"solvability.{name}", Call(getattr(la.solvability, name), arguments)


def _shown() -> Iterator[tuple[str, Call]]:
    """What follows from a run."""
    model, state, run = known()
    yield "Trajectory[]", Call(lambda joint: run[joint], {"joint": "upper"})
    for name, arguments in {
        "state": {}, "until": {"nodes": 1}, "frame": {"name": "lower"}, "save": {"path": "run.npz"}, "to_html": {"path": "run.html"},
        "to_pandas": {}, "to_xarray": {}, "facts": {},
    }.items():  # fmt: skip
        yield f"Trajectory.{name}", Call(getattr(run, name), arguments)
    yield "Trajectory.to_video", Call(film.write, {"runs": run, "path": "run.gif", "renderer": "plot", "size": (32, 32)})
    yield "Trajectory.reactions", Call(lambda name, frame, k: run.reactions[name].at(k).in_axes_of(frame), {
        "name": "upper", "frame": "lower", "k": 0})  # fmt: skip
    many = la.rollout(model, [state, state], dt=1e-3, steps=2)
    yield "Rollout[]", Call(lambda joint: many[joint], {"joint": "upper"})
    yield "Rollout.again", Call(many.again, {"k": 0})
    yield "open", Call(_opened, {"path": "run.npz"})
    yield "analysis.convergence_order", Call(la.analysis.convergence_order, {"errors": [1.0, 2.0], "steps": [1.0, 2.0]})
    for name in ("drift", "energy_error", "momentum_error"):
        yield f"analysis.{name}", Call(getattr(la.analysis, name), {"run": run})
    for name in ("energy", "momentum", "mechanism", "animation"):
        first = next(iter(inspect.signature(getattr(la.plot, name)).parameters))
        yield f"plot.{name}", Call(getattr(la.plot, name), {first: run} | ({"save_to": "run.gif"} if name == "animation" else {}))
    for name in ("joints", "reactions"):
        yield f"plot.{name}", Call(_naming(getattr(la.plot, name)), {"runs": run, "name": "upper"})
    yield "page.make", Call(la.page.make, {"runs": run})
    yield "page.write", Call(la.page.write, {"runs": run, "path": "run.html"} | dict.fromkeys(("title",), "a run"))
    yield "page.show", Call(_in_a_notebook(la.page.show), {"runs": run})
    yield "show", Call(_in_a_notebook(la.show), {"runs": run})
    yield "gallery.entry", Call(la.gallery.entry, {"name": la.gallery.names()[0]})
    yield "gallery.names", Call(la.gallery.names, {})
    yield "gallery.write", Call(la.gallery.write, {"folder": "gallery", "names": [la.gallery.names()[0]], "steps": 2})


def _opened(path, model=None, integrator=None):
    known()[2].save("run.npz")
    la.open(path, model=model, integrator=integrator)


def _naming(plot: Callable[..., Any]) -> Callable[..., Any]:
    def call(runs, name, **options):
        return plot(runs, name, **options)

    return call


def _in_a_notebook(show: Callable[..., Any]) -> Callable[..., Any]:
    """Without a browser that would open."""

    def call(*arguments, **options):
        import webbrowser

        usual, webbrowser.open = webbrowser.open, lambda *_, **__: True  # type: ignore[assignment]
        try:
            show(*arguments, **options)
        finally:
            webbrowser.open = usual

    call.__signature__ = inspect.signature(show)  # type: ignore[attr-defined]
    return call


def _bundled() -> Iterator[tuple[str, Call]]:
    """Examples, surfaces and environments."""
    made = {"random_inertia": {"rng": np.random.default_rng(0)}, "random_joint": {"kind": la.Revolute, "rng": np.random.default_rng(0)}}
    for name in la.examples.__all__:
        if callable(example := getattr(la.examples, name)):
            yield f"examples.{name}", Call(example, made.get(name, {}))
    wire = la.library.curve("wire", lambda u, sp, p: (u, 0, u**2))
    ground = la.library.sphere(0.5)
    grid = np.dstack([*np.meshgrid([0.0, 1.0, 2.0], [0.0, 1.0, 2.0], indexing="ij"), np.zeros((3, 3))])
    for name, arguments in {
        "Curve": {"name": "c", "frame": wire.frame}, "Surface": {"name": "s", "frame": ground.frame}, "barrel_cam": {"cosine": (0.1,)},
        "bezier_curve": {"control_points": [(0, 0, 0), (1, 0, 0), (1, 1, 0), (2, 1, 0)]}, "bezier_surface": {"control_points": grid},
        "curve": {"name": "c", "point": lambda u, sp, p: (u, 0, u**2)}, "curve_point": {"curve": wire},
        "ellipsoid": {"a": 1, "b": 2, "c": 3},
        "four_bar_knee": {}, "planet_gear": {"fixed": 2.0, "planet": 1.0}, "sphere": {"radius": 1.0},
        "surface": {"name": "s", "point": lambda u, w, sp, p: (u, w, 0)}, "surface_point": {"surface": ground},
        "surface_surface": {"first": ground, "second": la.library.sphere(0.2)}, "torus": {"radius": 1.0, "tube": 0.2},
    }.items():  # fmt: skip
        yield f"library.{name}", Call(getattr(la.library, name), arguments)
    try:
        gym = la.gym
    except ImportError:
        return
    options = inspect.signature(gym._Task).parameters
    task = {"model": known()[0], "reward": lambda q, v, u: q[..., 0], "torque": {"upper": 5.0}}
    rest = dict.fromkeys(name for name in options if name not in task)
    rest |= {"dt": 0.02, "substeps": 1, "duration": 10.0}
    yield "gym.Environment", Call(_lived(gym.Environment, [0.5]), task | rest)
    yield "gym.Environments", Call(_lived(gym.Environments, [[0.5], [0.5]]), task | rest | {"number": 2, "threads": 1})
    one = gym.Environment(**task)
    one.reset(seed=0)
    yield "gym.Environment.step", Call(one.step, {"action": [0.5]})
    yield "gym.Environment.reset", Call(one.reset, {})


def _lived(make: Callable[..., Any], action: Any) -> Callable[..., Any]:
    """An environment in which an episode begins."""

    def call(**options):
        there = make(**options)
        there.reset(seed=0)
        there.step(action)

    return call


@cache
def calls() -> dict[str, Call]:
    return dict(pair for part in (_described, _asked, _shown, _bundled) for pair in part())


def public_names() -> Iterator[str]:
    """All that users can call, as they write it, without la."""
    for name in la.__all__:
        try:
            value = getattr(la, name)
        except ImportError:
            continue
        if isinstance(value, ModuleType):
            yield from (
                f"{name}.{inner}" for inner in getattr(value, "__all__", ())
                if callable(getattr(value, inner)) and not (hasattr(la, inner) and getattr(la, inner) is getattr(value, inner))
            )  # fmt: skip
        elif callable(value) and not (isinstance(value, type) and issubclass(value, LeastActionError)):
            yield name
