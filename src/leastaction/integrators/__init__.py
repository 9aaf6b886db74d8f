"""Integrators.  A new integrator is a new file: a subclass of Integrator and its stepper."""

from .base import Integrator
from .variational import Variational

__all__ = ["Integrator", "Variational"]
