"""What joints answer besides the derivatives of their pose: coordinates of a pose, increments, rows, duals, retractions, references.

Every answer against the pose, or against one given independently of it.
"""

from __future__ import annotations

import numpy as np

from ..errors import MechanismError
from ..joints import Joint, SymbolicJoint
from ..joints.base import ABOUT_Z, FREELY
from ..lie.retractions import NAMES as RETRACTIONS
from . import matrices as mat
from .joint_alone import DIFFERENCE, ROUNDING, Array, JointAlone, body_twist, demand, derivative
from .row_values import row_value

_TINY = 1e-40  # of complex steps


def check_samples(joint: Joint, rng: np.random.Generator) -> None:
    """Limits, and random joints and coordinates within them."""
    limits = joint.limits()
    assert limits.shape == (joint.nq, 2), f"{joint!r}: limits() has shape {limits.shape}, not {(joint.nq, 2)}"
    low, high = limits.T
    assert np.all(low <= high), f"{joint!r}: a lower limit is above the upper one: {limits.tolist()}"
    for what, q in (("neutral()", joint.neutral()), ("sample_coordinates()", joint.sample_coordinates(rng))):
        assert q.shape == (joint.nq,), f"{joint!r}: {what} has shape {q.shape}, not {(joint.nq,)}"
        assert np.all((low <= q) & (q <= high)), f"{joint!r}: {what} = {q} is outside limits()"
    if not isinstance(joint, SymbolicJoint):
        assert type(joint.sample(rng)) is type(joint), f"{joint!r}: sample() makes another type of joint"


# ------------------------------------------------------------------------------------------------ where the joint is


def _law_coordinates(a: JointAlone, q, d, v, rng) -> None:
    if isinstance(a.joint, SymbolicJoint):  # kernels find them by iteration
        return
    demand(a.coordinates_of(a.pose(q), q), q, ROUNDING, a.joint, "coordinates_of the pose against the coordinates")
    whole_turn = -q[-4:] if a.joint.has_quaternion else q + 2 * np.pi * np.array(a.joint.angular)
    old = np.concatenate([q[:-4], whole_turn]) if a.joint.has_quaternion else whole_turn
    demand(a.coordinates_of(a.pose(q), old), old, ROUNDING, a.joint, "coordinates_of the pose against old ones a whole turn away")
    # a pose that is not quite the joint's: both ways have to choose the same coordinates
    near = a.pose(q) @ mat.exp(1e-2 * rng.normal(size=6))
    found, wanted = a.coordinates_of(near, q), a.joint.reference_coordinates(near[:3, :3], near[:3, 3])
    if a.joint.has_quaternion:
        wanted[-4:] *= np.sign(wanted[-4:] @ q[-4:])
    else:
        wanted = wanted + 2 * np.pi * np.round((found - wanted) / (2 * np.pi)) * np.array(a.joint.angular)
    demand(found, wanted, 1e-10, a.joint, "coordinates_of a nearby pose against reference_coordinates")


def _law_increments(a: JointAlone, q, d, v, rng) -> None:
    end = a.advanced(q, d)
    demand(a.increment(q, end), d, 1e-11, a.joint, "increment after advance against what was advanced by")
    there, back = a.increment(q, end, True), a.increment(end, q)
    demand(there, -back, 1e-11, a.joint, "increment in the axes of the end against minus the increment back")
    demand(a.end_increment(d), there, 1e-11, a.joint, "end_increment against the increment in the axes of the end")
    dual = a.dual_columns(a.columns(end))
    slopes = a.increment_slopes(d, dual) @ a.columns(end).T
    for l, e in enumerate(np.eye(a.nv)):
        wanted = derivative(lambda x: a.increment(q, a.advanced(end, x)), e)
        demand(slopes[:, l], wanted, 10 * DIFFERENCE, a.joint, f"increment_slope along column {l} against the derivative of increment")


def _law_normalise(a: JointAlone, q, d, v, rng) -> None:
    longer = q.copy()
    if a.joint.has_quaternion:
        longer[-4:] *= 1.3
    demand(a.normalised(longer), q, ROUNDING, a.joint, "normalise against coordinates on the manifold")


# ------------------------------------------------------------------------------------------------ forces and momenta


def _law_duals(a: JointAlone, q, d, v, rng) -> None:
    S = a.columns(q)
    Z = a.dual_columns(S)
    demand(Z @ S.T, np.eye(a.nv), 1e-10, a.joint, "dual columns times columns against 1")
    demand(Z, a.joint.dual_columns(S), 1e-10, a.joint, "dual columns of the kernel against those of the class")
    if a.joint.orthonormal:
        demand(S @ S.T, np.eye(a.nv), ROUNDING, a.joint, "columns that are said to be orthonormal")


def _law_carry(a: JointAlone, q, d, v, rng) -> None:
    """The same momentum seen from both ends: it does the same work on the same motion."""
    wanted = v
    if a.joint.has_quaternion:  # whose columns are the unit twists: a motion of the start moves the end by Ad of the inverse
        D = mat.rigid_inverse(a.pose(q)) @ a.pose(q, d, 1.0)
        moved = [mat.rigid_inverse(D) @ mat.twist_matrix(e) @ D for e in np.eye(6)[: a.nv]]
        twists = np.array([np.concatenate([mat.vee(m[:3, :3]), m[:3, 3]])[: a.nv] for m in moved])
        wanted = np.linalg.solve(twists, v)
    demand(a.carried(d, v), wanted, 1e-11, a.joint, "carry against the work on a common motion")


# ------------------------------------------------------------------------------------------------ what the joint forbids


def _law_rows(a: JointAlone, q, d, v, rng) -> None:
    try:
        rows = a.joint.constraint_rows()
    except MechanismError:
        return  # refused by name
    assert len(rows) == 6 - a.nv, f"{a.joint!r}: constraint_rows() has {len(rows)} rows; there are {6 - a.nv} with nv = {a.nv}"
    if not rows:
        return
    pose = a.pose(q)
    demand([row_value(row, pose) for row in rows], np.zeros(len(rows)), ROUNDING, a.joint, "rows at a pose of the joint")
    varied = pose @ (np.eye(4) + 1j * _TINY * mat.twist_matrix(np.eye(6)))
    gradient = np.array([row_value(row, varied).imag / _TINY for row in rows])
    demand(gradient @ a.columns(q).T, np.zeros((len(rows), a.nv)), ROUNDING, a.joint, "rows along the motions of the joint")
    smallest = np.linalg.svd(gradient)[1][-1]
    assert smallest > 1e-6, f"{a.joint!r}: constraint_rows() do not forbid {6 - a.nv} motions (smallest singular value {smallest:.2g})"


def _law_primitives(a: JointAlone, q, d, v, rng) -> None:
    motions = a.joint.primitives()
    if motions is None:
        return
    assert len(motions) == a.nv, f"{a.joint!r}: {len(motions)} primitives for nv = {a.nv}"
    product = np.eye(4)
    for motion, x in zip(motions, q, strict=True):
        product = product @ mat.exp(motion.screw() * x)
    demand(product, a.reference(q), 1e-11, a.joint, "product of the primitives against reference_pose")


def _law_traits(a: JointAlone, q, d, v, rng) -> None:
    if a.joint.turns == ABOUT_Z:
        demand(a.pose(q, d, 0.5), mat.rigid(mat.turn(np.eye(3)[2], q[0] + 0.5 * d[0]), np.zeros(3)), ROUNDING, a.joint, "turns = ABOUT_Z")
    if a.joint.turns == FREELY:
        demand(a.columns(q), np.eye(6)[:3], ROUNDING, a.joint, "columns of turns = FREELY")
        turn = mat.quaternion_matrix(mat.cayley_rotation(d))
        demand(a.pose(q).T @ a.pose(q, d, 1.0), mat.rigid(turn, np.zeros(3)), ROUNDING, a.joint, "increment of turns = FREELY")


# ------------------------------------------------------------------------------------------------ motions along the algebra


def _law_retraction(a: JointAlone, q, d, v, rng) -> None:
    x, p = rng.uniform(-1.0, 1.0, size=a.nv), v
    for name, number in RETRACTIONS.items():
        if not a.joint.has_quaternion:
            demand(a.retracted(number, x), x, ROUNDING, a.joint, "retract of plain coordinates")
            demand(a.retraction_cotangent(number, x, 1.0, p), p, ROUNDING, a.joint, "retraction_cotangent of plain coordinates")
            continue
        if name in mat.RETRACTIONS:
            wanted = mat.RETRACTIONS[name](x @ a.columns(q))
            demand(_displacement(a, q, a.retracted(number, x)), wanted, 1e-11, a.joint, f"retract ({name}) against its definition")
        for sign in (1.0, -1.0):
            felt = a.retraction_cotangent(number, x, sign, p) @ _retraction_columns(a, q, number, sign * x)
            demand(felt, p, 10 * DIFFERENCE, a.joint, f"retraction_cotangent ({name}) against the derivative of retract")


def _retraction_columns(a: JointAlone, q: Array, number: int, x: Array) -> Array:
    """(nv, nv) right-trivialised derivative dtau_x of the displacement of a group joint."""
    D = _displacement(a, q, a.retracted(number, x))
    rates = [derivative(lambda y: _displacement(a, q, a.retracted(number, x + y)), e) @ mat.rigid_inverse(D) for e in np.eye(a.nv)]
    return np.array([np.concatenate([mat.vee(rate[:3, :3]), rate[:3, 3]])[: a.nv] for rate in rates]).T


def _law_exponential(a: JointAlone, q, d, v, rng) -> None:
    x = 1e-2 * rng.normal(size=a.nv)
    if not a.joint.has_quaternion:
        demand(a.rotate_and_slide(x), x, ROUNDING, a.joint, "rotate_and_slide of plain coordinates")
        demand(a.canonical_rate(x, v), v, ROUNDING, a.joint, "canonical_rate of plain coordinates")
        return
    twist = x @ a.columns(q)
    wanted = mat.exp(np.concatenate([twist[:3], np.zeros(3)]))
    wanted[:3, 3] = twist[3:]
    demand(_displacement(a, q, a.rotate_and_slide(x)), wanted, 1e-11, a.joint, "rotate_and_slide against rotation and translation")
    rate = a.canonical_rate(x, v)
    moved = body_twist(lambda y: mat.exp((x + y) @ a.columns(q)), rate)
    demand(moved, v @ a.columns(q), 10 * float(np.abs(x).max()) ** 4, a.joint, "exp along canonical_rate against the body velocity")


def _displacement(a: JointAlone, q: Array, d: Array) -> Array:
    got = a.displacement(q, d)
    return mat.rigid(mat.quaternion_matrix(got[:4]), got[4:])


# ------------------------------------------------------------------------------------------------ NumPy answers of the class


def _law_references(a: JointAlone, q, d, v, rng) -> None:
    end = a.advanced(q, d)
    if a.joint.charts > 1:
        return
    demand(a.joint.reference_advance(q, d), end, ROUNDING, a.joint, "reference_advance against advance")
    demand(a.joint.reference_increment(q, end), d, 1e-11, a.joint, "reference_increment against the increment")
    demand(a.reference(a.joint.reference_middle(q, end)), a.pose(q, d, 0.5), 1e-11, a.joint, "reference_middle against pose at f = 1/2")


def _law_rates(a: JointAlone, q, d, v, rng) -> None:
    wanted = a.rate(q, v)
    if a.joint.charts > 1:
        wanted[a.nv :] = 0.0
    demand(a.joint.coordinate_rates(q, v), wanted, ROUNDING, a.joint, "coordinate_rates against rate")
    end = a.advanced(q, d)
    wanted = derivative(lambda x: a.increment(q, a.advanced(end, x)), v)
    demand(a.joint.increment_rate(d, v), wanted, 10 * DIFFERENCE, a.joint, "increment_rate against the derivative of increment")


def _law_increment_derivatives(a: JointAlone, q, d, v, rng) -> None:
    for at_end in (False, True):
        _check_increment_derivatives(a, q, d, at_end)


def _check_increment_derivatives(a: JointAlone, q: Array, d: Array, at_end: bool) -> None:
    end = a.advanced(q, d)
    moved, by_start, by_end = a.joint.increment_derivatives(d, at_end)
    demand(moved, a.increment(q, end, at_end), 1e-11, a.joint, "increment_derivatives: the increment itself")
    for l, e in enumerate(np.eye(a.nv)):
        wanted = derivative(lambda x: a.increment(a.advanced(q, x), end, at_end), e)
        demand(by_start[:, l], wanted, 10 * DIFFERENCE, a.joint, f"increment_derivatives in the start, column {l}")
        wanted = derivative(lambda x: a.increment(q, a.advanced(end, x), at_end), e)
        demand(by_end[:, l], wanted, 10 * DIFFERENCE, a.joint, f"increment_derivatives in the end, column {l}")


def _law_bracket(a: JointAlone, q, d, v, rng) -> None:
    """p.[e_l, e_j]: flows along e_l and e_j that do not close."""
    got = a.joint.bracket_form(v)
    wanted = np.zeros((a.nv, a.nv))
    if a.joint.has_quaternion:
        matrices = [mat.twist_matrix(s) for s in a.columns(q)]
        for j, l in np.ndindex(a.nv, a.nv):
            m = matrices[l] @ matrices[j] - matrices[j] @ matrices[l]
            wanted[j, l] = v @ np.concatenate([mat.vee(m[:3, :3]), m[:3, 3]])[: a.nv]
    demand(got, wanted, ROUNDING, a.joint, "bracket_form against the commutators of the columns")


def _law_spring_stiffness(a: JointAlone, q, d, v, rng) -> None:
    rest = a.joint.sample_coordinates(rng)
    groups = a.nv // 3 if a.joint.has_quaternion else a.nv
    stiffness = a.joint.stiffness_per_freedom(rng.uniform(1.0, 2.0, size=groups), "stiffness")
    got = a.joint.spring_stiffness(q, rest, stiffness)
    for l, e in enumerate(np.eye(a.nv)):
        wanted = derivative(lambda x: a.spring(a.advanced(q, x), rest, a.still, 0.0, stiffness)[1], e)
        demand(got[:, l], wanted, 10 * DIFFERENCE, a.joint, f"spring_stiffness, column {l}, against the derivative of the gradient")


ANSWERS = (
    _law_coordinates, _law_increments, _law_normalise, _law_duals, _law_carry, _law_rows, _law_primitives, _law_traits, _law_retraction,
    _law_exponential, _law_references, _law_rates, _law_increment_derivatives, _law_bracket, _law_spring_stiffness,
)  # fmt: skip
