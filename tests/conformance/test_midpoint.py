"""The derivatives la.Midpoint is built on: the equations of Johnson and Murphey against complex steps, caching or not."""

import numpy as np
import pytest

import leastaction as la
from leastaction.coordinates.frames import make_frames
from leastaction.kernels.lagrangian import derivatives as composite
from leastaction.kernels.lagrangian import frames as svi
from leastaction.kernels.lagrangian.layout import make_lagrangian
from leastaction.kernels.tree import layout as L
from leastaction.yardsticks import frame_derivatives as paper

PLAIN = (la.Revolute, la.Prismatic, la.Helical, la.Cylindrical, la.Universal, la.Planar)
LONG = np.clongdouble  # differences of complex-step derivatives keep more digits than a double has
STEP = 1e-60
POINTS = ((1, 45), (2, -9), (3, 1))  # central differences of order six


def sprung_tree(seed, bodies=6):
    mech = la.examples.random_tree(bodies, seed=seed, joints=PLAIN)
    rng = np.random.default_rng(1000 + seed)
    for body in list(mech.bodies.values())[::2]:
        mech.add_force(la.Spring(body.joint_name, rng.uniform(1.0, 20.0), rest=rng.normal(size=body.joint.nq)))
    model = mech.compile()
    return model, *rng.normal(size=(2, model.nv))


class Matrices:
    """The frames of a model with 4x4 matrices of any number type: nothing but products of exponentials."""

    def __init__(self, model):
        self.frames, self.tree = make_frames(model), model.tree

    def xi(self, k):
        motion = self.frames.motion[k]
        out = np.zeros((4, 4), dtype=LONG)
        if motion in (svi.SLIDE_X, svi.SLIDE_Y, svi.SLIDE_Z):
            out[motion - svi.SLIDE_X, 3] = 1
        else:
            axis = {svi.TURN_X: 0, svi.TURN_Y: 1, svi.TURN_Z: 2, svi.SCREW_Z: 2}[motion]
            i, j = (axis + 1) % 3, (axis + 2) % 3
            out[i, j], out[j, i] = -1, 1
            out[2, 3] = self.frames.pitch[k]
        return out

    def local(self, k, x):
        f = self.frames
        C = np.eye(4, dtype=LONG)
        C[:3, :3], C[:3, 3] = f.body[k, L.PLACE_R : L.PLACE_R + 9].reshape(3, 3), f.body[k, L.PLACE_P : L.PLACE_P + 3]
        xi = self.xi(k)
        turn = xi.copy()
        turn[:3, 3] = 0
        return C @ (np.eye(4, dtype=LONG) + np.sin(x) * turn + (1 - np.cos(x)) * turn @ turn + x * (xi - turn))

    def poses(self, q):
        out = [np.eye(4, dtype=LONG)]
        for k in range(1, len(self.frames.parent)):
            out.append(out[self.frames.parent[k]] @ self.local(k, q[self.frames.coordinate[k]]))
        return out

    def velocities(self, q, v):
        out = [np.zeros((4, 4), dtype=LONG)]
        for k in range(1, len(self.frames.parent)):
            g = self.local(k, q[self.frames.coordinate[k]])
            out.append(np.array(invert(g) @ out[self.frames.parent[k]] @ g) + v[self.frames.coordinate[k]] * self.xi(k))
        return out

    def lagrangian(self, q, v):
        f, total = self.frames, LONG(0)
        for k, (g, w) in enumerate(zip(self.poses(q), self.velocities(q, v), strict=True)):
            mass, moment = f.body[k, L.MASS], f.body[k, L.MOMENT : L.MOMENT + 3]
            inertia = np.zeros((3, 3), dtype=LONG)
            inertia[np.triu_indices(3)] = f.body[k, L.INERTIA : L.INERTIA + 6]
            inertia = inertia + np.triu(inertia, 1).T
            omega, vel = np.array([w[2, 1], w[0, 2], w[1, 0]]), w[:3, 3]
            total = total + (omega @ inertia @ omega + mass * vel @ vel) / 2 + vel @ np.cross(omega, moment)
            total = total + f.gravity @ (mass * g[:3, 3] + g[:3, :3] @ moment)
        return total - np.sum(self.tree.stiffness * (q - self.tree.rest) ** 2) / 2


def invert(g):
    out = np.eye(4, dtype=LONG)
    out[:3, :3], out[:3, 3] = g[:3, :3].T, -g[:3, :3].T @ g[:3, 3]
    return out


def first(function, x):
    """Complex-step derivative in every entry of x, stacked on the first axis; x may be complex."""
    return np.array([np.imag(function(x + 1j * STEP * u)) / STEP for u in np.eye(len(x))])


def second(function, x, y):
    """Mixed derivative [i, j] in x_i and y_j: differences in x of complex steps in y."""
    e = np.longdouble(2e-3)
    rows = []
    for u in np.eye(len(x)):
        rows.append(sum(w * (first(lambda z, a=x + s * e * u: function(a, z), y) - first(lambda z, a=x - s * e * u: function(a, z), y))
                        for s, w in POINTS) / (60 * e))  # fmt: skip
    return np.array(rows)


def close(ours, exact, relative=1e-12):
    exact = np.array(exact, dtype=float)
    return np.abs(ours - exact).max() < relative * max(np.abs(exact).max(), 1.0)


def as_pose(matrix):
    return np.concatenate([np.asarray(matrix)[..., :3, :3].reshape(*matrix.shape[:-2], 9), matrix[..., :3, 3]], axis=-1)


def as_twist(w):
    return np.stack([w[..., 2, 1], w[..., 0, 2], w[..., 1, 0], w[..., 0, 3], w[..., 1, 3], w[..., 2, 3]], axis=-1)


@pytest.mark.parametrize("seed", range(2))
def test_equations_2_to_10_of_every_frame(seed):
    model, q, v = sprung_tree(seed, bodies=3)
    matrices = Matrices(model)
    tables = paper.make_tables(matrices.frames, True)
    paper.evaluate(matrices.frames, tables, make_lagrangian(model.tree, matrices.frames), q, v)
    poses, twists = lambda x: as_pose(np.array(matrices.poses(x))), lambda x, y: as_twist(np.array(matrices.velocities(x, y)))
    q, v = q.astype(LONG), v.astype(LONG)
    frames_first = lambda a: np.moveaxis(a, -2, 0)
    assert close(tables.pose, poses(q).real)
    assert close(tables.pose_q, frames_first(first(poses, q)))
    assert close(tables.twist, twists(q, v).real)
    assert close(tables.twist_q, frames_first(first(lambda x: twists(x, v), q)))
    assert close(tables.twist_v, frames_first(first(lambda y: twists(q, y), v)))
    assert close(tables.twist_qv, frames_first(second(twists, q, v)))
    assert close(tables.pose_qq, frames_first(second(lambda x, y: poses(x + y), q, 0 * q)))
    assert close(tables.twist_qq, frames_first(second(lambda x, y: twists(x + y, v), q, 0 * q)))


@pytest.mark.parametrize("seed", range(3))
def test_equations_23_to_27(seed):
    model, q, v = sprung_tree(seed, bodies=4)
    matrices = Matrices(model)
    x, y = q.astype(LONG), v.astype(LONG)
    L_ = matrices.lagrangian
    exact = {
        "q": first(lambda a: L_(a, y), x), "v": first(lambda b: L_(x, b), y), "qv": second(L_, x, y),
        "qq": second(lambda a, b: L_(a + b, y), x, 0 * x), "vv": second(lambda a, b: L_(x, a + b), y, 0 * y),
    }  # fmt: skip
    for lag in evaluations(model, q, v):
        for name, value in exact.items():
            assert close(getattr(lag, name), value), name


def evaluations(model, q, v):
    """The derivatives of the Lagrangian by composites, and by the recursions of the paper with and without caching."""
    frames = make_frames(model)
    for cached in (None, True, False):
        lag = make_lagrangian(model.tree, frames)
        if cached is None:
            composite.evaluate(model.tree, frames, lag, model.make_work(), q, v)
        else:
            paper.evaluate(frames, paper.make_tables(frames, cached), lag, q, v)
        yield lag


def test_all_evaluations_agree_on_a_tree_of_primitive_frames():
    """Constant transformations as frames of their own, as the paper has them, change nothing."""
    model, q, v = sprung_tree(11)
    merged = list(evaluations(model, q, v))
    frames = make_frames(model, primitive=True)
    for cached in (True, False):
        lag = make_lagrangian(model.tree, frames)
        paper.evaluate(frames, paper.make_tables(frames, cached), lag, q, v)
        merged.append(lag)
    lag = make_lagrangian(model.tree, frames)
    composite.evaluate(model.tree, frames, lag, model.make_work(), q, v)
    for other in (*merged[1:], lag):
        for name in ("q", "v", "qq", "qv", "vv"):
            assert close(getattr(other, name), getattr(merged[0], name))


def test_gradients_keep_their_digits_far_from_the_origin():
    far = la.Mechanism()
    near = la.Mechanism()
    for mech, x in ((far, 1e6), (near, 0.0)):
        mech.add_body("slide", joint=la.Prismatic((1, 0, 0)), placement=la.Pose(xyz=(x, x, 0)), mass=1.0, inertia=(1, 1, 1))
        mech.add_body("arm", "slide", la.Revolute((0, 1, 0)), mass=1.0, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0.1))
    q, v = np.array([0.3, 0.4]), np.array([1.0, 2.0])
    # composites, that is: the paper's recursions use poses in the world, which lose digits there
    a, b = next(evaluations(far.compile(), q, v)), next(evaluations(near.compile(), q, v))
    for name in ("q", "v", "qq", "qv", "vv"):
        assert close(getattr(a, name), getattr(b, name))
