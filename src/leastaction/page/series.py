"""The curves below the scene: energy, momentum, joints, constraint error."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..drawing.labels import speed_names, units
from ..drawing.runs import Array, extremes
from ..trajectory import Trajectory
from .pack import Pack, short

_MOST_POINTS = 2000  # of a curve
_FEWEST_POINTS = 60  # of a joint's curve
_MOST_NUMBERS = 500_000  # of all joints together


def curves(run: Trajectory, pack: Pack) -> dict[str, Any]:
    """Curves of a run, as JSON with arrays in the pack."""
    t = run.t
    momentum = run.momentum
    found: dict[str, Any] = {
        "energy": _panel(t, {"total": run.energy, "kinetic": run.kinetic, "potential": run.potential}, pack),
        "angular": _panel(t, {axis: momentum[:, i] for i, axis in enumerate("xyz")}, pack),
        "linear": _panel(t, {axis: momentum[:, 3 + i] for i, axis in enumerate("xyz")}, pack),
    }
    if run.errors is not None:
        found["error"] = _panel(t, {"largest": np.abs(run.constraint_error)}, pack)
    model = run.model
    most = int(np.clip(_MOST_NUMBERS // (model.nq + model.nv), _FEWEST_POINTS, _MOST_POINTS))
    found["joints"] = []
    for body in model.bodies:
        q, v = run.q[:, model.q_slice(body.joint_name)], run.v[:, model.v_slice(body.joint_name)]
        found["joints"].append({
            "name": body.joint_name, "units": [units(body, ""), units(body, "/s")],
            "q": _panel(t, dict(zip(body.joint.coordinates, q.T, strict=False)), pack, most),
            "v": _panel(t, dict(zip(speed_names(body), v.T, strict=True)), pack, most),
        })  # fmt: skip
    return found


def arrow(name: str, row: int, point: Array, t: Array, vectors: Array, pack: Pack) -> dict[str, Any]:
    """A vector (T, 3), world axes, that starts at a point of a row: a force."""
    panel = _panel(t, {axis: vectors[:, i] for i, axis in enumerate("xyz")}, pack)
    return {"name": name, "row": row, "point": short(point), "panel": panel}


def _panel(t: Array, columns: dict[str, Array], pack: Pack, most: int = _MOST_POINTS) -> dict[str, Any]:
    """Curves over common times: those where one of them is extreme."""
    keep = np.unique(np.concatenate([extremes(np.nan_to_num(y), most) for y in columns.values()]))
    return {"t": pack.times(t[keep]), "curves": [{"name": name, **pack.curve(y[keep])} for name, y in columns.items()]}
