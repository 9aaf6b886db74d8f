"""MJCF -> Mechanism, by way of the model that MuJoCo compiles: its defaults, classes, frames and inertias from geoms are MuJoCo's business.

Coordinates are those of MuJoCo: `q` of the model is `qpos`, joint by joint.  A body with several joints becomes a chain of bodies without
mass, in the order of the joints; one whose joint does not lie in its origin becomes a body in the joint and one fixed to it.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import cos, sin
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..constraints import Cam, Close, Coincident, Constraint, Gear, Prescribed
from ..errors import FormatError
from ..forces import Damper, DryFriction, Spring
from ..joints import Fixed, Free, Joint, Prismatic, Revolute, Spherical
from ..mechanism import WORLD, Mechanism
from ..motors import Motor, Servo
from ..pose import Pose, rotation_of_quaternion
from . import mjcf_tendons
from .leftovers import Leftovers
from .mjcf_shapes import add_shapes
from .mjcf_source import Source
from .places import at

#: what can be left out on request -> what that is
IGNORABLE = {
    "actuator": "actuators; motors and servos on joints are read, others are refused if it is not named",
    "frictionloss": "dry friction of joints",
    "armature": "rotor inertias of joints",
    "stiffness": "springs of joints",
    "damping": "dampers of joints",
    "fluid": "forces of a medium (density, viscosity)",
    "tendon": "tendons with springs, dampers, friction, inertia or limits; springs of fixed ones are read, others refused",
    "equality": "equality constraints",
    "gravcomp": "bodies that gravity does not pull as it does others",
    "mocap": "bodies that are moved by hand; they stand still",
    "flex": "deformable bodies and composite objects",
    "plugin": "plugins",
    "limits": "limits of joints",
    "contact": "collision shapes",
    "visual": "visual shapes",
    "meshes": "meshes, and geoms made of them",
}
NOT_SIMULATED = ("actuator", "frictionloss", "armature", "stiffness", "damping", "fluid", "tendon", "equality", "gravcomp", "mocap", "flex",
                 "plugin")  # fmt: skip
_FREE, _BALL, _SLIDE, _HINGE = range(4)  # mjtJoint
_ON_TENDON = 3  # mjTRN_TENDON
_TENDONS_TIED = 3  # mjEQ_TENDON


def read(path: Path, *, ignore: Iterable[str] = (), packages: Iterable[str | PathLike[str]] | str | PathLike[str] = ()) -> Mechanism:
    """The robot in a file.

    ignore     names of what to leave out: "actuator", "frictionloss", ...; a wrong name lists them all
    packages   further folders that meshes and included files may come from
    """
    leftovers = Leftovers(IGNORABLE, ignore)
    source = Source(path, leftovers, packages)
    return _Reader(source, compiled(source), leftovers).mechanism


def compiled(source: Source) -> Any:
    """MuJoCo's model of a file."""
    try:
        import mujoco
    except ImportError as error:
        raise FormatError(
            "MJCF files are read with MuJoCo, which is not installed: pip install leastaction[mjcf]", path=str(source.path)
        ) from error
    mujoco.set_mju_user_warning(lambda warning: source.warnings.append(" ".join(warning.split())))  # else it writes a file where we stand
    try:
        return mujoco.MjModel.from_xml_string(source.text, source.assets)
    except (ValueError, mujoco.FatalError) as error:
        source.fail(error)
    finally:
        mujoco.set_mju_user_warning(None)


class _Reader:
    def __init__(self, source: Source, theirs: Any, leftovers: Leftovers):
        self.source, self.theirs, self.leftovers = source, theirs, leftovers
        self.off = _disabled(theirs)
        gravity = np.zeros(3) if "GRAVITY" in self.off else theirs.opt.gravity
        self.mechanism = Mechanism(gravity=gravity, name=source.root.attributes.get("model", "").strip() or source.path.stem)
        self._check_world()
        for body in range(1, theirs.nbody):
            self._add_body(body)
        add_shapes(self.mechanism, source, theirs, leftovers)
        self._add_sites()
        for equality in range(theirs.neq):
            self._add_equality(equality)
        for tendon in range(theirs.ntendon):
            self._add_tendon(tendon)
        for actuator in range(theirs.nu):
            self._add_actuator(actuator)
        self._add_keyframes()
        leftovers.settle(self.mechanism)
        for warning in source.warnings:
            self.mechanism.note(f"MuJoCo: {warning}")

    def _check_world(self) -> None:
        option = self.theirs.opt
        if option.density != 0.0 or option.viscosity != 0.0:
            element = next((o for o in self.source.root.all("option") if {"density", "viscosity"} & set(o.attributes)), self.source.root)
            self.leftovers.refuse("fluid", element, f"a medium of density {option.density:g} and viscosity {option.viscosity:g}")

    # ------------------------------------------------------------------------------------------------ bodies and joints

    def _add_body(self, b: int) -> None:
        m = self.theirs
        name = m.body(b).name
        element = self.source.element("body", name)
        if m.body_gravcomp[b] != 0.0:
            self.leftovers.refuse("gravcomp", element, f"body {name!r}: gravcomp {m.body_gravcomp[b]:g}")
        if m.body_mocapid[b] >= 0:
            self.leftovers.refuse("mocap", element, f"body {name!r} is moved by hand")
        turn = rotation_of_quaternion(m.body_iquat[b])
        heavy = {
            "mass": float(m.body_mass[b]), "com": m.body_ipos[b].copy(), "inertia": turn @ np.diag(m.body_inertia[b]) @ turn.T,
            "unphysical": True,
        }  # fmt: skip
        joints = range(m.body_jntadr[b], m.body_jntadr[b] + m.body_jntnum[b]) if m.body_jntnum[b] else range(0)
        parent, placement, here = self._body_name(m.body_parentid[b]), Pose(m.body_pos[b], quaternion=m.body_quat[b]), np.zeros(3)
        for j in joints:
            kind = m.jnt_type[j]
            anchor = m.jnt_pos[j].copy() if kind in (_BALL, _HINGE) else here
            if kind == _FREE:
                placement = Pose()
            is_last = j == joints[-1] and not anchor.any()
            joint, turned = self._joint(j)
            own = name if is_last else self._free_name(f"{name}:{m.jnt(j).name}")
            self._add(own, parent, joint, placement @ Pose(anchor - here) @ turned, j, heavy if is_last else {})
            parent, placement, here = own, Pose(), anchor
        if not len(joints) or here.any():
            with at(element):
                self.mechanism.add_body(name, parent, Fixed(), placement @ Pose(-here), joint_name=self._free_joint_name(name), **heavy)

    def _add(self, name: str, parent: str, joint: Joint, placement: Pose, j: int, heavy: dict[str, Any]) -> None:
        """A body on joint j, and what the joint does."""
        m, given = self.theirs, self.theirs.jnt(j).name
        element = self.source.element("joint", given)
        dofs = slice(m.jnt_dofadr[j], m.jnt_dofadr[j] + joint.nv)
        armature = self._armature(m.dof_armature[dofs], joint, given, element)
        with at(element):
            self.mechanism.add_body(name, parent, joint, placement, joint_name=given, armature=armature, **heavy)
        self._add_forces(j, joint, dofs, element)
        if m.dof_frictionloss[dofs].any() and "FRICTIONLOSS" not in self.off:
            self._add_friction(given, joint, m.dof_frictionloss[dofs].copy(), element)
        self._add_limit(j, joint, element)

    def _add_limit(self, j: int, joint: Joint, element) -> None:
        m, name = self.theirs, self.theirs.jnt(j).name
        words = [f"{what} limit of {name}" for what in ("lower", "upper", "velocity", "effort")]
        kept = {word.split()[0]: self.source.numbers[word] for word in words if word in self.source.numbers}
        if m.jnt_limited[j] and "LIMIT" not in self.off:
            kept["lower"], kept["upper"] = m.jnt_range[j].tolist()
        if m.jnt_actfrclimited[j]:
            kept["effort"] = min(kept.get("effort", np.inf), float(np.abs(m.jnt_actfrcrange[j]).max()))
        if not kept or self.leftovers.ignores("limits", element, f"limits of joint {name!r}"):
            return
        if joint.nq != 1:
            self.leftovers.aside(element, "limits of ball joints are not used")
            return
        with at(element):
            self.mechanism.add_limit(name, **kept)

    def _joint(self, j: int) -> tuple[Joint, Pose]:
        """Joint j, and the pose in front of it that makes its coordinate `ref` where the file draws it."""
        m, kind = self.theirs, self.theirs.jnt_type[j]
        if kind == _FREE:
            return Free(), Pose()
        if kind == _BALL:
            return Spherical(), Pose()
        axis, ref = m.jnt_axis[j].copy(), float(m.qpos0[m.jnt_qposadr[j]])
        if kind == _SLIDE:
            return Prismatic(axis), Pose(-ref * axis)
        return Revolute(axis), Pose(quaternion=(cos(ref / 2), *(-sin(ref / 2) * axis))) if ref else Pose()

    def _armature(self, values: NDArray[np.float64], joint: Joint, name: str, element) -> Any:
        if not values.any():
            return 0.0
        sentence = f"joint {name!r}: armature {values.max():g}"
        if joint.has_quaternion:
            kind = type(joint).__name__
            self.leftovers.refuse("armature", element, f"{sentence} of a {kind} joint, which has no coordinate a rotor turns with")
            return 0.0
        return 0.0 if self.leftovers.ignores("armature", element, sentence) else values.copy()

    def _add_forces(self, j: int, joint: Joint, dofs: slice, element) -> None:
        m, name = self.theirs, self.theirs.jnt(j).name
        stiffness, damping = float(m.jnt_stiffness[j]), m.dof_damping[dofs].copy()
        if "SPRING" not in self.off and (stiffness or _any(m, "jnt_stiffnesspoly", j)):
            sentence = f"joint {name!r}: stiffness {stiffness:g}"
            if isinstance(joint, Free) or _any(m, "jnt_stiffnesspoly", j) or _any(m, "jnt_springyield", j) or stiffness < 0.0:
                self.leftovers.refuse("stiffness", element, f"{sentence} of a free joint, or of a spring that is not linear")
            elif not self.leftovers.ignores("stiffness", element, sentence):
                rest = m.qpos_spring[m.jnt_qposadr[j] : m.jnt_qposadr[j] + joint.nq].copy()
                self.mechanism.add_force(Spring(name, stiffness, rest))
        if "DAMPER" not in self.off and (damping.any() or _any(m, "dof_dampingpoly", dofs)):
            sentence = f"joint {name!r}: damping {damping.max():g}"
            if _any(m, "dof_dampingpoly", dofs) or damping.min() < 0.0:
                self.leftovers.refuse("damping", element, f"{sentence} of a damper that is not linear")
            elif not self.leftovers.ignores("damping", element, sentence):
                self.mechanism.add_force(Damper(name, damping if joint.nv > 1 else damping[0]))

    def _add_friction(self, name: str, joint: Joint, friction: NDArray[np.float64], element) -> None:
        sentence = f"joint {name!r}: dry friction {friction.max():g}"
        if joint.has_quaternion or friction.min() < 0.0:
            what = f"of a {type(joint).__name__} joint, which has no coordinates to act on one by one" if joint.has_quaternion else "< 0"
            self.leftovers.refuse("frictionloss", element, f"{sentence} {what}")
        elif not self.leftovers.ignores("frictionloss", element, sentence):
            self.mechanism.add_force(DryFriction(name, friction[0]))

    def _add_sites(self) -> None:
        m = self.theirs
        for s in range(m.nsite):
            name = m.site(s).name
            if name and name not in self.mechanism.bodies and name not in self.mechanism.frames and name != WORLD:
                pose = Pose(m.site_pos[s], quaternion=m.site_quat[s])
                self.mechanism.add_frame(name, self._body_name(m.site_bodyid[s]), pose)

    # ------------------------------------------------------------------------------------------------ equalities and tendons

    def _add_equality(self, e: int) -> None:
        m, name = self.theirs, self.theirs.eq(e).name
        element = self.source.element("equality", name)
        if not m.eq_active0[e] or "EQUALITY" in self.off or "CONSTRAINT" in self.off:
            self.leftovers.aside(element, "equalities that are not active are not kept")
            return
        kind = int(m.eq_type[e])
        tied = mjcf_tendons.tie(m, e) if kind == _TENDONS_TIED else None
        makers = {0: self._connect, 1: self._weld, 2: self._couple}
        if kind not in makers and tied is None:
            sentence = f"{element} {name!r} is not a connect, weld or joint equality, or one of fixed tendons"
            self.leftovers.refuse("equality", element, sentence)
        elif not self.leftovers.ignores("equality", element, f"{element} {name!r}"):
            taken = {*self.mechanism.bodies, *self.mechanism.joint_names}
            with at(element):
                self.mechanism.add_constraint(tied or makers[kind](e), None if name in taken else name)

    def _connect(self, e: int) -> Constraint:
        data = self.theirs.eq_data[e]
        return Coincident(*self._ends(e, Pose(data[:3]), Pose(data[3:6])))

    def _weld(self, e: int) -> Constraint:
        data = self.theirs.eq_data[e]
        turn = data[6:10] if data[6:10].any() else (1.0, 0.0, 0.0, 0.0)  # of sites there is none
        return Close(Fixed(), *self._ends(e, Pose(data[3:6], quaternion=turn), Pose(data[:3])))

    def _ends(self, e: int, first: Pose, second: Pose) -> list[str]:
        """Frames on the two bodies; sites say themselves where they are."""
        m, names = self.theirs, []
        for which, (thing, pose) in enumerate(((m.eq_obj1id[e], first), (m.eq_obj2id[e], second)), start=1):
            body = thing
            if m.eq_objtype[e] == _site_type():
                body, pose = m.site_bodyid[thing], Pose(m.site_pos[thing], quaternion=m.site_quat[thing])
            names.append(self._free_name(f"{m.eq(e).name}:{which}"))
            self.mechanism.add_frame(names[-1], self._body_name(body), pose)
        return names

    def _couple(self, e: int) -> Constraint:
        """y - y0 = a0 + a1 (x - x0) + ... + a4 (x - x0)^4"""
        m, (a0, *rest) = self.theirs, self.theirs.eq_data[e, :5].tolist()
        first, second = int(m.eq_obj1id[e]), int(m.eq_obj2id[e])
        y, y0 = m.jnt(first).name, float(m.qpos0[m.jnt_qposadr[first]])
        if second < 0:
            return Prescribed(y, y0 + a0)
        x, x0 = m.jnt(second).name, float(m.qpos0[m.jnt_qposadr[second]])
        if not any(rest[1:]):
            return Gear(y, x, rest[0], y0 + a0 - rest[0] * x0)
        return Cam(y, x, " + ".join([repr(y0 + a0), *(f"({a!r}) * (x - ({x0!r})) ** {k}" for k, a in enumerate(rest, start=1))]))

    def _add_tendon(self, t: int) -> None:
        m, name = self.theirs, self.theirs.tendon(t).name
        element = self.source.element("tendon", name)
        words = {
            "stiffness": "SPRING", "stiffnesspoly": "SPRING", "damping": "DAMPER", "dampingpoly": "DAMPER", "frictionloss": "FRICTIONLOSS",
            "armature": "", "limited": "LIMIT",
        }  # fmt: skip
        acting = [word for word, flag in words.items() if flag not in self.off and _any(m, f"tendon_{word}", t)]
        spring = mjcf_tendons.spring(m, t) if acting == ["stiffness"] else None
        if spring is not None and not self.leftovers.ignores("tendon", element, f"{element} tendon {name!r}: stiffness"):
            with at(element):
                self.mechanism.add_force(spring)
        elif acting and spring is None:
            self.leftovers.refuse("tendon", element, f"{element} tendon {name!r}: {', '.join(acting)}")
        elif not acting:
            self.leftovers.aside(element, "tendons without springs, dampers, friction, inertia and limits are not kept")

    # ------------------------------------------------------------------------------------------------ the rest

    def _add_actuator(self, a: int) -> None:
        """Joint force = gear * (gain * ctrl + bias[0] + gear * (bias[1] * q + bias[2] * v), within forcerange), ctrl within ctrlrange."""
        m, name = self.theirs, self.theirs.actuator(a).name
        element, gear, gain = self.source.element("actuator", name), float(m.actuator_gear[a, 0]), float(m.actuator_gainprm[a, 0])
        pulled = self._pulled(a)
        affine = m.actuator_biastype[a] == 1  # mjBIAS_AFFINE
        bias, stiffness, damping = m.actuator_biasprm[a, :3].tolist() if affine else (0.0, 0.0, 0.0)
        simple = m.actuator_gaintype[a] == 0 and (affine or m.actuator_biastype[a] == 0) and m.actuator_dyntype[a] == 0 and gain != 0.0
        if not simple or not pulled or "ACTUATION" in self.off or _delayed(m, a):
            why = "it has a state, another gain or bias, a joint with several freedoms, or shares a joint with a limit on its force"
            self.leftovers.refuse("actuator", element, f"{element} {name!r} is not a motor or servo: {why}")
            return
        if max(stiffness, damping) > 0.0 or gear == 0.0 or (bias and not (stiffness or damping)):
            why = f"the bias {bias:g}, {stiffness:g}, {damping:g} with gear {gear:g} pushes the joint away, or by itself"
            self.leftovers.refuse("actuator", element, f"{element} {name!r} is not a motor or servo: {why}")
            return
        inputs = m.actuator_ctrlrange[a] if m.actuator_ctrllimited[a] else np.array([-np.inf, np.inf])
        forces = m.actuator_forcerange[a] if m.actuator_forcelimited[a] else np.array([-np.inf, np.inf])
        j = int(m.actuator_trnid[a, 0])
        if isinstance(pulled, str) and m.jnt_actfrclimited[j]:
            forces = np.clip(forces, *sorted((m.jnt_actfrcrange[j] / gear).tolist()))
        with at(element):
            if not (stiffness or damping):
                low, high = np.clip(inputs, *sorted((forces / gain).tolist())).tolist()
                self.mechanism.add_motor(Motor(pulled, gear * gain, (low, high), name))
            elif isinstance(pulled, str):
                self._add_servo(pulled, name, gear, (gain, bias, -stiffness, -damping), inputs, forces)
            else:
                why = "it holds the length of a tendon, and servos hold one joint each"
                self.leftovers.refuse("actuator", element, f"{element} {name!r} is not a motor or servo: {why}")

    def _pulled(self, a: int) -> str | dict[str, float] | None:
        """The joint that an actuator drives, or {joint: coefficient} of a fixed tendon; None if it is something else."""
        m, on = self.theirs, int(self.theirs.actuator_trnid[a, 0])
        if m.actuator_trntype[a] == _ON_TENDON:
            found = mjcf_tendons.shares(m, on) or {}
            limited = _any(m, "tendon_actfrclimited", on) or any(m.jnt_actfrclimited[m.jnt(name).id] for name in found)
            return None if limited else found
        together = sum((m.actuator_trnid[:, 0] == on) & (m.actuator_trntype == m.actuator_trntype[a])) > 1
        if m.jnt_type[on] not in (_SLIDE, _HINGE) or (m.jnt_actfrclimited[on] and together):
            return None
        return str(m.jnt(on).name)

    def _add_servo(self, joint: str, name: str, gear: float, law: tuple[float, ...], inputs, forces) -> None:
        """What a position, velocity or affine actuator does to its joint."""
        gain, bias, kp, kd = law
        divisor = (kp or kd) * gear  # target = (gain * ctrl + bias) / divisor
        scale, offset = gain / divisor, bias / divisor
        targets = (float(x) for x in sorted((scale * inputs + offset).tolist()))
        own = {"target": offset} if kp else {"velocity": offset}
        limit = sorted((gear * forces).tolist())
        self.mechanism.add_servo(Servo(joint, kp * gear**2, kd * gear**2, limit, range=tuple(targets), name=name, **own))
        if (scale, offset) != (1.0, 0.0):
            what = "target" if kp else "velocity"
            self.mechanism.note(f"the {what} of servo {name!r} is {scale:g} times the ctrl of its actuator, plus {offset:g}")

    def _add_keyframes(self) -> None:
        m = self.theirs
        rest = np.zeros(m.nv)
        if np.any(m.qpos0 != _neutral(m)):
            self.mechanism.keyframes["qpos0"] = {"q": self._values(m.qpos0, rest)[0]}
        for k in range(m.nkey):
            q, v = self._values(m.key_qpos[k], m.key_qvel[k])
            self.mechanism.keyframes[m.key(k).name or f"key {k + 1}"] = {"q": q, "v": v, "t": float(m.key_time[k])}

    def _values(self, qpos: NDArray[np.float64], qvel: NDArray[np.float64]) -> tuple[dict[str, Any], dict[str, Any]]:
        """{joint: coordinates}, {joint: velocities} of MuJoCo's arrays."""
        m = self.theirs
        q: dict[str, Any] = {}
        v: dict[str, Any] = {}
        for j in range(m.njnt):
            name, kind = m.jnt(j).name, m.jnt_type[j]
            nq, nv = {_FREE: (7, 6), _BALL: (4, 3)}.get(int(kind), (1, 1))
            values = qpos[m.jnt_qposadr[j] : m.jnt_qposadr[j] + nq].copy()
            rates = qvel[m.jnt_dofadr[j] : m.jnt_dofadr[j] + nv].copy()
            if kind in (_FREE, _BALL):
                values[-4:] /= np.linalg.norm(values[-4:])
            if kind == _FREE:  # theirs: linear in the world, then angular in the body
                rates = np.concatenate([rates[3:], rotation_of_quaternion(values[3:]).T @ rates[:3]])
            q[name], v[name] = (values, rates) if nv > 1 else (float(values[0]), float(rates[0]))
        return q, v

    def _body_name(self, b: int) -> str:
        return WORLD if b == 0 else self.theirs.body(b).name

    def _free_name(self, wanted: str) -> str:
        m = self.theirs
        theirs = (*(m.body(b).name for b in range(m.nbody)), *(m.site(s).name for s in range(m.nsite)))
        taken = {*self.mechanism.bodies, *self.mechanism.frames, *theirs}
        return next(name for name in (wanted, *(f"{wanted} {k}" for k in range(2, len(taken) + 3))) if name not in taken)

    def _free_joint_name(self, wanted: str) -> str:
        m = self.theirs
        taken = {*self.mechanism.joint_names, *(m.jnt(j).name for j in range(m.njnt))}
        return next(name for name in (wanted, *(f"{wanted} {k}" for k in range(2, len(taken) + 3))) if name not in taken)


def _any(m: Any, field: str, at: Any) -> bool:
    """Is there something in a field that not every version of MuJoCo has?"""
    return bool(np.any(getattr(m, field)[at])) if hasattr(m, field) else False


def _delayed(m: Any, a: int) -> bool:
    """Does an actuator of newer versions have damping, inertia or a delay of its own?"""
    return any(_any(m, f"actuator_{field}", a) for field in ("damping", "armature", "delay", "plugin_state"))


def _disabled(m: Any) -> set[str]:
    """Names of what <flag> switches off."""
    import mujoco

    flags = mujoco.mjtDisableBit.__members__.items()
    off = {name.removeprefix("mjDSBL_") for name, bit in flags if name.startswith("mjDSBL_") and m.opt.disableflags & int(bit)}
    return off | ({"SPRING", "DAMPER"} if "PASSIVE" in off else set())  # of older versions


def _site_type() -> int:
    import mujoco

    return int(mujoco.mjtObj.mjOBJ_SITE)


def _neutral(m: Any) -> NDArray[np.float64]:
    """qpos where every coordinate is zero and every quaternion one."""
    out = np.zeros(m.nq)
    for j in range(m.njnt):
        if m.jnt_type[j] in (_FREE, _BALL):
            out[m.jnt_qposadr[j] + (3 if m.jnt_type[j] == _FREE else 0)] = 1.0
    return out
