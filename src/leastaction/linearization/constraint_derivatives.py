"""Derivatives of constraints over a step, second derivatives, and the derivative of the projection of momenta onto what they allow."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..coordinates import ties as tree
from ..coordinates.ties import on_velocities
from ..dynamics.discrete import increment
from ..kernels.tree import linearization as kernels
from ..kernels.tree import mass_slopes as mass_kernels
from ..model import Model
from .step_derivatives import difference, make_slopes, moved

Array = NDArray[np.float64]


def rows(model: Model, ties: tree.Ties | None, q: Array, t: float) -> tuple[Array, Array]:
    """h (m,) and Dh (m, nv)."""
    if ties is None:
        return np.zeros(0), np.zeros((0, model.nv))
    tree.evaluate(model, ties, q, t)
    return ties.value.copy(), ties.J0.copy()


class RowsOverStep(NamedTuple):
    """What the constraints ask of a step: value (m,), and derivatives (m, nv) in the configurations at its ends."""

    value: Array
    by_q0: Array
    by_q1: Array


def rows_over_step(
    model: Model, ties: tree.Ties | None, q0: Array, d: Array, q1: Array, t: float, dt: float, retraction: int
) -> RowsOverStep:
    """Constraints on positions hold at the end of the step, those on velocities over the whole of it."""
    if ties is None or not on_velocities(model.closures):
        value, J = rows(model, ties, q1, t + dt)
        return RowsOverStep(value, np.zeros_like(J), J)
    work = model.make_work()

    def values(a: Array, way: Array) -> Array:
        work.q[:], work.d[:] = a, way
        kernels.rows_over_step(model.tree, work, ties, t, dt, retraction)
        return ties.value.copy()

    def between(a: Array, b: Array) -> Array:
        return values(a, increment(model, a, b))

    by_q0 = difference(lambda x: between(moved(model, q0, x), q1), model.nv)
    by_q1 = difference(lambda x: between(q0, moved(model, q1, x)), model.nv)
    return RowsOverStep(values(q0, d), by_q0, by_q1)


class Curvature:
    """Second derivatives of the rows at one configuration.

    The second rate of h for a constant velocity is a quadratic function of it, whose polarisation is the symmetric part of the
    second derivative; on ball and free joints the rest is half the derivative along the bracket.  Rows A(q) v = b(q, t) that restrict
    velocities are not derivatives of anything: theirs are differences.
    """

    def __init__(self, model: Model, ties: tree.Ties, q: Array, t: float):
        self.model, self.ties, self.q, self.t = model, ties, q, t
        self.J = rows(model, ties, q, t)[1]
        self._work, self._scratch = model.make_work(), np.zeros((len(model.bodies) + 1, 6))
        self._differenced = bool(on_velocities(model.closures))

    def second_rates(self, v: Array) -> Array:
        """(m,) second time derivative of h for the constant velocity v."""
        kernels.second_constraint_rates(self.model.tree, self._work, self.ties, self.t, self.q, v, self._scratch)
        return self.ties.rate.copy()

    def _rows_at(self, x: Array) -> tree.Ties:
        return tree.evaluate(self.model, self.ties, moved(self.model, self.q, x), self.t)

    def of_impulse(self, lam: Array) -> Array:
        """(nv, nv) derivative of Dh' lam in q."""
        nv = self.model.nv
        if self._differenced:
            return difference(lambda x: lam @ self._rows_at(x).J0, nv)
        out, single, v = np.zeros((nv, nv)), np.zeros(nv), np.zeros(nv)
        kernels.impulse_curvature(self.model.tree, self._work, self.ties, self.t, self.q, lam, v, self._scratch, single, out)
        return out + 0.5 * bracket_form(self.model, self.J.T @ lam)

    def of_velocity(self, v: Array) -> Array:
        """(m, nv) derivative of Dh v + dh/dt in q."""
        if self._differenced:

            def rates(x: Array) -> Array:
                ties = self._rows_at(x)
                return ties.J0 @ v + ties.rate

            return difference(rates, self.model.nv)
        out = np.zeros_like(self.J)
        kernels.velocity_curvature(self.model.tree, self._work, self.ties, self.t, self.q, v.copy(), self._scratch, out)
        turned = [0.5 * bracket_form(self.model, row).T @ v for row in self.J]
        return out + np.array(turned).reshape(out.shape)


class Allowed(NamedTuple):
    """Momenta that the constraints allow, p + Dh' impulse, and derivatives in q and in the momenta given."""

    p: Array  #: (nv,)
    p_by_q: Array  #: (nv, nv)
    p_by_p: Array  #: (nv, nv)
    impulse: Array  #: (m,)
    impulse_by_q: Array  #: (m, nv)
    impulse_by_p: Array  #: (m, nv)


def project_momentum(curvature: Curvature, p: Array) -> Allowed:
    """Momenta M v with M v + Dh' mu = p, Dh v + dh/dt = 0; the impulse is -mu."""
    model, J = curvature.model, curvature.J
    nv, m = model.nv, len(J)
    M, _ = momentum_derivative(model, curvature.q, np.zeros(nv))
    matrix = np.block([[M, J.T], [J, np.zeros((m, m))]])
    ties = tree.evaluate(model, curvature.ties, curvature.q, curvature.t)
    solution = np.linalg.solve(matrix, np.concatenate([p, -ties.rate]))
    v, mu = solution[:nv], solution[nv:]
    _, bent = momentum_derivative(model, curvature.q, v)
    right = np.zeros((nv + m, 2 * nv))
    right[:nv, :nv] = -bent - curvature.of_impulse(mu)
    right[nv:, :nv] = -curvature.of_velocity(v)
    right[:nv, nv:] = np.eye(nv)
    solved = np.linalg.solve(matrix, right)
    change, impulses = M @ solved[:nv], -solved[nv:]
    return Allowed(M @ v, change[:, :nv] + bent, change[:, nv:], -mu, impulses[:, :nv], impulses[:, nv:])


def momentum_derivative(model: Model, q: Array, v: Array) -> tuple[Array, Array]:
    """Mass matrix M(q) and derivative of M(q) v in q, (nv, nv) each."""
    M, derivative = np.zeros((model.nv, model.nv)), np.zeros((model.nv, model.nv))
    mass_kernels.momentum_derivative(model.tree, model.make_work(), make_slopes(model), q, v, M, derivative)
    return M, derivative


def bracket_form(model: Model, p: Array) -> Array:
    """(nv, nv) F[j, l] = p.[e_l, e_j]; only ball and free joints have a bracket."""
    out = np.zeros((model.nv, model.nv))
    for body in model.bodies:
        vs = model.v_slice(body.joint_name)
        out[vs, vs] = body.joint.bracket_form(p[vs])
    return out
