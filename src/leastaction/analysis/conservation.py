"""How well a trajectory keeps what physics conserves."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..trajectory import Trajectory, checked_run

Array = NDArray[np.float64]


def energy_error(run: Trajectory) -> Array:
    """(T,) E(t) - E(0), J.  It is an error only where nothing does work: no dampers, wrenches or inputs.

    >>> import leastaction as la
    >>> run = la.simulate(la.examples.chain(2).compile(), dt=1e-2, duration=1.0, q={"link1": 0.5})
    >>> bool(abs(la.analysis.energy_error(run)).max() < 1e-2)  # J
    True
    """
    run = checked_run(run)
    return run.energy - run.energy[0]


def drift(run: Trajectory) -> float:
    """Mean energy of the last tenth minus mean energy of the first tenth of the recorded nodes, J.

    Oscillation averages out, so what is left is the one-sided gain or loss.

    >>> import leastaction as la
    >>> run = la.simulate(la.examples.chain(2).compile(), dt=1e-2, duration=1.0, q={"link1": 0.5})
    >>> bool(abs(la.analysis.drift(run)) < 1e-2)  # J
    True
    """
    return one_sided_change(checked_run(run).energy)


def one_sided_change(energy: Array) -> float:
    """Mean of the last tenth of the numbers minus mean of the first tenth."""
    tenth = max(1, len(energy) // 10)
    return float(energy[-tenth:].mean() - energy[:tenth].mean())


def momentum_error(run: Trajectory) -> Array:
    """(T, 2) length of the change of the total momentum since the start: angular (kg m^2/s), linear (kg m/s).

    It is an error only where no force acts from outside: a floating mechanism without gravity.

    >>> import leastaction as la
    >>> run = la.simulate(la.examples.t_handle().compile(), dt=1e-3, steps=100, v={"handle": (12.0, 0.02, 0, 0, 0, 0)})
    >>> bool(la.analysis.momentum_error(run).max() < 1e-10)  # nothing acts from outside
    True
    """
    run = checked_run(run)
    change = run.momentum - run.momentum[0]
    return np.stack([np.linalg.norm(change[:, :3], axis=1), np.linalg.norm(change[:, 3:], axis=1)], axis=1)
