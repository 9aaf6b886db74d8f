"""Everything with everything: integrator x joint x constraint x drive x guard x record_every x way of running, a few steps each.

    PYTHONPATH=tests python -m conformance.matrix [part of a name ...]     runs the cells whose name contains all parts

A cell either gives what the same model gives without guard, with every node recorded, in one compiled run; or it refuses with an error of
the package that names something of the model and says what to do instead.
"""

from __future__ import annotations

import sys
from functools import cache, partial
from itertools import combinations, product
from typing import NamedTuple

import numpy as np
from support.symbolic_samples import euler_ball, symbolic_samples

import leastaction as la
from leastaction import joints
from leastaction.errors import LeastActionError
from leastaction.examples import random_joint
from leastaction.testing import every_integrator
from leastaction.testing.every_integrator import in_short

STEPS, DT = 9, 2e-3
_SAME = 1e-10  # of q, relative to 1 rad or 1 m: what a restart may change by rounding
_REMEDIES = ("use ", "give ", "try ", "leave ", "simulate with ", "start ")

INTEGRATORS = {in_short(i): i for i in every_integrator(tol=1e-11)}
JOINTS = {k.__name__: partial(random_joint, k) for k in joints.ALL if k.nv > 0}
JOINTS |= {f"symbolic-{j.nv}": lambda rng, j=j: j for j in symbolic_samples()}
JOINTS["two charts"] = lambda rng: euler_ball(charts=2)
CONSTRAINTS = {
    "none": None,
    "Coincident": lambda: la.Coincident("tip", "anchor", directions=[(0, 0, 1)]),
    "Distance": lambda: la.Distance("tip", "anchor", 0.5),
    "PointOnPlane": lambda: la.PointOnPlane("tip", "anchor", normal=(1, 0, 1), height=0.1),
    "Close": lambda: la.Close(la.Prismatic(axis=(0, 1, 0)), "seat", "nut"),  # four of its five rows hold already
    "Screw": lambda: la.Screw("seat", "nut", pitch=0.4, axis=(0, 1, 0)),
    "Gear": lambda: la.Gear("hinge", "slide", ratio=2.0),
    "Cam": lambda: la.Cam("slide", "hinge", lambda x, sp: 0.2 * sp.sin(x)),
    "SymbolicConstraint": lambda: la.SymbolicConstraint("mix", ["hinge", "slide"], lambda q, sp: sp.sin(q[0]) - 2 * q[1]),
    "Prescribed": lambda: la.Prescribed("hinge", lambda t, sp: 0.3 * sp.sin(2 * t)),
    "Skate": lambda: la.Skate("puck"),
    "Rolling": lambda: la.Rolling("puck", radius=0.3),
    "RollingBall": lambda: la.RollingBall("puck", radius=0.3, on="hinge", height=0.2),
    "VelocityConstraint": lambda: la.VelocityConstraint("speeds", ["hinge", "slide"], "v0 * cos(q1) - 2 * v1 - sin(t) / 9"),
}


def _thread() -> la.SymbolicJoint:
    return la.SymbolicJoint("thread", lambda q, sp: sp.move(0, q[0], 0) * sp.rot_y(3 * q[0]), 1)


MORE_CONSTRAINTS = {  # kernels of their own, or rows that others have too: only run as plain Python, by combinations.py
    "Coincident, world": lambda: la.Coincident("arm", "tip", directions=[(0, 0, 1)], axes="world"),
    "Close, by its pose": lambda: la.Close(_thread(), "seat", "nut"),
}
DRIVES = {  # forces that are taken at the end of a step
    "no drive": lambda mech: None,
    "servo": lambda mech: mech.add_servo(la.Servo("hinge", kp=1e3, kd=10.0, limit=20.0, target=0.3)),
    "friction": lambda mech: mech.add_force(la.DryFriction("slide", 2.0)),
}
GUARDS = (False, True)
RECORD_EVERY = (1, 4)
WAYS = ("simulate", "step", "control", "events")


class Cell(NamedTuple):
    integrator: str
    joint: str
    constraint: str
    drive: str
    guard: bool
    record_every: int
    way: str

    def __str__(self) -> str:
        return f"{self.integrator} {self.joint} {self.constraint} {self.drive} guard={self.guard} every={self.record_every} {self.way}"


def cells(exhaustive: bool = True) -> list[Cell]:
    """All pairs of any two columns; if exhaustive also every integrator x joint x guard without constraints, every integrator x constraint
    x guard, and every integrator x drive x guard."""
    columns = [list(INTEGRATORS), list(JOINTS), list(CONSTRAINTS), list(DRIVES), list(GUARDS), list(RECORD_EVERY), list(WAYS)]
    found = [Cell(*row) for row in covering_rows(columns)]
    if exhaustive:
        turn = 0  # what is not listed takes turns
        for integrator in INTEGRATORS:
            for guard in GUARDS:
                rows = [(joint, "none", "no drive") for joint in JOINTS]
                rows += [(columns[1][(turn + 3 * k) % len(JOINTS)], constraint, "no drive") for k, constraint in enumerate(CONSTRAINTS)]
                rows += [(columns[1][(turn + k) % len(JOINTS)], "none", drive) for k, drive in enumerate(DRIVES)]
                for joint, constraint, drive in rows:
                    turn += 1
                    every, way = RECORD_EVERY[turn // len(WAYS) % 2], WAYS[turn % len(WAYS)]
                    found.append(Cell(integrator, joint, constraint, drive, guard, every, way))
    return list(dict.fromkeys(found))


def covering_rows(columns: list[list], strength: int = 2) -> list[tuple]:
    """Rows in which every pair of values of any two columns occurs, or every triple of any three: greedy, always the same."""
    sizes = [range(len(column)) for column in columns]
    places = [tuple(zip(which, values, strict=True)) for which in combinations(range(len(columns)), strength)
              for values in product(*(sizes[c] for c in which))]  # fmt: skip
    missing, rows = set(places), []
    for first in sorted(places):
        if first not in missing:
            continue
        row = dict(first)
        for c in range(len(columns)):
            if c not in row:
                known = list(combinations(row.items(), strength - 1))
                gains = [sum(tuple(sorted((*some, (c, x)))) in missing for some in known) for x in sizes[c]]
                row[c] = int(np.argmax(gains))
        missing.difference_update(combinations(sorted(row.items()), strength))
        rows.append(tuple(columns[c][row[c]] for c in range(len(columns))))
    return rows


def _push(t, q, v, tau):
    """A user force that depends on time and velocities."""
    tau[0] += np.sin(3.0 * t) - 0.3 * v[0]


FORCES = {
    "none": None,
    "Spring": lambda: la.Spring("hinge", 20.0, rest=0.3),
    "Damper": lambda: la.Damper("slide", 2.0),
    "Wrench": lambda: la.Wrench("tip", force=(1.0, 2.0, 3.0), frame="body"),
    "LinearSpring": lambda: la.LinearSpring("tip", "anchor", 50.0, 0.2),
    "NonlinearSpring": lambda: la.NonlinearSpring(lambda x, sp: 20 * x**3, between=("tip", "anchor")),
    "UserPotential": lambda: la.UserPotential(lambda q, sp: 5 * sp.cos(q[0]) * q[1] ** 2, ["hinge", "slide"]),
    "Drag": lambda: la.Drag("tip", linear=0.5, quadratic=0.2),
    "CustomForce": lambda: la.CustomForce(_push),
    "armature": None,  # of the hinge
}


@cache
def model_of(joint: str, constraint: str, drive: str = "no drive", force: str = "none") -> tuple[la.Model, la.State]:
    """A small mechanism with the joint, the constraint, the drive and the force in it, and a state that obeys them."""
    rng = np.random.default_rng(5)
    mech = la.Mechanism(name=f"{joint} and {constraint}")
    rod = {"mass": 1.0, "com": (0.05, 0.02, -0.2), "inertia": (0.03, 0.04, 0.02)}
    down = la.Pose(xyz=(0, 0, -0.4))
    mech.add_body("hinge", joint=la.Revolute((0, 1, 0)), armature=0.2 * (force == "armature"), **rod)
    mech.add_body("carrier", "hinge", JOINTS[joint](rng), down, **rod)
    mech.add_body("slide", "carrier", la.Prismatic((0, 1, 1)), down, **rod)
    mech.add_frame("tip", "slide", la.Pose(xyz=(0.1, 0.1, -0.2)))
    mech.add_frame("anchor", placement=la.Pose(xyz=(0.4, 0.2, -1.1)))
    mech.add_frame("arm", "hinge", la.Pose(xyz=(0.2, 0, -1.0)))
    if constraint in ("Close", "Screw", "Close, by its pose"):
        mech.add_frame("seat", placement=la.Pose(xyz=(-1, 0, 0)))
        mech.add_body("nut", joint=la.Cylindrical((0, 1, 0)), placement=la.Pose(xyz=(-1, 0, 0)), **rod)
    if constraint in ("Skate", "Rolling", "RollingBall"):
        mech.add_body("puck", joint=la.Free(), placement=la.Pose(xyz=(1, 0, 0.3)), mass=1.0, inertia=(0.03, 0.05, 0.03))
    if constraint != "none":
        mech.add_constraint((CONSTRAINTS | MORE_CONSTRAINTS)[constraint]())
    DRIVES[drive](mech)
    if FORCES[force] is not None:
        mech.add_force(FORCES[force]())
    model = mech.compile()
    q = model.neutral()
    for body in model.bodies:
        if not body.joint.has_quaternion:
            q[model.q_slice(body.joint_name)][: body.joint.nv] += 0.15 * rng.normal(size=body.joint.nv)
    q = model.assemble(q)
    return model, model.state(q, model.project_velocity(q, 0.3 * rng.normal(size=model.nv)))


def run_cell(cell: Cell) -> str:
    """Run one cell: "agrees", or "refuses: ..." with the message.  AssertionError says what is wrong."""
    model, start = model_of(cell.joint, cell.constraint, cell.drive)
    try:
        plain = plain_run(cell.integrator, cell.joint, cell.constraint, cell.drive)
        refused = ""
    except LeastActionError as error:
        refused = _checked_refusal(cell, model, error)
    try:
        compare = {"simulate": _simulate, "step": _step, "control": _control, "events": _events}[cell.way]
        got = compare(cell, model, start)
    except LeastActionError as error:
        message = _checked_refusal(cell, model, error)
        assert refused or cell.guard, f"{cell}: refuses what the plain run takes: {message}"
        return f"refuses: {message}"
    assert not refused, f"{cell}: takes what the plain run refuses: {refused}"
    for what, (value, wanted, tolerance) in got(plain).items():
        value, wanted = np.asarray(value), np.asarray(wanted)
        assert value.shape == wanted.shape, f"{cell}: {what} has shape {value.shape}, that of the plain run {wanted.shape}"
        assert np.isfinite(value).all(), f"{cell}: {what} is not finite"
        off = float(np.abs(value - wanted).max(initial=0.0))
        assert off <= tolerance, f"{cell}: {what} differs from the plain run by {off:.3g}"
    return "agrees"


@cache
def plain_run(integrator: str, joint: str, constraint: str, drive: str) -> la.Trajectory:
    model, start = model_of(joint, constraint, drive)
    run = la.simulate(model, start, dt=DT, steps=STEPS, integrator=INTEGRATORS[integrator])
    assert np.isfinite(run.energy).all() and np.isfinite(run.v).all() and run.steps == STEPS
    if run.integrator.uniform:
        assert np.array_equal(run.t, DT * np.arange(STEPS + 1))
    return run


def _simulate(cell: Cell, model: la.Model, start: la.State, **options):
    run = la.simulate(
        model, start, dt=DT, steps=STEPS, integrator=INTEGRATORS[cell.integrator], guard=cell.guard, record_every=cell.record_every,
        **options,
    )  # fmt: skip
    return partial(_compared, run, [*range(0, STEPS, cell.record_every), STEPS])  # the last node is always recorded


def _control(cell: Cell, model: la.Model, start: la.State):
    return _simulate(cell, model, start, control=lambda t, state: np.zeros(model.nv))


def _events(cell: Cell, model: la.Model, start: la.State):
    """The run is what it is without events; a time, a coordinate and a height between two nodes are found there, a terminal one ends it."""
    at, tip = (STEPS // 2 + 0.5) * DT, la.dynamics.frame(model, start.q, "tip").position[0]
    column, moved = model.coordinate_names.index("slide"), []
    when = [la.Event(lambda t, state: t - at, name="clock"), la.crosses("tip", x=tip + 1e-5, direction="rising")]

    def located(plain: la.Trajectory):
        q = plain.q[:, column]
        middle = 0.5 * (q[0] + q[-1])
        slides = [la.passes("slide", middle)] if abs(q[-1] - q[0]) > 1e-6 else []
        got = _simulate(cell, model, start, when=[*when, *slides])
        run = got.args[0]
        found = {event.name: event for event in run.events}
        assert abs(found["clock"].t - at) < 1e-9, f"{cell}: found at {found['clock'].t}, not at {at}"
        for event in slides:
            moved.append(abs(found[event.name].state.q[column] - middle))
        stopped = la.simulate(
            model, start, dt=DT, steps=STEPS, integrator=INTEGRATORS[cell.integrator], guard=cell.guard,
            record_every=cell.record_every, when=la.Event(lambda t, state: t - at, name="clock", terminal=True),
        )  # fmt: skip
        return got(plain) | {
            "slide": (max(moved, default=0.0), 0.0, 1e-8),
            "t of the end": (stopped.t[-1], found["clock"].t, 0.0),
            "q of the end": (stopped.q[-1], found["clock"].state.q, 0.0),
            "p of the end": (stopped.p[-1], found["clock"].state.p, 1e-7),
            "constraint_error of the end": (stopped.constraint_error[-1], 0.0, 1e-8 + 2 * plain.constraint_error.max()),  # some drift
        }

    _simulate(cell, model, start, when=when)
    return located


def _compared(run: la.Trajectory, nodes: list[int], plain: la.Trajectory):
    size = 1.0 + float(np.abs(plain.energy).max())
    return {
        "t": (run.t, plain.t[nodes], 1e-12),
        "q": (run.q, plain.q[nodes], _SAME),
        "v": (run.v, plain.v[nodes], 1e-7),
        "p": (run.p, plain.p[nodes], 1e-7),
        "energy": (run.energy, plain.energy[nodes], 1e-8 * size),
        "momentum": (run.momentum, plain.momentum[nodes], 1e-7),
        "constraint_error": (run.constraint_error, plain.constraint_error[nodes], 1e-9),
        "iterations": (run.iterations.shape, plain.iterations.shape, 0.0),
    }


def _step(cell: Cell, model: la.Model, start: la.State):
    sim = la.Simulator(model, start, dt=DT, integrator=INTEGRATORS[cell.integrator], guard=cell.guard)
    for _ in range(STEPS):
        sim.step()
    return lambda plain: {
        "t": (sim.t, plain.t[-1], 1e-12),
        "q": (sim.q, plain.q[-1], _SAME),
        "v": (sim.v, plain.v[-1], 1e-7),
        "energy": (sim.state.energy, plain.energy[-1], 1e-8 * (1.0 + abs(plain.energy[-1]))),
    }


def _checked_refusal(cell: Cell, model: la.Model, error: LeastActionError) -> str:
    message = str(error)
    named = [model.name, *model.joint_names, *model.body_names, *(c.name for c in model.closures)]
    named += [type(INTEGRATORS[cell.integrator]).__name__] if "guard" in message else []
    assert any(name in message for name in named), f"{cell}: refuses without a name of the model: {message}"
    assert any(word in message for word in _REMEDIES), f"{cell}: refuses without a remedy: {message}"
    return message


def main(parts: list[str]) -> int:
    chosen = [c for c in cells() if all(part in str(c) for part in parts)]
    failed = 0
    for cell in chosen:
        try:
            print(f"{cell}: {run_cell(cell)[:100]}", flush=True)
        except AssertionError as error:
            failed += 1
            print(f"FAILED {error}", flush=True)
    print(f"{len(chosen)} cells, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
