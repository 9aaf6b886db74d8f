"""Random mechanisms and states with everything in them, for tests that check laws instead of examples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..examples import random_inertia, random_joint
from ..forces import Damper, LinearSpring, NonlinearSpring, Spring, UserPotential, Wrench
from ..joints import ALL, Fixed, Joint, Prismatic, Revolute
from ..mechanism import WORLD, Mechanism
from ..model import Model
from ..pose import Pose

Array = np.ndarray


def random_mechanism(
    rng: np.random.Generator,
    n: int = 6,
    joints: Sequence[type[Joint] | Joint] | None = None,
    forces: bool = True,
    oddities: bool = True,
    potentials: bool = False,
    armatures: bool = False,
) -> Mechanism:
    """A random tree of n moving bodies over the given joint types or joints (all built-in types if left out).

    forces    joint springs and dampers on about half of the joints, wrenches on bodies and frames
    potentials  also springs between points and potentials of coordinates
    armatures  rotors on about half of the joints with plain coordinates
    oddities  also fixed bodies, frames that carry bodies, and massless bodies between massive ones
    """
    kinds = [k for k in (joints or ALL) if k is not Fixed]
    mech = Mechanism(gravity=rng.normal(scale=5.0, size=3), name="random mechanism")
    places = [WORLD]  # what the next body may hang on
    for i in range(n):
        name, parent = f"body{i + 1}", places[rng.integers(len(places))]
        if oddities and rng.random() < 0.2:
            mech.add_frame(f"frame{i + 1}", parent, random_pose(rng))
            parent = f"frame{i + 1}"
        light = [k for k in kinds if k.nv <= 3]
        kind = kinds[rng.integers(len(kinds))]
        if oddities and light and rng.random() < 0.15:
            # few enough freedoms in front of the next mass, so that M stays regular
            carrier = Revolute if rng.random() < 0.5 else Prismatic
            mech.add_body(f"massless{i + 1}", parent, random_joint(carrier, rng), random_pose(rng))
            parent, kind = f"massless{i + 1}", light[rng.integers(len(light))]
        _add_random_body(mech, rng, name, parent, random_joint(kind, rng))
        places.append(name)
        if oddities and rng.random() < 0.2:
            _add_random_body(mech, rng, f"fixed{i + 1}", places[rng.integers(len(places))], Fixed())
            places.append(f"fixed{i + 1}")
    if forces:
        _add_random_forces(mech, rng)
    if potentials:
        _add_random_potentials(mech, rng)
    if armatures:
        _add_random_armatures(mech, rng)
    return mech


def random_state(model: Model, rng: np.random.Generator, speed: float = 1.0) -> tuple[Array, Array]:
    """Random coordinates q (nq,) and velocities v (nv,), the latter of the given size in rad/s and m/s."""
    parts = [body.joint.sample_coordinates(rng) for body in model.bodies]
    return np.concatenate(parts), speed * rng.normal(size=model.nv)


def random_pose(rng: np.random.Generator) -> Pose:
    """A pose about half a metre away, turned at random."""
    return Pose(0.5 * rng.normal(size=3), quaternion=rng.normal(size=4))


def _add_random_body(mech: Mechanism, rng: np.random.Generator, name: str, parent: str, joint: Joint) -> None:
    mass, com = rng.uniform(0.5, 2.0), 0.3 * rng.normal(size=3)
    mech.add_body(name, parent, joint, random_pose(rng), mass=mass, com=com, inertia=random_inertia(rng))


def _add_random_forces(mech: Mechanism, rng: np.random.Generator) -> None:
    for body in list(mech.bodies.values()):
        joint, name = body.joint, body.joint_name
        if joint.nv == 0:
            continue
        if rng.random() < 0.5:
            groups = joint.nv // 3 if joint.has_quaternion else joint.nv
            rest = joint.sample_coordinates(rng) if rng.random() < 0.5 else None
            mech.add_force(Spring(name, rng.uniform(0.0, 10.0, size=groups), rest))
        if rng.random() < 0.5:
            mech.add_force(Damper(name, rng.uniform(0.0, 2.0, size=joint.nv)))
    model_rows = mech.compile().frames
    for name in [*mech.bodies, *mech.frames]:
        if model_rows[name][0] > 0 and rng.random() < 0.3:  # row 0 is fixed to the world
            frame = "body" if rng.random() < 0.5 else "world"
            force, moment, point = rng.normal(size=(3, 3))
            mech.add_force(Wrench(name, 3.0 * force, moment, 0.3 * point, frame))


def _add_random_potentials(mech: Mechanism, rng: np.random.Generator) -> None:
    rows = mech.compile().frames
    names = [WORLD, *mech.bodies, *mech.frames]
    for k in range(3):
        a, b = (names[i] for i in rng.choice(len(names), size=2, replace=False))
        if rows[a][0] == rows[b][0]:
            a, b = next(iter(mech.bodies)), WORLD
            if rows[a][0] == 0:
                continue
        if k < 2:
            mech.add_force(LinearSpring(a, b, rng.uniform(1.0, 20.0), rng.uniform(0.0, 1.0)))
        else:
            mech.add_force(NonlinearSpring(_rubber, between=(a, b), parameters={"k": rng.uniform(1.0, 5.0)}))
    joints = [b for b in mech.bodies.values() if b.joint.nv > 0 and not b.joint.has_quaternion and b.joint.charts == 1]
    if len(joints) > 1:
        mech.add_force(UserPotential(_coupling, [b.joint_name for b in joints[:2]]))
    single = [b.joint_name for b in joints if b.joint.nq == 1]
    if single:
        mech.add_force(NonlinearSpring(lambda x, sp: 3 * x**4 + sp.cos(x), joint=single[-1]))


def _add_random_armatures(mech: Mechanism, rng: np.random.Generator) -> None:
    for name, body in mech.bodies.items():
        if body.joint.nv > 0 and not body.joint.has_quaternion and body.joint.charts == 1 and rng.random() < 0.5:
            mech.bodies[name] = replace(body, armature=rng.uniform(0.0, 2.0, size=body.joint.nv))


def _rubber(x, sp, p):
    return p.k * (x**2 + sp.exp(-x))


def _coupling(q, sp):
    return 2 * sp.sin(q[0] - 2 * q[-1]) + q[0] ** 2 * q[-1]
