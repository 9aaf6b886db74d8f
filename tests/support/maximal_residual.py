"""The step in maximal coordinates once more, from definitions alone: 4x4 matrices, any number type, no formula shared with the kernels.

    mu_i + (momenta of rotors)_i - target_i - (G0' lambda)_i - (half impulses of dampers)_i = 0        g(T_end, t_end) = 0

mu is minus the derivative of the discrete kinetic action x'Gx / 2h in the start of the step.  G0 are complex-step derivatives of the
constraints at the node (for constraints on velocities: the virtual displacements they forbid), dampers push along the smallest wrenches
that do work on their coordinates alone.  The Newton matrix is the complex-step derivative of all this in end poses and multipliers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from leastaction.constraints import base
from leastaction.constraints.base import Closure
from leastaction.constraints.rows import ACROSS, ALONG, HEIGHT
from leastaction.coordinates.network import Network
from leastaction.joints import SymbolicJoint
from leastaction.joints.reference import quaternion_of
from leastaction.kernels.maximal import layout as M
from leastaction.kernels.maximal.layout import Flow
from leastaction.kernels.tree import layout as L
from leastaction.pose import Pose
from leastaction.testing import matrices as mat
from leastaction.testing.matrices import Array
from leastaction.testing.row_values import row_value

_TINY = 1e-40  # of complex steps

Functions = Mapping[str, Callable[[Array, float], Array]]  #: name of a constraint -> h(coordinates (..., k), t)


class StepReference:
    """One step of a network: the node, target momenta and multipliers of `flow`, and any end poses."""

    def __init__(self, network: Network, flow: Flow, h: float, retraction: str, functions: Functions | None = None):
        """functions: of constraints on coordinates, by name, in any number type."""
        self.network, self.flow, self.h, self.retraction, self.functions = network, flow, h, retraction, functions or {}
        self.model, self.n = network.model, len(network.model.bodies)
        self.node, self.end = _poses(flow.node), _poses(flow.end)
        self.multipliers = flow.d[6 * self.n :].copy()
        self.target = flow.target[1:].copy()
        self.time = 0.0  # at which constraints are evaluated
        self._directions = self._force_directions()  # (m, n, 6)
        self.time = h
        self._dampers = [self._damper_and_rotor(i) for i in range(1, self.n + 1)]

    def residual(self, T: Array | None = None, multipliers: Array | None = None) -> Array:
        """(..., 6n + m) for the end poses T (..., n+1, 4, 4); those of the flow if left out."""
        T = self.end if T is None else T
        lam = self.multipliers if multipliers is None else multipliers
        momenta = np.stack([self._momentum(i, T[..., i, :, :]) for i in range(1, self.n + 1)], -2) - self.target
        momenta = momenta - np.einsum("...m,mne->...ne", lam, self._directions)
        for i, push in enumerate(self._dampers, start=1):
            if push is not None:
                factor, wrenches = push  # (nv,), (nv, n, 6)
                momenta = momenta + np.einsum("...j,jne->...ne", factor * self._increment(i, T), wrenches)
        shape = momenta.shape[:-2]
        return np.concatenate([momenta.reshape(*shape, 6 * self.n), np.broadcast_to(self.values(T), (*shape, len(lam.T)))], -1)

    def matrix(self) -> NDArray[np.float64]:
        """Derivative of the residual: end poses varied left-trivialised, then multipliers."""
        unknowns = 6 * self.n + len(self.multipliers)
        T = np.tile(self.end.astype(complex), (unknowns, 1, 1, 1))
        lam = np.tile(self.multipliers.astype(complex), (unknowns, 1))
        for j in range(unknowns):
            if j < 6 * self.n:
                T[j, 1 + j // 6] = _stepped(self.end[1 + j // 6], j % 6)
            else:
                lam[j, j - 6 * self.n] += 1j * _TINY
        return self.residual(T, lam).imag.T / _TINY

    # ------------------------------------------------------------------------------------------------- bodies

    def _momentum(self, i: int, T: Array) -> Array:
        D = mat.rigid_inverse(self.node[i]) @ T
        G = np.zeros((6, 6))
        G[:3, :3][np.triu_indices(3)] = self.network.net.body[i, L.INERTIA : L.INERTIA + 6]
        G[:3, :3] += np.triu(G[:3, :3], 1).T
        G[3:, 3:] = self.network.net.body[i, L.MASS] * np.eye(3)
        if self.retraction == "quaternion":
            a = quaternion_of(D[..., :3, :3])
            x = np.concatenate([2 * a[..., 1:], D[..., :3, 3]], -1)
            slopes = []  # of x as the start is varied by eta: D moves by -eta D
            for e in np.eye(6):
                turn = mat.quaternion_product(np.concatenate([[0.0], -e[:3] / 2]), a)
                slopes.append(np.concatenate([2 * turn[..., 1:], -np.cross(e[:3], D[..., :3, 3]) - e[3:]], -1))
            return -mat.times(np.stack(slopes, -2), mat.times(G, x)) / self.h
        x = mat.INVERSE_RETRACTIONS[self.retraction](D)
        # an analytic function of the block matrix [[X, E], [0, X]] has its derivative along E in the upper right block
        block = np.zeros((*x.shape[:-1], 6, 8, 8), dtype=x.dtype)
        block[..., :4, :4] = block[..., 4:, 4:] = mat.twist_matrix(x)[..., None, :, :]
        block[..., :4, 4:] = mat.twist_matrix(np.eye(6))
        motion = _MATRIX_FUNCTIONS[self.retraction](block)[..., :4, 4:] @ mat.rigid_inverse(D)[..., None, :, :]
        columns = np.concatenate([mat.vee(motion[..., :3, :3]), motion[..., :3, 3]], -1)  # row j: twist dD D^-1 per unit of x_j
        return mat.times(np.linalg.inv(columns), mat.times(G, x)) / self.h

    # -------------------------------------------------------------------------------------------- constraints

    def values(self, T: Array) -> Array:
        """(..., m) at the end poses T."""
        out = []
        for i, body in enumerate(self.model.bodies, start=1):
            if isinstance(body.joint, SymbolicJoint):
                _, e = self._nearest(i, T)
                out.append(e @ self.flow.basis[i][body.joint.nv :].T)
            else:
                Y = self._joint_place(i, T)
                out += [row_value(row, Y)[..., None] for row in body.joint.constraint_rows()]
        for closure in self.network.closures:
            out += [value[..., None] for value in self._closure_values(closure, T)]
        return np.concatenate(out, -1) if out else np.zeros((*T.shape[:-3], 0))

    def _joint_place(self, i: int, T: Array) -> Array:
        """Pose of the joint on body i against its place on the parent."""
        link, values = self.model.tree.link[i], self.model.tree.body[i]
        parent = int(link[L.PARENT])
        com = self.network.net.com
        placed = mat.rigid(values[L.PLACE_R : L.PLACE_R + 9].reshape(3, 3), values[L.PLACE_P : L.PLACE_P + 3] - com[parent])
        joint = mat.rigid(np.eye(3), -com[i])
        return mat.rigid_inverse(T[..., parent, :, :] @ placed) @ T[..., i, :, :] @ joint

    def _frame(self, at: tuple[int, Pose], T: Array) -> Array:
        i, pose = at
        return T[..., i, :, :] @ mat.rigid(pose.R, pose.p - self.network.net.com[i])

    def _closure_values(self, closure: Closure, T: Array) -> list[Array]:
        if closure.kind == base.ROWS:
            frame = self._frame(closure.a, T)
            Y = mat.rigid_inverse(frame) @ self._frame(closure.b, T)
            return [row_value(row, Y, frame[..., :3, :3]) for row in closure.rows]
        if closure.kind == base.GEAR:
            (i, j), (ratio, offset) = closure.joints, closure.numbers
            return [self._coordinates(i, T)[..., 0] - ratio * self._coordinates(j, T)[..., 0] - offset]
        if closure.kind == base.COORDINATES:  # the node stands at the time 0
            q = np.concatenate([self._coordinates(i, T) for i in range(1, self.n + 1)], -1)
            first = np.cumsum([0, *(b.joint.nq for b in self.model.bodies)])
            assert [int(x) for x in self.model.tree.link[1:, L.QI]] == first[:-1].tolist()
            return [self.functions[closure.name](q[..., [at for at, _ in closure.arguments]], self.time)]
        return self._velocity_values(closure, T)

    def _seen(self, closure: Closure, T: Array) -> Array:
        """Pose of frame b in frame a."""
        return mat.rigid_inverse(self._frame(closure.a, T)) @ self._frame(closure.b, T)

    def _velocity_values(self, closure: Closure, T: Array) -> list[Array]:
        """Rows of constraints on velocities over the step, in the axes of frame a."""
        before, after = self._seen(closure, self.node), self._seen(closure, T)
        move = after[..., :3, 3] - before[:3, 3]
        w = np.array(closure.rows[0].w)
        mean = (mat.times(before[:3, :3], w) + mat.times(after[..., :3, :3], w)) / 2
        if closure.kind == base.SKATE:
            return [mat.dot(mean, move)]
        turn = mat.times(before[:3, :3], mat.log(mat.rigid_inverse(before) @ after)[..., :3])
        if closure.kind == base.ELLIPSOID:
            lever = (self._lowest(closure, before) + self._lowest(closure, after)) / 2
        else:
            lever = closure.numbers[0] * self._contact(closure, mean, before[:3, 3] + move / 2)
        slip = move + mat.times(mat.hat(turn), lever)
        directions = self._directions_of(closure, before, mean)
        return [self._height(closure, after) if row.kind == HEIGHT else mat.dot(directions[row.kind], slip) for row in closure.rows]

    def _contact(self, closure: Closure, axis: Array, centre: Array) -> Array:
        """Unit vector from the centre of what rolls to where it touches."""
        normal = np.array(closure.rows[0].u)
        if closure.kind == base.ROLLING:
            return _to_contact(normal, _unit(axis))
        return -normal if closure.kind == base.BALL else -closure.numbers[2] * _unit(centre)

    def _lowest(self, closure: Closure, pose: Array) -> Array:
        """From the centre of an ellipsoid to its lowest point: where its surface x'A^-2 x = 1 has the normal of the plane."""
        normal, squares = np.array(closure.rows[0].u), np.diag(np.square(closure.numbers))
        seen = pose[..., :3, :3] @ squares @ np.swapaxes(pose[..., :3, :3], -1, -2)
        return -mat.times(seen, normal) / mat.sqrt(mat.dot(normal, mat.times(seen, normal)))[..., None]

    def _directions_of(self, closure: Closure, before: Array, axis: Array) -> dict[int, Array]:
        """Along and across."""
        normal = np.array(closure.rows[0].u)
        if closure.kind == base.ROLLING:
            along = _unit(mat.times(mat.hat(axis), normal))
            return {ALONG: along, ACROSS: mat.times(mat.hat(normal), along)}
        axes = closure.a[1].R  # balls: orthogonal to the normal and the axis of body A that leans least to it
        out = axes @ (normal if closure.kind != base.SPHERE else _unit(before[:3, 3]))
        along = _unit(np.cross(np.eye(3)[np.argmin(np.abs(out))], out))
        return {ALONG: axes.T @ along, ACROSS: axes.T @ np.cross(out, along)}

    def _height(self, closure: Closure, after: Array) -> Array:
        radius, normal, w = closure.numbers[0], np.array(closure.rows[0].u), np.array(closure.rows[0].w)
        centre = after[..., :3, 3]
        if closure.kind == base.SPHERE:
            apart = closure.numbers[1]
            return (mat.dot(centre, centre) - apart**2) / (2 * apart)
        if closure.kind == base.ELLIPSOID:
            return (centre + self._lowest(closure, after)) @ normal
        return (centre + radius * self._contact(closure, mat.times(after[..., :3, :3], w), centre)) @ normal

    def _force_directions(self) -> Array:
        """(m, n, 6) the constraints' rows at the node, by complex steps: of positions, and of velocities how the material point that
        touches moves."""
        varied_nodes = np.tile(self.node.astype(complex), (6 * self.n, 1, 1, 1))
        for j in range(6 * self.n):
            varied_nodes[j, 1 + j // 6] = _stepped(self.node[1 + j // 6], j % 6)
        out = (self.values(varied_nodes).imag.T / _TINY).reshape(-1, self.n, 6)
        row = sum(6 - b.joint.nv for b in self.model.bodies)
        for closure in self.network.closures:
            if closure.kind in base.ON_VELOCITIES:
                here, seen = self._seen(closure, self.node), self._seen(closure, varied_nodes)
                axis = here[:3, :3] @ np.array(closure.rows[0].w)
                for k, r in enumerate(closure.rows):
                    if r.kind == HEIGHT:
                        continue
                    at, u = np.zeros(4), axis
                    at[3] = 1.0
                    if closure.kind != base.SKATE:
                        to = self._lowest(closure, here) if closure.kind == base.ELLIPSOID else closure.numbers[0] * self._contact(
                            closure, axis, here[:3, 3]
                        )  # fmt: skip
                        at[:3] = here[:3, :3].T @ to
                        u = self._directions_of(closure, here, axis)[r.kind]
                    out[row + k] = ((seen @ at)[:, :3].imag @ u / _TINY).reshape(self.n, 6)
            row += closure.size
        return out

    # ------------------------------------------------------------------------------------------------- joints

    def _nearest(self, i: int, T: Array) -> tuple[Array, Array]:
        """Coordinates (..., nv) of a symbolic joint with W e = 0, and e (..., 6)."""
        joint, k = self.model.bodies[i - 1].joint, int(self.model.tree.link[i, L.QI])
        assert isinstance(joint, SymbolicJoint)
        W, nv, Y = self.flow.basis[i][: joint.nv], joint.nv, self._joint_place(i, T)
        q = self.flow.q[k : k + nv] + 0 * Y[..., 0, :1]

        def error(q: Array, Y: Array) -> Array:
            E = mat.rigid_inverse(joint.reference_pose(q)) @ Y
            turn = 2 * mat.vee(mat.solve(E[..., :3, :3] + np.eye(3), E[..., :3, :3] - np.eye(3)))
            return np.concatenate([turn, E[..., :3, 3]], -1)

        for _ in range(12):
            steps = q[..., None, :] + 1e-6 * np.eye(nv)  # the slope need not be exact, nor complex
            slopes = (error(steps, Y[..., None, :, :]) - error(q, Y)[..., None, :]).real @ W.T / 1e-6
            q = q - mat.times(np.linalg.inv(np.swapaxes(slopes, -1, -2)), error(q, Y) @ W.T)
        return q, error(q, Y)

    def _coordinates(self, i: int, T: Array) -> Array:
        """(..., nq) of a joint with plain coordinates, angles as close as possible to those of the node."""
        joint, k = self.model.bodies[i - 1].joint, int(self.model.tree.link[i, L.QI])
        if isinstance(joint, SymbolicJoint):
            return self._nearest(i, T)[0]
        near = self.flow.q[k : k + joint.nq]
        Y = self._joint_place(i, T)
        q = joint.reference_coordinates(Y[..., :3, :3], Y[..., :3, 3])
        turns = np.round((near - q.real) / (2 * np.pi)) * np.array(joint.angular)
        return q + 2 * np.pi * turns

    def _increment(self, i: int, T: Array) -> Array:
        """(..., nv) from the node, in its axes."""
        joint, k = self.model.bodies[i - 1].joint, int(self.model.tree.link[i, L.QI])
        if not joint.has_quaternion:
            return self._coordinates(i, T) - self.flow.q[k : k + joint.nv]
        J = mat.rigid_inverse(self._joint_place(i, self.node)) @ self._joint_place(i, T)
        turn = 2 * mat.vee(mat.solve(J[..., :3, :3] + np.eye(3), J[..., :3, :3] - np.eye(3)))
        return np.concatenate([turn, J[..., :3, 3]], -1)[..., : joint.nv]

    def _damper_and_rotor(self, i: int) -> tuple[Array, Array] | None:
        """c/2 + a/h (nv,) and wrenches (nv, n, 6) of unit joint forces at the node; None where both are zero."""
        joint, link = self.model.bodies[i - 1].joint, self.model.tree.link[i]
        at = slice(link[L.VI], link[L.VI] + joint.nv)
        factor = self.model.tree.damping[at] / 2 + self.model.tree.armature[at] / self.h
        if not np.any(factor):
            return None
        q = self.flow.q[link[L.QI] : link[L.QI] + joint.nq]
        F = mat.rigid(joint.frame(), np.zeros(3))
        varied = joint.reference_advance(np.tile(q, (joint.nv, 1)), 1j * _TINY * np.eye(joint.nv))
        X = mat.rigid_inverse(F) @ joint.reference_pose(varied) @ F
        S = _twists(X)
        Z = joint.dual_columns(S)
        out = np.zeros((joint.nv, self.n, 6))
        for other in {i, int(link[L.PARENT])} - {0}:
            T = np.tile(self.node.astype(complex), (6, 1, 1, 1))
            for e in range(6):
                T[e, other] = _stepped(self.node[other], e)
            out[:, other - 1] = Z @ _twists(self._joint_place(i, T)).T
        return factor, out


def _poses(poses: NDArray[np.float64]) -> NDArray[np.float64]:
    return mat.rigid(poses[:, M.POSE_R : M.POSE_R + 9].reshape(-1, 3, 3), poses[:, M.POSE_X : M.POSE_X + 3])


def _stepped(T: Array, e: int) -> Array:
    """T varied by a complex step along twist e, left-trivialised."""
    return T @ (np.eye(4) + 1j * _TINY * mat.twist_matrix(np.eye(6)[e]))


def _twists(T: Array) -> NDArray[np.float64]:
    """(..., 6) body twists of poses that carry complex steps."""
    motion = mat.rigid_inverse(T.real) @ (T.imag / _TINY)
    return np.concatenate([mat.vee(motion[..., :3, :3]), motion[..., :3, 3]], -1)


def _to_contact(normal: Array, axis: Array) -> Array:
    """Unit vector in the plane of a disc that points to its lowest point."""
    down = (axis @ normal)[..., None] * axis - normal
    return down / mat.sqrt(mat.dot(down, down))[..., None]


def _unit(x: Array) -> Array:
    return x / mat.sqrt(mat.dot(x, x))[..., None]


def _exponential(m: Array) -> Array:
    term = total = np.zeros_like(m) + np.eye(m.shape[-1])
    for k in range(1, 40):
        term = term @ m / k
        total = total + term
    return total


def _cayley(m: Array) -> Array:
    return np.linalg.solve(np.eye(m.shape[-1]) - m / 2, np.eye(m.shape[-1]) + m / 2)


_MATRIX_FUNCTIONS = {"exp": _exponential, "cayley": _cayley}
