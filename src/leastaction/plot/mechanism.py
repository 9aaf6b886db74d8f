"""The mechanism itself, drawn from its tree: a picture, or an animation file."""

from __future__ import annotations

from os import PathLike
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any

import numpy as np

from ..checks import number, shown, whole_number
from ..checks import text as checked_text
from ..drawing import ffmpeg
from ..drawing.runs import COLOURS, Array, Path
from ..drawing.skeleton import CONSTRAINT, GROUND, LINK, RAIL, SPRING, Skeleton
from ..errors import StateError
from ..mechanism import Mechanism
from ..model import Coordinates, Model
from ..trajectory import Trajectory
from .camera import Camera
from .canvas import _INK, finish

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_GROUND = "#9A9A9A"
_WIDTHS = {LINK: 3.2, GROUND: 1.2, RAIL: 1.6, CONSTRAINT: 0.9, SPRING: 1.0}
_MOST_NODES = 300  # of a run, to find what the picture has to hold
_MOST_PICTURES = 10_000  # of a film
LEAST_FPS = 1e-3  # pictures are shown for 1000 s at most
_COILS = 8


def mechanism(
    what: Model | Mechanism | Trajectory,
    q: Coordinates = None,
    *,
    poses: int = 5,
    view: tuple[float, float] | None = None,
    title: str | None = None,
    save_to: Path | None = None,
) -> Figure:
    """A mechanism at the coordinates q, or a run as `poses` snapshots that get stronger with time.

    Links are lines, one colour per body; masses are spheres, their volume proportional to the mass; constraints are thin dashed
    lines, springs between points thin zigzags.  view: azimuth and elevation in degrees; a mechanism in a plane is seen face on.

    >>> import leastaction as la
    >>> run = la.simulate(la.examples.chain(2).compile(), dt=1e-2, duration=1.0, q={"link1": 0.5})
    >>> figure = la.plot.mechanism(run, poses=3)  # save_to="picture.png" writes it
    """
    model = _model(what)
    skeleton = Skeleton(model)
    if isinstance(what, Trajectory):
        if q is not None:
            raise StateError("a run knows its coordinates; leave q out, or give run.model")
        poses = whole_number(poses, 1, "poses")
        chosen = np.unique(np.linspace(0, len(what) - 1, min(poses, len(what))).round().astype(int))
        shown = [skeleton.points(what.q[k]) for k in chosen]
        every = _sampled(skeleton, what)
    else:
        shown = [skeleton.points(model.coordinates(q))]
        every = np.array(shown)
    camera = Camera(every, view)
    figure, axes = _stage(camera, checked_text(title, "title") or model.name)
    for k, points in enumerate(shown):
        _Drawing(axes, skeleton, camera, alpha=1.0 if k == len(shown) - 1 else 0.10 + 0.25 * k / len(shown), level=10 * k).update(points)
    return finish(figure, save_to)


def animation(
    run: Trajectory,
    save_to: Path,
    *,
    fps: float = 25.0,
    speed: float = 1.0,
    view: tuple[float, float] | None = None,
    title: str | None = None,
) -> None:
    """Write a run as a film, .gif or .webp (no other program needed), or .mp4 where ffmpeg is (extra `video`).

    fps: pictures per second; speed: seconds of motion per second of film.

    >>> import leastaction as la
    >>> run = la.simulate(la.examples.chain(2).compile(), dt=1e-2, duration=1.0, q={"link1": 0.5})
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     la.plot.animation(run, f"{folder}/run.gif", fps=3)
    """
    if not isinstance(run, Trajectory):
        raise StateError(f"an animation needs what simulate() returned, got a {type(run).__name__}")
    fps, speed = number(fps, "fps", StateError), number(speed, "speed", StateError)
    if not (fps >= LEAST_FPS and speed > 0.0):
        raise StateError(f"fps = {shown(fps)}, speed = {shown(speed)}; both need numbers > 0, fps {LEAST_FPS:g} or more")
    pictures = (run.t[-1] - run.t[0]) * fps / speed + 1.0
    if pictures > _MOST_PICTURES:
        raise StateError(
            f"fps = {fps:g} and speed = {speed:g} make {pictures:.3g} pictures of {run.t[-1] - run.t[0]:g} s, which would fill the memory; "
            f"at most {_MOST_PICTURES} are drawn: give a smaller fps or a larger speed"
        )
    _writer(FilePath(_path(save_to)), fps)
    skeleton = Skeleton(run.model)
    camera = Camera(_sampled(skeleton, run), view)
    figure, axes = _stage(camera, checked_text(title, "title") or run.model.name, small=True)
    drawing = _Drawing(axes, skeleton, camera)
    clock = axes.text(0.99, 0.99, "", transform=axes.transAxes, ha="right", va="top", fontsize=8, color=_INK)
    times = np.arange(run.t[0], run.t[-1] + 1e-12, speed / fps)
    nodes = np.searchsorted(run.t, times - 1e-12).clip(0, len(run) - 1)
    writer = _writer(FilePath(save_to), fps)
    with writer.saving(figure, str(save_to), dpi=100):
        for t, k in zip(times, nodes, strict=True):
            drawing.update(skeleton.points(run.q[k]))
            clock.set_text(f"t = {t:.2f} s")
            writer.grab_frame()


def _path(save_to: Any) -> Any:
    if not isinstance(save_to, (str, PathLike)):
        raise StateError(f"save_to = {shown(save_to)}; give the path of a file, for example 'run.gif'")
    return save_to


def _model(what: Any) -> Model:
    if isinstance(what, Trajectory):
        return what.model
    if isinstance(what, Mechanism):
        return what.compile()
    if not isinstance(what, Model):
        raise StateError(f"cannot draw a {type(what).__name__}; give a Model, a Mechanism or what simulate() returned")
    return what


def _sampled(skeleton: Skeleton, run: Trajectory) -> Array:
    nodes = np.unique(np.linspace(0, len(run) - 1, min(len(run), _MOST_NODES)).astype(int))
    return np.array([skeleton.points(run.q[k]) for k in nodes])


def _writer(path: FilePath, fps: float) -> Any:
    from matplotlib.animation import FFMpegWriter, PillowWriter

    suffix = path.suffix.lower()
    rate: Any = fps  # declared as whole numbers, but any will do
    if suffix in (".gif", ".webp"):
        return PillowWriter(fps=rate)
    if suffix == ".mp4" and ffmpeg.program() is not None:
        writer = FFMpegWriter(fps=rate)
        writer.bin_path = lambda: str(ffmpeg.program())  # type: ignore[method-assign]
        return writer
    known = f"'.gif' and '.webp'; '.mp4' needs ffmpeg: {ffmpeg.HOW}" if suffix == ".mp4" else "'.gif', '.webp', '.mp4'"
    raise StateError(f"save_to = {str(path)!r}: cannot write a film with the suffix {suffix!r}; it is one of {known}")


def _stage(camera: Camera, title: str, small: bool = False) -> tuple[Figure, Axes]:
    """A figure of the shape of what is shown, equal scales."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError("plots need matplotlib, which is not installed: pip install leastaction[plot]") from error
    width, height = camera.high - camera.low
    narrow = 0.45 * height - width  # room for the title
    if narrow > 0.0:
        camera.low[0] -= narrow / 2
        camera.high[0] += narrow / 2
        width += narrow
    scale = (4.2 if small else 6.0) / max(width, height)
    left, bottom, top, right = 0.65, 0.5, 0.4, 0.15
    size = (scale * width + left + right, scale * height + bottom + top)
    figure = Figure(figsize=size, dpi=130)
    FigureCanvasAgg(figure)
    axes = figure.add_axes((left / size[0], bottom / size[1], scale * width / size[0], scale * height / size[1]))
    figure.text(left / size[0], 1 - 0.2 / size[1], title, ha="left", va="center", fontsize=11, fontweight="bold", color=_INK)
    axes.set_xlim(camera.low[0], camera.high[0])
    axes.set_ylim(camera.low[1], camera.high[1])
    axes.set_aspect("equal")
    axes.tick_params(colors=_INK, labelsize=8, length=3)
    for spine in axes.spines.values():
        spine.set_visible(camera.names is not None)
        spine.set_color("#CCCCCC")
    if camera.names is not None:
        axes.grid(color="#EEEEEE", linewidth=0.6)
        axes.set_axisbelow(True)
        axes.set_xlabel(f"{camera.names[0]} (m)", fontsize=9, color=_INK)
        axes.set_ylabel(f"{camera.names[1]} (m)", fontsize=9, color=_INK)
    else:
        axes.set_xticks([])
        axes.set_yticks([])
        _triad(axes, camera)
    return figure, axes


def _triad(axes: Axes, camera: Camera) -> None:
    """Directions of x, y, z and their length in a corner of an oblique picture."""
    length = _round_length(0.12 * camera.size)
    origin = camera.low + 0.06 * camera.size + length * np.maximum(0.0, -camera.matrix).max(axis=1)
    for name, direction in zip("xyz", camera.matrix.T, strict=True):
        tip = origin + length * direction
        axes.annotate("", tip, origin, arrowprops={"arrowstyle": "-|>", "color": _GROUND, "linewidth": 1.0})
        along = direction / max(float(np.linalg.norm(direction)), 1e-9)
        x, y = tip + 0.3 * length * along
        axes.text(x, y, name, ha="center", va="center", fontsize=8, color=_INK)
    axes.text(0.01, -0.01, f"arrows {length:g} m", transform=axes.transAxes, ha="left", va="top", fontsize=8, color=_INK)


def _round_length(x: float) -> float:
    """The largest of 1, 2, 5 times a power of ten that is not above x."""
    power = 10.0 ** np.floor(np.log10(x))
    return float(power * max(f for f in (1.0, 2.0, 5.0) if f * power <= x * (1 + 1e-9)))


class _Drawing:
    """The artists of one pose; `update` moves them."""

    def __init__(self, axes: Axes, skeleton: Skeleton, camera: Camera, alpha: float = 1.0, level: int = 0):
        from matplotlib.collections import EllipseCollection, LineCollection

        self.skeleton, self.camera = skeleton, camera
        self.lines: list[tuple[Any, list[tuple[int, int]], str]] = []
        colour = {0: _GROUND} | {i: COLOURS[(i - 1) % len(COLOURS)] for i in range(1, len(skeleton.model.bodies) + 1)}
        for kind in (GROUND, RAIL, LINK, CONSTRAINT, SPRING):
            chosen = [(a, b, row) for a, b, k, row in skeleton.lines if k == kind]
            plain = kind in (CONSTRAINT, SPRING)
            colours = [_INK if plain else _GROUND if kind in (GROUND, RAIL) else colour[row] for _, _, row in chosen]
            collection = LineCollection(
                [], colors=colours, linewidths=_WIDTHS[kind],
                linestyles=[(0, (4, 2))] if kind == CONSTRAINT else "solid", capstyle="butt" if plain else "round", alpha=alpha,
                zorder=3 + level + (1 if plain else 0),
            )  # fmt: skip
            axes.add_collection(collection)
            self.lines.append((collection, [(a, b) for a, b, _ in chosen], kind))
        heaviest = max((m for _, m in skeleton.masses), default=1.0)
        sizes = [0.075 * camera.size * (m / heaviest) ** (1 / 3) for _, m in skeleton.masses]
        colours = [colour[skeleton.rows[p]] for p, _ in skeleton.masses]

        def discs(scale: float, zorder: float, **style: Any) -> Any:
            widths = [scale * s for s in sizes]
            artist = EllipseCollection(widths, widths, np.zeros(len(sizes)), units="xy", offsets=np.zeros((len(sizes), 2)),
                                       offset_transform=axes.transData, zorder=zorder + level, **style)  # fmt: skip
            axes.add_collection(artist)
            return artist

        self.discs = discs(1.0, 5, facecolors=colours, edgecolors=_INK, linewidths=0.8, alpha=alpha)
        self.glints = discs(0.3, 6, facecolors="white", edgecolors="none", alpha=0.55 * alpha)
        self.glint_shift = np.array([[-0.17 * s, 0.17 * s] for s in sizes]).reshape(-1, 2)
        self.joints = axes.scatter([], [], s=14, facecolors="white", edgecolors=_INK, linewidths=0.9, alpha=alpha, zorder=7 + level)
        self.anchors = axes.scatter([], [], s=46, marker="s", facecolors=_GROUND, edgecolors="none", alpha=alpha, zorder=2 + level)

    def update(self, points: Array) -> None:
        """points (P, 3) from Skeleton.points."""
        seen = self.camera(points)
        for collection, ends, kind in self.lines:
            collection.set_segments([_zigzag(seen[a], seen[b], self.camera.size) if kind == SPRING else seen[[a, b]] for a, b in ends])
        centres = seen[[p for p, _ in self.skeleton.masses]] if self.skeleton.masses else np.zeros((0, 2))
        self.discs.set_offsets(centres)
        self.glints.set_offsets(centres + self.glint_shift)
        self.joints.set_offsets(seen[self.skeleton.joints])
        self.anchors.set_offsets(seen[self.skeleton.anchors] if self.skeleton.anchors else np.zeros((0, 2)))


def _zigzag(a: Array, b: Array, size: float) -> Array:
    """A spring from a to b, (points, 2)."""
    along = b - a
    length = float(np.linalg.norm(along))
    if length < 1e-12 * size:
        return np.array([a, b])
    across = 0.018 * size * np.array([-along[1], along[0]]) / length
    inner = np.linspace(0.12, 0.88, 2 * _COILS + 1)
    sides = np.array([0.0, *([1.0, -1.0] * _COILS)])[: len(inner)]
    sides[-1] = 0.0
    return np.vstack([a, a + np.outer(inner, along) + np.outer(sides, across), b])
