"""Steps whose length is chosen anew at every node so that each of them is certified: Algorithm 1 of Kobilarov 2014."""

from __future__ import annotations

from array import array

import numpy as np
from numpy.typing import NDArray

from ..assembly.closing import ClosedEvaluator
from ..checks import number, shown
from ..compiling.decorators import Direct
from ..errors import StateError
from ..integrators.base import KICKED_MOMENTUM, Advance, Integrator, Record, Stepper, checked_choice
from ..integrators.memory import Memory, below_prefix, with_prefix
from ..integrators.trapezoid import Trapezoid
from ..kernels.maximal.evaluate import advance
from ..kernels.solvability import certificate as kernels
from ..kernels.solvability.layout import ACCELERATION, GAMMA, LOAD, RADIUS, SPEED
from ..kernels.solving.memory import HISTORY, START, STEPS, TIME
from ..kernels.stepping.record import add_step, copy_row, rewind
from ..kernels.tree.evaluate import place_entry
from ..model import Model
from ..state import State
from .equation import StepEquation
from .kantorovich import SHORTEST

Array = NDArray[np.float64]

CONTROLLERS = ("reversible", "longest")
_GROWTH = 1.5  # most by which a step of the controller "longest" is longer than the one before
_WITHIN = 0.95  # of the longest step that the load lets expect
_ASTRAY = np.log(2.0)  # by which the logarithm of the density may be off before it is set anew
_LESS = 0.9  # the density is scaled by this where a step had to be shortened
_PROBED = 16  # steps of the controller "longest" that are made to find the scale of the density
_PUSHED, _MOVED = 8.0, 1.0  # weights of accelerations and speeds in the density; found on chains of 2 to 5 links


class CertifiedStep(Integrator):
    """Steps of Trapezoid, each as long as a certificate at its start allows: Newton's method provably solves every one of them.

    base        Trapezoid(...), whose steps are made
    controller  "reversible": the length follows a density that is integrated along with the motion as in AdaptiveStep, and is shortened
                only where the certificate does not hold; "longest": nearly the longest certified step at every node, which makes energy
                drift.  Neither is longer than dt, nor than half the linear stability limit at the node
    fraction    of the longest certified steps that the controller "reversible" aims at, between 0 and 1

    simulate(model, dt="certified", ...) makes one.  run.certified_dt has the certified length of every step, run.t is not uniform.

    >>> import leastaction as la
    >>> model = la.examples.chain(2).compile()
    >>> run = la.simulate(model, dt=0.1, duration=0.5, q=[1.0, 0.5], integrator=la.CertifiedStep())
    >>> len(run.certified_dt) == run.steps
    True
    """

    order = 2
    symplectic = False
    self_adjoint = False
    uniform = False
    unguarded = "every one of its steps is proven to be solved; leave guard out"

    def __init__(self, base: Trapezoid | None = None, controller: str = "reversible", fraction: float = 0.85):
        self.base = Trapezoid() if base is None else base
        if not isinstance(self.base, Trapezoid):
            raise StateError(f"base = {shown(base)}; only steps of Trapezoid(...) can be certified")
        self.controller = checked_choice(controller, CONTROLLERS, "controller")
        self.fraction = number(fraction, "fraction", StateError)
        if not 0.0 < self.fraction <= 1.0:
            raise StateError(f"fraction = {shown(fraction)}; it needs a number above 0 and up to 1")

    def start(self, model: Model, state: State, dt: float) -> CertifiedStepper:
        return CertifiedStepper(self, model, state, dt)

    @property
    def single(self) -> Trapezoid:
        return self.base

    def turn_round(self, stepper: Stepper, state: State) -> CertifiedStepper:
        assert isinstance(stepper, CertifiedStepper)  # made by `start`
        turned = CertifiedStepper(self, stepper.model, state, stepper.dt)
        turned.control[:] = stepper.control
        turned.control[_DENSITY], turned.control[_HALVED] = stepper.node_density, 0.0
        return turned

    def recording(self, dt: float) -> tuple[int, float]:
        return KICKED_MOMENTUM, 0.0


# entries of CertifiedStepper.control
_DENSITY, _HALVED, _SCALE, _LAST, _RESETS = range(5)


class CertifiedStepper(Stepper):
    """A stepper around that of Trapezoid."""

    integrator: CertifiedStep

    def __init__(self, integrator: CertifiedStep, model: Model, state: State, dt: float):
        super().__init__(integrator, model, dt)
        if integrator.base.retraction != "cayley" and any(body.joint.has_quaternion for body in model.bodies):
            raise StateError(
                f"base = {shown(integrator.base)}; steps of ball and free joints are certified for the Cayley map only: give Trapezoid() "
                'or FloatingBase("cayley")'
            )
        equation = StepEquation(model, state)  # refuses what cannot be certified
        self._screws, self._proof = equation.tensors.record, equation.proof
        self._inner = integrator.base.start(model, state, dt)
        self._one = self._inner.make_record(1, 1)
        self._evaluate = ClosedEvaluator(model)
        self._work, self._q, self._force = model.make_work(), np.zeros(model.nq), np.zeros(model.nv)
        self._place, self._certify, self._curvature = Direct(place_entry), Direct(kernels.certify), Direct(kernels.curvature)
        self._pulled = np.zeros((2, model.nv))
        #: logarithm of the density at the last half step (at the node before the first one); has a step been made?  scale of the density
        #: (0: not yet found); longest step to try next, s; how often the density was set anew
        self.control = np.zeros(5)
        self.lengths = array("d")  #: of the steps, s, each of them certified

    # ------------------------------------------------------------------------------------------------------------- a node

    @property
    def t(self) -> float:
        return float(self._inner.memory[TIME])

    def write(self, record: Record) -> None:
        self._inner.write(record)

    def _velocity(self) -> Array:
        work = self._inner.work
        return self._evaluate(KICKED_MOMENTUM, 0.0, work.q[None], work.target[None], np.array([self.t])).v[0].copy()

    def _forces_at(self, q: Array, tau: Array) -> Array:
        """Forces at q that do not depend on velocities."""
        self._q[:] = q
        self._place(self.model.tree, self._work, self._q, self._force)
        return self._force + tau

    def _moved(self, q: Array, reach: Array) -> Array:
        """q after the increment `reach`."""
        there = q.copy()
        advance(self.model.tree, there, reach)
        return there

    def _stable(self, q: Array, tau: Array) -> float:
        """2 / omega of the fastest small oscillation at q, s; after the mass matrix there is known."""
        nv = self.model.nv
        stiffness = np.empty((nv, nv))
        for j in range(nv):
            for row, sign in enumerate((1.0, -1.0)):
                reach = np.zeros(nv)
                reach[j] = sign * 1e-5
                self._pulled[row] = self._forces_at(self._moved(q, reach), tau)
            stiffness[:, j] = (self._pulled[1] - self._pulled[0]) / 2e-5
        scaled = self._proof.Ri.T @ (0.5 * (stiffness + stiffness.T)) @ self._proof.Ri
        fastest = float(np.linalg.eigvalsh(scaled)[-1]) if np.isfinite(scaled).all() else np.inf
        return 2.0 / np.sqrt(fastest) if fastest > 0.0 else np.inf

    # ----------------------------------------------------------------------------------------------------- length of a step

    def _density(self, q: Array, v: Array, force: Array) -> float:
        """Q: wanted length of a step is 1/Q, s^-1."""
        scale = self.control[_SCALE]
        if not self._curvature(self._screws, self._proof, q, v, force):
            return np.nan
        gamma, speed, rate = self._proof.out[[GAMMA, SPEED, ACCELERATION]]
        bent = _PUSHED * gamma * rate + _MOVED * (gamma * speed) ** 2
        return float(np.sqrt(1.0 / self.dt**2 + bent / scale**2)) if scale else float(np.sqrt(bent))

    def _growth(self, q: Array, v: Array, tau: Array) -> tuple[float, float]:
        """ln Q half a step later minus ln Q half a step earlier along the motion, exactly antisymmetric under reversal; and ln Q now."""
        now = self._density(q, v, self._forces_at(q, tau))
        half, a = 0.5 / now, self._proof.step.copy()
        there = [(self._moved(q, h * v), v + h * a) for h in (half, -half)]
        later, earlier = (self._density(x, u, self._forces_at(x, tau)) for x, u in there)
        return float(np.log(later / earlier)), float(np.log(now))

    def _find_scale(self, q: Array, v: Array, p: Array, tau: Array) -> None:
        """From the longest certified steps of the first _PROBED nodes: what fraction of them is to be taken."""
        state = State.with_velocity(self.model, self.t, q, p, v)
        probe = CertifiedStepper(CertifiedStep(self.integrator.base, "longest"), self.model, state, self.dt)
        products = []
        for _ in range(_PROBED):
            x, u = probe._inner.work.q.copy(), probe._velocity()
            bent = probe._density(x, u, probe._forces_at(x, tau))
            if probe.advance(1, tau[None], probe.make_record(1, 1)).failure:
                break
            products.append(bent * probe.lengths[-1])
        lowest = float(np.quantile(products, 0.2)) if products else 0.0
        self.control[_SCALE] = self.integrator.fraction * lowest if lowest > 0.0 else np.inf
        self.control[_DENSITY] = np.log(self._density(q, v, self._forces_at(q, tau)))

    def _longest(self, q: Array, v: Array, p: Array, force: Array, h: float) -> tuple[float, int]:
        return self._certify(self._screws, self._proof, q, v, p, force, float(h), 1.0, SHORTEST)

    @property
    def node_density(self) -> float:
        """Logarithm of the density now, between two half steps."""
        control = self.control
        if self.integrator.controller == "longest" or control[_SCALE] == 0.0 or control[_HALVED] == 0.0:
            return float(control[_DENSITY])
        q = self._inner.work.q.copy()
        return float(control[_DENSITY] + 0.5 * self._growth(q, self._velocity(), np.zeros(self.model.nv))[0])

    def _wanted(self, q: Array, v: Array, p: Array, tau: Array) -> float:
        """Length of the next step before it is certified; leaves its density in `control`."""
        control = self.control
        if self.integrator.controller == "longest":
            return min(control[_LAST] if control[_LAST] > 0.0 else self.dt, self.dt)
        if control[_SCALE] == 0.0:
            self._find_scale(q, v, p, tau)
        growth, density = self._growth(q, v, tau)
        before = control[_DENSITY] if control[_HALVED] else control[_DENSITY] - 0.5 * growth
        if not abs(before + 0.5 * growth - density) < _ASTRAY:  # begin it anew
            before = density - 0.5 * growth
            control[_RESETS] += 1.0
        control[_DENSITY] = before + growth
        return float(np.exp(-control[_DENSITY]))

    def _choose(self, q: Array, v: Array, p: Array, tau: Array) -> float:
        """Certified length of the next step; 0 if there is none."""
        control = self.control
        wanted = self._wanted(q, v, p, tau)
        stable = 0.5 * self._stable(q, tau)
        longest = min(wanted, self.dt, stable)
        h, _ = self._longest(q, v, p, self._forces_at(q, tau), longest)
        if 0.0 < h < (1.0 - 1e-12) * wanted and self.integrator.controller == "reversible":
            control[_DENSITY] = -np.log(h)
            control[_SCALE] *= _LESS
            control[_RESETS] += 1.0
        load = float(self._proof.out[LOAD])
        control[_LAST] = h * (min(_GROWTH, _WITHIN / np.sqrt(load)) if load > 0.0 else _GROWTH)
        return float(h)

    # ------------------------------------------------------------------------------------------------------------- steps

    def advance(self, steps: int, tau: Array, record: Record, end: float = np.inf) -> Advance:
        for k in range(steps):
            if not self.t < end:
                return Advance(k)
            row = tau[0 if len(tau) == 1 else k]
            failed = self._step(row, record)
            if failed.failure:
                return Advance(k, failed.failure, failed.residual)
        if not steps:
            self._inner.advance(0, tau, self._inner.make_record(0, 0))
        return Advance(steps)

    def _step(self, tau: Array, record: Record) -> Advance:
        inner, memory, before = self._inner, self._inner.memory, self.control.copy()
        t, v = self.t, self._velocity()
        q, p = inner.work.q.copy(), inner.work.target.copy()
        h = self._choose(q, v, p, tau)
        if not h > 0.0:
            self.control[:] = before
            return Advance(0, "no step from this state can be certified, not even 1e-09 s; leastaction.solvability.certified says why")
        inner.arrays.gamma[0] = h / self.dt
        inner.trapezoid.v[:] = v  # where the theorem lets Newton's method start
        memory[HISTORY] = 0.0
        rewind(self._one)
        result = inner.advance(1, tau[None], self._one)
        if result.failure:
            self.control[:] = before
            return Advance(0, f"a certified step of {h:.3g} s was not solved: {result.failure}", result.residual)
        away = float(np.linalg.norm(self._proof.R @ (inner.trapezoid.v - v)))
        if away > 1.001 * self._proof.out[RADIUS] + 1e-6 * float(np.linalg.norm(self._proof.R @ v)):
            self.control[:] = before
            self._inner = self.integrator.base.start(self.model, State.with_velocity(self.model, t, q, p, v), self.dt)
            self._inner.advance(0, tau[None], self._inner.make_record(0, 0))
            return Advance(0, f"another solution than the certified one was found, {away:.3g} J^(1/2) from the velocity of the node")
        memory[START], memory[STEPS], memory[TIME] = t + h, 0.0, t + h
        self._one.t[0] = t + h
        self.control[_HALVED] = 1.0
        self.lengths.append(h)
        if add_step(record, int(self._one.evaluations[0])):
            copy_row(self._one, 0, record)
        return result

    def certified(self, steps: int) -> Array:
        """Lengths of the last steps, s."""
        return np.array(self.lengths[len(self.lengths) - steps :])

    def take_over(self, before: Stepper, further: int, length: float) -> None:
        assert isinstance(before, CertifiedStepper)
        self.lengths = before.lengths[: len(before.lengths) - further] + array("d", [length])

    @property
    def resets(self) -> int:
        """How often the reversible controller was interfered with: a step was not certified, or not stable, or the density went astray."""
        return int(self.control[_RESETS])

    def remember(self) -> Memory | None:
        inner = self._inner.remember()
        own = {"control": self.control.copy(), "made": np.array([float(len(self.lengths))])}
        return None if inner is None else own | with_prefix("base.", inner)

    def recall(self, memory: Memory) -> None:
        self.control[:] = memory["control"]
        del self.lengths[int(memory["made"][0]) :]
        self._inner.recall(below_prefix("base.", memory))
