"""The same mechanism simulated in minimal and in maximal coordinates: two ways to one motion."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..checks import instance, number, shown, time_step
from ..dynamics.charts import in_charts_of
from ..errors import StateError
from ..integrators import Integrator, Maximal, Variational
from ..mechanism import Mechanism
from ..model import Coordinates, Model, checked_model
from ..simulate import simulate
from ..trajectory import Trajectory

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Crosscheck:
    """What `crosscheck` found.  Errors are in q (m, rad) at the common times, largest entry.

    >>> import leastaction as la
    >>> found = la.crosscheck(la.examples.chain(2), dt=1e-3, duration=0.1, q={"link1": 0.5})
    >>> found.agree
    True
    """

    minimal: Trajectory
    maximal: Trajectory
    difference: Array  #: (T,) between the two
    minimal_error: Array  #: (T,) of each, estimated from the same run with half the step
    maximal_error: Array  #: (T,)

    @property
    def agree(self) -> bool:
        """Is the difference within the sum of the two error estimates (and rounding)?"""
        floor = 1e-9 * (1.0 + np.abs(self.minimal.q).max())
        return bool(np.all(self.difference <= self.minimal_error + self.maximal_error + floor))

    def _repr_html_(self) -> str:
        from ..page import tables

        rows = [("integrator", "estimated error", "largest constraint error", "time per step")]
        for run, error in ((self.minimal, self.minimal_error), (self.maximal, self.maximal_error)):
            cost = f"{1e6 * run.elapsed / max(run.steps, 1):.1f} µs"
            rows.append((type(run.integrator).__name__, f"{error.max():.3g}", f"{run.constraint_error.max():.2g}", cost))
        return tables.of_rows(f"two ways to one motion: {self.minimal.model.name}", rows, [str(self)])

    def __str__(self) -> str:
        return (
            f"largest difference {self.difference.max():.3g}; estimated errors {self.minimal_error.max():.3g} (minimal) and "
            f"{self.maximal_error.max():.3g} (maximal); constraints within {self.maximal.constraint_error.max():.2g}; "
            f"{'they agree' if self.agree else 'THEY DISAGREE'}"
        )


def crosscheck(
    mechanism: Mechanism | Model,
    *,
    dt: float,
    duration: float,
    q: Coordinates = None,
    v: Coordinates = None,
    minimal: Variational | None = None,
    maximal: Maximal | None = None,
) -> Crosscheck:
    """Simulate a mechanism with `Variational` and with `Maximal`, each also with half the step, and compare.

    >>> import leastaction as la
    >>> found = la.crosscheck(la.examples.chain(3), dt=1e-3, duration=0.2, q={"link1": 0.7})
    >>> found.agree
    True
    """
    model = mechanism.compile() if isinstance(mechanism, Mechanism) else mechanism
    model = checked_model(model)
    dt, duration = time_step(dt), number(duration, "duration", StateError)
    if not 0.0 < duration / dt < 1e9:
        raise StateError(f"duration = {shown(duration)} s is {duration / dt:.3g} steps of dt = {dt:g} s; give one of 1 to 1e9 steps")
    steps = round(duration / dt)
    for name, given, kind in (("minimal", minimal, Variational), ("maximal", maximal, Maximal)):
        if given is not None:
            instance(given, kind, name, f"give {kind.__name__}(...)")

    def run(integrator: Integrator, halved: bool) -> Trajectory:
        factor = 2 if halved else 1
        return simulate(model, q=q, v=v, dt=dt / factor, steps=factor * steps, record_every=factor, integrator=integrator)

    first, second = minimal or Variational(), maximal or Maximal()
    a, b = run(first, False), run(second, False)
    # second order: the error is 4/3 of the difference to half the step
    errors = [4.0 / 3.0 * _distance(model, x.q, run(i, True).q) for i, x in ((first, a), (second, b))]
    return Crosscheck(a, b, _distance(model, a.q, b.q), *errors)


def _distance(model: Model, a: Array, b: Array) -> Array:
    """(T,) largest difference of coordinates (T, nq).

    A quaternion and its negative are the same; joints with two charts are compared in the one that a has.
    """
    if any(body.joint.charts > 1 for body in model.bodies):
        b = np.array([in_charts_of(model, there, here) for here, there in zip(a, b, strict=True)])
    difference = b - a
    for body in model.bodies:
        if body.joint.has_quaternion:
            where = model.q_slice(body.joint_name)
            part = slice(where.stop - 4, where.stop)
            opposite = np.sum(a[:, part] * b[:, part], axis=1) < 0.0
            difference[opposite, part] = -b[opposite, part] - a[opposite, part]
    return np.abs(difference).max(axis=1)
