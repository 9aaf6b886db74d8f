"""Integrators.  A new integrator is a new file: a subclass of Integrator and its stepper."""

from .adaptive import AdaptiveStep
from .base import Integrator
from .composition import Composition
from .explicit import RK4, RKMK4, Heun, SemiImplicitEuler
from .maximal import Maximal
from .midpoint import Midpoint
from .trapezoid import FloatingBase, Trapezoid
from .variational import Variational

__all__ = [
    "AdaptiveStep", "Composition", "FloatingBase", "Heun", "Integrator", "Maximal", "Midpoint", "RK4", "RKMK4", "SemiImplicitEuler",
    "Trapezoid", "Variational",
]  # fmt: skip
