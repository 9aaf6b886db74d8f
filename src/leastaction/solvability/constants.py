"""The constants of Kobilarov 2014, Assumption 1, and the steps that follow from them: (32), (38) and (41), corrected.

Norms are Euclidean in coordinates, as in the paper.  The neighbourhood U is the ball of radius `radius` round q.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..checks import instance, number, numbers, one_of, positive, whole_number
from ..errors import StateError
from .equation import StepEquation, in_plain_coordinates

Array = NDArray[np.float64]

_ABOVE = 1.0 + 1e-12  # sums of products of positive numbers, rounded up: at most n^4 roundings
_RADII = np.geomspace(1e-4, 3.0, 12)  # of the neighbourhood U, in coordinates


@dataclass(frozen=True)
class Constants:
    """m1 <= M <= m2; l0, l1: first, l2: second derivatives of M; l3 .. l6: derivatives of the forces in v (27)-(31).

    Dampers are the only forces here that depend on v, so l3 .. l6 are zero.

    >>> import leastaction as la
    >>> model = la.examples.double_pendulum().compile()
    >>> state = model.state({"upper": 1.0})
    >>> equation = la.solvability.StepEquation(model, state)
    >>> constants = la.solvability.certified_constants(equation, radius=0.1)
    >>> constants.radius
    0.1
    """

    kind: str  #: "certified" or "sampled"
    radius: float  #: of U, in coordinates
    m1: float
    m2: float
    l0: float
    l1: float
    l2: float
    l3: float
    l4: float
    l5: float
    l6: float
    k1: float = 0.0  #: smallest damper; forces -K v with K >= k1 are not counted in l3 and l4: they help

    def velocity_slope(self, speed: float) -> float:
        """What the forces take from the Jacobian at a velocity of this norm, (30); negative where dampers add to it."""
        return self.l3 * speed + self.l4 - self.k1


def certified_constants(equation: StepEquation, radius: float) -> Constants:
    """Bounds valid on all of U: derivatives of M from masses and lengths, its eigenvalues from those at q and l0.

    >>> import leastaction as la
    >>> model = la.examples.double_pendulum().compile()
    >>> state = model.state({"upper": 1.0})
    >>> equation = la.solvability.StepEquation(model, state)
    >>> constants = la.solvability.certified_constants(equation, radius=0.1)
    >>> bool(constants.m1 < constants.m2)
    True
    """
    radii = np.full(len(in_plain_coordinates(equation).q), positive(radius, "radius"))
    _, M1, M2 = equation.tensors.bounds(equation.q, radii, 2)
    first, second = _unfolded(M1), _unfolded(M2)
    first, second = _ABOVE * first, _ABOVE * second
    eigenvalues = np.linalg.eigvalsh(equation.M)
    known = 1e-13 * (len(equation.q) + 8) * equation.tensors.magnitude(equation.q, radii)  # what rounding may have done to them
    return Constants(
        "certified", radius, eigenvalues[0] - first * radius - known, eigenvalues[-1] + first * radius + known, first, first, second,
        0.0, 0.0, 0.0, 0.0, float(equation.damping.min()),
    )  # fmt: skip


def sampled_constants(equation: StepEquation, radius: float, samples: int = 100, seed: int = 0) -> Constants:
    """The largest (smallest) values met at random points of U and random directions: estimates from below, not bounds.

    >>> import leastaction as la
    >>> model = la.examples.double_pendulum().compile()
    >>> state = model.state({"upper": 1.0})
    >>> equation = la.solvability.StepEquation(model, state)
    >>> constants = la.solvability.sampled_constants(equation, radius=0.1, samples=5)
    >>> constants.kind
    'sampled'
    """
    radius, samples = positive(radius, "radius"), whole_number(samples, 1, "samples")
    rng = np.random.default_rng(whole_number(seed, 0, "seed"))
    n = len(in_plain_coordinates(equation).q)
    low, high, l0, l1, l2 = np.inf, 0.0, 0.0, 0.0, 0.0

    def norm(matrix: Array) -> float:
        return float(np.linalg.norm(matrix, 2))

    for _ in range(samples):
        direction = rng.normal(size=n)
        q = equation.q + radius * rng.uniform() ** (1.0 / n) * direction / np.linalg.norm(direction)
        M, M1, M2 = equation.tensors.at(q, 2)
        eigenvalues = np.linalg.eigvalsh(M)
        low, high = min(low, float(eigenvalues[0])), max(high, float(eigenvalues[-1]))
        for v in rng.normal(size=(5, n)):
            v /= np.linalg.norm(v)
            l0 = max(l0, norm(M1 @ v))
            l1 = max(l1, norm(np.einsum("abk,b->ak", M1, v)))
            w = rng.normal(size=n)
            l2 = max(l2, norm(np.einsum("abkl,b,l->ak", M2, v, w / np.linalg.norm(w))))
    return Constants("sampled", radius, low, high, l0, l1, l2, 0.0, 0.0, 0.0, 0.0, float(equation.damping.min()))


def _unfolded(tensor: Array) -> float:
    n = len(tensor)
    return min(float(np.linalg.norm(np.moveaxis(tensor, k, 0).reshape(n, -1), 2)) for k in range(tensor.ndim))


def regular_step(c: Constants, speed: float) -> float:
    """(32): the Jacobian at a velocity of this norm is regular for every shorter step.

    >>> import leastaction as la
    >>> model = la.examples.double_pendulum().compile()
    >>> state = model.state({"upper": 1.0})
    >>> equation = la.solvability.StepEquation(model, state)
    >>> constants = la.solvability.certified_constants(equation, radius=0.01)
    >>> bool(la.solvability.regular_step(constants, speed=1.0) > 0.0)  # s
    True
    """
    instance(c, Constants, "c", "make it with certified_constants(equation, radius)")
    speed = number(speed, "speed", StateError)
    a, b = c.l2 * speed * speed, c.velocity_slope(speed)
    if c.m1 <= 0.0:
        return 0.0
    if a == 0.0:
        return 2.0 * c.m1 / b if b > 0.0 else np.inf
    root = np.sqrt(b * b + 8.0 * a * c.m1)
    return 4.0 * c.m1 / (root + b) if b > 0.0 else (root - b) / (2.0 * a)  # written without cancellation


def certified_regular_step(equation: StepEquation, radii: Array | None = None) -> float:
    """The longest step by (32) over all radii of U; q + h v has to stay inside, where the constants hold.

    >>> import leastaction as la
    >>> model = la.examples.double_pendulum().compile()
    >>> state = model.state({"upper": 1.0})
    >>> equation = la.solvability.StepEquation(model, state)
    >>> bool(la.solvability.certified_regular_step(equation) > 1e-3)  # s
    True
    """
    speed, found = float(np.linalg.norm(in_plain_coordinates(equation).v0)), [0.0]
    for radius in _RADII if radii is None else _checked_radii(radii):
        inside = radius / speed if speed > 0.0 else np.inf
        found.append(min(regular_step(certified_constants(equation, radius), speed), inside))
    return max(found)


@dataclass(frozen=True)
class Bounds:
    """(34)-(39) at a velocity: |e| <= h L0, |De - M| <= h L1, Lipschitz constant of De h (L2 + L3 |v|), L3 = (h l2 + l5)/2.

    >>> import leastaction as la
    >>> model = la.examples.double_pendulum().compile()
    >>> state = model.state({"upper": 1.0})
    >>> equation = la.solvability.StepEquation(model, state)
    >>> constants = la.solvability.certified_constants(equation, radius=0.1)
    >>> bounds = la.solvability.Bounds(constants, speed=1.0, L0=la.solvability.residual_bound(equation, constants))
    >>> bool(bounds.L0 > 0.0)
    True
    """

    constants: Constants
    speed: float  #: |v0|
    L0: float

    @property
    def L1(self) -> float:
        c = self.constants
        return c.l1 * self.speed + 0.5 * c.velocity_slope(self.speed)

    def correction(self, h: float) -> float:
        """Bound of the first Newton correction, from (34) and (36)."""
        rest = self.constants.m1 - h * self.L1
        return h * self.L0 / rest if rest > 0.0 else np.inf

    def fastest(self, h: float) -> float:
        """(37): norm of any Newton iterate."""
        return self.speed + 2.0 * self.correction(h)

    def phi(self, h: float) -> float:
        """(38), with 2 m1: negative while all Newton iterates have a regular Jacobian."""
        c, v = self.constants, self.fastest(h)
        return c.l2 * v * v * h * h + c.velocity_slope(v) * h - 2.0 * c.m1

    def psi(self, h: float) -> float:
        """Kantorovich's condition (42), from which (41) follows with 3 m1^2 L1: negative while Newton's method converges."""
        c = self.constants
        rest = c.m1 - h * self.L1
        if rest <= 0.0:
            return np.inf
        lipschitz = h * (0.5 * (c.l0 + 2.0 * c.l1 + c.l6) + 0.5 * (h * c.l2 + c.l5) * self.fastest(h))
        return lipschitz * self.correction(h) / rest - 0.5

    def holds(self, h: float) -> bool:
        """Are all conditions met, q + h v inside U included?"""
        return self.constants.m1 > 0.0 and h * self.fastest(h) <= self.constants.radius and self.phi(h) < 0.0 and self.psi(h) < 0.0

    def step(self) -> float:
        """The longest step for which all conditions hold, and for every shorter one."""
        if not self.holds(1e-300):
            return 0.0
        low, high = 0.0, 1.0
        while self.holds(high):
            low, high = high, 2.0 * high
            if high > 1e6:
                return np.inf
        for _ in range(60):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if self.holds(middle) else (low, middle)
        return low


def _checked_radii(radii: Array) -> Array:
    given = np.atleast_1d(numbers(radii, "radii", StateError))
    if given.ndim != 1 or not len(given) or given.min() <= 0.0:
        raise StateError(f"radii have shape {given.shape}; give one or several numbers > 0 of coordinates, rad or m")
    return given


def residual_bound(equation: StepEquation, c: Constants) -> float:
    """L0 of (34) in momentum form: |e(v0)| <= h L0.

    >>> import leastaction as la
    >>> model = la.examples.double_pendulum().compile()
    >>> state = model.state({"upper": 1.0})
    >>> equation = la.solvability.StepEquation(model, state)
    >>> constants = la.solvability.certified_constants(equation, radius=0.1)
    >>> bool(la.solvability.residual_bound(equation, constants) > 0.0)
    True
    """
    v = in_plain_coordinates(equation).v0
    instance(c, Constants, "c", "make it with certified_constants(equation, radius)")
    slope = np.einsum("abk,a,b->k", equation.M1, v, v)
    forces = 0.25 * slope + 0.5 * (equation.force - equation.damping * v)
    return 0.5 * c.l0 * float(v @ v) + float(np.linalg.norm(forces))


def paper_step(equation: StepEquation, kind: str = "certified", radii: Array | None = None) -> tuple[float, Constants]:
    """The longest step by (41) over all radii of U, and the constants it comes from.

    >>> import leastaction as la
    >>> model = la.examples.double_pendulum().compile()
    >>> state = model.state({"upper": 1.0})
    >>> equation = la.solvability.StepEquation(model, state)
    >>> step, constants = la.solvability.paper_step(equation)
    >>> bool(step > 1e-4)  # s
    True
    """
    found, known = [], {"certified": _RADII, "sampled": np.geomspace(1e-4, 3.0, 5)}
    in_plain_coordinates(equation)
    for radius in known[one_of(kind, known, "kind")] if radii is None else _checked_radii(radii):
        c = certified_constants(equation, radius) if kind == "certified" else sampled_constants(equation, radius, 40)
        found.append((Bounds(c, float(np.linalg.norm(equation.v0)), residual_bound(equation, c)).step(), c))
    return max(found, key=lambda pair: pair[0])
