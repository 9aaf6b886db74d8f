"""Mechanisms as files with six digits have them: bodies in general axes, every number rounded."""

import numpy as np

import leastaction as la
from leastaction.pose import Pose

DIGITS = 6


def rounded(x):
    return np.round(np.asarray(x, dtype=float), DIGITS)


def rounded_pose(pose):
    """Position and roll, pitch, yaw with six digits."""
    R = pose.R
    rpy = (np.arctan2(R[2, 1], R[2, 2]), -np.arcsin(np.clip(R[2, 0], -1.0, 1.0)), np.arctan2(R[1, 0], R[0, 0]))
    return Pose(xyz=rounded(pose.p), rpy=rounded(rpy))


def in_six_digits(mechanism, seed=0):
    """The same mechanism of hinges and free bodies, each body in axes of its own, all numbers rounded."""
    rng = np.random.default_rng(seed)
    turned = {name: Pose(rpy=rng.uniform(-1.0, 1.0, 3)) for name in mechanism.bodies}
    turned["world"] = Pose()
    new = la.Mechanism(gravity=rounded(mechanism.gravity), name=f"{mechanism.name} in six digits")
    for body in mechanism.bodies.values():
        own = turned[body.name]
        joint = body.joint if isinstance(body.joint, la.Free) else la.Revolute(axis=rounded(own.R.T @ body.joint.axis))
        new.add_body(
            body.name, body.parent, joint, rounded_pose(turned[body.parent].inverse() @ body.placement @ own), mass=rounded(body.mass),
            com=rounded(own.R.T @ body.com), inertia=rounded(own.R.T @ body.inertia @ own.R),
        )  # fmt: skip
    for frame in mechanism.frames.values():
        new.add_frame(frame.name, frame.parent, rounded_pose(turned[frame.parent].inverse() @ frame.placement))
    for constraint in mechanism.constraints:
        new.add_constraint(constraint)
    return new


def four_bar_of_free_bodies():
    """Crank of 1 m, coupler of 2 m and rocker of 1.5 m in the x-z plane, three free bodies that four hinges hold together."""
    A, D = np.zeros(3), np.array([2.0, 0.0, 0.0])
    B = np.array([np.cos(1.2), 0.0, np.sin(1.2)])
    along = (D - B) / np.linalg.norm(D - B)
    reach = (4.0 + np.linalg.norm(D - B) ** 2 - 2.25) / (2 * np.linalg.norm(D - B))
    C = B + reach * along + np.sqrt(4.0 - reach**2) * np.array([-along[2], 0.0, along[0]])
    mech = la.Mechanism(name="four-bar of free bodies")
    middles = {"world": np.zeros(3)}
    for name, ends in {"crank": (A, B), "coupler": (B, C), "rocker": (D, C)}.items():
        length = np.linalg.norm(ends[1] - ends[0])
        middles[name] = 0.5 * (ends[0] + ends[1])
        mech.add_body(name, joint=la.Free(), placement=Pose(middles[name]), mass=length, inertia=3 * (length**3 / 12 + 0.01,))
    for k, (a, b, point) in enumerate([("world", "crank", A), ("crank", "coupler", B), ("coupler", "rocker", C), ("world", "rocker", D)]):
        for side, body in (("a", a), ("b", b)):
            mech.add_frame(f"{side}{k}", body, Pose(point - middles[body], rpy=(-np.pi / 2, 0.0, 0.0)))
        mech.add_constraint(la.Close(la.Revolute(axis=(0, 0, 1)), f"a{k}", f"b{k}"))
    return mech
