"""Is a step of `Trapezoid` solvable?  Kantorovich's theorem at the state, in the norm of the kinetic energy.

Newton's method solves e(v) = 0 from the guess v0.  With A the Jacobian at v0 and e2, e3, e4 the higher derivatives of e, let
    eta = |A^-1 e(v0)|,   b = |A^-1 e2(v0)|,   c >= |A^-1 e3(v)| for |v - v0| <= 2 eta
If the majorant  eta - t + b t^2/2 + c t^3/6  has a positive root, Newton's method converges to the only solution within that distance
of v0 (with c = 0 this is the well-known 2 b eta <= 1).  Norms are |x| = (x' M(q) x)^(1/2): in it A is nearly the identity for short
steps, whatever the units and the condition of M.  eta and b are computed, they need no bound; c is bounded by the masses and lengths of
the links, for all coordinates the proof can reach.  That is compiled, and what rounding may do is part of it
(kernels/solvability/certificate.py).

Mechanisms of up to SHARP degrees of freedom in plain coordinates can have one derivative more: c = |A^-1 e3(v0)|, d >= |A^-1 e4(v)|, and
d t^4/24 in the majorant.  Their certified steps are longer by a third to a half, and some hundred times more expensive to find.

Kobilarov 2014 bounds eta, A^-1 and the second derivative by constants of the model: constants.py.  That is (41), and much smaller.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..checks import number, positive, shown, time_step, yes_or_no
from ..errors import StateError
from ..kernels.solvability.layout import DEFECT, EPSILON, ETA, LARGEST, LIMITING, ROOT, SECOND, THIRD
from .equation import StepEquation, checked_equation, in_plain_coordinates

Array = NDArray[np.float64]

SHARP = 8  # degrees of freedom up to which the third derivative is computed: tensors of it grow as their fifth power
LONGEST, SHORTEST = 1e3, 1e-9  # s


@dataclass
class Certificate:
    """What decides whether a step of length h is solvable from the state it was made for.

    >>> import leastaction as la
    >>> model = la.examples.double_pendulum().compile()
    >>> state = model.state({"upper": 1.0})
    >>> equation = la.solvability.StepEquation(model, state)
    >>> certificate = la.solvability.certify(equation, 1e-3)
    >>> bool(certificate.eta <= certificate.largest_eta)
    True
    """

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
        return bool(self.load <= 1.0)


def certify(equation: StepEquation, h: float, sharp: bool | None = None) -> Certificate:
    """The certificate of a step of length h > 0 (s).

    sharp   with one derivative more, which takes time and memory; by default for mechanisms of up to SHARP degrees of freedom, all in
            plain coordinates

    >>> import leastaction as la
    >>> model = la.examples.double_pendulum().compile()
    >>> state = model.state({"upper": 1.0})
    >>> equation = la.solvability.StepEquation(model, state)
    >>> certificate = la.solvability.certify(equation, 1e-3)
    >>> bool(certificate.eta < certificate.largest_eta)  # then the step is solvable
    True
    """
    h = time_step(h)
    proof = checked_equation(equation).judged(h)
    out = proof.out
    largest = float(out[LARGEST])
    if sharp is None:
        sharp = _sharpens(equation)
    elif yes_or_no(sharp, "sharp"):
        in_plain_coordinates(equation)
    if sharp and np.isfinite(out[THIRD]):
        largest = max(largest, _largest_eta(float(out[SECOND]), *_sharpened(equation, h)))
    return Certificate(h, float(out[ETA]), largest, proof.reach.copy(), int(out[LIMITING]))


def _sharpens(equation: StepEquation) -> bool:
    """Is one derivative more to be had, and worth it?"""
    return equation.tensors.plain and len(equation.v0) <= SHARP


def _sharpened(equation: StepEquation, h: float) -> tuple[float, float]:
    """(c, d) of the majorant with d t^4/24, after `judged`; rounding as there."""
    proof = equation.proof
    out, inside = proof.out, 1.0 - proof.out[ROOT]
    more = (1.0 + out[EPSILON]) / (1.0 - out[DEFECT])
    T = np.einsum("ai,ixyz,xp,yq,zr->apqr", proof.Y, equation.third(h), proof.Ri, proof.Ri, proof.Ri, optimize=True)
    c = (_norm(T) * (1.0 + out[EPSILON]) / inside**3 + 2.0 * out[EPSILON] * out[THIRD]) * more
    d = float(np.linalg.norm(np.abs(proof.Y) @ equation.fourth(h, proof.fastest, proof.reach, proof.share))) * more
    return float(c), d


def _norm(tensor: Array) -> float:
    """Upper bound of |tensor[x, y, ...]| over unit arguments: the smallest spectral norm of its unfoldings."""
    n = len(tensor)
    return min(float(np.linalg.norm(np.moveaxis(tensor, k, 0).reshape(n, -1), 2)) for k in range(tensor.ndim))


def _largest_eta(b: float, c: float, d: float) -> float:
    """Maximum of t - b t^2/2 - c t^3/6 - d t^4/24 over t > 0, a little less."""
    if not np.isfinite(b + c + d):
        return 0.0
    if b + c + d == 0.0:  # a linear equation
        return np.inf
    low, high = 0.0, min((f / x) ** (1.0 / k) for k, (x, f) in enumerate(((b, 1.0), (c, 2.0), (d, 6.0)), start=1) if x > 0.0)
    for _ in range(60):  # the derivative falls with t
        t = 0.5 * (low + high)
        low, high = (t, high) if b * t + c * t * t / 2.0 + d * t**3 / 6.0 < 1.0 else (low, t)
    return (low - b * low**2 / 2.0 - c * low**3 / 6.0 - d * low**4 / 24.0) * (1.0 - 1e-14)


def certified_step(equation: StepEquation) -> Certificate:
    """The longest certified step; every shorter one on a grid is certified too.  Infinite if nothing limits it.

    >>> import leastaction as la
    >>> model = la.examples.double_pendulum().compile()
    >>> state = model.state({"upper": 1.0})
    >>> equation = la.solvability.StepEquation(model, state)
    >>> bool(la.solvability.certified_step(equation).h > 1e-2)  # s
    True
    """
    def best(h: float) -> Certificate:
        plain = certify(equation, h, sharp=False)
        return plain if plain.solvable or not _sharpens(equation) else certify(equation, h)

    h = SHORTEST
    last = best(h)
    if not last.solvable:
        return last
    factor = 30.0  # coarse first: the load grows with a power of h
    while h < LONGEST:
        trial = best(factor * h)
        if trial.solvable:
            h, last = factor * h, trial
        elif factor > 1.01:
            factor = np.sqrt(factor)
        else:
            return last
    last.h = np.inf
    return last


def empirical_limit(equation: StepEquation, start: float, factor: float = 1.05, longest: float = 100.0) -> float:
    """The first step on a grid from `start` upwards that pure Newton from the guess does not solve, s; infinite if there is none.

    >>> import leastaction as la
    >>> model = la.examples.double_pendulum().compile()
    >>> state = model.state({"upper": 1.0})
    >>> equation = la.solvability.StepEquation(model, state)
    >>> bool(la.solvability.empirical_limit(equation, start=0.01) > 0.05)  # s
    True
    """
    h, longest = positive(start, "start"), number(longest, "longest", StateError)
    checked_equation(equation)
    if h < SHORTEST or not number(factor, "factor", StateError) > 1.0001:
        raise StateError(f"start = {h:g} s, factor = {shown(factor)}; steps grow by the factor: give {SHORTEST:g} s and 1.0001 or more")
    while h < longest:
        if not equation.newton(h)[1]:
            return h
        h *= factor
    return np.inf
