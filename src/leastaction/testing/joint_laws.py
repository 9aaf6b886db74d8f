"""The laws every joint obeys: its kernels are derivatives of its own pose."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..examples import random_joint
from ..joints import Joint, SymbolicJoint
from ..joints.dispatch import PARAMETERS
from . import matrices as mat
from . import probe

Array = NDArray[np.float64]

_ROUNDING = 1e-12  # of identities without a derivative
_DIFFERENCE = 1e-9  # of a fourth-order difference with steps of 1e-3


def check_joint(joint: Joint | type[Joint], seed: int = 0, samples: int = 5) -> None:
    """Check the kernels of a joint against each other at random coordinates; AssertionError names the broken law.

    Give the class, or an instance if its constructor needs arguments.  A joint must be in `joints/dispatch.py` already.
    """
    rng = np.random.default_rng(seed)
    for _ in range(samples):
        sample = random_joint(joint, rng) if isinstance(joint, type) else joint
        _check_description(sample)
        if sample.nv > 0:
            alone = JointAlone(sample)
            q, d, v = alone.random_coordinates(rng), rng.normal(size=sample.nv), rng.normal(size=sample.nv)
            for law in _LAWS:
                law(alone, q, d, v, rng)


class JointAlone:
    """The kernels of one joint as Python functions; poses are 4x4 in the joint's canonical frame."""

    def __init__(self, joint: Joint):
        self.joint, self.kind, self.nv, self.nq = joint, joint.kind, joint.nv, joint.nq
        self.param = np.zeros((1, max(PARAMETERS, len(joint.parameters()))))
        self.param[0, : len(joint.parameters())] = joint.parameters()
        self.still = np.zeros(joint.nv)

    def random_coordinates(self, rng: np.random.Generator) -> Array:
        q = rng.normal(size=self.nq)
        if self.joint.has_quaternion:
            q[-4:] /= np.linalg.norm(q[-4:])
        return q

    def pose(self, q: Array, d: Array | None = None, f: float = 0.0) -> Array:
        out = np.empty(12)
        probe.joint_pose(self.kind, self.param, q, self.still if d is None else d, float(f), out)
        return mat.rigid(out[:9].reshape(3, 3), out[9:])

    def displacement(self, q: Array, d: Array) -> Array:
        """(7,) quaternion and translation."""
        out = np.empty(7)
        probe.joint_displacement(self.kind, self.param, q, d, out)
        return out

    def columns(self, q: Array, d: Array | None = None, f: float = 0.0) -> Array:
        out = np.full((self.nv, 6), np.nan)  # whatever the joint does not set stays visible
        probe.joint_columns(self.kind, self.param, q, self.still if d is None else d, float(f), out)
        return out

    def mid_columns(self, q: Array, d: Array) -> tuple[Array, Array, Array]:
        """Midpoint twists per variation of the start, of the increment and of the end."""
        start, increment, end = (np.full((self.nv, 6), np.nan) for _ in range(3))
        probe.joint_mid_columns(self.kind, self.param, q, d, self.nv, start, increment, end)
        return start, increment, end

    def mid_curvature(self, q: Array, d: Array, wrench: Array) -> Array:
        out = np.zeros((self.nv, self.nv))
        increment = self.mid_columns(q, d)[1]
        probe.joint_mid_curvature(self.kind, self.param, q, d, self.nv, increment, wrench[None].copy(), out, np.zeros((6, 6)))
        return out

    def advanced(self, q: Array, d: Array) -> Array:
        out = q.copy()
        probe.joint_advance(self.kind, out, d, self.nv)
        return out

    def rate(self, q: Array, v: Array) -> Array:
        out = np.full(self.nq, np.nan)
        probe.joint_rate(self.kind, q, v, self.nv, out)
        return out

    def bias(self, q: Array, v: Array) -> Array:
        out = np.empty(6)
        probe.joint_bias(self.kind, self.param, q, v, out)
        return out

    def spring(self, q: Array, rest: Array, d: Array, f: float, stiffness: Array) -> tuple[float, Array]:
        gradient = np.zeros(self.nv)
        energy = probe.joint_spring(self.kind, q, rest, d, self.nv, float(f), stiffness, gradient)
        return energy, gradient

    def mid_spring_force(self, q: Array, rest: Array, d: Array, stiffness: Array) -> Array:
        """Generalised force of the midpoint spring on the start of the step (sign of the gradient)."""
        gradient = self.spring(q, rest, d, 0.5, stiffness)[1]
        return self.as_variation(self.mid_columns(q, d)[0]) @ gradient

    def spring_curvature(self, q: Array, rest: Array, d: Array, stiffness: Array) -> Array:
        out = np.zeros((self.nv, self.nv))
        start, increment, _ = self.mid_columns(q, d)
        probe.joint_spring_curvature(self.kind, q, rest, d, self.nv, stiffness, start, increment, out)
        return out

    def as_variation(self, twists: Array) -> Array:
        """Midpoint twists (k, 6) as variations (k, nv) of the midpoint coordinates."""
        if self.nq == self.nv:  # the mean of the coordinates moves by half
            return 0.5 * np.eye(self.nv)
        return twists[:, : self.nv]  # on a group the joint columns are the unit twists


def derivative(function: Callable[[Any], Any], direction: Any, step: float = 1e-3) -> Array:
    """Derivative of function(x) at x = 0 along `direction`, by the fourth-order central difference."""

    def across(s: float) -> Any:
        return function(s * direction) - function(-s * direction)

    return (8.0 * across(step) - across(2 * step)) / (12.0 * step)


def body_twist(pose: Callable[[Any], Array], direction: Array) -> Array:
    """Body twist (omega, v) of the 4x4 pose(x) at x = 0 when x moves along `direction`."""
    m = mat.rigid_inverse(pose(0.0 * direction)) @ derivative(pose, direction)
    return np.concatenate([mat.vee(m[:3, :3]), m[:3, 3]])


def _demand(got: Any, wanted: Any, tolerance: float, joint: Joint, law: str) -> None:
    error = float(np.abs(np.asarray(got) - wanted).max())
    size = max(1.0, float(np.abs(wanted).max()))
    assert error <= tolerance * size, f"{joint!r}: {law} is off by {error:.3g} (allowed {tolerance * size:.1g})"


# ------------------------------------------------------------------------------------------------------- laws


def _check_description(joint: Joint) -> None:
    assert len(joint.coordinates) == joint.nq, f"{joint!r}: {len(joint.coordinates)} coordinate names for nq = {joint.nq}"
    assert len(joint.angular) == joint.nv, f"{joint!r}: {len(joint.angular)} entries of `angular` for nv = {joint.nv}"
    assert joint.neutral().shape == (joint.nq,), f"{joint!r}: neutral() has shape {joint.neutral().shape}"
    frame = joint.frame()
    _demand(frame.T @ frame, np.eye(3), _ROUNDING, joint, "orthonormality of frame()")
    assert np.linalg.det(frame) > 0, f"{joint!r}: frame() is left-handed"
    assert isinstance(joint, SymbolicJoint) or len(joint.parameters()) <= PARAMETERS, f"{joint!r}: more than {PARAMETERS} parameters"


def _law_pose(a: JointAlone, q, d, v, rng) -> None:
    if isinstance(a.joint, SymbolicJoint):  # its zero position is the user's
        _demand(a.pose(q), a.joint.reference_pose(q), _ROUNDING, a.joint, "compiled pose against the expression")
    else:
        _demand(a.pose(a.joint.neutral()), np.eye(4), _ROUNDING, a.joint, "pose at neutral() (the identity)")
    for f in (0.0, 0.5, 1.0):
        R = a.pose(q, d, f)[:3, :3]
        _demand(R.T @ R, np.eye(3), _ROUNDING, a.joint, f"orthonormality of pose at f = {f}")


def _law_advance(a: JointAlone, q, d, v, rng) -> None:
    _demand(a.pose(a.advanced(q, d)), a.pose(q, d, 1.0), _ROUNDING, a.joint, "pose after advance against pose at f = 1")


def _law_displacement(a: JointAlone, q, d, v, rng) -> None:
    got = a.displacement(q, d)
    pose = mat.rigid(mat.quaternion_matrix(got[:4]), got[4:])
    _demand(pose, mat.rigid_inverse(a.pose(q)) @ a.pose(q, d, 1.0), _ROUNDING, a.joint, "displacement against X(q)^-1 X(q + d)")
    tiny = 1e-9 * d  # the steps of a simulation: nothing may be lost to subtraction
    got = a.displacement(q, tiny)
    twist = np.concatenate([2.0 * got[1:4], got[4:]]) / 1e-9
    _demand(twist, d @ a.columns(q), 1e-8, a.joint, "displacement for tiny increments against S d")


def _law_columns(a: JointAlone, q, d, v, rng) -> None:
    start, end = a.columns(q), a.columns(q, d, 1.0)
    for j, e in enumerate(np.eye(a.nv)):
        twist = body_twist(lambda x: a.pose(a.advanced(q, x)), e)
        _demand(start[j], twist, _DIFFERENCE, a.joint, f"column {j} at the start of a step against the derivative of pose")
        twist = body_twist(lambda x: a.pose(q, d + x, 1.0), e)
        _demand(end[j], twist, _DIFFERENCE, a.joint, f"column {j} at the end of a step against the derivative of pose")


def _law_mid_columns(a: JointAlone, q, d, v, rng) -> None:
    start, increment, end = a.mid_columns(q, d)
    at_start, at_end = a.columns(a.advanced(q, d)), a.columns(q, d, 1.0)
    for j, e in enumerate(np.eye(a.nv)):
        twist = body_twist(lambda x: a.pose(q, d + x, 0.5), e)
        _demand(increment[j], twist, _DIFFERENCE, a.joint, f"mid column {j} of the increment against the derivative of pose")
        # variation j of the end as an increment
        other = np.linalg.lstsq(at_end.T, at_start[j], rcond=None)[0]
        _demand(end[j], other @ increment, _DIFFERENCE, a.joint, f"mid column {j} of the end against those of the increment")
        # the start moves with the increment held: the end moves too, as if by the increment `other`
        middle = body_twist(lambda x: a.pose(a.advanced(q, x), d, 0.5), e)
        moved = body_twist(lambda x: a.pose(a.advanced(q, x), d, 1.0), e)
        other = np.linalg.lstsq(at_end.T, moved, rcond=None)[0]
        _demand(start[j] + other @ increment, middle, _DIFFERENCE, a.joint, f"mid column {j} of the start against the derivative of pose")


def _law_mid_curvature(a: JointAlone, q, d, v, rng) -> None:
    wrench = rng.normal(size=6)
    got = a.mid_curvature(q, d, wrench)
    for l, e in enumerate(np.eye(a.nv)):
        wanted = derivative(lambda x: a.mid_columns(q, d + x)[0] @ wrench, e)
        _demand(got[:, l], wanted, _DIFFERENCE, a.joint, f"mid_curvature, column {l}, against the derivative of mid_columns")


def _law_rate(a: JointAlone, q, d, v, rng) -> None:
    _demand(a.rate(q, v), derivative(lambda x: a.advanced(q, x), v), _DIFFERENCE, a.joint, "rate against the derivative of advance")


def _law_bias(a: JointAlone, q, d, v, rng) -> None:
    wanted = derivative(lambda x: v @ a.columns(a.advanced(q, x)), v)
    _demand(a.bias(q, v), wanted, _DIFFERENCE, a.joint, "bias against the time derivative of S v")


def _law_spring(a: JointAlone, q, d, v, rng) -> None:
    rest = a.random_coordinates(rng)
    # on a group the spring is isotropic: one stiffness for each three directions
    stiffness = rng.uniform(1.0, 2.0, size=a.nv) if a.nq == a.nv else np.repeat(rng.uniform(1.0, 2.0, size=a.nv // 3), 3)
    energy, gradient = a.spring(q, rest, a.still, 0.0, stiffness)
    assert energy > 0.0, f"{a.joint!r}: spring energy {energy} away from rest is not positive"
    assert abs(a.spring(rest, rest, a.still, 0.0, stiffness)[0]) < _ROUNDING, f"{a.joint!r}: spring energy at rest is not zero"
    middle = a.as_variation(a.mid_columns(q, d)[1]) @ a.spring(q, rest, d, 0.5, stiffness)[1]
    curvature = a.spring_curvature(q, rest, d, stiffness)
    for j, e in enumerate(np.eye(a.nv)):
        slope = derivative(lambda x: a.spring(a.advanced(q, x), rest, a.still, 0.0, stiffness)[0], e)
        _demand(gradient[j], slope, _DIFFERENCE, a.joint, f"spring gradient {j} against the derivative of its energy")
        slope = derivative(lambda x: a.spring(q, rest, d + x, 0.5, stiffness)[0], e)
        _demand(middle[j], slope, _DIFFERENCE, a.joint, f"midpoint spring gradient {j} against the derivative of its energy")
        slope = derivative(lambda x: a.mid_spring_force(q, rest, d + x, stiffness), e)
        _demand(curvature[:, j], slope, _DIFFERENCE, a.joint, f"spring_curvature, column {j}, against the derivative of the force")


_LAWS = (
    _law_pose, _law_advance, _law_displacement, _law_columns, _law_mid_columns, _law_mid_curvature, _law_rate, _law_bias, _law_spring,
)  # fmt: skip
