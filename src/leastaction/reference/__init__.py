"""Exact and independent solutions to compare integrators with.  They need SciPy, imported when first used.

pendulum   planar pendulum by elliptic functions
free_body  torque-free rigid body by Jacobi's elliptic functions
ode        any model, by an explicit method of order 8 with tight tolerances
"""

from . import free_body, ode, pendulum

__all__ = ["free_body", "ode", "pendulum"]
