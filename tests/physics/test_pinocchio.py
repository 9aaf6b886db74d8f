"""Mass matrix, inverse and forward dynamics against Pinocchio, joint by joint and on mixed trees.

Joints Pinocchio has under other coordinates (planar, cylindrical, universal) are composed of revolute and prismatic ones.
"""

import numpy as np
import pytest

import leastaction as la
from leastaction.testing import random_mechanism, random_state

pin = pytest.importorskip("pinocchio")

JOINTS = [la.Revolute, la.Prismatic, la.Helical, la.Cylindrical, la.Universal, la.Planar, la.Spherical, la.Free]
TOLERANCE = 1e-10


def revolute(axis):
    return pin.JointModelRevoluteUnaligned(np.array(axis, dtype=float))


def prismatic(axis):
    return pin.JointModelPrismaticUnaligned(np.array(axis, dtype=float))


def composite(*parts):
    joint = pin.JointModelComposite(len(parts))
    for part in parts:
        joint.addJoint(part)
    return joint


def pinocchio_joint(joint):
    if isinstance(joint, la.Revolute):
        return revolute(joint.axis)
    if isinstance(joint, la.Prismatic):
        return prismatic(joint.axis)
    if isinstance(joint, la.Helical):  # theirs is metres per radian
        return pin.JointModelHelicalUnaligned(np.array(joint.axis), joint.pitch / (2 * np.pi))
    if isinstance(joint, la.Cylindrical):
        return composite(revolute(joint.axis), prismatic(joint.axis))
    if isinstance(joint, la.Universal):
        return composite(revolute(joint.axis1), revolute(joint.axis2))
    if isinstance(joint, la.Planar):
        x, y, z = joint.frame().T
        return composite(prismatic(x), prismatic(y), revolute(z))
    return pin.JointModelSpherical() if isinstance(joint, la.Spherical) else pin.JointModelFreeFlyer()


def pinocchio_model(mech, order):
    """The same tree.  Fixed bodies and frames are not used in these mechanisms."""
    model = pin.Model()
    model.gravity.linear = mech.gravity
    rows = {"world": 0}
    for name in order:
        body = mech.bodies[name]
        place = pin.SE3(body.placement.R, body.placement.p)
        rows[name] = model.addJoint(rows[body.parent], pinocchio_joint(body.joint), place, name)
        model.appendBodyToJoint(rows[name], pin.Inertia(body.mass, body.com, body.inertia), pin.SE3.Identity())
    return model


def to_pinocchio(model, q):
    """Coordinates with quaternions scalar last; and the permutation P with v_pin = v[P] (free joints: linear first)."""
    parts, order = [], []
    for body in model.bodies:
        part, vs = q[model.q_slice(body.joint_name)], model.v_slice(body.joint_name)
        rows = list(range(vs.start, vs.stop))
        if body.joint.has_quaternion:
            part = np.concatenate([part[:-4], part[-3:], part[-4:-3]])
        if isinstance(body.joint, la.Free):
            rows = rows[3:] + rows[:3]
        parts.append(part)
        order += rows
    return np.concatenate(parts), np.array(order)


def compare(joints, n, seed):
    rng = np.random.default_rng(seed)
    mech = random_mechanism(rng, n, joints=joints, forces=False, oddities=False)
    model = mech.compile()
    theirs = pinocchio_model(mech, model.body_names)
    data = theirs.createData()
    q, v = random_state(model, rng)
    a, tau = rng.normal(size=(2, model.nv))
    q_pin, order = to_pinocchio(model, q)

    M = pin.crba(theirs, data, q_pin)
    M = np.triu(M) + np.triu(M, 1).T
    ours = la.dynamics.mass_matrix(model, q)
    size = np.abs(M).max()
    assert np.abs(ours[np.ix_(order, order)] - M).max() <= TOLERANCE * size

    wanted = pin.rnea(theirs, data, q_pin, v[order], a[order])
    assert np.abs(la.dynamics.inverse(model, q, v, a)[order] - wanted).max() <= TOLERANCE * np.abs(wanted).max()

    # both solve with the same M: compare the forces, which do not depend on how well M is conditioned
    got, wanted = la.dynamics.forward(model, q, v, tau)[order], pin.aba(theirs, data, q_pin, v[order], tau[order])
    assert np.abs(M @ (got - wanted)).max() <= TOLERANCE * size * np.abs(wanted).max()

    energy = pin.computeMechanicalEnergy(theirs, data, q_pin, v[order])
    assert abs(la.dynamics.energy(model, q, v) - energy) <= TOLERANCE * (abs(energy) + size)

    momentum = pin.computeCentroidalMomentum(theirs, data, q_pin, v[order])
    about_origin = np.concatenate([momentum.angular + np.cross(data.com[0], momentum.linear), momentum.linear])
    assert np.abs(la.dynamics.spatial_momentum(model, q, v) - about_origin).max() <= TOLERANCE * np.abs(about_origin).max()


@pytest.mark.parametrize("joint", JOINTS)
@pytest.mark.parametrize("seed", range(3))
def test_trees_of_one_joint(joint, seed):
    compare([joint], 4, seed)


@pytest.mark.parametrize("seed", range(30))
def test_mixed_trees(seed):
    compare(JOINTS, 2 + seed % 8, 100 + seed)
