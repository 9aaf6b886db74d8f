"""`leastaction papers`: verdicts follow from numbers, nothing is silently missing, and the report needs nothing from outside."""

import re
from types import SimpleNamespace

import numpy as np
import pytest
from papers import contents, disagreements, report
from papers.result import Claim, Picture, Result, Table, growth

import leastaction as la
from leastaction.cli import main
from leastaction.cli import papers as command

ROOT = command._HERE.parents[3]

# the ones that compile nothing beyond what other tests need
QUICK = ("bruedigam2020_fig7", "kobilarov2014_fig5", "johnson2009_fig12")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("papers")
    assert main(["papers", *QUICK, "--quick", "--out", str(place)]) == 0
    return place


def test_the_verdict_follows_from_what_holds():
    verdicts = [Claim("it holds", "", "1", holds, reason).verdict for holds, reason in ((True, ""), (False, ""), (None, "no ODE"))]
    assert verdicts == ["confirmed", "not confirmed", "not testable here"]
    with pytest.raises(ValueError, match="gives no reason"):
        Claim("it holds", "", "1", None)


def test_every_figure_has_a_script_and_a_line_in_the_documentation():
    page = (ROOT / "docs" / "papers.md").read_text(encoding="utf-8")
    for entry in contents.ENTRIES:
        assert entry.made, f"{entry.key} has no script"
        assert callable(entry.script().make)
        assert entry.key in page
    scripts = {path.stem for path in (ROOT / "papers").glob("*_*.py") if "def make(" in path.read_text(encoding="utf-8")}
    assert scripts == {entry.key for entry in contents.ENTRIES}


@pytest.mark.slow
def test_the_short_versions_of_all_figures_take_minutes(tmp_path, capsys):
    """None fails, and what is not compiling takes less than five minutes of the processor."""
    assert main(["papers", "--quick", "--out", str(tmp_path)]) == 0  # what has to be compiled is compiled now
    capsys.readouterr()
    assert main(["papers", "--quick", "--out", str(tmp_path)]) == 0
    took = [float(x) for x in re.findall(r", ([0-9.]+) s of the processor", capsys.readouterr().out)]
    assert len(took) == len(contents.ENTRIES) and sum(took) < 300.0


def test_the_report_has_every_verdict_and_the_command(folder):
    text = (folder / "index.html").read_text(encoding="utf-8")
    outside = re.sub(r'srcdoc="[^"]*"', "", text)
    for key in QUICK:
        section = outside.split(f"<section id={key}>", 1)[1].split("</section>", 1)[0]
        assert f"leastaction papers {key}" in section
        rows = section.count("<tr>") - section.count("<thead><tr>")
        assert rows >= section.count('class="chip') >= 1
    assert [entry.key for entry in contents.ENTRIES if entry.key not in outside] == []  # those not asked for are named


def test_the_report_needs_nothing_from_outside(folder):
    text = (folder / "index.html").read_text(encoding="utf-8")
    assert "://" not in text
    assert not re.findall(r'(?:src|srcset|href)="(?!data:|#)', text)
    assert text.count("<source srcset") == text.count("<picture>") == text.count("<img") > 0


def entry_that(make, monkeypatch):
    """An entry whose script is this function."""
    entry = contents.Entry("lee2016_fig2", "lee", "Fig. 2", "a <chain> & more")
    monkeypatch.setattr(contents.Entry, "script", lambda self: SimpleNamespace(make=make))
    return entry


def test_what_fails_is_in_the_report_and_in_the_exit_code(monkeypatch, tmp_path, capsys):
    entry_that(lambda quick: 1 / 0, monkeypatch)
    assert main(["papers", "lee2016_fig2", "--out", str(tmp_path)]) == 1
    assert "ZeroDivisionError" in capsys.readouterr().out
    text = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert "ZeroDivisionError" in text and "failed" in text


def test_what_is_not_made_yet_is_listed(monkeypatch):
    made = report.make(contents.Entry("lee2016_fig99", "lee", "Fig. 99", "nobody wrote it"), quick=True)
    assert made.verdicts() == ["not made yet"]
    assert "not made yet" in report.page([made], [], True, [])


def test_text_is_escaped_and_pictures_have_both_themes(monkeypatch):
    def draw(figure):
        figure.subplots().plot([0, 1], [1, 0])

    result = Result("if a < b & c", [Claim("<b>", "", "1 < 2", True)], [Picture(draw, 'a "quoted" caption')], [Table(["<x>"], [["<y>"]])])
    made = report.make(entry_that(lambda quick: result, monkeypatch), quick=False)
    text = report.page([made], [], False, ["lee"])
    assert "a &lt; b &amp; c" in text and "&lt;b&gt;" in text and "<y>" not in text and "&quot;quoted&quot;" in text
    light, dark = report.addresses(result.pictures[0])
    assert light != dark and light.startswith("data:image/svg+xml") and dark in text


@pytest.mark.parametrize("erratum", [f for fs in disagreements.DEMONSTRATIONS.values() for f in fs], ids=lambda f: f.__name__)
def test_errata_show_what_they_claim(erratum):
    assert erratum().holds, erratum()


def test_every_paper_has_a_disagreement():
    assert set(disagreements.DEMONSTRATIONS) == set(contents.PAPERS) - {"work"}  # a comparison, no paper


def test_names_that_do_not_exist_are_refused(tmp_path, capsys):
    assert main(["papers", "lee2016_fig5", "--out", str(tmp_path)]) == 1
    message = capsys.readouterr().err
    assert "'lee2016_fig5'" in message and "kobilarov" in message
    assert not list(tmp_path.iterdir())


def test_without_a_clone_the_command_says_where_the_scripts_are(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(command, "_HERE", tmp_path / "a" / "b" / "c" / "d.py")
    monkeypatch.chdir(tmp_path)
    assert main(["papers"]) == 1
    assert "come with a clone" in capsys.readouterr().err


def test_growth_is_the_exponent():
    sizes = np.array([2.0, 5.0, 11.0])
    assert growth(sizes, 3.0 * sizes**1.7) == pytest.approx(1.7)


def test_a_hairpin_is_closed_at_its_start():
    for n in (3, 11):
        model = la.examples.closed_chain(n, hairpin=True).compile()
        tip, support = (la.dynamics.pose(model, model.neutral(), name).p for name in ("tip", "support"))
        assert np.abs(tip - support).max() < 1e-12
    with pytest.raises(la.MechanismError, match="odd number"):
        la.examples.closed_chain(4, hairpin=True)
