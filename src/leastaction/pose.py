"""Pose: a rigid placement given the way people write it down."""

from __future__ import annotations

from math import atan2, hypot

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .checks import numbers
from .errors import MechanismError


class Pose:
    """Rotation and position of a frame in its parent.

    Give the rotation in at most one way: `rpy` (roll, pitch, yaw about fixed x, y, z, radians: R = Rz Ry Rx),
    `quaternion` (w, x, y, z) or `rotation` (3x3 matrix).

    >>> Pose(xyz=(0, 0, -1)).p
    array([ 0.,  0., -1.])
    """

    def __init__(
        self,
        xyz: ArrayLike = (0.0, 0.0, 0.0),
        rpy: ArrayLike | None = None,
        quaternion: ArrayLike | None = None,
        rotation: ArrayLike | None = None,
    ):
        given = [n for n, x in (("rpy", rpy), ("quaternion", quaternion), ("rotation", rotation)) if x is not None]
        if len(given) > 1:
            raise MechanismError(f"Pose got its rotation twice, as {' and '.join(given)}; give one of them")
        self.p: NDArray[np.float64] = numbers(xyz, "Pose xyz", MechanismError, (3,))
        self.R: NDArray[np.float64] = np.eye(3)
        if rpy is not None:
            self.R = _from_rpy(numbers(rpy, "Pose rpy", MechanismError, (3,)))
        elif quaternion is not None:
            self.R = rotation_of_quaternion(numbers(quaternion, "Pose quaternion", MechanismError, (4,)))
        elif rotation is not None:
            self.R = _checked_rotation(numbers(rotation, "Pose rotation", MechanismError, (3, 3)))

    def __matmul__(self, other: Pose) -> Pose:
        """Pose of `other`'s frame in the frame this pose is given in."""
        return _make(self.R @ other.R, self.p + self.R @ other.p)

    def inverse(self) -> Pose:
        return _make(self.R.T, -self.R.T @ self.p)

    def __eq__(self, other: object) -> bool:
        return np.array_equal(self.R, other.R) and np.array_equal(self.p, other.p) if isinstance(other, Pose) else NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(self.p.tolist()))

    def __repr__(self) -> str:
        xyz = ", ".join(f"{x:g}" for x in self.p)
        if np.array_equal(self.R, np.eye(3)):
            return f"Pose(xyz=({xyz}))"
        quaternion = ", ".join(f"{x:.6g}" for x in quaternion_of_rotation(self.R))
        return f"Pose(xyz=({xyz}), quaternion=({quaternion}))"


def _make(R: NDArray[np.float64], p: NDArray[np.float64]) -> Pose:
    pose = Pose.__new__(Pose)
    pose.R, pose.p = R, p
    return pose


def _sines_and_cosines(angles: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Quarter turns have cosines of 0.  That of the float nearest to pi/2 is 6e-17, which says nothing but that pi/2 is no float; and code
    for one mechanism leaves out what is multiplied by 0."""
    quarters = np.rint(angles / (0.5 * np.pi))
    exact = (quarters * (0.5 * np.pi) == angles) & (abs(quarters) <= 4)
    k = np.where(exact, quarters, 0).astype(int) % 4
    sines, cosines = np.array([0.0, 1.0, 0.0, -1.0]), np.array([1.0, 0.0, -1.0, 0.0])
    return np.where(exact, sines[k], np.sin(angles)), np.where(exact, cosines[k], np.cos(angles))


def _from_rpy(rpy: NDArray[np.float64]) -> NDArray[np.float64]:
    (sr, sp, sy), (cr, cp, cy) = _sines_and_cosines(rpy)
    return np.array(
        [
            [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
            [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
            [-sp, cp * sr, cp * cr],
        ]
    )


def rotation_of_quaternion(quaternion: ArrayLike) -> NDArray[np.float64]:
    """Rotation matrix of a quaternion (w, x, y, z), which need not be normalised."""
    q = np.asarray(quaternion, dtype=float)
    length = np.linalg.norm(q)
    if length < 1e-12:
        raise MechanismError(f"quaternion {quaternion!r} has length {length:.3g}; give a unit quaternion (w, x, y, z)")
    w, x, y, z = q / length
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def quaternion_of_rotation(R: NDArray[np.float64]) -> NDArray[np.float64]:
    """Unit quaternion (w, x, y, z), w >= 0, of a rotation matrix."""
    # the largest of the four squared components is computed by a square root, the others by division
    squares = np.array([1 + R[0, 0] + R[1, 1] + R[2, 2], 1 + R[0, 0] - R[1, 1] - R[2, 2],
                        1 - R[0, 0] + R[1, 1] - R[2, 2], 1 - R[0, 0] - R[1, 1] + R[2, 2]])  # fmt: skip
    largest = int(np.argmax(squares))
    a, b, c = R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]
    d, e, f = R[1, 0] + R[0, 1], R[0, 2] + R[2, 0], R[2, 1] + R[1, 2]
    s = squares[largest]
    q = np.array([[s, a, b, c], [a, s, d, e], [b, d, s, f], [c, e, f, s]][largest])
    q /= np.linalg.norm(q)
    return q if q[0] >= 0 else -q


def rpy_of_rotation(R: NDArray[np.float64]) -> tuple[float, float, float]:
    """Roll, pitch and yaw of a rotation matrix, R = Rz(yaw) Ry(pitch) Rx(roll)."""
    flat = hypot(R[0, 0], R[1, 0])
    pitch = atan2(-R[2, 0], flat)
    if flat > 1e-12:
        return atan2(R[2, 1], R[2, 2]), pitch, atan2(R[1, 0], R[0, 0])
    return 0.0, pitch, atan2(-R[0, 1], R[1, 1])  # only the sum or difference of roll and yaw is defined


def _checked_rotation(R: NDArray[np.float64]) -> NDArray[np.float64]:
    defect = float(np.abs(R @ R.T - np.eye(3)).max())
    if defect > 1e-6 or np.linalg.det(R) < 0:
        raise MechanismError(
            f"Pose rotation is not a rotation matrix (R R' differs from the identity by {defect:.2g}, "
            f"determinant {np.linalg.det(R):.3g}); give an orthonormal right-handed matrix"
        )
    u, _, vt = np.linalg.svd(R)  # removes rounding of typed-in matrices
    return u @ vt
