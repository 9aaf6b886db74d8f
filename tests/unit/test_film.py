"""Films: as many pictures as were asked for, of what moves, by what is there; kind where nothing is."""

import subprocess

import numpy as np
import pytest

import leastaction as la
from leastaction import film
from leastaction.drawing import ffmpeg
from leastaction.film import browser

needs_chromium = pytest.mark.skipif(bool(browser.missing()), reason=browser.missing())
needs_ffmpeg = pytest.mark.skipif(ffmpeg.program() is None, reason=f"no ffmpeg: {ffmpeg.HOW}")


@pytest.fixture(scope="module")
def run():
    return la.simulate(la.examples.chain(3).compile(), dt=1e-2, duration=0.5, q={"link1": 0.8})


def pictures(path):
    from PIL import Image

    with Image.open(path) as image:
        found = []
        for k in range(image.n_frames):
            image.seek(k)
            found.append(np.asarray(image.convert("RGB")).astype(int))
    return found


@needs_chromium
def test_the_scene_of_the_page_moves(run, tmp_path):
    path = run.to_video(tmp_path / "run.webp", fps=4, size=(240, 160), dark=True, title="a chain")
    shown = pictures(path)
    assert len(shown) == 3 and shown[0].shape == (160, 240, 3)
    assert np.median(shown[0]) < 60, "not dark"
    assert (np.abs(shown[0] - shown[2]).max(axis=-1) > 40).mean() > 0.003, "nothing moves"


@needs_chromium
def test_several_runs_are_over_each_other(run, tmp_path):
    other = la.simulate(run.model, dt=1e-2, duration=0.5, q={"link1": -0.8})
    alone = pictures(film.write(run, tmp_path / "one.gif", fps=1, size=(160, 120)))
    both = pictures(film.write({"a": run, "b": other}, tmp_path / "two.gif", fps=1, size=(160, 120)))
    assert len(alone) == len(both) == 1 and np.abs(alone[0] - both[0]).max() > 60


@needs_chromium
@needs_ffmpeg
def test_an_mp4_has_all_its_pictures(run, tmp_path):
    path = run.to_video(tmp_path / "run.mp4", fps=8, size=(161, 121))
    command = [ffmpeg.program(), "-i", path, "-f", "rawvideo", "-pix_fmt", "rgb24", "-loglevel", "error", "-"]
    raw = subprocess.run(command, capture_output=True, check=True).stdout
    assert len(raw) == 5 * 160 * 120 * 3  # five pictures, of even size


def test_matplotlib_draws_where_there_is_no_chromium(run, tmp_path, monkeypatch):
    monkeypatch.setattr(browser, "NAMES", ("no such browser",))
    assert len(pictures(run.to_video(tmp_path / "run.gif", fps=4))) == 3
    with pytest.raises(ImportError, match="renderer='plot' does without it"):
        run.to_video(tmp_path / "run.gif", renderer="page")
    with pytest.raises(la.StateError, match="several over each other need Chromium"):
        film.write([run, run], tmp_path / "run.gif")


@needs_ffmpeg
def test_matplotlib_writes_mp4_with_the_same_ffmpeg(run, tmp_path):
    run.to_video(tmp_path / "run.mp4", fps=4, renderer="plot")
    assert (tmp_path / "run.mp4").read_bytes()[4:8] == b"ftyp"


def test_refusals_say_what_helps(run, tmp_path, monkeypatch):
    for path, options, said in (
        ("run.avi", {}, "'.avi' is not one of '.mp4', '.gif', '.webp'"),
        ("run.gif", {"fps": 0}, "both need numbers > 0"),
        ("run.gif", {"fps": 1e6}, "smaller fps or a larger speed"),
        ("run.gif", {"renderer": "oil"}, "renderer = 'oil'"),
        ("run.gif", {"size": (1, 2)}, "size"),
        ("nowhere/run.gif", {}, "there is no folder"),
    ):
        with pytest.raises(la.StateError, match=said):
            run.to_video(tmp_path / path, **options)
    with pytest.raises(la.StateError, match="give the path of a file"):
        run.to_video(7)
    monkeypatch.setattr(ffmpeg, "program", lambda: None)
    with pytest.raises(ImportError, match=r"pip install leastaction\[video\]"):
        run.to_video(tmp_path / "run.mp4")
