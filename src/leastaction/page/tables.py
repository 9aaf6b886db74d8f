"""What notebooks show of mechanisms, models and runs: tables with a picture.  Nothing here compiles a kernel or fails."""

from __future__ import annotations

import html
from collections.abc import Sequence

import numpy as np

from ..drawing.runs import COLOURS, Array, thinned
from ..drawing.skeleton import CONSTRAINT, GROUND, LINK, SPRING, Skeleton
from ..errors import LeastActionError
from ..kernels.tree.layout import PARENT, PLACE_P, PLACE_R
from ..mechanism import WORLD, Body, Mechanism
from ..model import Model
from ..trajectory import Trajectory
from .document import make
from .notebook import inline
from .scene import glyph

_MOST_ROWS = 24
_MOST_LINES = 400  # of a picture
_MOST_POSES = 400_000  # nodes times bodies of a run whose page is part of its table: made in about a second
_MOST_MB = 2.0
_STYLE = "display:inline-block;vertical-align:top;margin:4px 18px 4px 0"


def of_mechanism(mechanism: Mechanism) -> str:
    """The tree with joints and masses, and a picture of it if it can be compiled."""
    rows = [("body", "joint", "degrees of freedom", "mass")]
    for depth, body in _tree(list(mechanism.bodies.values())):
        joint = type(body.joint).__name__ + (f" “{body.joint_name}”" if body.joint_name != body.name else "")
        rows.append(("\u2003" * depth + body.name, joint, str(body.joint.nv or "–"), f"{body.mass:g} kg" if body.mass else "–"))
    counts = {name: len(getattr(mechanism, name)) for name in ("frames", "forces", "constraints", "shapes")}
    more = ", ".join(f"{count} {name if count > 1 else name[:-1]}" for name, count in counts.items() if count)
    try:
        picture = _picture(mechanism.compile())
    except LeastActionError as error:  # not finished yet, which is no reason not to show it
        picture, more = "", f"{more}{'; ' if more else ''}cannot be compiled yet: {error}"
    return _block(mechanism.name, [more, *mechanism.notes], _table(rows), picture)


def of_model(model: Model) -> str:
    """The moving bodies with their places in q and v, and a picture."""
    rows = [("body", "joint", "drawn as", "q", "v", "mass")]
    masses = {part.name: part.mass for part in model.parts}
    for depth, body in _tree(list(model.bodies)):
        q, v = model.q_slice(body.joint_name), model.v_slice(body.joint_name)
        mass = f"{masses.get(body.name, 0.0):g} kg"
        rows.append(("\u2003" * depth + body.name, type(body.joint).__name__, glyph(body.joint), _places(q), _places(v), mass))
    facts = f"{len(model.bodies)} moving bodies, nq = {model.nq}, nv = {model.nv}"
    closed = f"{len(model.closures)} constraint{'s' if len(model.closures) > 1 else ''}" if model.closures else ""
    return _block(model.name, [", ".join(filter(None, (facts, closed))), *model.notes], _table(rows), _picture(model))


def of_run(run: Trajectory) -> str:
    """What `print(run)` says, the curve of the energy, and, of runs that are not too large, the page itself to fold out."""
    curve = _curve(run.t, run.energy - run.energy[0], "change of energy")
    shown = "<p>Play it with <code>la.show(run)</code>.</p>"
    if len(run) * len(run.model.bodies) <= _MOST_POSES:
        try:
            page = make(run, max_mb=_MOST_MB)
            shown = f"<details><summary style='cursor:pointer'>show</summary>{inline(page)}</details>"
        except (LeastActionError, ImportError, OSError):
            pass  # too large, or a mesh is missing: `la.show` says what is wrong
    return _block(run.model.name, [], _table(run.facts(), headed=False), curve) + shown


def of_rows(title: str, rows: Sequence[Sequence[str]], notes: Sequence[str] = ()) -> str:
    """A report: a heading, a table whose first row says what the columns are, and sentences under it."""
    said = "".join(f"<div>{html.escape(note)}</div>" for note in notes if note)
    return f"<div><b>{html.escape(title)}</b><div>{_table(rows)}</div>{said}</div>"


def _tree(bodies: Sequence[Body]) -> list[tuple[int, Body]]:
    """Depth and body, children after their parents; those whose parent is not there are at the top."""
    names = {b.name for b in bodies}
    children: dict[str, list[Body]] = {}
    for body in bodies:
        children.setdefault(body.parent if body.parent in names else WORLD, []).append(body)
    found: list[tuple[int, Body]] = []
    stack = [(0, body) for body in reversed(children.get(WORLD, []))]
    while stack:
        depth, body = stack.pop()
        found.append((depth, body))
        stack.extend((depth + 1, child) for child in reversed(children.get(body.name, [])))
    return found


def _places(part: slice) -> str:
    return f"{part.start}" if part.stop == part.start + 1 else f"{part.start} … {part.stop - 1}"


def _table(rows: Sequence[Sequence[str]], headed: bool = True) -> str:
    def line(row: Sequence[str], cell: str) -> str:
        return "<tr>" + "".join(f"<{cell} style='text-align:left'>{html.escape(text)}</{cell}>" for text in row) + "</tr>"

    head, body = (rows[:1], rows[1:]) if headed else ([], rows)
    lines = [line(row, "th") for row in head] + [line(row, "td") for row in body[:_MOST_ROWS]]
    if len(body) > _MOST_ROWS:
        lines.append(line([f"… and {len(body) - _MOST_ROWS} more"], "td"))
    return f"<table style='{_STYLE}'>{''.join(lines)}</table>"


def _block(title: str, notes: Sequence[str], table: str, picture: str) -> str:
    said = "".join(f"<div>{html.escape(note)}</div>" for note in notes if note)
    return f"<div><b>{html.escape(title)}</b>{said}<div>{table}{picture}</div></div>"


def _picture(model: Model) -> str:
    """The skeleton in its zero position, as SVG."""
    skeleton = Skeleton(model)
    points = skeleton.placed(_zero_position(model))
    azimuth, elevation = np.radians((-60.0, 20.0))
    right = np.array([-np.sin(azimuth), np.cos(azimuth), 0.0])
    toward = np.array([np.cos(azimuth) * np.cos(elevation), np.sin(azimuth) * np.cos(elevation), np.sin(elevation)])
    seen = points @ np.array([right, -np.cross(toward, right)]).T  # downwards, as on screens
    size = max(float(np.ptp(seen, axis=0).max()), 1e-9)
    seen = (seen - seen.min(axis=0)) / size * 200.0 + 20.0
    colour = {LINK: COLOURS[0], GROUND: "#999", CONSTRAINT: "#7b4fb0", SPRING: "#777"}
    parts = [
        f"<line x1='{seen[a][0]:.1f}' y1='{seen[a][1]:.1f}' x2='{seen[b][0]:.1f}' y2='{seen[b][1]:.1f}' "
        f"stroke='{colour.get(kind, '#999')}' stroke-width='{4 if kind == LINK else 1.5}' stroke-linecap='round'/>"
        for a, b, kind, _ in skeleton.lines[:_MOST_LINES]
    ]
    heaviest = max((mass for _, mass in skeleton.masses), default=1.0)
    parts += [
        f"<circle cx='{seen[p][0]:.1f}' cy='{seen[p][1]:.1f}' r='{7 * (mass / heaviest) ** (1 / 3):.1f}' fill='{COLOURS[1]}'/>"
        for p, mass in skeleton.masses[:_MOST_LINES]
    ]
    joints = seen[skeleton.joints[:_MOST_LINES]]
    parts += [f"<circle cx='{x:.1f}' cy='{y:.1f}' r='2.5' fill='#fff' stroke='#444'/>" for x, y in joints]
    width, height = seen.max(axis=0) + 20.0
    return f"<svg width='{width:.0f}' height='{height:.0f}' style='{_STYLE}' role='img' aria-label='skeleton'>{''.join(parts)}</svg>"


def _zero_position(model: Model) -> Array:
    """(bodies + 1, 12) rotation and position of the rows with all joints neutral, from the definitions of the joints."""
    world = np.tile(np.eye(4), (len(model.bodies) + 1, 1, 1))
    for row, body in enumerate(model.bodies, start=1):
        place = np.eye(4)
        place[:3, :3] = model.tree.body[row, PLACE_R : PLACE_R + 9].reshape(3, 3)
        place[:3, 3] = model.tree.body[row, PLACE_P : PLACE_P + 3]
        turn = np.eye(4)
        turn[:3, :3] = body.joint.frame()  # the rows have the canonical axes of their joints
        moved = np.asarray(body.joint.reference_pose(body.joint.neutral()), dtype=float)
        world[row] = world[model.tree.link[row, PARENT]] @ place @ turn.T @ moved @ turn
    return np.concatenate([world[:, :3, :3].reshape(-1, 9), world[:, :3, 3]], axis=1)


def _curve(t: Array, y: Array, title: str) -> str:
    """A curve without axes, with its extremes in words."""
    t, y = thinned(t, y, 400)
    keep = np.isfinite(y)
    if keep.sum() < 2:
        return ""
    t, y = t[keep], y[keep]
    x = (t - t[0]) / max(float(t[-1] - t[0]), 1e-300) * 260.0
    level = (y - y.min()) / max(float(np.ptp(y)), 1e-300)
    path = " ".join(f"{a:.1f},{64.0 - 60.0 * b:.1f}" for a, b in zip(x, level, strict=True))
    words = f"{title}: {y.min():+.2g} to {y.max():+.2g} J"
    return (
        f"<div style='{_STYLE}'><svg width='264' height='68' role='img' aria-label='{words}'>"
        f"<polyline points='{path}' fill='none' stroke='{COLOURS[0]}' stroke-width='1.5'/></svg><div>{words}</div></div>"
    )
