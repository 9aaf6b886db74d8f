"""Exact motion of the scissor lift (`la.examples.hanging_scissor_lift`): one degree of freedom, its angle theta below the horizontal.

Johnson and Murphey 2009, section VI-C, with the corrected Lagrangian (the link's transverse term is 1/4, its inertia I stands outside
of m L^2):

    L = sum_n [ m L^2 ((n - 1/2)^2 cos^2 + 1/4 sin^2) theta'^2 + I theta'^2 + 2 m g (n - 1/2) L sin ] + 1/2 M L^2 sin^2 theta'^2
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .scipy_import import scipy_module

Array = NDArray[np.float64]


@dataclass(frozen=True)
class ScissorLift:
    """The lift with its numbers; the defaults are those of `la.examples.hanging_scissor_lift`."""

    segments: int = 5
    length: float = 1.0  #: of a link, m
    link_mass: float = 1.0  #: kg
    slider_mass: float = 1.0  #: kg
    inertia: float = 0.0  #: of a link about its midpoint, kg m^2
    gravity: float = 9.81  #: m/s^2

    def inertia_at(self, theta: ArrayLike) -> Array:
        """m(theta) of the kinetic energy m theta'^2 / 2, kg m^2."""
        reach, n = np.cos(theta) ** 2, self.segments
        levels = sum((k - 0.5) ** 2 for k in range(1, n + 1))
        links = 2 * self.link_mass * self.length**2 * (levels * reach + 0.25 * n * (1 - reach)) + 2 * n * self.inertia
        return np.asarray(links + self.slider_mass * self.length**2 * (1 - reach))

    def potential(self, theta: ArrayLike) -> Array:
        """J; the midpoints of segment n hang (n - 1/2) L sin(theta) below the top."""
        return np.asarray(-self.link_mass * self.gravity * self.length * self.segments**2 * np.sin(theta))

    def energy(self, theta: ArrayLike, rate: ArrayLike) -> Array:
        return self.inertia_at(theta) * np.asarray(rate) ** 2 / 2 + self.potential(theta)

    def acceleration(self, theta: ArrayLike, rate: ArrayLike) -> Array:
        """theta'' of the Euler-Lagrange equation, rad/s^2."""
        s, c, n = np.sin(theta), np.cos(theta), self.segments
        levels = sum((k - 0.5) ** 2 for k in range(1, n + 1))
        # half the derivative of m(theta)
        half_slope = (2 * self.link_mass * (0.25 * n - levels) + self.slider_mass) * self.length**2 * s * c
        weight = self.link_mass * self.gravity * self.length * n**2 * c
        return np.asarray((weight - half_slope * np.asarray(rate) ** 2) / self.inertia_at(theta))

    def motion(self, t: ArrayLike, theta: float, rate: float = 0.0, tol: float = 1e-12) -> Array:
        """(T, 2) angle and rate at the times t (increasing, s), starting at t[0]; integrated with DOP853 at the tolerance tol."""
        integrate = scipy_module("integrate", "leastaction.reference.scissor")
        t = np.asarray(t, dtype=float)
        solution = integrate.solve_ivp(
            lambda _, y: (y[1], float(self.acceleration(y[0], y[1]))), (t[0], t[-1]), (theta, rate), "DOP853", t_eval=t, rtol=tol, atol=tol
        )
        return solution.y.T

    def period(self, theta: float) -> float:
        """Of the swing from rest at theta (0 < theta < pi/2) through pi/2 and back, s; by quadrature of the energy integral."""
        integrate = scipy_module("integrate", "leastaction.reference.scissor")

        def slowness(u: float) -> float:
            # theta = pi/2 - a cos(u), a = pi/2 - theta_0: the square root at the turning points cancels
            angle = np.pi / 2 - (np.pi / 2 - theta) * np.cos(u)
            drop = float(self.potential(theta) - self.potential(angle))
            if drop <= 0.0:
                return 0.0
            return float(np.sqrt(self.inertia_at(angle) / (2 * drop))) * (np.pi / 2 - theta) * float(np.sin(u))

        quarter = integrate.quad(slowness, 0.0, np.pi / 2, epsabs=1e-13, epsrel=1e-12, limit=200)[0]
        return 4 * quarter
