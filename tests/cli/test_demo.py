"""`leastaction demo`: what a new user sees first."""

import json
import re

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


def test_page_shows_both_runs_and_the_table(demo):
    text = (demo / "index.html").read_text(encoding="utf-8")
    for words in ("2 runs", "largest energy error", "<td>variational</td>", "<td>semi-implicit Euler</td>", "leastaction demo --links 3"):
        assert words in text


def test_page_needs_nothing_from_outside(demo):
    text = (demo / "index.html").read_text(encoding="utf-8")
    assert "://" not in text
    assert not re.findall(r"<(?:script|iframe)[^>]+(?:src|href)", text)


def test_it_begins_with_a_robot(tmp_path, capsys):
    """What `make demo` does, but shorter: our energy stays, the other one's does not, on a page with the robot's shapes."""
    assert main(["demo", "--duration", "3", "--out", str(tmp_path), "--json"]) == 0
    known = json.loads(capsys.readouterr().out)
    ours, theirs = (float(row["largest energy error"].split()[0]) for row in known["runs"])
    assert known["model"] == "arm" and ours < 0.05 * theirs
    assert "leastaction demo --duration 3" in (tmp_path / "index.html").read_text(encoding="utf-8")


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
