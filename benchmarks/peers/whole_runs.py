"""Whole runs of mechanisms with loops and struts in MuJoCo and Exudyn: where a point of a body is at every step, energy, time per step.

Translated from the description: bodies, the joints Revolute, Prismatic, Universal and Spherical, Coincident and Close(Spherical), springs
and dampers between points.  A program that is not installed, or cannot say something, is an `Unable` that says so.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import leastaction as la
from leastaction.pose import quaternion_of_rotation
from leastaction.testing.kinematics import Kinematics

from ..timing import clock

Array = NDArray[np.float64]


class Unable(Exception):
    """Why a program cannot run a mechanism."""


@dataclass
class Start:
    """A mechanism, where it starts, and the point of it that is watched."""

    mechanism: la.Mechanism
    q: Array
    v: Array
    body: str
    point: tuple[float, float, float]

    def places(self, q: Array, name: str = "") -> Array:
        """(..., 4, 4) of a body or frame."""
        return Kinematics(self.mechanism).place(name or self.body, q)

    def watched(self, q: Array) -> Array:
        """(..., 3) of the watched point."""
        T = self.places(q)
        return T[..., :3, :3] @ np.array(self.point) + T[..., :3, 3]

    def twist(self, name: str) -> tuple[Array, Array, Array, Array]:
        """(R, x, angular and linear velocity of the origin, world axes) of a body or frame at the start."""
        kin, step = Kinematics(self.mechanism), 1e-30
        T = kin.place(name, kin.varied(self.q.astype(complex), 1j * step * self.v))
        R, turning = T.real[:3, :3], T.imag[:3, :3] / step
        spin = turning @ R.T
        return R, T.real[:3, 3], np.array([spin[2, 1], spin[0, 2], spin[1, 0]]), T.imag[:3, 3] / step


@dataclass
class Outcome:
    t: Array
    watched: Array  #: (T, 3) m
    energy: Array | None  #: J
    closure: float | None  #: largest error of a loop, m
    seconds: float  #: per step
    says: str = ""  #: what the program itself says is wrong


def ours(start: Start, dt: float, duration: float, integrator: la.Integrator) -> Outcome:
    model = start.mechanism.compile()
    options: dict[str, Any] = {"q": start.q, "v": start.v, "dt": dt, "duration": duration, "integrator": integrator, "assembly": "continue"}
    run = la.simulate(model, **options)
    times = []
    for _ in range(3):
        began = clock()
        la.simulate(model, record_every=10**9, **options)
        times.append((clock() - began) / (len(run.t) - 1))
    closure = float(run.constraint_error.max()) if start.mechanism.constraints else None
    says = run.warnings[0].split(":")[0] if run.warnings else ""
    return Outcome(run.t, start.watched(run.q), run.energy, closure, min(times), says)


# ------------------------------------------------------------------------------------------------------------------- MuJoCo


def mujoco(start: Start, dt: float, duration: float, integrator: str) -> Outcome:
    try:
        import mujoco
    except ImportError as error:
        raise Unable("MuJoCo is not installed") from error
    model = mujoco.MjModel.from_xml_string(_mjcf(start.mechanism, dt, integrator))
    data, steps = mujoco.MjData(model), round(duration / dt)
    first = la_order = 0
    for body in start.mechanism.bodies.values():
        nq, nv = body.joint.nq, body.joint.nv
        at = model.body(body.name).jntadr[0]
        data.qpos[model.jnt_qposadr[at] : model.jnt_qposadr[at] + nq] = start.q[first : first + nq]
        data.qvel[model.jnt_dofadr[at] : model.jnt_dofadr[at] + nv] = start.v[la_order : la_order + nv]
        first, la_order = first + nq, la_order + nv
    begin = data.qpos.copy(), data.qvel.copy()
    mujoco.mj_forward(model, data)
    index = model.body(start.body).id
    watched, energy, closure = np.empty((steps + 1, 3)), np.empty(steps + 1), 0.0
    for k in range(steps + 1):
        mujoco.mj_forward(model, data)
        watched[k], energy[k] = data.xpos[index] + data.xmat[index].reshape(3, 3) @ start.point, data.energy.sum()
        closure = max(closure, float(np.abs(data.efc_pos[: data.ne]).max(initial=0.0)))
        mujoco.mj_step(model, data)
        if data.warning[mujoco.mjtWarning.mjWARN_BADQACC].number:
            raise Unable(f"becomes unstable at {k * dt:.3g} s")
    times = []
    for _ in range(3):
        mujoco.mj_resetData(model, data)
        data.qpos[:], data.qvel[:] = begin
        began = clock()
        mujoco.mj_step(model, data, nstep=steps)
        times.append((clock() - began) / steps)
    return Outcome(dt * np.arange(steps + 1), watched, energy, closure if data.ne else None, min(times))


def _mjcf(mechanism: la.Mechanism, dt: float, integrator: str) -> str:
    def words(x: Any) -> str:
        return " ".join(repr(float(a)) for a in x)

    def place(pose: la.Pose) -> str:
        return f'pos="{words(pose.p)}" quat="{words(quaternion_of_rotation(pose.R))}"'

    def inside(name: str) -> str:
        text = "".join(f'<site name="{f.name}" {place(f.placement)}/>' for f in mechanism.frames.values() if f.parent == name)
        for body in mechanism.bodies.values():
            if body.parent == name:
                I, joint = body.inertia + 1e-12 * np.eye(3), body.joint  # it takes no zero
                axes = {la.Spherical: [None], la.Universal: [getattr(joint, "axis1", None), getattr(joint, "axis2", None)]}
                kind = {la.Spherical: "ball", la.Prismatic: "slide"}.get(type(joint), "hinge")
                text += f'<body name="{body.name}" {place(body.placement)}>'
                for axis in axes.get(type(joint), [getattr(joint, "axis", None)]):
                    text += f'<joint type="{kind}"' + ("" if axis is None else f' axis="{words(axis)}"') + "/>"
                full = (I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2])
                text += f'<inertial pos="{words(body.com)}" mass="{body.mass!r}" fullinertia="{words(full)}"/>'
                text += f'<site name="{body.name}"/>{inside(body.name)}</body>'
        return text

    closed, struts = "", ""
    for c in mechanism.constraints:
        if isinstance(c, la.Coincident) and len(c.directions) < 2:
            raise Unable("MuJoCo has no row that holds a point on a line")
        closed += f'<connect site1="{c.a}" site2="{c.b}"/>'  # type: ignore[attr-defined]
    for f in mechanism.forces:
        if isinstance(f, la.LinearSpring):
            struts += f'<spatial springlength="{f.length!r}" stiffness="{f.stiffness!r}"><site site="{f.a}"/><site site="{f.b}"/></spatial>'
        elif isinstance(f, la.PointDamper):
            struts += f'<spatial damping="{f.damping!r}"><site site="{f.a}"/><site site="{f.b}"/></spatial>'
        else:
            raise Unable(f"{type(f).__name__} is not translated")
    return (
        f'<mujoco><compiler angle="radian" balanceinertia="true"/><option timestep="{dt!r}" integrator="{integrator}" '
        f'gravity="{words(mechanism.gravity)}"><flag contact="disable" energy="enable"/></option><worldbody>{inside("world")}</worldbody>'
        f"<equality>{closed}</equality><tendon>{struts}</tendon></mujoco>"
    )


# ------------------------------------------------------------------------------------------------------------------- Exudyn


def exudyn(start: Start, dt: float, duration: float, solver: str) -> Outcome:
    """Bodies with Euler parameters, joints as constraints; solver: a name of `exudyn.DynamicSolverType`."""
    try:
        exu = importlib.import_module("exudyn")
        tools = importlib.import_module("exudyn.utilities")
    except ImportError as error:
        raise Unable("Exudyn is not installed") from error
    steps = round(duration / dt)
    times = []
    for k in range(3):
        mbs = exu.SystemContainer().AddSystem()
        numbers = _exudyn_bodies(mbs, tools, start)
        sensors = _Sensors(mbs, tools, exu.OutputVariableType, start, numbers) if k == 0 else None
        mbs.Assemble()
        settings = exu.SimulationSettings()
        settings.timeIntegration.numberOfSteps, settings.timeIntegration.endTime = steps, duration
        settings.timeIntegration.verboseMode = 0
        settings.timeIntegration.newton.useModifiedNewton = True
        settings.solutionSettings.writeSolutionToFile = False
        settings.solutionSettings.sensorsWritePeriod = dt
        began = clock()
        if not mbs.SolveDynamic(settings, solverType=getattr(exu.DynamicSolverType, solver), showHints=False):
            raise Unable("Exudyn's solver does not converge")
        if sensors is not None:
            t, watched = sensors.times(), sensors.watched()
            energy, closure = sensors.energy(), sensors.closure()
        else:
            times.append((clock() - began) / steps)
    return Outcome(t, watched, energy, closure, min(times))


class _Sensors:
    """What is recorded in Exudyn: the watched point, the motion of all bodies, both ends of all constraints."""

    def __init__(self, mbs: Any, tools: Any, kinds: Any, start: Start, numbers: dict[str, Any]):
        self._mbs, self._start = mbs, start
        mechanism = start.mechanism

        def add(name: str, point: Any, kind: Any) -> Any:
            com = mechanism.bodies[name].com if name in mechanism.bodies else np.zeros(3)
            local = [float(x) for x in np.array(point) - com]
            return mbs.AddSensor(
                tools.SensorBody(bodyNumber=numbers[name], localPosition=local, storeInternal=True, outputVariableType=kind)
            )

        self._watched = add(start.body, start.point, kinds.Position)
        wanted = (kinds.Position, kinds.Velocity, kinds.AngularVelocityLocal)
        self._bodies = [(b, [add(b.name, b.com, kind) for kind in wanted]) for b in mechanism.bodies.values()]
        self._ends = [(c, [add(*_place(mechanism, name), kinds.Position) for name in (c.a, c.b)]) for c in mechanism.constraints]  # type: ignore[attr-defined]

    def _read(self, sensor: Any) -> Array:
        return np.array(self._mbs.GetSensorStoredData(sensor))[:, 1:4]

    def times(self) -> Array:
        return np.array(self._mbs.GetSensorStoredData(self._watched))[:, 0]

    def watched(self) -> Array:
        return self._read(self._watched)

    def energy(self) -> Array:
        """Kinetic and of gravity."""
        total = np.zeros(len(self.times()))
        for body, sensors in self._bodies:
            x, v, w = map(self._read, sensors)
            total += body.mass * (0.5 * (v * v).sum(1) - x @ self._start.mechanism.gravity)
            total += 0.5 * np.einsum("ti,ij,tj->t", w, body.inertia, w)
        return total

    def closure(self) -> float | None:
        errors = [0.0]
        for constraint, ends in self._ends:
            apart = self._read(ends[0]) - self._read(ends[1])
            single = isinstance(constraint, la.Coincident) and len(constraint.directions) == 1
            errors.append(float(np.abs(apart @ constraint.directions[0]).max() if single else np.linalg.norm(apart, axis=1).max()))
        return max(errors) if self._ends else None


def _exudyn_bodies(mbs: Any, tools: Any, start: Start) -> dict[str, Any]:
    mechanism = start.mechanism
    numbers = {"world": mbs.AddObject(tools.ObjectGround())}
    local: dict[str, Array] = {"world": np.zeros(3)}
    for body in mechanism.bodies.values():
        R, x, spin, speed = start.twist(body.name)
        arm = R @ body.com
        inertia = tools.RigidBodyInertia(mass=body.mass, inertiaTensor=body.inertia)
        numbers[body.name] = mbs.CreateRigidBody(
            referencePosition=list(x + arm), referenceRotationMatrix=R, initialVelocity=list(speed + np.cross(spin, arm)),
            initialAngularVelocity=list(spin), inertia=inertia, gravity=list(mechanism.gravity),
        )  # fmt: skip
        local[body.name] = body.com
        joint, axes = body.joint, R
        if isinstance(joint, la.Spherical):
            held = [1, 1, 1, 0, 0, 0]
        elif isinstance(joint, la.Universal):
            parent = start.twist(body.parent)[0] if body.parent != "world" else np.eye(3)
            first = parent @ body.placement.R @ joint.axis1
            held, axes = [1, 1, 1, 0, 0, 1], np.column_stack([first, R @ joint.axis2, np.cross(first, R @ joint.axis2)])
        elif isinstance(joint, (la.Revolute, la.Prismatic)):
            held = [1, 1, 1, 1, 1, 0] if isinstance(joint, la.Revolute) else [1, 1, 0, 1, 1, 1]
            axes = R @ _with_z(joint.axis)
        else:
            raise Unable(f"{type(joint).__name__} is not translated")
        mbs.CreateGenericJoint(
            itemNumbers=[numbers[body.parent], numbers[body.name]], position=list(x), rotationMatrixAxes=axes, constrainedAxes=held,
            show=False,
        )  # fmt: skip

    for c in mechanism.constraints:
        (a, _), (b, _) = _place(mechanism, c.a), _place(mechanism, c.b)  # type: ignore[attr-defined]
        held, axes = [1, 1, 1, 0, 0, 0], np.eye(3)
        if isinstance(c, la.Coincident) and len(c.directions) < 3:
            given = np.linalg.qr(np.column_stack([*c.directions, *np.eye(3)]))[0]
            R = start.twist(a)[0] if a != "world" else np.eye(3)
            held, axes = [1] * len(c.directions) + [0] * (6 - len(c.directions)), R @ given * np.sign(np.linalg.det(given))
        x = start.places(start.q, c.b)[:3, 3]  # type: ignore[attr-defined]
        ends = [numbers[a], numbers[b]]
        mbs.CreateGenericJoint(itemNumbers=ends, position=list(x), rotationMatrixAxes=axes, constrainedAxes=held, show=False)
    for f in mechanism.forces:
        (a, on_a), (b, on_b) = _place(mechanism, f.a), _place(mechanism, f.b)  # type: ignore[attr-defined]
        points = {"localPosition0": list(on_a - local[a]), "localPosition1": list(on_b - local[b]), "itemNumbers": [numbers[a], numbers[b]]}
        if isinstance(f, la.LinearSpring):
            mbs.CreateSpringDamper(referenceLength=f.length, stiffness=f.stiffness, show=False, **points)
        elif isinstance(f, la.PointDamper):
            mbs.CreateSpringDamper(damping=f.damping, show=False, **points)
        else:
            raise Unable(f"{type(f).__name__} is not translated")
    return numbers


def _place(mechanism: la.Mechanism, name: str) -> tuple[str, Array]:
    """Body and point in it."""
    if name in mechanism.frames:
        return mechanism.frames[name].parent, mechanism.frames[name].placement.p
    return name, np.zeros(3)


def _with_z(axis: Array) -> Array:
    """Rotation whose z axis is `axis`."""
    other = np.eye(3)[int(np.argmin(np.abs(axis)))]
    x = np.cross(other, axis)
    x /= np.linalg.norm(x)
    return np.column_stack([x, np.cross(axis, x), axis])
