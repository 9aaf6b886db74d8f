"""What a trajectory says about its integrator: pure functions of arrays, nothing is drawn."""

from .conservation import drift, energy_error, momentum_error
from .convergence import convergence_order

__all__ = ["convergence_order", "drift", "energy_error", "momentum_error"]
