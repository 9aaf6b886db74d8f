"""The laws every joint obeys: its kernels are derivatives of its own pose.  What else it answers is in `joint_answers.py`."""

from __future__ import annotations

import numpy as np

from ..joints import Joint, SymbolicJoint
from ..joints.dispatch import PARAMETERS
from . import matrices as mat
from .joint_alone import DIFFERENCE, ROUNDING, JointAlone, body_twist, demand, derivative
from .joint_answers import ANSWERS, check_samples


def check_joint(joint: Joint | type[Joint], seed: int = 0, samples: int = 5) -> None:
    """Check the kernels of a joint against each other at random coordinates; AssertionError names the broken law.

    Give the class, which must be in the list joints.ALL, or an instance.
    """
    rng = np.random.default_rng(seed)
    for _ in range(samples):
        sample = joint.sample(rng) if isinstance(joint, type) else joint
        _check_description(sample)
        check_samples(sample, rng)
        if sample.nv > 0:
            alone = JointAlone(sample)
            q, d, v = sample.sample_coordinates(rng), rng.normal(size=sample.nv), rng.normal(size=sample.nv)
            for law in (*_LAWS, *ANSWERS):
                law(alone, q, d, v, rng)


# ------------------------------------------------------------------------------------------------------- laws


def _check_description(joint: Joint) -> None:
    assert len(joint.coordinates) == joint.nq, f"{joint!r}: {len(joint.coordinates)} coordinate names for nq = {joint.nq}"
    assert len(joint.angular) == joint.nv, f"{joint!r}: {len(joint.angular)} entries of `angular` for nv = {joint.nv}"
    assert joint.neutral().shape == (joint.nq,), f"{joint!r}: neutral() has shape {joint.neutral().shape}"
    if joint.has_quaternion:
        demand(np.linalg.norm(joint.neutral()[-4:]), 1.0, ROUNDING, joint, "length of the quaternion of neutral()")
    stack = np.array([joint.neutral(), joint.neutral()])[:, : joint.nv if joint.charts > 1 else joint.nq]
    one_by_one = np.array([joint.reference_pose(q) for q in stack])
    together = joint.reference_pose(stack)
    assert together.shape == one_by_one.shape, f"{joint!r}: reference_pose of two has shape {together.shape}, not {one_by_one.shape}"
    demand(together, one_by_one, ROUNDING, joint, "reference_pose of two at once")
    frame = joint.frame()
    demand(frame.T @ frame, np.eye(3), ROUNDING, joint, "orthonormality of frame()")
    assert np.linalg.det(frame) > 0, f"{joint!r}: frame() is left-handed"
    assert isinstance(joint, SymbolicJoint) or len(joint.parameters()) <= PARAMETERS, f"{joint!r}: more than {PARAMETERS} parameters"


def _law_pose(a: JointAlone, q, d, v, rng) -> None:
    demand(a.pose(q), a.reference(q[: a.nv] if a.joint.charts > 1 else q), ROUNDING, a.joint, "pose against reference_pose")
    if not isinstance(a.joint, SymbolicJoint):  # its zero position is the user's
        demand(a.pose(a.joint.neutral()), np.eye(4), ROUNDING, a.joint, "pose at neutral() (the identity)")
    columns = a.joint.columns_at_zero()
    demand(columns, a.columns(a.joint.neutral()), ROUNDING, a.joint, "columns_at_zero() against columns at neutral()")
    for f in (0.0, 0.5, 1.0):
        R = a.pose(q, d, f)[:3, :3]
        demand(R.T @ R, np.eye(3), ROUNDING, a.joint, f"orthonormality of pose at f = {f}")


def _law_advance(a: JointAlone, q, d, v, rng) -> None:
    demand(a.pose(a.advanced(q, d)), a.pose(q, d, 1.0), ROUNDING, a.joint, "pose after advance against pose at f = 1")


def _law_displacement(a: JointAlone, q, d, v, rng) -> None:
    got = a.displacement(q, d)
    pose = mat.rigid(mat.quaternion_matrix(got[:4]), got[4:])
    demand(pose, mat.rigid_inverse(a.pose(q)) @ a.pose(q, d, 1.0), ROUNDING, a.joint, "displacement against X(q)^-1 X(q + d)")
    tiny = 1e-9 * d  # the steps of a simulation: nothing may be lost to subtraction
    got = a.displacement(q, tiny)
    twist = np.concatenate([2.0 * got[1:4], got[4:]]) / 1e-9
    demand(twist, d @ a.columns(q), 1e-8, a.joint, "displacement for tiny increments against S d")


def _law_columns(a: JointAlone, q, d, v, rng) -> None:
    start, end = a.columns(q), a.columns(q, d, 1.0)
    for j, e in enumerate(np.eye(a.nv)):
        twist = body_twist(lambda x: a.pose(a.advanced(q, x)), e)
        demand(start[j], twist, DIFFERENCE, a.joint, f"column {j} at the start of a step against the derivative of pose")
        twist = body_twist(lambda x: a.pose(q, d + x, 1.0), e)
        demand(end[j], twist, DIFFERENCE, a.joint, f"column {j} at the end of a step against the derivative of pose")


def _law_mid_columns(a: JointAlone, q, d, v, rng) -> None:
    start, increment, end = a.mid_columns(q, d)
    at_start, at_end = a.columns(a.advanced(q, d)), a.columns(q, d, 1.0)
    for j, e in enumerate(np.eye(a.nv)):
        twist = body_twist(lambda x: a.pose(q, d + x, 0.5), e)
        demand(increment[j], twist, DIFFERENCE, a.joint, f"mid column {j} of the increment against the derivative of pose")
        # variation j of the end as an increment
        other = np.linalg.lstsq(at_end.T, at_start[j], rcond=None)[0]
        demand(end[j], other @ increment, DIFFERENCE, a.joint, f"mid column {j} of the end against those of the increment")
        # the start moves with the increment held: the end moves too, as if by the increment `other`
        middle = body_twist(lambda x: a.pose(a.advanced(q, x), d, 0.5), e)
        moved = body_twist(lambda x: a.pose(a.advanced(q, x), d, 1.0), e)
        other = np.linalg.lstsq(at_end.T, moved, rcond=None)[0]
        demand(start[j] + other @ increment, middle, DIFFERENCE, a.joint, f"mid column {j} of the start against the derivative of pose")


def _law_mid_curvature(a: JointAlone, q, d, v, rng) -> None:
    wrench = rng.normal(size=6)
    got = a.mid_curvature(q, d, wrench)
    for l, e in enumerate(np.eye(a.nv)):
        wanted = derivative(lambda x: a.mid_columns(q, d + x)[0] @ wrench, e)
        demand(got[:, l], wanted, DIFFERENCE, a.joint, f"mid_curvature, column {l}, against the derivative of mid_columns")


def _law_rate(a: JointAlone, q, d, v, rng) -> None:
    demand(a.rate(q, v), derivative(lambda x: a.advanced(q, x), v), DIFFERENCE, a.joint, "rate against the derivative of advance")


def _law_bias(a: JointAlone, q, d, v, rng) -> None:
    wanted = derivative(lambda x: v @ a.columns(a.advanced(q, x)), v)
    demand(a.bias(q, v), wanted, DIFFERENCE, a.joint, "bias against the time derivative of S v")


def _law_spring(a: JointAlone, q, d, v, rng) -> None:
    rest = a.joint.sample_coordinates(rng)
    # on a group the spring is isotropic: one stiffness for each three directions
    stiffness = rng.uniform(1.0, 2.0, size=a.nv) if a.nq == a.nv else np.repeat(rng.uniform(1.0, 2.0, size=a.nv // 3), 3)
    energy, gradient = a.spring(q, rest, a.still, 0.0, stiffness)
    assert energy > 0.0, f"{a.joint!r}: spring energy {energy} away from rest is not positive"
    assert abs(a.spring(rest, rest, a.still, 0.0, stiffness)[0]) < ROUNDING, f"{a.joint!r}: spring energy at rest is not zero"
    middle = a.as_variation(a.mid_columns(q, d)[1]) @ a.spring(q, rest, d, 0.5, stiffness)[1]
    curvature = a.spring_curvature(q, rest, d, stiffness)
    for j, e in enumerate(np.eye(a.nv)):
        slope = derivative(lambda x: a.spring(a.advanced(q, x), rest, a.still, 0.0, stiffness)[0], e)
        demand(gradient[j], slope, DIFFERENCE, a.joint, f"spring gradient {j} against the derivative of its energy")
        slope = derivative(lambda x: a.spring(q, rest, d + x, 0.5, stiffness)[0], e)
        demand(middle[j], slope, DIFFERENCE, a.joint, f"midpoint spring gradient {j} against the derivative of its energy")
        slope = derivative(lambda x: a.mid_spring_force(q, rest, d + x, stiffness), e)
        demand(curvature[:, j], slope, DIFFERENCE, a.joint, f"spring_curvature, column {j}, against the derivative of the force")


_LAWS = (
    _law_pose, _law_advance, _law_displacement, _law_columns, _law_mid_columns, _law_mid_curvature, _law_rate, _law_bias, _law_spring,
)  # fmt: skip
