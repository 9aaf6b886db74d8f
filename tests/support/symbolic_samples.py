"""Symbolic joints of one to six degrees of freedom that use every function a pose can be made of."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from leastaction.joints import SymbolicJoint


def _cam(q, sp, p):
    """Turns, and rises while it turns."""
    return sp.rot_z(q[0]) @ sp.move(0, 0, p.lift * sp.sin(2 * q[0]) + sp.exp(-q[0] ** 2))


def _bowl(q, sp, p):
    """Slides in a bowl z = depth (x^2 + y^2), standing on it."""
    slope_x, slope_y = 2 * p.depth * q[0], 2 * p.depth * q[1]
    along = sp.sqrt(1 + slope_x**2)
    across = sp.sqrt(1 + slope_x**2 + slope_y**2)
    x = sp.Matrix([1, 0, slope_x]) / along
    z = sp.Matrix([-slope_x, -slope_y, 1]) / across
    return sp.frame(x, z.cross(x), z, (q[0], q[1], p.depth * (q[0] ** 2 + q[1] ** 2)))


def _euler(q, sp):
    return sp.rot_z(q[0]) @ sp.rot_y(q[1]) @ sp.rot_x(q[2])


def _torus_on_torus(q, sp, p):
    """4 degrees of freedom: two tori touch, the angle between their meridians is 90 degrees."""

    def contact_frame(u, v, R, r):
        around = sp.Matrix([sp.cos(u), sp.sin(u), 0])
        normal = sp.cos(v) * around + sp.sin(v) * sp.Matrix([0, 0, 1])
        along = sp.Matrix([-sp.sin(u), sp.cos(u), 0])
        meridian = sp.cos(v) * sp.Matrix([0, 0, 1]) - sp.sin(v) * around
        return sp.frame(along, meridian, normal, R * around + r * normal)

    first, second = contact_frame(q[0], q[1], p.R, p.r), contact_frame(q[2], q[3], p.R, p.r)
    return first @ sp.rot_z(sp.pi / 2) @ sp.rot_x(sp.pi) @ second.inverse()


def _arm(q, sp, p):
    """Boom of varying length on a turning, tilting table; hyperbolic, logarithmic and inverse functions."""
    reach = sp.log(2 + q[2] ** 2) + p.length * sp.cosh(q[2] / 2)
    hand = sp.rot_x(sp.atan2(q[3], 2)) @ sp.rot_z(sp.asin(sp.tanh(q[4]) / 2))
    return sp.rot_z(q[0]) @ sp.rot_y(q[1] + sp.sinh(q[1]) / 4) @ sp.move(reach, 0, q[2] / 3) @ hand


def _flying(q, sp):
    """Six coordinates as a 4x4 matrix."""
    turn = (sp.rot_x(q[3]) @ sp.rot_y(q[4]) @ sp.rot_z(q[5])).matrix()
    place = sp.move(q[0] + q[1] / 2, q[1] * (1 + q[0] ** 2 / 8), q[2] + sp.atan(q[0]) / 4).matrix()
    return place * turn


@lru_cache(maxsize=1)
def symbolic_samples() -> tuple[SymbolicJoint, ...]:
    """One joint for each number of degrees of freedom."""
    return (
        SymbolicJoint("cam", _cam, 1, parameters={"lift": 0.2}),
        SymbolicJoint("bowl", _bowl, 2, parameters={"depth": 0.4}),
        euler_ball(),
        SymbolicJoint("torus on torus", _torus_on_torus, 4, parameters={"R": 1.0, "r": 0.3}),
        SymbolicJoint("arm", _arm, 5, parameters={"length": 0.5}),
        SymbolicJoint("flying", _flying, 6),
    )


def euler_ball(charts: int = 1) -> SymbolicJoint:
    """A ball joint in yaw, pitch and roll, singular at a pitch of a right angle; with two charts in precession, nutation and spin there."""
    second: dict[str, Any] = {"inverse": _euler_of, "second_chart": (_precession_nutation_spin, _precession_nutation_spin_of)}
    more = second if charts == 2 else {}
    return SymbolicJoint("Euler angles", _euler, 3, coordinates=("yaw", "pitch", "roll"), **more)


def _euler_of(R, x, sp):
    return sp.atan2(R[1, 0], R[0, 0]), sp.atan2(-R[2, 0], sp.sqrt(R[0, 0] ** 2 + R[1, 0] ** 2)), sp.atan2(R[2, 1], R[2, 2])


def _precession_nutation_spin(q, sp):
    return sp.rot_z(q[0]) @ sp.rot_y(q[1]) @ sp.rot_z(q[2])


def _precession_nutation_spin_of(R, x, sp):
    return sp.atan2(R[1, 2], R[0, 2]), sp.atan2(sp.sqrt(R[0, 2] ** 2 + R[1, 2] ** 2), R[2, 2]), sp.atan2(R[2, 1], -R[2, 0])
