"""Integrators.  A new integrator is a new file: a subclass of Integrator and its stepper."""

from .base import Integrator
from .explicit import RK4, RKMK4, Heun, SemiImplicitEuler
from .maximal import Maximal
from .midpoint import Midpoint
from .variational import Variational

__all__ = ["Heun", "Integrator", "Maximal", "Midpoint", "RK4", "RKMK4", "SemiImplicitEuler", "Variational"]
