"""The gallery: every entry builds, moves, keeps its energy; its program is what was run; pages and index hold all of them."""

import html
import re

import numpy as np
import pytest

import leastaction as la
from leastaction.cli import main
from leastaction.film.browser import Browser, missing
from leastaction.gallery.pages import PICTURES, pictures

STEPS = 12
ENTRIES = {entry.name: entry for entry in la.gallery.ENTRIES}


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """All pages, of runs of a few steps."""
    folder = tmp_path_factory.mktemp("gallery")
    la.gallery.write(folder, steps=4)
    return folder


@pytest.mark.parametrize("entry", la.gallery.ENTRIES, ids=lambda e: e.name)
def test_every_entry_moves_and_obeys_the_law_of_energy(entry):
    run = la.simulate(model := entry.build().compile(), entry.start(model), dt=entry.dt, steps=STEPS)
    assert run.converged and run.steps == STEPS and np.abs(run.q[-1] - run.q[0]).max() > 1e-6
    # of a run that starts from rest all energy that moves comes from the potential, so its own motion is the measure
    allowed = 1e-2 * run.kinetic.max()
    assert (run.energy - run.energy[0]).max() < allowed, "energy comes from nowhere"
    if not entry.loses_energy:
        assert (run.energy[0] - run.energy).max() < allowed, "energy is lost, and nothing is there to lose it to"
    assert run.constraint_error.max() < 1e-8


@pytest.mark.parametrize("name", ["satellite"])
def test_what_loses_energy_has_dampers(name):
    run = ENTRIES[name].run(200)
    assert run.energy[-1] < run.energy[0] and {e.name for e in la.gallery.ENTRIES if e.loses_energy} == {name}


@pytest.mark.parametrize("entry", la.gallery.ENTRIES, ids=lambda e: e.name)
def test_the_program_on_the_page_is_the_run(entry):
    """Word for word, with fewer steps."""
    assert f"dt={entry.dt:g}" in entry.code and f"duration={entry.duration:g}" in entry.code
    program = entry.code.partition("run.to_html")[0].replace(f"duration={entry.duration:g}", "steps=2")
    program = re.sub(r"record_every=\d+", "record_every=2", program)
    namespace = {}
    exec(compile(program, entry.name, "exec"), namespace)
    assert np.array_equal(namespace["run"].q[-1], entry.run(2).q[-1])
    assert f"def {entry.example}(" in entry.source


def test_names_are_good_for_files_and_stories_are_one_sentence():
    names = la.gallery.names()
    assert len(set(names)) == len(names) >= 20
    for entry in la.gallery.ENTRIES:
        assert re.fullmatch(r"[a-z0-9-]+", entry.name)
        assert entry.story.endswith(".") and entry.story.count(". ") == 0


def test_the_index_has_every_entry_and_every_page_its_story_and_source(written):
    index = (written / "index.html").read_text(encoding="utf-8")
    for entry in la.gallery.ENTRIES:
        assert f'href="{entry.name}.html"' in index and html.escape(entry.title) in index
        page = (written / f"{entry.name}.html").read_text(encoding="utf-8")
        assert f"def {entry.example}(" in page and 'href="index.html"' in page
    for source in re.findall(r'src="([^"]+)"', index):
        assert (written / source).exists()


def test_every_entry_has_its_thumbnails_and_they_are_small():
    assert all(len(pictures(entry)) == 2 for entry in la.gallery.ENTRIES), "make thumbnails"
    assert {path.stem.removesuffix("-dark") for path in PICTURES.glob("*.webp")} == set(ENTRIES)
    assert sum(path.stat().st_size for path in PICTURES.iterdir()) < 1_000_000


def test_some_entries_only(tmp_path, capsys):
    assert main(["gallery", "--list"]) == 0 and "heavy-top" in capsys.readouterr().out
    assert main(["gallery", "heavy-top", "--out", str(tmp_path / "g")]) == 0
    assert {p.name for p in (tmp_path / "g").glob("*.html")} == {"index.html", "heavy-top.html"}
    assert main(["gallery", "no such thing", "--out", str(tmp_path)]) == 1
    assert "no such thing" in (said := capsys.readouterr().err) and "'heavy-top'" in said


@pytest.mark.skipif(bool(missing()), reason=missing())
def test_index_and_page_load_in_a_browser_without_complaints(written):
    with Browser(1100, 800) as browser:
        browser.call("Page.navigate", url=(written / "index.html").as_uri())
        browser.wait_for("document.readyState === 'complete'")
        browser.run("window.shown = [...document.images].filter((i) => getComputedStyle(i).display !== 'none'); 0")
        browser.run("for (const i of shown) i.loading = 'eager'; 0")
        browser.wait_for("shown.length > 0 && shown.every((i) => i.complete && i.naturalWidth > 0)")
        assert browser.run("document.querySelectorAll('.cards a').length") == len(ENTRIES)
        assert browser.run("document.documentElement.scrollWidth <= innerWidth")
        browser.resize(390, 800)
        assert browser.run("document.documentElement.scrollWidth <= innerWidth"), "too wide for a phone"
        browser.open(written / "jansen-walker.html")
        assert browser.run("document.querySelector('.source pre').textContent").startswith("import leastaction as la")
        assert not [p for p in browser.problems if "GL Driver Message" not in p]
