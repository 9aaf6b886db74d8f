"""A run as a film: which pictures, drawn by what, written by what."""

from __future__ import annotations

import io
import subprocess
import tempfile
from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from .. import page, plot
from ..checks import number, shown, whole_number, yes_or_no
from ..drawing import ffmpeg
from ..drawing.runs import Array, Runs, named_runs
from ..errors import StateError
from ..plot.mechanism import LEAST_FPS
from . import browser

_MOST_PICTURES = 10_000
_SUFFIXES = (".mp4", ".gif", ".webp")
#: on a film there is nothing but the scene, its title and the time
_STYLE = """
header, .story, .warning, #menu, #corner, #transport, #plots, footer, .source, table { display: none !important }
body { padding: 0; max-width: none } #stage { height: 100vh; border: 0; border-radius: 0 }
#key { left: 28px; top: 24px; font-size: 17px }
#film { position: fixed; left: 28px; bottom: 20px; font-size: 17px; font-variant-numeric: tabular-nums; color: var(--soft) }
"""


def write(
    runs: Runs,
    path: str | PathLike[str],
    *,
    fps: float = 30.0,
    speed: float = 1.0,
    size: tuple[int, int] = (1280, 720),
    dark: bool = False,
    renderer: str | None = None,
    **options: Any,
) -> Path:
    """Write one run, several over each other, or {label: run} as a film: .mp4, .gif or .webp.

    fps        pictures per second
    speed      seconds of motion per second of film
    size       pixels, width and height; even numbers
    dark       dark background
    renderer   "page": the scene of `run.to_html`, drawn by a headless Chromium; "plot": the skeleton, drawn by Matplotlib, of one run.
               Default: the first, where there is a Chromium, else the second
    options    as of `la.page.make`: title, traces, arrows, reactions, triangles; of the second renderer only title
    """
    named = named_runs(runs)
    target = _target(path)
    fps, speed = number(fps, "fps", StateError), number(speed, "speed", StateError)
    if not (fps >= LEAST_FPS and speed > 0.0):
        raise StateError(f"fps = {shown(fps)}, speed = {shown(speed)}; both need numbers > 0, fps {LEAST_FPS:g} or more")
    if not isinstance(size, (tuple, list)) or len(size) != 2:
        raise StateError(f"size = {shown(size)}; give width and height in pixels, for example (1280, 720)")
    wide, tall = (whole_number(edge, 16, "size") for edge in size)
    yes_or_no(dark, "dark")
    times = _times(min(run.t[0] for run in named.values()), max(run.t[-1] for run in named.values()), fps, speed)
    if _chosen(renderer) == "plot":
        if len(named) > 1:
            raise StateError("Matplotlib draws films of one run; several over each other need Chromium: " + browser.missing())
        first = next(iter(named.values()))
        plot.animation(first, target, fps=fps, speed=speed, title=options.get("title"))
        return target
    made = page.make(runs, **options)
    with tempfile.TemporaryDirectory(prefix="leastaction-") as folder:
        scene = Path(folder) / "scene.html"
        scene.write_text(made.text, encoding="utf-8")
        with browser.Browser(wide - wide % 2, tall - tall % 2, dark=dark) as opened:
            pictures = _pictures(opened, scene, times, options.get("title") or "")
            (_encode if target.suffix.lower() == ".mp4" else _save)(pictures, target, fps)
    return target


def _target(path: str | PathLike[str]) -> Path:
    if not isinstance(path, (str, PathLike)):
        raise StateError(f"path = {shown(path)}; give the path of a file, for example 'run.mp4'")
    target = Path(path)
    suffix = target.suffix.lower()
    if suffix not in _SUFFIXES:
        raise StateError(f"cannot write a film {str(target)!r}: the suffix {suffix!r} is not one of {', '.join(map(repr, _SUFFIXES))}")
    if suffix == ".mp4" and ffmpeg.program() is None:
        raise ImportError(f"{str(target)!r}: .mp4 files are made by ffmpeg, which is not here: {ffmpeg.HOW}; .gif and .webp do without it")
    if not target.parent.is_dir():
        raise StateError(f"cannot write {str(target)!r}: there is no folder {str(target.parent)!r}")
    return target


def _chosen(renderer: str | None) -> str:
    if renderer is not None and not (isinstance(renderer, str) and renderer in ("page", "plot")):
        raise StateError(f"renderer = {shown(renderer)}; it is 'page', 'plot' or None, which takes the first that is there")
    if renderer == "page" and browser.missing():
        raise ImportError(f"renderer='page' draws with a headless Chromium: {browser.missing()}; renderer='plot' does without it")
    return renderer or ("plot" if browser.missing() else "page")


def _times(start: float, end: float, fps: float, speed: float) -> Array:
    count = (end - start) * fps / speed + 1.0
    if count > _MOST_PICTURES:
        raise StateError(
            f"fps = {fps:g} and speed = {speed:g} make {count:.3g} pictures of {end - start:g} s; at most {_MOST_PICTURES} are drawn: "
            "give a smaller fps or a larger speed"
        )
    return np.asarray(start + np.arange(int(count + 1e-9)) * (speed / fps), dtype=np.float64)


def stage(opened: browser.Browser, scene: Path, label: bool = True) -> None:
    """Open a page of ours and leave nothing of it but its scene."""
    opened.open(scene)
    failed = opened.run("document.getElementById('message').hidden ? '' : document.getElementById('message').textContent")
    if failed:
        raise StateError(f"Chromium cannot draw the scene: {failed}; renderer='plot' does without it")
    opened.run(f"document.head.append(Object.assign(document.createElement('style'), {{textContent: {_STYLE!r}}})); 0")
    if label:
        opened.run("document.body.append(Object.assign(document.createElement('div'), {id: 'film'})); 0")
    opened.run("leastaction.renderer.quality = 3; leastaction.qualityChosen = true; leastaction.player.pause(); 0")
    opened.settle()
    opened.run("leastaction.camera.fit(); 0")


def _pictures(opened: browser.Browser, scene: Path, times: Array, title: str) -> Iterator[bytes]:
    """The scene at these times, as JPEG."""
    stage(opened, scene)
    label = f"{title}  " if title else ""
    for t in times:
        opened.run(f"document.getElementById('film').textContent = {label!r} + 't = {t:.2f} s'; leastaction.player.seek({float(t)!r}); 0")
        opened.settle()
        yield opened.screenshot(format="jpeg", quality=95)


def _encode(pictures: Iterator[bytes], target: Path, fps: float) -> None:
    """Hand pictures to ffmpeg as they come."""
    command = [
        str(ffmpeg.program()), "-y", "-loglevel", "error", "-f", "image2pipe", "-framerate", f"{fps:g}", "-c:v", "mjpeg", "-i", "-", "-an",
        "-c:v", "libx264", "-pix_fmt", "yuv420p", "-crf", "20", "-movflags", "+faststart", str(target),
    ]  # fmt: skip
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=said)
        assert process.stdin is not None
        try:
            for picture in pictures:
                process.stdin.write(picture)
        except BrokenPipeError:
            pass  # it says why, below
        finally:
            process.stdin.close()
            code = process.wait()
        if code:
            said.seek(0)
            last = said.read().decode(errors="replace").strip().splitlines()[-1:]
            raise StateError(f"ffmpeg could not write {str(target)!r}: {' '.join(last) or f'exit code {code}'}")


def _save(pictures: Iterator[bytes], target: Path, fps: float) -> None:
    try:
        from PIL import Image
    except ImportError as error:
        raise ImportError("films as .gif and .webp need Pillow, which is not installed: pip install leastaction[plot]") from error
    images = [Image.open(io.BytesIO(picture)).convert("RGB") for picture in pictures]
    images[0].save(target, save_all=True, append_images=images[1:], duration=round(1000.0 / fps), loop=0)
