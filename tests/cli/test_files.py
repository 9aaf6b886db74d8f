"""`leastaction info`, `run`, `compare`, `convert`: what they print, write and return."""

import json
import os

import numpy as np
import pytest

import leastaction as la
from leastaction.cli import COMMANDS, main
from leastaction.records import stream

ARM = """<robot name="arm">
  <link name="base"/>
  <link name="upper"><inertial><origin xyz="0 0 -0.5"/><mass value="1"/><inertia ixx="0.1" iyy="0.1" izz="0.01"/></inertial>
    <collision><geometry><sphere radius="0.1"/></geometry></collision></link>
  <link name="lower"><inertial><origin xyz="0 0 -0.5"/><mass value="2"/><inertia ixx="0.1" iyy="0.1" izz="0.01"/></inertial></link>
  <joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/><axis xyz="0 1 0"/>
    <limit lower="-2" upper="2" effort="5" velocity="6"/><dynamics friction="FRICTION"/></joint>
  <joint name="elbow" type="continuous"><parent link="upper"/><child link="lower"/><origin xyz="0 0 -1"/><axis xyz="0 1 0"/>MIMIC</joint>
</robot>"""
MIMIC = '<mimic joint="shoulder" multiplier="0.5" offset="0.1"/>'


@pytest.fixture
def arm(tmp_path):
    path = tmp_path / "arm.urdf"
    path.write_text(ARM.replace("FRICTION", "0").replace("MIMIC", ""))
    return path


def answer(capsys, *words):
    """(exit code, what was printed, parsed)."""
    code = main([*map(str, words), "--json"])
    return code, json.loads(capsys.readouterr().out)


def test_info_shows_the_tree(arm, capsys):
    assert main(["info", str(arm)]) == 0
    text = capsys.readouterr().out
    for words in ("3 kg in 3 bodies", "2 degrees of freedom", "shoulder", "-2 to 2", "1 collision shape on 1 body is not simulated"):
        assert words in text
    lines = [line for line in text.splitlines() if "lower" in line or "upper" in line]
    assert lines[0].startswith("  upper") and lines[1].startswith("    lower")
    code, known = answer(capsys, "info", arm, "--floating")
    assert code == 0 and known["degrees of freedom"] == 8 and known["mass"] == 3 and known["simulates"]
    assert known["tree"][1]["limits"] == {"lower": -2, "upper": 2, "velocity": 6, "effort": 5}


def test_info_says_what_would_not_be_simulated(arm, capsys):
    arm.write_text(ARM.replace("FRICTION", '0.5" mu_coulomb="7').replace("MIMIC", MIMIC))
    code, known = answer(capsys, "info", arm)
    assert code == 0 and not known["simulates"] and len(known["constraints"]) == 1
    assert any('mu_coulomb="7"' in line and "[dynamics]" in line for line in known["not simulated"])
    code, known = answer(capsys, "info", arm, "--ignore", "dynamics")
    assert known["simulates"] and any("dynamics" in note for note in known["notes"])
    assert any("DryFriction" in force for force in known["forces"])


def test_a_run_ends_where_it_is_told_to(arm, capsys):
    words = ("run", arm, "--q", "shoulder=0.5", "--q", "elbow=0.3", "--dt", 0.01, "--duration", 2)
    code, known = answer(capsys, *words, "--stop", "shoulder < 0.1")
    assert code == 0 and abs(known["end"]["shoulder"] - 0.1) < 1e-9 and known["time"] == known["events"][0]["time"]
    assert "event 'shoulder < 0.1', falling" in known["message"]
    code, known = answer(capsys, *words, "--stop", "lower.x>0", "--stop", "elbow > 50")
    assert code == 0 and [event["name"] for event in known["events"]] == ["lower.x>0"]
    for wrong, message in (
        ("elbow = 1", "write it as 'elbow > 0.5'"),
        ("elbow > a", "write it as 'elbow > 0.5'"),
        ("elbo > 1", "there is no 'elbo'; coordinates are 'shoulder', 'elbow'"),
        ("lower.w > 1", "name.x, .y or .z"),
        ("elbow < 1", "it is so at the start already, elbow = 0.3"),
    ):
        code, known = answer(capsys, *words, "--stop", wrong)
        assert code == 1 and message in known["error"] and wrong in known["error"]


def test_info_of_what_cannot_be_compiled(tmp_path, capsys):
    path = tmp_path / "stone.urdf"
    path.write_text('<robot name="stone"><link name="stone"><inertial><mass value="1"/></inertial></link></robot>')
    code, known = answer(capsys, "info", path)
    assert code == 0 and not known["simulates"] and "nothing that moves" in known["not simulated"][0]


def test_a_run_is_the_run_of_python(arm, tmp_path, capsys):
    out = tmp_path / "run.npz"
    code, known = answer(capsys, "run", arm, "--dt", 0.01, "--duration", 0.5, "--q", "elbow=0.4", "--v", "shoulder=0.1", "--out", out)
    run = la.simulate(la.load(arm).compile(), dt=0.01, duration=0.5, q={"elbow": 0.4}, v={"shoulder": 0.1})
    assert code == 0 and known["steps"] == 50 and known["message"] == "finished" and known["end"]["elbow"] == run["elbow"][-1, 0]
    assert known["energy"]["start"] == run.energy[0] and "collision" in known["warnings"][0] and known["written"] == [str(out)]
    with np.load(out) as data:
        np.testing.assert_array_equal(data["q"], run.q)
        np.testing.assert_array_equal(data["energy"], run.energy)
        assert list(data["coordinate_names"]) == ["shoulder", "elbow"]


def test_a_run_that_was_killed_goes_on(arm, tmp_path, capsys, monkeypatch):
    """--out run.h5 writes while the run is made; --resume goes on to the same file."""
    pytest.importorskip("h5py")
    words = ["run", arm, "--dt", 0.01, "--q", "elbow=0.4", "--out"]
    code, known = answer(capsys, *words, tmp_path / "whole.h5", "--duration", 1.0)
    run = la.open(tmp_path / "whole.h5")
    assert code == 0 and known["written"] == [str(tmp_path / "whole.h5")] and run == la.simulate(
        la.load(arm).compile(), dt=0.01, duration=1.0, q={"elbow": 0.4}
    )
    append = stream.Writer.append
    monkeypatch.setattr(stream, "_MOST_BYTES", 2000)

    def die_in_the_middle(writer, part, **options):
        append(writer, part, **options)
        if writer.steps > 50:
            os._exit(9)

    monkeypatch.setattr(stream.Writer, "append", die_in_the_middle)
    child = os.fork()
    if not child:
        try:
            main([str(word) for word in (*words, tmp_path / "killed.h5", "--duration", 1.0)])
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    monkeypatch.undo()
    assert 50 < la.open(tmp_path / "killed.h5").steps < 100
    code, known = answer(capsys, *words, tmp_path / "killed.h5", "--duration", 1.0, "--resume")
    assert code == 0 and known["steps"] == 100 and la.open(tmp_path / "killed.h5") == run
    code, known = answer(capsys, *words, tmp_path / "killed.h5", "--duration", 2.0, "--resume")
    assert code == 0 and known["steps"] == 200


def test_csv_plot_and_page(arm, tmp_path, capsys):
    out, picture, page = tmp_path / "run.csv", tmp_path / "energy.png", tmp_path / "run.html"
    words = ["run", str(arm), "--duration", "0.1", "--record-every", "10", "--integrator", "rk4", "--out", str(out), "--plot", str(picture)]
    assert main([*words, "--page", str(page)]) == 0
    said = capsys.readouterr().out
    assert "RK4" in said and str(page) in said and picture.read_bytes().startswith(b"\x89PNG") and "webgl2" in page.read_text()
    header, *rows = out.read_text().splitlines()
    assert header == '"t","shoulder","elbow","v.shoulder","v.elbow","energy"' and len(rows) == 11


def test_a_run_that_meets_a_limit_says_so(arm, capsys):
    code, known = answer(capsys, "run", arm, "--q", "shoulder=1.9", "--v", "shoulder=8")
    assert code == 3 and "'shoulder' went beyond its upper limit 2 rad" in known["message"]
    code, known = answer(capsys, "run", arm, "--q", "shoulder=1.9", "--v", "shoulder=8", "--limits", "ignore")
    assert code == 0 and any("'shoulder' went beyond" in warning for warning in known["warnings"])


def test_a_run_that_meets_a_limit_says_what_to_do_and_so_does_its_page(arm, tmp_path, capsys):
    page = tmp_path / "run.html"
    words = ["run", str(arm), "--q", "shoulder=1.9", "--v", "shoulder=8", "--page", str(page)]
    assert main(words) == 3 and "--limits ignore" in capsys.readouterr().out
    assert "class=warning" in page.read_text() and "went beyond its upper limit" in page.read_text()
    assert main([*words, "--limits", "ignore"]) == 0
    assert "limits are ignored" in page.read_text()


def test_coupled_joints_start_where_they_must(arm, capsys):
    arm.write_text(ARM.replace("FRICTION", "0").replace("MIMIC", MIMIC))
    code, known = answer(capsys, "run", arm, "--q", "shoulder=0.4", "--duration", 0.01)
    assert code == 0 and any("'elbow' starts at [0.3" in note for note in known["notes"]) and known["constraint error"] < 1e-10


def test_compare(arm, capsys):
    words = ["compare", str(arm), "--duration", "0.2", "--integrator", "variational", "--integrator", "semi-implicit-euler"]
    assert main([*words, "--q", "elbow=1"]) == 0
    text = capsys.readouterr().out
    assert "variational" in text and "largest energy error" in text
    code, known = answer(capsys, *words, "--q", "elbow=1")
    errors = {name: run["largest energy error"] for name, run in known["runs"].items()}
    assert code == 0 and errors["variational"] < 0.1 * errors["semi-implicit-euler"]
    arm.write_text(ARM.replace("FRICTION", "0.5").replace("MIMIC", ""))
    code, known = answer(capsys, "compare", arm, "--duration", 0.01, "--integrator", "rk4")
    assert code == 0 and "cannot let joints stick" in known["runs"]["rk4"]["refused"]


@pytest.mark.parametrize("floating", [[], ["--floating"]])
def test_compare_with_mujoco(arm, floating, capsys):
    """Both make semi-implicit Euler steps: errors of one size."""
    pytest.importorskip("mujoco")
    heavy = '<link name="base"><inertial><mass value="3"/><inertia ixx="1" iyy="1" izz="1"/></inertial></link>'
    arm.write_text(arm.read_text().replace('<link name="base"/>', heavy))
    code, known = answer(capsys, "compare", arm, "--duration", 0.5, "--q", "elbow=1", "--v", "elbow=1", *floating)
    runs = known["runs"]
    if not floating:  # of a free body the two know different semi-implicit steps
        ours, theirs = (runs[name]["largest energy error"] for name in ("semi-implicit-euler", "MuJoCo Euler"))
        assert code == 0 and 0.5 < ours / theirs < 2.0
    assert runs["variational"]["largest energy error"] < 0.2 * runs["MuJoCo Euler"]["largest energy error"]
    arm.write_text(ARM.replace("FRICTION", "0").replace("MIMIC", MIMIC))
    code, known = answer(capsys, "compare", arm, "--duration", 0.1)  # couplings are kept by us, and soft there
    runs = known["runs"]
    assert runs["variational"]["constraint error"] < 1e-10 and 1e-9 < runs["MuJoCo Euler"]["constraint error"] < 0.1


def test_convert(arm, tmp_path, capsys):
    out = tmp_path / "again.urdf"
    code, known = answer(capsys, "convert", arm, out)
    assert code == 0 and known["written"] == str(out)
    assert la.load(out).compile().limits == la.load(arm).compile().limits
    code, known = answer(capsys, "convert", arm, tmp_path / "arm.sexp")
    assert code == 1 and "cannot hold the shapes" in known["error"] and known["kind"] == "FormatError"
    assert main(["convert", str(arm), str(tmp_path / "arm.sexp"), "--ignore", "contact,limits"]) == 0


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["info", "nothing.urdf"], "there is no file"),
        (["info", "ARM", "--ignore", "everything"], "'everything' is not known"),
        (["run", "ARM", "--dt", "-1"], "dt = -1"),
        (["run", "ARM", "--q", "wrist=1"], "'wrist'"),
        (["run", "ARM", "--q", "shoulder=3"], "beyond its upper limit"),
        (["run", "ARM", "--out", "run.txt"], ".h5, .npz, .csv"),
        (["run", "ARM", "--out", "run.npz", "--resume"], "--out run.h5"),
        (["run", "ARM", "--out", "no/folder/run.npz"], "no folder"),
        (["convert", "ARM", "x.stl"], "suffix '.stl'"),
    ],
)
def test_errors_are_explained(arm, words, named, capsys):
    words = [str(arm) if word == "ARM" else word for word in words]
    assert main(words) == 1
    assert named in capsys.readouterr().err
    code, known = answer(capsys, *words)
    assert code == 1 and named in known["error"]


@pytest.mark.parametrize("words", ["run", "run a.urdf --q elbow", "run a.urdf --q elbow=x", "run a.urdf --integrator euler", "convert a"])
def test_wrong_usage(words, capsys):
    with pytest.raises(SystemExit) as caught:
        main(words.split())
    assert caught.value.code == 2
    capsys.readouterr()


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(command, capsys):
    with pytest.raises(SystemExit) as caught:
        main([command, "--help"])
    assert caught.value.code == 0 and COMMANDS[command].HELP in " ".join(capsys.readouterr().out.split())


def test_sweep_varies_starts_masses_and_steps(arm, tmp_path, capsys):
    out = tmp_path / "sweep.h5"
    words = ["sweep", arm, "--param", "q:elbow=0:1:2", "--param", "mass:lower=1,2,-1", "--duration", "0.05", "--dt", "0.01"]
    code, found = answer(capsys, *words, "--processes", 1, "--out", out)
    assert code == 4 and [p["mass:lower"] for p in found["points"]] == [1, 2, -1] * 2 and list(found["errors"]) == ["2", "5"]
    assert "mass:lower = -1, 2 kg in the file" in found["errors"]["2"]
    alone = la.simulate(la.load(arm).compile(), q={"elbow": 1.0}, dt=0.01, duration=0.05)
    assert found["results"][4]["end"] == alone.q[-1].tolist() != found["results"][3]["end"]
    stored = la.Sweep.read(out)
    assert np.array_equal(stored.results[4]["end"], alone.q[-1]) and stored.results[4]["message"] == "finished"
    code, said = answer(capsys, *words, "--out", out)
    assert code == 1 and "is there already; go on with it by resume=True" in said["error"]


def test_sweep_shows_a_table_and_names_what_is_wrong(arm, capsys):
    varied = ["--param", "dt=0.01,0.02", "--param", "integrator=variational,rk4"]
    assert main(["sweep", str(arm), *varied, "--duration", "0.04", "--processes", "1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 5 and lines[0].split()[:2] == ["dt", "integrator"] and lines[4].endswith("finished")
    code, said = answer(capsys, "sweep", arm, "--param", "q:knee=1")
    assert code == 1 and "q:knee" in said["error"] and "q:elbow" in said["error"]
    code, said = answer(capsys, "sweep", arm, "--param", "dt=1", "--param", "dt=2")
    assert code == 1 and "'dt' is given twice" in said["error"]
    for wrong in ("dt", "dt=a", "dt=1:2", "dt=1:2:0", "integrator=magic"):
        with pytest.raises(SystemExit):
            main(["sweep", str(arm), "--param", wrong])
        assert wrong.split("=")[0] in capsys.readouterr().err
