"""The laws every integrator obeys: its order, and for symplectic ones energy, momentum, reversibility and the form itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import dynamics
from ..forces import Spring
from ..integrators import Integrator
from ..joints import Free, Helical, Planar, Prismatic, Revolute, Spherical, Universal
from ..mechanism import Mechanism
from ..model import Model
from ..pose import Pose
from ..simulate import simulate
from ..simulator import Simulator
from ..state import State
from .kinematics import Kinematics

Array = NDArray[np.float64]


@dataclass
class IntegratorReport:
    """What `check_integrator` measured; None where a law does not apply."""

    order: float  #: fitted to the error at the end of a short run
    reversal: float  #: distance from the start after running forth, turning the velocities round and running back
    energy_drift: float | None = None  #: mean of the last tenth minus mean of the first tenth of a long run, in units of the energy swing
    momentum: float | None = None  #: relative change of the spatial momentum of a floating tree
    symplecticity: float | None = None  #: largest entry of A' J1 A - J0, relative


def check_integrator(integrator: Integrator, reversible: bool | None = None) -> IntegratorReport:
    """Run the laws that `integrator.order` and `integrator.symplectic` promise; AssertionError names the broken one.

    reversible  whether running backwards must lead back to the start; by default symplectic ones of even order
    """
    if reversible is None:
        reversible = integrator.symplectic and integrator.order % 2 == 0
    name = repr(integrator)
    report = IntegratorReport(fitted_order(integrator), reversal_error(integrator))
    assert abs(report.order - integrator.order) < 0.3, f"{name}: fitted order {report.order:.2f}, promised {integrator.order}"
    if reversible:
        assert report.reversal < 1e-7, f"{name}: running back misses the start by {report.reversal:.2g}"
    if integrator.symplectic:
        report.energy_drift = energy_drift(integrator)
        report.momentum, report.symplecticity = momentum_error(integrator), symplecticity_error(integrator)
        assert abs(report.energy_drift) < 0.2, f"{name}: energy drifts by {report.energy_drift:.2g} of its swing"
        assert report.momentum < 1e-9, f"{name}: momentum of a floating tree changes by {report.momentum:.2g}"
        assert report.symplecticity < 1e-7, f"{name}: A'JA - J = {report.symplecticity:.2g}"
    return report


def mixed_tree(floating: bool = False, plain: bool = False) -> Mechanism:
    """A conservative branching tree with plain, ball and screw joints and a spring; without gravity if floating.

    plain  without ball and free joints: a floating tree then moves freely in a plane
    """
    mech = Mechanism(gravity=(0, 0, 0) if floating else (0.0, 0.0, -9.81), name="mixed tree")
    rod: dict[str, Any] = {"mass": 1.0, "com": (0.05, 0.0, -0.25), "inertia": (0.03, 0.04, 0.02)}
    down = Pose(xyz=(0.0, 0.0, -0.5))
    free = Planar((0, 1, 0)) if plain else Free()
    mech.add_body("base", joint=free if floating else Revolute((0, 1, 0)), **rod)
    mech.add_body("ball", "base", Universal((0, 0, 1), (1, 0, 0)) if plain else Spherical(), down, **rod)
    mech.add_body("cross", "ball", Universal((1, 0, 0), (0, 1, 0)), down, **rod)
    mech.add_body("slide", "base", Prismatic((1, 1, 0)), Pose(xyz=(0.2, 0, 0)), **rod)
    mech.add_body("screw", "slide", Helical((0, 1, 1), pitch=0.5), Pose(xyz=(0.1, 0, 0.1)), **rod)
    mech.add_body("plate", "base", Planar((0, 1, 0)), Pose(xyz=(0, 0.3, 0)), **rod)
    mech.add_force(Spring("slide", 50.0))
    mech.add_force(Spring("plate", (40.0, 60.0, 1.0)))
    mech.add_force(Spring("ball", 1.0))
    if plain:
        mech.add_force(Spring("screw", 2.0))  # it would fall for ever, and turn faster than a step of a long run resolves
    return mech


def start_of(model: Model, seed: int = 1) -> tuple[Array, Array]:
    """Smooth start away from every special position."""
    rng = np.random.default_rng(seed)
    q = model.neutral()
    v = 0.5 * rng.normal(size=model.nv)
    for body in model.bodies:
        if body.joint.nq == body.joint.nv:
            q[model.q_slice(body.joint_name)] = 0.3 * rng.normal(size=body.joint.nq)
    return q, v


def fitted_order(integrator: Integrator, duration: float = 0.4) -> float:
    """Slope of log(error) over log(dt) against a fine Runge-Kutta solution of the continuous equations."""
    mech = mixed_tree(plain=integrator.plain_coordinates)
    model, kin = mech.compile(), Kinematics(mech)
    q, v = start_of(model)
    truth = continuous_solution(model, kin, model.state(q, v), duration, steps=400)(duration)
    counts = np.array([20, 40, 80])
    ends = [simulate(model, q=q, v=v, dt=duration / n, steps=int(n), integrator=integrator).q[-1] for n in counts]
    errors = [np.linalg.norm(kin.increment(truth, end)) for end in ends]
    return float(np.polyfit(np.log(1.0 / counts), np.log(errors), 1)[0])


def energy_drift(integrator: Integrator, dt: float = 0.01, steps: int = 4000) -> float:
    """Mean of the last tenth minus mean of the first tenth of the energy, in units of its swing over the first tenth."""
    mech = mixed_tree(plain=integrator.plain_coordinates)
    model = mech.compile()
    q, v = start_of(model)
    energy = simulate(model, q=q, v=v, dt=dt, steps=steps, integrator=integrator).energy
    tenth = steps // 10
    return float((energy[-tenth:].mean() - energy[:tenth].mean()) / np.ptp(energy[:tenth]))


def reversal_error(integrator: Integrator, dt: float = 0.01, steps: int = 20) -> float:
    """Forth, turn the velocities round, back: distance of q from the start."""
    mech = mixed_tree(plain=integrator.plain_coordinates)
    model, kin = mech.compile(), Kinematics(mech)
    q, v = start_of(model)
    there = simulate(model, q=q, v=v, dt=dt, steps=steps, integrator=integrator)
    back = simulate(model, q=there.q[-1], v=-there.v[-1], dt=dt, steps=steps, integrator=integrator)
    return float(np.abs(kin.increment(q, back.q[-1])).max())


def momentum_error(integrator: Integrator, dt: float = 0.01, steps: int = 500) -> float:
    """Largest change of the spatial momentum of a floating tree without gravity, relative."""
    plain = integrator.plain_coordinates
    model = mixed_tree(floating=True, plain=plain).compile()
    q, v = start_of(model)
    momentum = simulate(model, q=q, v=v, dt=dt, steps=steps, integrator=integrator).momentum
    if plain:  # only the motions that are linear in the coordinates are symmetries of the discrete action: those in the plane
        momentum = momentum[:, [1, 3, 5]]
    return float(np.abs(momentum - momentum[0]).max() / np.abs(momentum[0]).max())


def symplecticity_error(integrator: Integrator, dt: float = 0.01, steps: int = 5) -> float:
    """Largest entry of A' J1 A - J0 for the Jacobian A of (q, p) -> (q, p) over a few steps, by differences.

    In left-trivialised coordinates of ball and free joints the form is
        omega((xi, a), (eta, b)) = b.xi - a.eta + p.[xi, eta]
    """
    mech = mixed_tree(floating=True, plain=integrator.plain_coordinates)
    model, kin = mech.compile(), Kinematics(mech)
    q, v = start_of(model)
    p = model.state(q, v).p
    nv = model.nv

    def flow(delta: Array) -> tuple[Array, Array]:
        start = model.state(kin.varied(q, delta[:nv]), p=p + delta[nv:])
        end = Simulator(model, start, dt=dt, integrator=integrator)
        for _ in range(steps):
            end.step()
        return end.q.copy(), end.state.p

    q1, p1 = flow(np.zeros(2 * nv))

    def end_of(delta: Array) -> Array:
        qe, pe = flow(delta)
        return np.concatenate([kin.increment(q1, qe), pe - p1])

    step = 1e-3  # fourth-order differences
    A = np.empty((2 * nv, 2 * nv))
    for j, e in enumerate(step * np.eye(2 * nv)):
        A[:, j] = (8.0 * (end_of(e) - end_of(-e)) - (end_of(2 * e) - end_of(-2 * e))) / (12.0 * step)
    J0, J1 = symplectic_form(kin, p), symplectic_form(kin, p1)
    return float(np.abs(A.T @ J1 @ A - J0).max() / np.abs(J0).max())


def symplectic_form(kin: Kinematics, p: Array) -> Array:
    """Matrix (2 nv, 2 nv) of the canonical form at the momentum p in left-trivialised coordinates (xi, a)."""
    nv = kin.nv
    form = np.zeros((2 * nv, 2 * nv))
    form[:nv, nv:], form[nv:, :nv] = np.eye(nv), -np.eye(nv)
    for body, _, vs in kin.moving:
        form[vs, vs] = body.joint.bracket_form(p[vs]).T
    return form


def continuous_solution(model: Model, kin: Kinematics, start: State, duration: float, steps: int = 600) -> Callable[[float], Array]:
    """t -> q of the continuous equations from `start`: classical Runge-Kutta in the chart of each step's start, dd/dt = (dtau_d)^-1 v.

    For times a little beyond the duration too; a time between two nodes is reached by one more step from the earlier one.
    """
    h = duration / steps
    nodes = [(start.t, start.q, start.v)]

    def step(t: float, q: Array, v: Array, h: float) -> tuple[float, Array, Array]:
        def slope(d: Array, speed: Array, at: float) -> tuple[Array, Array]:
            return _chart_rate(kin, d, speed), dynamics.forward(model, kin.advanced(q, d), speed, None, at)

        d1, a1 = slope(np.zeros(model.nv), v, t)
        d2, a2 = slope(h / 2 * d1, v + h / 2 * a1, t + h / 2)
        d3, a3 = slope(h / 2 * d2, v + h / 2 * a2, t + h / 2)
        d4, a4 = slope(h * d3, v + h * a3, t + h)
        return t + h, kin.advanced(q, h / 6 * (d1 + 2 * d2 + 2 * d3 + d4)), v + h / 6 * (a1 + 2 * a2 + 2 * a3 + a4)

    def at(t: float) -> Array:
        while nodes[-1][0] < t - 1e-9 * h:
            nodes.append(step(*nodes[-1], h))
        k = min(int((t - start.t) / h + 1e-6), len(nodes) - 1)
        rest = t - nodes[k][0]
        return nodes[k][1] if abs(rest) < 1e-9 * h else step(*nodes[k], rest)[1]

    return at


def _chart_rate(kin: Kinematics, d: Array, v: Array) -> Array:
    """Rate of the increment d for the joint velocities v."""
    return np.concatenate([body.joint.increment_rate(d[vs], v[vs]) for body, _, vs in kin.moving])
