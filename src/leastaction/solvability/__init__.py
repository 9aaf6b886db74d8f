"""When is a step solvable?  Bounds on the step, certified or estimated (Kobilarov 2014).

report(model, state, dt)     a table of everything that limits the step, each entry labelled with how it is known
certified(model, state)      the longest step of Trapezoid that is certified to be solvable, s
CertifiedStep()              Trapezoid with a certified step at every node

Behind them: StepEquation and certify (kantorovich.py), the constants of the paper (constants.py), derivatives of the mass matrix
and their bounds from masses and lengths (tensors.py).
"""

from .constants import (
    Bounds,
    Constants,
    certified_constants,
    certified_regular_step,
    paper_step,
    regular_step,
    residual_bound,
    sampled_constants,
)
from .equation import StepEquation
from .kantorovich import Certificate, certified_step, certify, empirical_limit
from .oscillation import stable_step
from .report import Report, bound_in_words, certified, certified_dt, report, tried_limit
from .stepping import CertifiedStep
from .tensors import MassTensors

__all__ = [
    "Bounds", "Certificate", "CertifiedStep", "Constants", "MassTensors", "Report", "StepEquation", "bound_in_words", "certified",
    "certified_constants", "certified_dt", "certified_regular_step", "certified_step", "certify", "empirical_limit", "paper_step",
    "regular_step", "report", "residual_bound", "sampled_constants", "stable_step", "tried_limit",
]  # fmt: skip
