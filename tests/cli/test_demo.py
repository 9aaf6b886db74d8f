"""`leastaction demo`: what a new user sees first."""

import base64
import json
import re

import numpy as np
import pytest

import leastaction as la
from leastaction.cli import main

PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """Folder written by a short demo."""
    folder = tmp_path_factory.mktemp("demo") / "new" / "folder"
    assert main(["demo", "--links", "3", "--duration", "0.5", "--dt", "2e-3", "--out", str(folder)]) == 0
    return folder


def test_writes_picture_and_page(demo):
    assert sorted(p.name for p in demo.iterdir()) == ["energy.png", "index.html"]
    assert (demo / "energy.png").read_bytes().startswith(PNG)


def test_page_contains_the_picture(demo):
    inlined = re.search(r"data:image/png;base64,([^\"]+)", (demo / "index.html").read_text(encoding="utf-8"))
    assert base64.b64decode(inlined[1]) == (demo / "energy.png").read_bytes()


def test_page_needs_nothing_from_outside(demo):
    text = (demo / "index.html").read_text(encoding="utf-8")
    assert "://" not in text
    assert not re.findall(r"<(?:script|link|iframe)[^>]+(?:src|href)", text)


def test_animation_is_the_simulated_motion(demo):
    text = (demo / "index.html").read_text(encoding="utf-8")
    data = json.loads(re.search(r"const data = (.*);", text)[1])
    run = la.simulate(la.examples.chain(3).compile(), dt=2e-3, duration=0.5, q={"link1": np.pi / 4})
    angles = np.array(data["chains"][0]["angles"])
    assert data["seconds"] == pytest.approx(0.5)
    np.testing.assert_allclose(angles[0], np.cumsum(run.q[0]), atol=1e-3)
    np.testing.assert_allclose(angles[-1], np.cumsum(run.q[-1]), atol=1e-3)


def test_prints_json(tmp_path, capsys):
    assert main(["demo", "--links", "1", "--duration", "0.1", "--out", str(tmp_path), "--json"]) == 0
    known = json.loads(capsys.readouterr().out)
    assert len(known["runs"]) == 2 and known["written"] == [str(tmp_path / "energy.png"), str(tmp_path / "index.html")]


def test_prints_a_row_per_integrator(tmp_path, capsys):
    assert main(["demo", "--links", "1", "--duration", "0.1", "--out", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    for word in ("variational", "largest energy error", "energy drift", "time per step", "index.html"):
        assert word in printed


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["--links", "0"], "--links 0"),
        (["--dt", "0"], "dt = 0.0"),
        (["--dt", "nan"], "dt = nan"),
        (["--duration", "-1"], "duration = -1.0"),
    ],
)
def test_bad_options_are_explained_without_traceback(tmp_path, capsys, options, named):
    assert main(["demo", "--out", str(tmp_path), *options]) == 1
    assert named in capsys.readouterr().err


def test_unwritable_folder_is_explained(tmp_path, capsys):
    (tmp_path / "file").write_text("in the way")
    assert main(["demo", "--links", "1", "--duration", "0.01", "--out", str(tmp_path / "file")]) == 1
    assert str(tmp_path / "file") in capsys.readouterr().err


def test_version(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["--version"])
    assert stop.value.code == 0
    assert capsys.readouterr().out.strip() == f"leastaction {la.__version__}"


def test_no_command_shows_the_usage(capsys):
    with pytest.raises(SystemExit) as stop:
        main([])
    assert stop.value.code == 2
    assert "demo" in capsys.readouterr().err
