"""The equation of a step of `Trapezoid` in long doubles, written down once more: trees of screws, ball joints and a floating base.

    e(v) = S(h v)' [M(q) + M(q tau(h v))] v / 2 - h/2 (dT/dq + f - c v) - p,    tau = cay, S = dcay^-1
from matrices and their inverses, with derivatives by complex steps: nothing is shared with the kernels but the description of the tree.
"""

import numpy as np

from leastaction.kernels.tree.layout import MASS, PARENT, PLACE_P, PLACE_R, QI, VI

SMALL = np.longdouble("1e-200")


def hat(x):
    return np.array([[0 * x[0], -x[2], x[1]], [x[2], 0 * x[0], -x[0]], [-x[1], x[0], 0 * x[0]]])


def se3(x):
    """(4, 4) of a twist (angular, linear)."""
    out = np.zeros((4, 4), x.dtype)
    out[:3, :3], out[:3, 3] = hat(x[:3]), x[3:]
    return out


def adjoint(T):
    """Twists of one frame seen from another."""
    out = np.zeros((6, 6), T.dtype)
    out[:3, :3] = out[3:, 3:] = T[:3, :3]
    out[3:, :3] = hat(T[:3, 3]) @ T[:3, :3]
    return out


def inverse(A):
    """Gauss-Jordan: NumPy's is for doubles."""
    n = len(A)
    W = np.concatenate([A, np.eye(n, dtype=A.dtype)], 1)
    for k in range(n):
        best = k + int(np.argmax(np.abs(W[k:, k])))
        W[[k, best]] = W[[best, k]]
        W[k] = W[k] / W[k, k]
        for i in range(n):
            if i != k:
                W[i] = W[i] - W[i, k] * W[k]
    return W[:, n:]


def cayley(x):
    one = np.eye(4, dtype=x.dtype)
    return inverse(one - se3(x) / 2) @ (one + se3(x) / 2)


def screw_motion(s, angle):
    """exp(s angle) of a twist whose angular part is a unit vector along its linear one, or zero: a hinge, a slide or both."""
    out = np.eye(4, dtype=angle.dtype)
    K = hat(s[:3])
    out[:3, :3] += np.sin(angle) * K + 2 * np.sin(angle / 2) ** 2 * K @ K
    out[:3, 3] = s[3:] * angle
    return out


class LongStep:
    """Of an equation of leastaction.solvability, which is asked for its numbers only."""

    def __init__(self, equation):
        model, real = equation.model, np.longdouble
        tree = model.tree
        self.nv = model.nv
        self.p, self.force = equation.p.astype(real), equation.force.astype(real)
        self.damping, self.armature = tree.damping.astype(real), np.array(tree.armature, dtype=real)
        self.rows = []
        for i, body in enumerate(model.bodies, start=1):
            place = np.eye(4, dtype=real)
            place[:3, :3] = tree.body[i, PLACE_R : PLACE_R + 9].reshape(3, 3)
            place[:3, 3] = tree.body[i, PLACE_P : PLACE_P + 3]
            mass, com = real(tree.body[i, MASS]), np.zeros(3, real)
            G = np.zeros((6, 6), real)
            if i in equation.tensors.bodies:  # about the com, as the certificate has them: moving them there costs digits, which both would
                com, G[:3, :3] = equation.tensors.bodies[i].com.astype(real), equation.tensors.bodies[i].inertia
            G[3:, 3:] = mass * np.eye(3, dtype=real)
            joint, first, at = body.joint, int(tree.link[i, VI]), int(tree.link[i, QI])
            q = equation.q[at : at + joint.nq].astype(real)
            motions = None if joint.has_quaternion else [m.screw().astype(real) for m in joint.primitives()]
            self.rows.append((int(tree.link[i, PARENT]), place, motions, first, joint.nv, q, G, com))
        zero = np.zeros(self.nv, real)
        self.M0 = self.mass(zero, zero)
        self.slopes = [self.mass(zero, 1j * SMALL * e).imag / SMALL for e in np.eye(self.nv, dtype=real)]  # dM/d eta

    def mass(self, x, eta):
        """M after the increment x and the turn eta (to first order, left-trivialised) of every joint."""
        kind = np.result_type(x, eta)
        columns, M = {0: np.zeros((6, self.nv), kind)}, np.diag(self.armature).astype(kind)
        for i, (parent, place, motions, first, nv, q, G, com) in enumerate(self.rows, start=1):
            own = slice(first, first + nv)
            J, there = columns[parent], place.astype(kind)
            J = adjoint(inverse(there)) @ J
            if motions is None:
                T = np.eye(4, dtype=kind)
                w, u = q[-4], q[-3:]
                K = hat(u)
                T[:3, :3] = np.eye(3) + 2 * (w * K + K @ K) / (w * w + u @ u)
                T[:3, 3] = q[:3] if nv == 6 else 0
                full = np.zeros(6, kind)
                full[:nv] = x[own]
                turn = np.zeros(6, kind)
                turn[:nv] = eta[own]
                T = T @ cayley(full) @ (np.eye(4) + se3(turn))
                J = adjoint(inverse(T)) @ J
                J[:, own] += np.eye(6)[:, :nv]
            else:
                for k, s in enumerate(motions):
                    J = adjoint(inverse(screw_motion(s, q[k] + x[first + k] + eta[first + k]))) @ J
                    J[:, first + k] += s
            columns[i] = J
            at_com = J.copy()
            at_com[3:] += np.cross(J[:3], com, axis=0)
            M = M + at_com.T @ G @ at_com
        return M

    def value(self, v, h):
        x = h * v
        mean = (self.M0 + self.mass(x, np.zeros(self.nv, v.dtype))) @ v / 2
        for _, _, motions, first, nv, *_ in self.rows:
            if motions is None:
                full = np.zeros(6, v.dtype)
                full[:nv] = x[first : first + nv]
                p = np.zeros(6, v.dtype)
                p[:nv] = mean[first : first + nv]
                mean[first : first + nv] = (inverse(self.tangent(full)).T @ p)[:nv]
        slope = np.array([v @ S @ v / 2 for S in self.slopes])
        return mean - h / 2 * (slope + self.force - self.damping * v) - self.p

    @staticmethod
    def tangent(x):
        """dcay, right-trivialised, column by column: of (1 - x/2)^-1 (1 + x/2) by the product rule."""
        one = np.eye(4, dtype=x.dtype)
        left = inverse(one - se3(x) / 2)
        columns = []
        for e in np.eye(6, dtype=x.dtype):
            D = left @ (se3(e) / 2) @ (cayley(x) + one) @ inverse(cayley(x))
            columns.append(np.array([D[2, 1], D[0, 2], D[1, 0], D[0, 3], D[1, 3], D[2, 3]]))
        return np.array(columns).T

    def jacobian(self, v, h):
        units = np.eye(self.nv, dtype=np.longdouble)
        return np.stack([self.value(v + 1j * SMALL * e, h).imag / SMALL for e in units], -1)

    def bent(self, v, h, d):
        """Derivative of the Jacobian along d, (nv, nv), by differences of order eight: exact for slides, to 1e-18 for turns."""
        t = np.longdouble(1e-2) / max(np.abs(h * d).max(), 1e-300)
        weights = np.array([672, -168, 32, -3], np.longdouble) / 840
        return sum(c * (self.jacobian(v + k * t * d, h) - self.jacobian(v - k * t * d, h)) for k, c in enumerate(weights, start=1)) / t

    def third(self, v, h, d, t):
        """Mean of the third derivative along d, d and every unit vector between v - t d and v + t d, (nv, nv)."""
        return (self.jacobian(v + t * d, h) - 2 * self.jacobian(v, h) + self.jacobian(v - t * d, h)) / t**2
