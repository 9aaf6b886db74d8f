"""Is a step of `Trapezoid` solvable?  Kantorovich's theorem at the state, in the norm of the kinetic energy.

Newton's method solves e(v) = 0 from the guess v0.  With A the Jacobian at v0 and e2, e3, e4 the higher derivatives of e, let
    eta = |A^-1 e(v0)|,   b = |A^-1 e2(v0)|,   c = |A^-1 e3(v0)|,   d >= |A^-1 e4(v)| for |v - v0| <= 2 eta
If the majorant  eta - t + b t^2/2 + c t^3/6 + d t^4/24  has a positive root, Newton's method converges to the only solution within
that distance of v0 (with c = d = 0 this is the well-known 2 b eta <= 1).  Norms are |x| = (x' M(q) x)^(1/2): in it A is nearly the
identity for short steps, whatever the units and the condition of M.  eta, b and c are computed, they need no bound; d is bounded by
the masses and lengths of the links (tensors.py), for all coordinates the proof can reach.

Kobilarov 2014 bounds eta, A^-1 and the second derivative by constants of the model: constants.py.  That is (41), and much smaller.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .equation import StepEquation

Array = NDArray[np.float64]

_ROUNDING = 1.0 + 1e-9  # everything is enlarged by this, far more than what rounding adds
LONGEST, SHORTEST = 1e3, 1e-9  # s


@dataclass
class Certificate:
    """What decides whether a step of length h is solvable from the state it was made for."""

    h: float  #: s
    eta: float  #: length of the first Newton correction, in the norm of the kinetic energy, J^(1/2)
    largest_eta: float  #: the longest for which the majorant has a root
    reach: Array  #: (nv,) the neighbourhood U: the proof looks at coordinates within this distance of q, rad or m
    limiting: int  #: degree of freedom that contributes most to the second derivative along the first correction

    @property
    def load(self) -> float:
        """Up to 1 the step is solvable."""
        return self.eta / self.largest_eta if self.largest_eta > 0.0 else np.inf

    @property
    def solvable(self) -> bool:
        return self.load <= 1.0


def certify(equation: StepEquation, h: float) -> Certificate:
    """The certificate of a step of length h (s)."""
    nv, v0 = len(equation.v0), equation.v0
    root = np.linalg.cholesky(equation.M).T  # M = root' root, |x| = |root x|_2
    inverse = np.linalg.inv(root)
    try:
        A_inverse = np.linalg.inv(equation.jacobian(v0, h))
    except np.linalg.LinAlgError:
        return Certificate(h, np.inf, 0.0, np.full(nv, np.inf), 0)
    correction = A_inverse @ equation.value(v0, h)
    eta = float(np.linalg.norm(root @ correction)) * _ROUNDING
    B, T = equation.higher(v0, h)
    left = root @ A_inverse
    b = _norm(np.einsum("ai,ixy,xp,yq->apq", left, B, inverse, inverse, optimize=True)) * _ROUNDING
    c = _norm(np.einsum("ai,ixyz,xp,yq,zr->apqr", left, T, inverse, inverse, inverse, optimize=True)) * _ROUNDING
    # how far coordinate rates and coordinates can get inside the ball: |x_j| <= (M^-1)_jj^(1/2) |x|
    share = np.linalg.norm(inverse, axis=1)
    fastest = np.abs(v0) + 2.0 * eta * share
    reach = abs(h) * fastest
    d = float(np.linalg.norm(np.abs(left) @ equation.fourth(h, fastest, reach, share))) * _ROUNDING
    along = np.einsum("ixy,x,y->xi", B, correction, correction) @ left.T
    limiting = int(np.argmax(np.linalg.norm(along, axis=1)))
    return Certificate(h, eta, _largest_eta(b, c, d), reach, limiting)


def _norm(tensor: Array) -> float:
    """Upper bound of |tensor[x, y, ...]| over unit arguments: the smallest spectral norm of its unfoldings."""
    n = len(tensor)
    return min(float(np.linalg.norm(np.moveaxis(tensor, k, 0).reshape(n, -1), 2)) for k in range(tensor.ndim))


def _largest_eta(b: float, c: float, d: float) -> float:
    """Maximum of t - b t^2/2 - c t^3/6 - d t^4/24 over t > 0."""
    if not np.isfinite(b + c + d):
        return 0.0
    if b + c + d == 0.0:  # a linear equation
        return np.inf
    low, high = 0.0, min((f / x) ** (1.0 / k) for k, (x, f) in enumerate(((b, 1.0), (c, 2.0), (d, 6.0)), start=1) if x > 0.0)
    for _ in range(60):  # the derivative falls with t
        t = 0.5 * (low + high)
        low, high = (t, high) if b * t + c * t * t / 2.0 + d * t**3 / 6.0 < 1.0 else (low, t)
    return low - b * low**2 / 2.0 - c * low**3 / 6.0 - d * low**4 / 24.0


def certified_step(equation: StepEquation) -> Certificate:
    """The longest certified step; every shorter one on a grid is certified too.  Infinite if nothing limits it."""
    h = SHORTEST
    last = certify(equation, h)
    if not last.solvable:
        return last
    factor = 30.0  # coarse first: the load grows with a power of h
    while h < LONGEST:
        trial = certify(equation, factor * h)
        if trial.solvable:
            h, last = factor * h, trial
        elif factor > 1.01:
            factor = np.sqrt(factor)
        else:
            return last
    last.h = np.inf
    return last


def empirical_limit(equation: StepEquation, start: float, factor: float = 1.05, longest: float = 100.0) -> float:
    """The first step on a grid from `start` upwards that pure Newton from the guess does not solve, s; infinite if there is none."""
    h = start
    while h < longest:
        if not equation.newton(h)[1]:
            return h
        h *= factor
    return np.inf
