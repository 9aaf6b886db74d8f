"""A page: one HTML file with the runs, the scene and what draws them."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path as FilePath
from string import Template
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..checks import listed, number, numbers
from ..checks import path as checked_path
from ..checks import shown as in_short
from ..checks import text as checked_text
from ..drawing.runs import Array, Path, Runs, named_runs
from ..errors import StateError
from ..joints.base import frame_with_z
from ..trajectory import Trajectory
from .keyframes import Keyframes, Kinematics, thin
from .meshes import MeshReader
from .pack import Pack, short
from .scene import Scene
from .series import arrow, curves

_WEB = FilePath(__file__).with_name("web")
_SCRIPTS = ("math.js", "data.js", "solids.js", "shaders.js", "renderer.js", "drawing.js", "camera.js", "plots.js", "player.js", "main.js")
_LIVE = "live.js"
_ACCURACY = 1e-4  # m, at every recorded node ...
_RELATIVE = 1e-6  # ... or this part of the space a run needs, if that is more
_DIRECTIONS = 80
_SAMPLES = 120  # nodes at which the space a run needs is measured

TRIANGLES = 50_000
MOST_MB = 25.0


@dataclass(frozen=True)
class Page:
    """A page as text, and what it holds.

    >>> import leastaction as la
    >>> run = la.simulate(la.examples.chain(2).compile(), dt=1e-2, duration=1.0, q={"link1": 0.5})
    >>> page = la.page.make(run)
    >>> page.megabytes < 0.2, page.pose_error < 1e-4  # MB, m
    (True, True)
    """

    text: str
    keyframes: int  #: of all runs together
    nodes: int  #: recorded nodes they stand for
    pose_error: float  #: m, largest distance of a point of a body from where it is, at any recorded node
    triangles: int  #: of meshes
    triangles_in_files: int  #: before they were decimated

    @property
    def megabytes(self) -> float:
        return len(self.text.encode()) / 1e6

    def __str__(self) -> str:
        return f"{self.megabytes:.2f} MB, {_facts(self.keyframes, self.nodes, self.pose_error, self.triangles, self.triangles_in_files)}"


def make(
    runs: Runs,
    *,
    title: str | None = None,
    traces: Sequence[str] = (),
    arrows: Mapping[str, tuple[str, ArrayLike]] | None = None,
    reactions: Sequence[str] | bool = False,
    accuracy: float | None = None,
    triangles: int | None = TRIANGLES,
    max_mb: float = MOST_MB,
    table: Sequence[Mapping[str, str]] = (),
    remark: str = "",
    live: str = "",
    story: str = "",
    code: str = "",
    home: str = "",
) -> Page:
    """The page of one run, of several over each other, or of {label: run}.

    title       default: the name of the mechanism
    traces      names of bodies or frames whose paths are drawn
    arrows      of one run: {name: (body or frame, vectors (T, 3) in world axes)}, forces for example; drawn where the frame is
    reactions   names of joints and constraints whose forces are drawn, see docs/reactions.md; True: all that have a force
    accuracy    m; how far a point of a body may be from where it is at any recorded node.  Default: 0.1 mm, or 1e-6 of the space
                the motion needs, if that is more.  Fewer keyframes are kept if it is larger
    triangles   of all meshes together, at most; None: as many as the files have
    max_mb      a larger page is an error that says what takes the space
    table, remark   rows and a sentence for the end of the page
    story, code   a sentence for the top of the page and source to fold out at its end
    home        address of a page to go back to
    live        address of a WebSocket that moves the scene from then on: what `la.view` is made of

    >>> import leastaction as la
    >>> run = la.simulate(la.examples.chain(2).compile(), dt=1e-2, duration=1.0, q={"link1": 0.5})
    >>> page = la.page.make(run, traces=["tip"])
    >>> page.nodes, page.text[:15]
    (101, '<!DOCTYPE html>')
    """
    named = named_runs(runs)
    words = {"title": title, "remark": remark, "live": live, "story": story, "code": code, "home": home}
    title, remark, live, story, code, home = (checked_text(value, what) for what, value in words.items())
    limit = number(max_mb, "max_mb", StateError)
    reader = MeshReader(triangles if triangles is None else _positive(triangles, "triangles"))
    shown = [_Shown(label, run, reader) for label, run in named.items()]
    if arrows is not None and not isinstance(arrows, Mapping):
        raise StateError(f"arrows = {in_short(arrows)}; give {{name: (body or frame, vectors (T, 3))}}")
    if arrows:
        if len(shown) > 1:
            raise StateError("arrows belong to one run; write a page of this run alone")
        shown[0].add_arrows(arrows)
    for one in shown:
        one.add_reactions(reactions)
    reader.decimate()
    up = _upright(shown[0].run)
    space = _space(shown, up)
    allowed = max(_ACCURACY, _RELATIVE * space["size"]) if accuracy is None else _positive(accuracy, "accuracy")
    pack = Pack()
    kept: dict[Any, int] = {}
    meshes: list[dict[str, Any]] = []
    described = [one.described(pack, allowed, kept, meshes) for one in shown]
    _check_traces(traces, shown)
    found = [one.keyframes for one in shown]
    facts = (
        sum(len(k.t) for k in found), sum(len(one.run) for one in shown), max(k.error for k in found), reader.kept, reader.found,
    )  # fmt: skip
    heading = title or shown[0].run.model.name
    notes = [note for one in shown for note in one.notes] if not live else []  # the run of a live view goes on
    header = {"title": heading, "runs": described, "meshes": meshes, "up": short(up), "space": space, "traces": list(traces), "live": live}
    scripts = (*_SCRIPTS[:-1], _LIVE, _SCRIPTS[-1]) if live else _SCRIPTS
    text = Template(_read("page.html")).substitute(
        title=html.escape(heading), summary=html.escape(_summary(shown, bool(live))), style=_read("page.css"), data=pack.encoded(header),
        script="\n".join(_read(name) for name in scripts), table=_table(table), remark=html.escape(remark),
        notes="".join(f"<p class=warning>{html.escape(note)}</p>" for note in notes), facts=html.escape(_facts(*facts)),
        story=_paragraph(story, home), code=_source(code),
        connect=f"; connect-src {html.escape(live.partition('/live')[0])}" if live else "",
    )  # fmt: skip
    page = Page(text.replace("SIZE_OF_THIS_PAGE", f"{(len(text.encode())) / 1e6:.2f} MB"), *facts)
    if page.megabytes > limit:
        raise StateError(
            f"the page would have {page.megabytes:.1f} MB, more than max_mb = {limit:g}: {_facts(*facts)}; give a larger accuracy= "
            f"(now {allowed:.2g} m), fewer triangles=, a shorter run, or a larger max_mb="
        )
    return page


def write(runs: Runs, path: Path, **options: Any) -> Page:
    """Write the page of one or several runs to a file; options as of `make`.

    >>> import leastaction as la
    >>> run = la.simulate(la.examples.chain(2).compile(), dt=1e-2, duration=1.0, q={"link1": 0.5})
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     page = la.page.write({"a run": run}, f"{folder}/run.html", title="Two links")
    """
    target = checked_path(path, "path")
    page = make(runs, **options)
    try:
        target.write_text(page.text, encoding="utf-8")
    except OSError as error:
        raise StateError(f"cannot write {str(target)!r}: {error.strerror}") from error
    return page


class _Shown:
    """A run and its drawing."""

    def __init__(self, label: str, run: Trajectory, reader: MeshReader):
        self.label = label
        self.run = _finite_part(run, label)
        self.notes: list[str] = []
        if len(self.run) < len(run):
            self.notes.append(f"{label}: not finite from t = {run.t[len(self.run)]:g} s on; shown until then.")
        else:
            self.notes += [f"{label}: {warning}" for warning in run.warnings]
        if run.message != "finished":
            self.notes.append(f"{label}: {run.message}")
        self.scene = Scene(run.model, self.run.q, reader)
        self.keyframes: Keyframes
        self.arrows: list[tuple[str, int, Array, Array]] = []  # name, row, point on it, vectors (T, 3)

    def add_arrows(self, arrows: Mapping[str, tuple[str, ArrayLike]]) -> None:
        frames, nodes = self.run.model.frames, len(self.run)
        for name, given in arrows.items():
            if not isinstance(given, (tuple, list)) or len(given) != 2:
                raise StateError(f"arrow {in_short(name)} = {in_short(given)}; give (body or frame, vectors (T, 3))")
            frame, vectors = given
            if not isinstance(frame, str) or frame not in frames:
                raise StateError(f"arrow {name!r}: {in_short(frame)} is neither a body nor a frame; give one of {listed(frames)}")
            values = numbers(vectors, f"arrow {name!r}", StateError, finite=False)[:nodes]
            if values.shape != (nodes, 3):
                raise StateError(f"arrow {name!r} has shape {values.shape}; it needs three numbers for each of the {nodes} recorded nodes")
            self.arrows.append((name, frames[frame][0], frames[frame][1].p, values))

    def add_reactions(self, wanted: Sequence[str] | bool) -> None:
        """Forces of joints and constraints, each on the body it acts on."""
        if wanted is False:
            return
        if wanted is not True and not isinstance(wanted, (str, Sequence)):
            raise StateError(f"reactions = {in_short(wanted)}; give names of joints and constraints, or True for all")
        found = self.run.reactions
        names = [wanted] if isinstance(wanted, str) else list(found) if wanted is True else list(wanted)
        R, p = Kinematics(self.run.model).world(self.run.q[:1])
        for name in names:
            reaction = found[name]
            if reaction.wrench is None:
                if wanted is True:
                    continue
                raise StateError(f"reactions: {name!r} acts on joint coordinates, which is no force at a point; leave it out")
            row = self.run.model.frames[reaction.on][0]
            point = reaction.point[0] if row == 0 else R[0, row - 1].T @ (reaction.point[0] - p[0, row - 1])
            self.arrows.append((name, row, point, reaction.force))

    def sampled(self) -> tuple[Array, Array]:
        chosen = np.unique(np.linspace(0, len(self.run) - 1, min(len(self.run), _SAMPLES)).astype(int))
        return Kinematics(self.run.model).world(self.run.q[chosen])

    def described(self, pack: Pack, accuracy: float, kept: dict[Any, int], meshes: list[dict[str, Any]]) -> dict[str, Any]:
        run = self.run
        keys = self.keyframes = thin(run.model, run.t, run.q, self.scene.reach, accuracy)
        return {
            "label": self.label, **self.scene.described(pack, kept, meshes),
            "keys": {"t": pack.times(keys.t), "poses": pack.integers(keys.poses), "steps": pack.floats(keys.steps), "breaks": keys.breaks},
            "nodes": pack.times(run.t), "curves": curves(run, pack),
            "arrows": [arrow(name, row, point, run.t, vectors, pack) for name, row, point, vectors in self.arrows],
        }  # fmt: skip


def _finite_part(run: Trajectory, label: str) -> Trajectory:
    """The run until its numbers overflow."""
    finite = np.isfinite(run.q).all(axis=1) & np.isfinite(run.recorded).all(axis=1)
    if finite.all():
        return run
    n = int(np.argmin(finite))
    if n == 0:
        raise StateError(f"run {label!r} has no finite coordinates; there is nothing to show")
    return run.until(n)


def _upright(run: Trajectory) -> Array:
    """(3, 3) rotation of the world that makes gravity point downwards."""
    gravity = np.asarray(run.model.gravity)
    size = float(np.linalg.norm(gravity))
    return np.eye(3) if size == 0.0 else frame_with_z(-gravity / size).T


def _space(shown: list[_Shown], up: Array) -> dict[str, Any]:
    """What the camera has to hold, in upright axes: everything at all times, and the first pose alone."""
    every, first = [], []
    for one in shown:
        R, p = one.sampled()
        every.append((one.scene.points(R, p) @ up.T).reshape(-1, 3))
        first.append(one.scene.points(R[:1], p[:1], moving=True)[0] @ up.T)
    points, pose = np.concatenate(every), np.concatenate(first)
    low, high = points.min(axis=0), points.max(axis=0)
    return {
        "low": short(low), "high": short(high), "size": float(max((high - low).max(), 1e-9)),
        "pose": float(max(np.ptp(pose, axis=0).max(), 1e-9)), "outermost": short(_outermost(points)),
    }  # fmt: skip


def _outermost(points: Array) -> Array:
    """(N, 3) those of many points that are farthest in some direction: what a camera has to see to see them all."""
    k = np.arange(_DIRECTIONS) + 0.5
    z, angle = 1 - 2 * k / _DIRECTIONS, np.pi * (1 + 5**0.5) * k  # evenly over the sphere
    directions = np.column_stack([np.sqrt(1 - z * z) * np.cos(angle), np.sqrt(1 - z * z) * np.sin(angle), z])
    return points[np.unique([int(np.argmax(points @ d)) for d in directions])]


def _check_traces(traces: Sequence[str], shown: list[_Shown]) -> None:
    known = [part.name for one in shown for part in one.run.model.parts]
    if isinstance(traces, str) or not isinstance(traces, Sequence):
        raise StateError(f"traces = {in_short(traces)}; give a list of bodies and frames")
    for name in traces:
        if not isinstance(name, str) or name not in known:
            raise StateError(f"traces: {in_short(name)} is neither a body nor a frame; give one of {listed(dict.fromkeys(known))}")


def _summary(shown: list[_Shown], live: bool) -> str:
    model, run = shown[0].run.model, shown[0].run
    bodies = f"{len(model.bodies)} moving {'body' if len(model.bodies) == 1 else 'bodies'}"
    freedoms = f"{model.nv} degree{'s' if model.nv > 1 else ''} of freedom"
    if model.closures:
        rows = sum(closure.size for closure in model.closures)
        freedoms = f"{model.nv} freedoms of joints under {rows} constraint row{'s' if rows > 1 else ''}"
    if live:
        return f"{bodies}, {freedoms} · live"
    method = f"{type(run.integrator).__name__}, {run.steps} steps of {1e3 * run.dt:g} ms" if len(shown) == 1 else f"{len(shown)} runs"
    return f"{bodies}, {freedoms} · {method} · {run.t[-1] - run.t[0]:g}\u00a0s"


def _facts(keyframes: int, nodes: int, error: float, triangles: int, in_files: int) -> str:
    text = f"{keyframes} keyframes for {nodes} recorded nodes, poses within {1e3 * error:.2g} mm at each of them"
    if in_files > triangles:
        return f"{text}, meshes of {triangles} triangles (decimated from {in_files})"
    return f"{text}, meshes of {triangles} triangles" if triangles else text


def _table(rows: Sequence[Mapping[str, str]]) -> str:
    rows = list(rows) if isinstance(rows, Sequence) else [rows]
    for row in rows:
        if not isinstance(row, Mapping) or not all(isinstance(word, str) for pair in row.items() for word in pair):
            raise StateError(f"table: {in_short(row)} is no row; each is {{column: text}}")
    if not rows:
        return ""

    def line(cell: str, values: Any) -> str:
        return "<tr>" + "".join(f"<{cell}>{html.escape(v)}</{cell}>" for v in values) + "</tr>"

    return "<table>" + line("th", rows[0]) + "".join(line("td", row.values()) for row in rows) + "</table>"


def _paragraph(story: str, home: str) -> str:
    if not story and not home:
        return ""
    back = f'<a href="{html.escape(home)}">all mechanisms</a> ' if home else ""
    return f"<p class=story>{html.escape(story)} {back}</p>"


def _source(code: str) -> str:
    return f"<details class=source><summary>Source</summary><pre><code>{html.escape(code)}</code></pre></details>" if code else ""


def _positive(value: float, what: str) -> Any:
    result = number(value, what, StateError)
    if result <= 0.0:
        raise StateError(f"{what} = {in_short(value)}; it needs a number > 0")
    return result


def _read(name: str) -> str:
    return (_WEB / name).read_text(encoding="utf-8")
