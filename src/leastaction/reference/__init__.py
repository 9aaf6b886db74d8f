"""Exact and independent solutions to compare integrators with.  They need SciPy, imported when first used.

pendulum   planar pendulum by elliptic functions
free_body  torque-free rigid body by Jacobi's elliptic functions
scissor    scissor lift with one degree of freedom (corrected Lagrangian of Johnson and Murphey)
ode        any model, by an explicit method of order 8 with tight tolerances
published  slider-cranks, flyball governor and heavy top of docs/published.md in as few coordinates as they have freedoms
rigid_body Kobilarov's three integrators of a turning body, and the steps they can solve
"""

from . import free_body, ode, pendulum, published, rigid_body, scissor

__all__ = ["free_body", "ode", "pendulum", "published", "rigid_body", "scissor"]
