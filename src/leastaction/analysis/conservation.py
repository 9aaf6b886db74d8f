"""How well a trajectory keeps what physics conserves."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..trajectory import Trajectory, checked_run

Array = NDArray[np.float64]


def energy_error(run: Trajectory) -> Array:
    """(T,) E(t) - E(0), J.  It is an error only where nothing does work: no dampers, wrenches or inputs."""
    run = checked_run(run)
    return run.energy - run.energy[0]


def drift(run: Trajectory) -> float:
    """Mean energy of the last tenth minus mean energy of the first tenth of the recorded nodes, J.

    Oscillation averages out, so what is left is the one-sided gain or loss.
    """
    return one_sided_change(checked_run(run).energy)


def one_sided_change(energy: Array) -> float:
    """Mean of the last tenth of the numbers minus mean of the first tenth."""
    tenth = max(1, len(energy) // 10)
    return float(energy[-tenth:].mean() - energy[:tenth].mean())


def momentum_error(run: Trajectory) -> Array:
    """(T, 2) length of the change of the total momentum since the start: angular (kg m^2/s), linear (kg m/s).

    It is an error only where no force acts from outside: a floating mechanism without gravity.
    """
    run = checked_run(run)
    change = run.momentum - run.momentum[0]
    return np.stack([np.linalg.norm(change[:, :3], axis=1), np.linalg.norm(change[:, 3:], axis=1)], axis=1)
