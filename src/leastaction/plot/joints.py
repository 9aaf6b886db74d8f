"""Joint coordinates and velocities over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..checks import listed, shown
from ..drawing.labels import speed_names, units
from ..drawing.runs import Array, Path, Runs, named_runs
from ..errors import StateError
from ..mechanism import Body
from .canvas import finish, headed, label_y, legend, line, panels

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MOST_PANELS = 8  # a figure with more is not readable


def joints(
    runs: Runs, *names: str, labels: Sequence[str] | None = None, title: str | None = None, save_to: Path | None = None
) -> Figure:
    """Coordinates (left) and velocities (right) of the named joints over time (s), one row per joint.

    Without names: all joints, or the first eight of them.  Several runs are drawn in different colours (of joints with
    several degrees of freedom: in different dashes).

    >>> import leastaction as la
    >>> run = la.simulate(la.examples.chain(2).compile(), dt=1e-2, duration=1.0, q={"link1": 0.5})
    >>> figure = la.plot.joints(run, "link1", "link2")  # save_to="picture.png" writes it
    """
    named = named_runs(runs, labels)
    first = next(iter(named.values()))
    for label, run in named.items():
        if run.model.joint_names != first.model.joint_names:
            raise StateError(f"run {label!r} is of {run.model!r}, with other joints than {first.model!r}; compare runs of one mechanism")
    chosen = _choose(first.model.bodies, first.model.joint_names, names)
    left_out = not names and len(chosen) < len(first.model.bodies)
    heading = f"Joints: {first.model.name}" + (f" (first {len(chosen)} of {len(first.model.bodies)})" if left_out else "")
    figure, axes = panels(len(chosen), headed(title, heading), columns=2, height=1.5)
    compared = len(named) > 1
    for row, body in enumerate(chosen):
        left, right = axes[2 * row], axes[2 * row + 1]
        for i, (label, run) in enumerate(named.items()):
            _draw(left, run.t, run[body.joint_name], body.joint.coordinates, i, label, compared)
            speeds = run.v[:, run.model.v_slice(body.joint_name)]
            _draw(right, run.t, speeds, speed_names(body), i, label, compared)
        label_y(left, f"{body.joint_name}\n{units(body, '')}")
        label_y(right, units(body, "/s"))
        if (compared and row == 0) or body.joint.nv > 1:
            legend(left)
        if body.joint.has_quaternion:
            legend(right)
    return finish(figure, save_to)


def _choose(bodies: Sequence[Body], known: Sequence[str], names: Sequence[str]) -> list[Body]:
    for name in names:
        if not isinstance(name, str) or name not in known:
            raise StateError(f"there is no joint {shown(name)} to plot; joints are {listed(known)}")
    if not names:
        return list(bodies[:_MOST_PANELS])
    return [bodies[list(known).index(name)] for name in names]


def _draw(axes: Axes, t: Array, columns: Array, parts: Sequence[str], run: int, label: str, compared: bool) -> None:
    """One run of one joint: its parts differ in colour; if runs are compared, these do and the parts differ in dash."""
    for j, part in enumerate(parts):
        if not compared:
            line(axes, t, columns[:, j], j, part)
        else:
            several = len(parts) > 1  # a single part leaves the dashes to the runs, which often lie on top of each other
            line(axes, t, columns[:, j], run, f"{label}: {part}" if several else label, dash=j if several else run)
