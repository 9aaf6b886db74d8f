"""The laws every force obeys, with every integrator.

On a model with the force and on one without it, Q = M (a_with - a_without) is the generalised force and U = E_with - E_without the
energy.  The laws are

    energy       Q = -dU/dq at rest, by differences of order six, if the force has an energy
    action       the momenta of a discrete step are derivatives of the independent discrete action (`testing.action`)
    order        every integrator converges to the solution of the continuous equations with its order, or refuses by name
    balance      the energy changes by the work of what is not in U
    reversal     a force that does no other work lets a reversible integrator run back to its start
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import dynamics
from ..dynamics import discrete
from ..errors import LeastActionError
from ..forces import Force
from ..integrators import Integrator
from ..joints import Free, Prismatic, Revolute, Spherical, Universal
from ..mechanism import Mechanism
from ..model import Model
from ..pose import Pose
from ..simulate import simulate
from ..simulator import Simulator
from ..state import State
from ..trajectory import Trajectory
from .action import QUADRATURES, arriving_momentum, leaving_momentum
from .every_integrator import demand_a_name, demand_order, every_integrator, in_short
from .integrator_laws import continuous_solution
from .kinematics import Kinematics
from .matrices import INVERSE_RETRACTIONS

Array = NDArray[np.float64]

_DURATION = 0.24  # s, of the runs whose order is fitted
_STEPS = (12, 24, 48)
_ROUNDING = 1e-10  # errors of q below it say nothing about an order
_BACK = 1e-8  # distance from the start after running forth and back, relative to the coordinates


def force_bench(groups: bool = False) -> Mechanism:
    """What forces are put on: a swinging arm of the joints "hinge" (revolute), "cross" (universal) and "slide" (prismatic), with the
    frame "tip" at its end and the frame "anchor" on the world.  With groups=True also "ball" (spherical), on the hinge, and "float"
    (free).  Bodies are called like their joints.
    """
    mech = Mechanism(name="bench of groups" if groups else "bench")
    rod: dict[str, Any] = {"mass": 1.0, "com": (0.05, 0.02, -0.25), "inertia": (0.03, 0.04, 0.02)}
    down = Pose(xyz=(0.0, 0.0, -0.5))
    mech.add_body("hinge", joint=Revolute((0, 1, 0)), **rod)
    mech.add_body("cross", "hinge", Universal((1, 0, 0), (0, 1, 0)), down, **rod)
    mech.add_body("slide", "cross", Prismatic((1, 0, 1)), down, **rod)
    mech.add_frame("tip", "slide", Pose(xyz=(0.1, 0.2, -0.3)))
    mech.add_frame("anchor", placement=Pose(xyz=(0.6, 0.3, -0.9)))
    if groups:
        mech.add_body("ball", "hinge", Spherical(), Pose(xyz=(0.3, 0, -0.2)), **rod)
        mech.add_body("float", joint=Free(), placement=Pose(xyz=(-1.0, 0, 0)), **rod)
    return mech


@dataclass
class ForceReport:
    """What `check_force` measured."""

    has_energy: bool  #: does it change the energy of a configuration?
    conservative: bool  #: does it do no work beyond that?
    orders: dict[str, float] = field(default_factory=dict)  #: fitted, by integrator; infinite where errors are rounding
    refused: dict[str, str] = field(default_factory=dict)  #: messages, by integrator


def check_force(
    make: Callable[[], Force | Sequence[Force]],
    bench: Callable[[], Mechanism] = force_bench,
    integrators: Sequence[Integrator] | None = None,
    *,
    knows_action: bool = True,
    seed: int = 0,
) -> ForceReport:
    """Check a force against the laws above; AssertionError names the broken one.

    make          function () -> force, or several, acting on names of the bench
    bench         function () -> mechanism without it; `force_bench` describes the one that is there already
    integrators   what to run it with; every integrator of the package if left out
    knows_action  False for a force that the independent action cannot take into account
    """
    made = make()
    forces = [made] if isinstance(made, Force) else list(made)
    rng = np.random.default_rng(seed)
    found = [_law_energy(_pair(bench, [force]), rng) for force in forces]
    report = ForceReport(any(energy for energy, _ in found), all(conservative for _, conservative in found))
    pair = _pair(bench, forces)
    if knows_action:
        _law_action(pair, rng)
    start = pair.model.state(*_gentle(pair.model, rng))
    truth = continuous_solution(pair.model, pair.kin, start, _DURATION)
    for integrator in integrators if integrators is not None else every_integrator():
        name = in_short(integrator)
        try:
            runs = [_run(pair.model, start, n, integrator) for n in _STEPS]
        except LeastActionError as error:
            report.refused[name] = demand_a_name(error, pair.mechanism, [type(f).__name__ for f in forces], f"{pair.name} with {name}")
            continue
        report.orders[name] = _law_order(pair, integrator, runs, truth)
        _law_balance(pair, integrator, runs, report)
        if report.conservative and integrator.symplectic and integrator.order % 2 == 0:
            _law_reversal(pair, integrator, start)
    assert report.orders, f"{pair.name}: every integrator refuses it: {report.refused}"
    return report


@dataclass
class _Pair:
    """The bench without and with the force."""

    bare: Model
    mechanism: Mechanism
    model: Model
    name: str

    def __post_init__(self) -> None:
        self.kin = Kinematics(self.mechanism)

    def force(self, q: Array, v: Array, t: float = 0.0) -> Array:
        """Q (nv,): what the force adds to M a."""
        gained = dynamics.forward(self.model, q, v, None, t) - dynamics.forward(self.bare, q, v, None, t)
        return dynamics.mass_matrix(self.model, q) @ gained

    def energy(self, q: Array) -> float:
        return dynamics.energy(self.model, q) - dynamics.energy(self.bare, q)

    def energy_slope(self, q: Array, direction: Array) -> float:
        """dU along a variation of q, by differences of order six."""
        return float(slope(lambda s: self.energy(self.kin.advanced(q, s * direction)), 1e-2 / max(1.0, np.abs(direction).max())))

    def power(self, q: Array, v: Array, t: float, has_energy: bool = True) -> float:
        """Work per second that is not taken from U, W; the slope of U costs most of the time and is left out where there is none."""
        return float(self.force(q, v, t) @ v) + (self.energy_slope(q, v) if has_energy else 0.0)


def _pair(bench: Callable[[], Mechanism], forces: Sequence[Force]) -> _Pair:
    loaded = bench()
    for force in forces:
        loaded.add_force(force)
    return _Pair(bench().compile(), loaded, loaded.compile(), ", ".join(type(f).__name__ for f in forces))


def slope(function: Callable[[float], Any], reach: float) -> Any:
    """Derivative at 0 by the central difference of order six."""
    near, far, farther = (function(s * reach) - function(-s * reach) for s in (1.0, 2.0, 3.0))
    return (45.0 * near - 9.0 * far + farther) / (60.0 * reach)


def _gentle(model: Model, rng: np.random.Generator) -> tuple[Array, Array]:
    """A start away from every special position, slow enough for short runs."""
    q = model.neutral()
    for body in model.bodies:
        if not body.joint.has_quaternion:
            part = q[model.q_slice(body.joint_name)]
            part[: body.joint.nv] += 0.2 * rng.normal(size=body.joint.nv)
    return q, 0.5 * rng.normal(size=model.nv)


def _beside_neutral(pair: _Pair, rng: np.random.Generator) -> tuple[Array, Array]:
    """Anywhere, but less than half a turn away from where a spring may rest: there its energy has an edge."""
    q = pair.kin.advanced(pair.model.neutral(), 0.4 * rng.normal(size=pair.model.nv))
    return q, rng.normal(size=pair.model.nv)


def _run(model: Model, start: State, steps: int, integrator: Integrator) -> Trajectory:
    return simulate(model, start, dt=_DURATION / steps, steps=steps, integrator=integrator)


def _law_energy(pair: _Pair, rng: np.random.Generator) -> tuple[bool, bool]:
    """(has an energy, does no other work)."""
    slopes, forces, powers = [], [], []
    for _ in range(4):
        q, v = _beside_neutral(pair, rng)
        slopes.append([pair.energy_slope(q, unit) for unit in np.eye(pair.model.nv)])
        forces.append(pair.force(q, 0.0 * v))
        powers.append(pair.power(q, v, 0.3))
    size = max(1e-3, float(np.abs(forces).max()), float(np.abs(slopes).max()))
    has_energy = bool(np.abs(slopes).max() > 1e-7 * size)
    if has_energy:
        off = float(np.abs(np.array(slopes) + forces).max())
        assert off < 1e-7 * size, f"{pair.name}: its generalised force differs from -dU/dq by {off:.3g} of {size:.3g}"
    return has_energy, bool(np.abs(powers).max() < 1e-6 * size)


def _law_action(pair: _Pair, rng: np.random.Generator) -> None:
    h, t = 0.02, 0.3
    q0, v = _beside_neutral(pair, rng)
    q1 = pair.kin.advanced(q0, h * v)
    tau = rng.normal(size=pair.model.nv)
    for retraction in INVERSE_RETRACTIONS:
        for quadrature in QUADRATURES:
            how: dict[str, Any] = {"retraction": retraction, "quadrature": quadrature, "t": t}
            found = discrete.momenta(pair.model, q0, q1, h, tau, **how)
            wanted = [law(pair.kin, q0, q1, h, tau, **how) for law in (leaving_momentum, arriving_momentum)]
            for end, a, b in zip(("start", "end"), found, wanted, strict=True):
                off, size = float(np.abs(a - b).max()), float(np.abs(b).max())
                assert off < 1e-10 * size, (
                    f"{pair.name}: the momentum at the {end} of a step with {retraction}, {quadrature} differs from the derivative of the "
                    f"discrete action by {off:.3g} of {size:.3g}"
                )


def _law_order(pair: _Pair, integrator: Integrator, runs: list[Trajectory], truth: Callable[[float], Array]) -> float:
    errors = [float(np.abs(pair.kin.increment(truth(float(run.t[-1])), run.q[-1])).max()) for run in runs]
    return demand_order(pair.name, integrator, errors, _STEPS, _ROUNDING)


def _law_balance(pair: _Pair, integrator: Integrator, runs: list[Trajectory], report: ForceReport) -> None:
    """Largest difference of the energy and the work done so far, with steps and with half of them."""
    defects = []
    for run in runs[1:]:
        work = np.zeros(len(run))
        if not report.conservative:
            power = np.array([pair.power(q, v, float(t), report.has_energy) for t, q, v in zip(run.t, run.q, run.v, strict=True)])
            work[1:] = np.cumsum(np.diff(run.t) * (power[1:] + power[:-1]) / 2)
        defects.append(float(np.abs(run.energy - run.energy[0] - work).max()))
    size = float(np.ptp(runs[-1].kinetic)) + float(np.abs(runs[-1].kinetic).max())
    assert defects[1] < max(0.6 * defects[0], 1e-8 * size), (
        f"{pair.name} with {in_short(integrator)}: energy and work differ by {defects[0]:.3g} J with {_STEPS[1]} steps, "
        f"by {defects[1]:.3g} J with {_STEPS[2]}"
    )


def _law_reversal(pair: _Pair, integrator: Integrator, start: State) -> None:
    sim = Simulator(pair.model, start, dt=0.01, integrator=integrator)
    sim.run(20)
    sim.reverse()
    sim.run(20)
    off, size = float(np.abs(pair.kin.increment(start.q, sim.q)).max()), max(1.0, float(np.abs(start.q).max()))
    assert off < _BACK * size, f"{pair.name} with {in_short(integrator)}: running back misses the start by {off:.3g}"
