"""A joint without a mechanism: its kernels as Python functions, and what its laws are checked with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..joints import Joint
from ..joints.dispatch import PARAMETERS
from . import matrices as mat
from . import probe

Array = NDArray[np.float64]

ROUNDING = 1e-12  # of identities without a derivative
DIFFERENCE = 1e-9  # of a fourth-order difference with steps of 1e-3


class JointAlone:
    """The kernels of one joint as Python functions; poses are 4x4 in the joint's canonical frame."""

    def __init__(self, joint: Joint):
        self.joint, self.kind, self.nv, self.nq = joint, joint.kind, joint.nv, joint.nq
        self.param = np.zeros((1, max(PARAMETERS, len(joint.parameters()))))
        self.param[0, : len(joint.parameters())] = joint.parameters()
        self.still = np.zeros(joint.nv)

    def reference(self, q: Array) -> Array:
        """`Joint.reference_pose` in the canonical frame."""
        C = mat.rigid(self.joint.frame(), np.zeros(3))
        return mat.rigid_inverse(C) @ self.joint.reference_pose(q) @ C

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

    def coordinates_of(self, pose: Array, old: Array) -> Array:
        out = np.full(self.nq, np.nan)
        probe.joint_coordinates(self.kind, self.param, np.ascontiguousarray(pose), old, out)
        return out

    def increment(self, q0: Array, q1: Array, at_end: bool = False) -> Array:
        out = np.full(self.nv, np.nan)
        probe.joint_increment(self.kind, q0, q1, self.nv, at_end, out)
        return out

    def end_increment(self, d: Array) -> Array:
        out = np.full(self.nv, np.nan)
        probe.joint_end_increment(self.kind, d, self.nv, out)
        return out

    def dual_columns(self, S: Array) -> Array:
        out = np.full((self.nv, 6), np.nan)
        probe.joint_dual_columns(self.kind, S, self.nv, np.zeros((6, 6)), np.zeros((self.nv, 6)), out)
        return out

    def increment_slopes(self, d: Array, dual: Array) -> Array:
        out = np.full((self.nv, 6), np.nan)
        probe.joint_increment_slopes(self.kind, d, self.nv, dual, out)
        return out

    def carried(self, d: Array, r: Array) -> Array:
        """A momentum at the start of a step, seen from its end."""
        out = np.zeros(self.nv)
        probe.joint_carry(self.kind, d, self.nv, r, out)
        return -out

    def normalised(self, q: Array) -> Array:
        out = q.copy()
        probe.joint_normalise(self.kind, out)
        return out

    def retracted(self, retraction: int, x: Array) -> Array:
        out = np.full(self.nv, np.nan)
        probe.joint_retract(self.kind, retraction, x, self.nv, out)
        return out

    def retraction_cotangent(self, retraction: int, x: Array, sign: float, p: Array) -> Array:
        out = p.copy()
        probe.joint_retraction_cotangent(self.kind, retraction, x, self.nv, sign, out)
        return out

    def rotate_and_slide(self, x: Array) -> Array:
        out = np.full(self.nv, np.nan)
        probe.joint_rotate_and_slide(self.kind, x, self.nv, out)
        return out

    def canonical_rate(self, x: Array, v: Array) -> Array:
        out = np.full(self.nv, np.nan)
        probe.joint_canonical_rate(self.kind, x, self.nv, v, out)
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


def demand(got: Any, wanted: Any, tolerance: float, joint: Joint, law: str) -> None:
    error = float(np.abs(np.asarray(got) - wanted).max())
    size = max(1.0, float(np.abs(wanted).max()))
    assert error <= tolerance * size, f"{joint!r}: {law} is off by {error:.3g} (allowed {tolerance * size:.1g})"
