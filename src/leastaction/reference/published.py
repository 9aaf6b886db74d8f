"""Motions of published problems (`la.examples`, docs/published.md) in as few coordinates as they have freedoms.

Nothing here knows a joint, a constraint or an integrator: energies are written down by hand, their derivatives are complex steps, and
SciPy solves the equations with tight tolerances.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .scipy_import import scipy_module

Solution = Callable[[Any], NDArray[np.float64]]

_STEP = 1e-30  # of the complex steps
_REACH = 1e-3  # of differences of order six


def _solve(rates: Callable, duration: float, start: list[float], method: str, tolerance: float) -> Solution:
    integrate = scipy_module("integrate", "a reference solution")
    return integrate.solve_ivp(rates, (0.0, duration), start, method=method, rtol=tolerance, atol=tolerance, dense_output=True).sol


# ------------------------------------------------------------------------------------------------------------------ slider-cranks


def slider_crank(name: str, duration: float) -> Solution:
    """t (s) -> (angle of the crank, rad; its rate) of "folding", "planar" or "spatial" (`la.examples.<name>_slider_crank`).

    With the kinetic energy m(a) a'^2 / 2:  m a'' + m'(a) a'^2 / 2 + V'(a) = 0
    """
    energies, angle, speed = _SLIDER_CRANKS[name]

    def rates(_: float, state: NDArray[np.float64]) -> list[float]:
        mass = energies(complex(state[0]))[0]
        varied, force = energies(complex(state[0], _STEP))
        return [state[1], -(0.5 * varied.imag * state[1] ** 2 + force.imag) / _STEP / mass.real]

    return _solve(rates, duration, [angle, speed], "DOP853", 1e-12)


def _slope(function: Callable[[complex], complex], a: complex) -> complex:
    near, far, farther = (function(a + s * _REACH) - function(a - s * _REACH) for s in (1, 2, 3))
    return (45 * near - 9 * far + farther) / (60 * _REACH)


def _folding(a: complex) -> tuple[complex, complex]:
    """Rod at the angle -a, its centre at (1.5 cos a, 0.5 sin a)."""
    return 1 / 3 + 1 / 12 + (1.5 * np.sin(a)) ** 2 + (0.5 * np.cos(a)) ** 2, 9.81 * np.sin(a)


def _planar(a: complex) -> tuple[complex, complex]:
    crank, rod = 0.15, 0.3

    def lean(x: complex) -> complex:
        return np.arcsin(crank / rod * np.sin(x))

    rate = _slope(lean, a)
    x = -crank * np.sin(a) - rod / 2 * np.sin(lean(a)) * rate
    y = crank * np.cos(a) - rod / 2 * np.cos(lean(a)) * rate
    slider = -crank * np.sin(a) - rod * np.sin(lean(a)) * rate
    moment = 0.0045339259 - 0.151104 * 0.15**2
    return 0.002727 + 0.151104 * (x * x + y * y) + moment * rate**2 + 0.075552 * slider**2, 0.0 * a


def _spatial(a: complex) -> tuple[complex, complex]:
    """Crank pin at (0, y, z), slider at (x, 0, 0); Rx(turn) Ry(tilt) leads along the rod."""
    rod = 0.3

    def y(b: complex) -> complex:
        return 0.1 - 0.08 * np.sin(b)

    def z(b: complex) -> complex:
        return 0.12 + 0.08 * np.cos(b)

    def x(b: complex) -> complex:
        return np.sqrt(rod * rod - y(b) ** 2 - z(b) ** 2)

    def tilt(b: complex) -> complex:
        return np.arccos(x(b) / rod)

    dx, dy, dz, dtilt = (_slope(f, a) for f in (x, y, z, tilt))
    turn = _slope(lambda b: np.arctan(-y(b) / z(b)), a)
    moving = 0.5 * 0.25 * (dx * dx + dy * dy + dz * dz)
    turning = 4e-4 * (turn * np.cos(tilt(a))) ** 2 + 4e-3 * ((turn * np.sin(tilt(a))) ** 2 + dtilt**2)
    return 1e-4 + moving + turning + 2.0 * dx * dx, 0.5 * 9.81 * 0.5 * z(a)


_SLIDER_CRANKS = {
    "folding": (_folding, np.pi / 4, 2.0 * np.sqrt(2.0)),
    "planar": (_planar, 0.0, 150.0),
    "spatial": (_spatial, 0.0, 6.0),
}


# ------------------------------------------------------------------------------------------------------------------- governor


def governor(duration: float, stiffness: float = 8e5, damping: float = 4e4) -> Solution:
    """t (s) -> (angle of the rods below the horizontal, rad; height of the slider, m; their rates) of `la.examples.flyball_governor`.

    Both rods move alike, and the momentum L about the shaft stays: T = L^2 / 2 I(a) + J a'^2 + m s'^2 / 2, J of one rod.
    """
    thin, rod, ball, slider = 0.01, 0.3, 5.0, 3.0
    slim, long = rod * 2 * thin**2 / 12, rod * (1 + thin**2) / 12

    def inertia(a: Any) -> Any:
        one = long * np.cos(a) ** 2 + slim * np.sin(a) ** 2 + rod * (0.05 + 0.5 * np.cos(a)) ** 2 + ball * (0.05 + np.cos(a)) ** 2
        return slim + slider * 2 * 0.1**2 / 12 + 2.0 * one

    def strut(a: Any, s: Any) -> Any:
        return np.sqrt((0.5 * np.cos(a)) ** 2 + (1 - 0.5 * np.sin(a) - s) ** 2)

    def potential(a: Any, s: Any) -> Any:
        return 9.81 * (slider * s - 2 * (0.5 * rod + ball) * np.sin(a)) + stiffness * (strut(a, s) - 0.5) ** 2

    turn, spin, i = 2.0 * (long + rod * 0.25 + ball), inertia(np.pi / 6) * 2 * np.pi, 1j * _STEP

    def rates(_: float, state: NDArray[np.float64]) -> list[float]:
        a, s, da, ds = state
        by_a, by_s = strut(a + i, s).imag / _STEP, strut(a, s + i).imag / _STEP
        force = 2.0 * damping * (by_a * da + by_s * ds)
        outwards = 0.5 * spin**2 / inertia(a) ** 2 * inertia(a + i).imag / _STEP
        on_a = outwards - potential(a + i, s).imag / _STEP - force * by_a
        return [da, ds, on_a / turn, (-potential(a, s + i).imag / _STEP - force * by_s) / slider]

    return _solve(rates, duration, [np.pi / 6, 0.5, 0.0, 0.0], "Radau", 1e-11)


# ------------------------------------------------------------------------------------------------------------------- heavy top


def heavy_top(
    duration: float, mass: float, height: float, inertia: tuple[float, float], start: tuple[float, float, float, float]
) -> Solution:
    """t (s) -> (nutation angle, rad; its rate) of a symmetric top on its tip; inertia (across, along) about the centre of mass.

    start: (nutation angle, its rate, precession rate, spin of the body about its axis); both momenta about the vertical and about the
    axis stay, and are all that the angle knows of the other two.
    """
    across, along = inertia[0] + mass * height**2, inertia[1]
    angle, rate, precession, spin = start
    about_axis = along * spin
    upwards = across * np.sin(angle) ** 2 * precession + about_axis * np.cos(angle)

    def effective(a: Any) -> Any:
        return (upwards - about_axis * np.cos(a)) ** 2 / (2 * across * np.sin(a) ** 2) + mass * 9.81 * height * np.cos(a)

    def rates(_: float, state: NDArray[np.float64]) -> list[float]:
        return [state[1], -effective(state[0] + 1j * _STEP).imag / _STEP / across]

    return _solve(rates, duration, [angle, rate], "DOP853", 1e-12)
