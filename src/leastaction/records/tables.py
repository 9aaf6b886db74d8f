"""Runs as tables of pandas and xarray."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..trajectory import Trajectory

if TYPE_CHECKING:
    import pandas
    import xarray


def _room(name: str, method: str) -> Any:
    from importlib import import_module

    try:
        return import_module(name)
    except ImportError:
        raise ImportError(f"run.{method}() needs {name}, which is not installed; pip install 'leastaction[tables]'") from None


def velocity_names(run: Trajectory) -> list[str]:
    """One name per entry of v: that of the joint, with a number if it has several."""
    return [
        body.joint_name if body.joint.nv == 1 else f"{body.joint_name}.{j}" for body in run.model.bodies for j in range(body.joint.nv)
    ]  # fmt: skip


def to_pandas(run: Trajectory) -> pandas.DataFrame:
    """Indexed by time: (q, name), (v, name), (p, name), energy, constraint_error."""
    pd = _room("pandas", "to_pandas")
    rates = velocity_names(run)
    columns = [("q", name) for name in run.model.coordinate_names] + [(what, name) for what in ("v", "p") for name in rates]
    columns += [("energy", ""), ("constraint_error", "")]
    values = np.column_stack([run.q, run.v, run.p, run.energy, run.constraint_error])
    return pd.DataFrame(values, index=pd.Index(run.t, name="t"), columns=pd.MultiIndex.from_tuples(columns))


def to_xarray(run: Trajectory) -> xarray.Dataset:
    """Variables q, v, p, energy, momentum, constraint_error over time, with names of coordinates and units."""
    xr = _room("xarray", "to_xarray")
    rates = velocity_names(run)
    momentum = ["angular x", "angular y", "angular z", "linear x", "linear y", "linear z"]
    return xr.Dataset(
        {
            "q": (("t", "coordinate"), run.q), "v": (("t", "freedom"), run.v), "p": (("t", "freedom"), run.p),
            "energy": ("t", run.energy, {"units": "J"}), "momentum": (("t", "component"), run.momentum),
            "constraint_error": ("t", run.constraint_error),
        },
        coords={
            "t": ("t", run.t, {"units": "s"}), "coordinate": run.model.coordinate_names, "freedom": rates, "component": momentum,
        },
        attrs={"model": run.model.name, "integrator": repr(run.integrator), "dt": run.dt, "message": run.message},
    )  # fmt: skip
