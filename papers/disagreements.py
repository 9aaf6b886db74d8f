"""Where we disagree with what is printed: each erratum that matters, with a small computation that shows it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import files

import numpy as np

import leastaction as la
from leastaction.reference import rigid_body as rb
from leastaction.reference.scissor import ScissorLift

from .result import growth


@dataclass(frozen=True)
class Erratum:
    where: str
    printed: str
    correct: str
    shown: str  #: what was computed, with numbers
    holds: bool  #: the correction is right and the printed one is not


DEMONSTRATIONS: dict[str, list[Callable[[], Erratum]]] = {}


def demonstrates(paper: str):
    """Put a function into the list of its paper."""

    def register(function: Callable[[], Erratum]) -> Callable[[], Erratum]:
        DEMONSTRATIONS.setdefault(paper, []).append(function)
        return function

    return register


def found(papers: list[str]) -> list[Erratum]:
    return [demonstrate() for paper in papers for demonstrate in DEMONSTRATIONS.get(paper, [])]


def _number(x: float) -> str:
    return f"{x:.1e}"


def _random_pose(seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    pose = la.Pose(xyz=rng.normal(size=3), rpy=rng.normal(size=3))
    return np.block([[pose.R, pose.p[:, None]], [np.zeros((1, 3)), np.ones((1, 1))]])


def _adjoint(T: np.ndarray) -> np.ndarray:
    """Twists (omega, v): from the frame T maps from to the frame it maps to."""
    R, p = T[:3, :3], rb.hat(T[:3, 3])
    return np.block([[R, np.zeros((3, 3))], [p @ R, R]])


def _power_errors(move_right, move_printed) -> tuple[float, float]:
    """A wrench F of a child, moved to its parent, does the same work there as it does on the child: (with the right formula, as
    printed)."""
    rng = np.random.default_rng(1)
    T, F, V = _random_pose(), rng.normal(size=6), rng.normal(size=6)  # T: child to parent, V: twist of the parent
    work = F @ (_adjoint(np.linalg.inv(T)) @ V)
    return abs(move_right(T) @ F @ V - work), abs(move_printed(T) @ F @ V - work)


@demonstrates("lee")
def impulses_of_children() -> Erratum:
    right, printed = _power_errors(lambda T: _adjoint(np.linalg.inv(T)).T, lambda T: _adjoint(T).T)
    return Erratum(
        "Lee 2016, (20)",
        "children's impulses arrive by Ad* of T",
        "by the transpose of Ad of T inverse",
        f"work of a random impulse on parent and child differs by {_number(right)} with ours, {_number(printed)} as printed",
        right < 1e-12 < printed,
    )


@demonstrates("lee")
def residual_update_needs_no_gravity() -> Erratum:
    """The update dt M^-1 e solves for a correction: velocity and gravity must be off in the forward dynamics that computes it."""
    model = la.examples.chain(3).compile()
    q, v, e = np.array([0.4, -0.3, 0.2]), np.array([1.0, 2.0, -1.0]), np.array([1e-3, 2e-3, -1e-3])
    wanted = np.linalg.solve(la.dynamics.mass_matrix(model, q), e)
    literal = la.dynamics.forward(model, q, v, e)
    got = la.dynamics.velocity(model, q, e)
    right, printed = float(np.abs(got - wanted).max()), float(np.abs(literal - wanted).max())
    return Erratum(
        "Lee 2016, (25) and Alg. 3",
        "M(q_(l)) of the iterate, by forward dynamics",
        "M(q_k) of the step's start; velocities and gravity off",
        f"forward dynamics of the residual misses M^-1 e by {_number(printed)}, with velocities and gravity off by {_number(right)}",
        right < 1e-9 < printed,
    )


@demonstrates("johnson")
def second_derivative_of_a_spring() -> Erratum:
    """x = |v(q)| for v = (cos q1 + q2, sin q1, q2^2)."""
    length = lambda q: np.sqrt((np.cos(q[0]) + q[1]) ** 2 + np.sin(q[0]) ** 2 + q[1] ** 4)
    q, step = np.array([0.7, 0.5]), 1e-4
    v = np.array([np.cos(q[0]) + q[1], np.sin(q[0]), q[1] ** 2])
    first = [np.array([-np.sin(q[0]), np.cos(q[0]), 0.0]), np.array([1.0, 0.0, 2 * q[1]])]
    x = length(q)
    slope = v @ first[1] / x
    shift = np.eye(2) * step
    true = sum(a * b * length(q + a * shift[0] + b * shift[1]) for a in (1, -1) for b in (1, -1)) / (4 * step**2)
    by = lambda factor: factor * x**-2 * slope * (v @ first[0]) + first[1] @ first[0] / x
    right, printed = abs(by(-1.0) - true), abs(by(-0.5) - true)
    return Erratum(
        "Johnson 2009, second derivative of a spring's length",
        "-1/2 x^-2 ...",
        "-1 x^-2 ...",
        f"against a difference quotient: {_number(right)} with ours, {_number(printed)} as printed",
        right < 1e-5 < printed,
    )


@demonstrates("johnson")
def kinetic_energy_of_the_lift() -> Erratum:
    """From the tree of bodies with consistent velocities, and from both one-dimensional formulas."""
    n, theta, rate, inertia = 3, 0.6, 1.3, 0.2
    model = la.examples.hanging_scissor_lift(n, inertia=inertia).compile()
    at = lambda angle: model.coordinates(la.examples.hanging_scissor_start(n, angle))
    v = rate * (at(theta + 1e-6) - at(theta - 1e-6)) / 2e-6
    true = 0.5 * v @ la.dynamics.mass_matrix(model, at(theta)) @ v
    c, s = np.cos(theta) ** 2, np.sin(theta) ** 2
    levels = sum((0.5 - k) ** 2 for k in range(1, n + 1))
    printed = (levels * c + n * (0.5 * s + inertia) + 0.5 * s) * rate**2
    ours = 0.5 * float(ScissorLift(n, inertia=inertia).inertia_at(theta)) * rate**2
    return Erratum(
        "Johnson 2009, VI-C, Lagrangian of the lift",
        "1/2 sin² in a link's kinetic energy, m L² I",
        "1/4 sin², and I outside of m L²",
        f"kinetic energy of the tree {true:.6f} J; ours {ours:.6f} J, printed {printed:.6f} J",
        abs(ours - true) < 1e-6 < abs(printed - true),
    )


@demonstrates("johnson")
def listing_1_is_not_closed() -> Erratum:
    text = (files("leastaction") / "data" / "closed_chain.sexp").read_text(encoding="utf-8")
    text = "\n".join(line for line in text.splitlines() if not line.startswith(";"))
    printed = text.replace('(Name "O"))))))', '(Name "O")))))')
    depth = [t.count("(") - t.count(")") for t in (text, printed)]
    return Erratum(
        "Johnson 2009, Listing 1",
        'five ")" after (Name "O")',
        'six ")"',
        f"brackets left open: {depth[0]} with ours, {depth[1]} as printed",
        depth == [0, 1],
    )


@demonstrates("bruedigam")
def sign_of_the_constraint_forces() -> Erratum:
    """A mass on a rod of 1 m in the plane, one step of 10 ms in maximal coordinates, Newton with both signs."""
    h, weight, x = 1e-2, np.array([0.0, 9.81]), np.array([0.6, -0.8])
    before = np.array([0.8, 0.6])  # velocity of the step before

    def residuals(sign: float) -> list[float]:
        v, multiplier, found = before.copy(), 0.0, []
        for _ in range(6):
            after = x + h * v
            r = np.array([*((v - before) / h + weight - 2 * x * multiplier), after @ after - 1.0])
            found.append(float(np.abs(r).max()))
            matrix = np.block([[np.eye(2) / h, sign * 2 * x[:, None]], [2 * h * after[None, :], np.zeros((1, 1))]])
            change = np.linalg.solve(matrix, r)
            v, multiplier = v - change[:2], multiplier - change[2]
        return found

    right, printed = residuals(-1.0)[-1], residuals(1.0)[-1]
    return Erratum(
        "Brüdigam 2020, (38)",
        "+ G' in the Newton matrix",
        "- G'",
        f"residual after 5 Newton steps: {_number(right)} with ours, {_number(printed)} as printed",
        right < 1e-10 < printed,
    )


@demonstrates("bruedigam")
def elimination_needs_the_pivot() -> Erratum:
    rng = np.random.default_rng(0)
    a, b, c, d = (rng.normal(size=(2, 2)) + 3 * np.eye(2) for _ in range(4))
    L, U = c @ np.linalg.inv(a), np.linalg.inv(a) @ b
    wanted = d - c @ np.linalg.inv(a) @ b
    right, printed = (float(np.abs(d - x - wanted).max()) for x in (L @ a @ U, L @ U))
    return Erratum(
        "Brüdigam 2020, Alg. 1, lines 4, 5, 9",
        "F_nj F_ji",
        "F_nj F_jj F_ji",
        f"Schur complement of a random block matrix: off by {_number(right)} with ours, {_number(printed)} as printed",
        right < 1e-12 < printed,
    )


@demonstrates("bruedigam")
def order_of_the_integrator() -> Erratum:
    model = la.examples.chain(2).compile()
    end = lambda steps, integrator: la.simulate(model, q=[1.0, 0.3], dt=1.0 / steps, steps=steps, integrator=integrator, progress=False).q[
        -1
    ]
    truth = end(20_000, la.RK4())
    counts = np.array([100, 200, 400])
    errors = [np.abs(end(int(n), la.Maximal(retraction="quaternion")) - truth).max() for n in counts]
    order = -growth(counts, errors)
    return Erratum(
        "Brüdigam 2020, section 5",
        "first-order integrator",
        "second order, if the first step is exact",
        f"fitted order {order:.2f} on a double pendulum",
        abs(order - 2.0) < 0.1,
    )


@demonstrates("kobilarov")
def jacobian_of_the_cayley_step() -> Erratum:
    inertia, omega, h, step = np.diag([1.0, 2.0, 2.5]), np.array([0.5, -0.7, 0.4]), 0.3, 1e-6
    true = np.array(
        [(rb.cayley_momentum(inertia, omega + e, h) - rb.cayley_momentum(inertia, omega - e, h)) / (2 * step) for e in step * np.eye(3)]
    ).T
    ours = rb.cayley_jacobian(inertia, omega, h)
    lower = rb.lie_newmark_jacobian(inertia, omega, h)
    right, printed = (float(np.abs(x - true).max()) for x in (ours, lower + (ours - lower) / h))
    return Erratum(
        "Kobilarov 2014, (18)",
        "h/4 and h/2",
        "h²/4 and h²/2",
        f"against a difference quotient: {_number(right)} with ours, {_number(printed)} as printed",
        right < 1e-8 < printed,
    )


@demonstrates("kobilarov")
def translation_of_the_cayley_map() -> Erratum:
    w, v = np.array([0.4, -0.8, 0.5]), np.array([1.0, 0.3, -0.6])
    X = np.block([[rb.hat(w), v[:, None]], [np.zeros((1, 4))]])
    true = np.linalg.solve(np.eye(4) - X / 2, np.eye(4) + X / 2)[:3, 3]
    n = w @ w
    ours = (4 * v + 2 * np.cross(w, v) + w * (w @ v)) / (4 + n)
    printed = 2 / (4 + n) * (2 * v + np.cross(w, v))
    a, b = (float(np.abs(x - true).max()) for x in (ours, printed))
    return Erratum(
        "Kobilarov 2014, (54)",
        "(2 / (4 + |w|²)) (2 + w^) v",
        "(4 + 2 w^ + w w') v / (4 + |w|²)",
        f"against (1 - x/2)^-1 (1 + x/2): {_number(a)} with ours, {_number(b)} as printed",
        a < 1e-12 < b,
    )


@demonstrates("kobilarov")
def bound_before_20() -> Erratum:
    """The printed lower bound of the Jacobian's smallest eigenvalue, over random bodies."""
    rng = np.random.default_rng(0)
    count, y = 4000, 1.0
    kappa = rng.uniform(1.0, 3.0, count)
    moments = np.stack([np.ones(count), rng.uniform(1.0, kappa), kappa], axis=1)
    omega = rng.normal(size=(count, 3))
    omega *= y / np.linalg.norm(omega, axis=1)[:, None]
    J = rb.cayley_jacobian(moments[:, :, None] * np.eye(3), omega, 1.0)
    smallest = np.linalg.eigvalsh(0.5 * (J + np.swapaxes(J, 1, 2)))[:, 0]
    start = 1.0 - y / 4 * (kappa - 1.0)
    printed, ours = (int(np.sum(smallest < start + y**2 * c - 1e-12)) for c in (1.0 - kappa / 4, np.full(count, 0.25)))
    return Erratum(
        "Kobilarov 2014, before (20)",
        "h²|w|² (s- - s+/4)",
        "h²|w|² s-/4 for kappa up to 3",
        f"{printed} of {count} random bodies lie below the printed bound, {ours} below ours; (20) itself stays true",
        printed > 0 and ours == 0,
    )


@demonstrates("si")
def wrenches_are_moved_by_the_dual() -> Erratum:
    right, printed = _power_errors(lambda T: _adjoint(np.linalg.inv(T)).T, lambda T: _adjoint(np.linalg.inv(T)))
    return Erratum(
        "Si 2010, (30)",
        "Ad of f inverse",
        "its dual (transpose): J S is a wrench",
        f"work of a random wrench on parent and child differs by {_number(right)} with ours, {_number(printed)} as printed",
        right < 1e-12 < printed,
    )
