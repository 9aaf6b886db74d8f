"""The documentation as a site: every page is in it, every link leads somewhere, every public name is in the reference."""

import inspect
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

import leastaction as la
from leastaction.film.browser import Browser, missing

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    pytest.importorskip("sphinx", reason="the site is built with Sphinx: pip install 'leastaction[docs]'")
    out = tmp_path_factory.mktemp("site")
    short = ["-D", "gallery_steps=3"]  # of every run of the gallery
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", *short, "-d", out / "doctrees", ROOT / "docs", out / "html"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr  # a warning is an error: pages nobody links to, links that lead nowhere, docstrings that break
    return out / "html"


def test_every_page_is_there(site):
    docs = ROOT / "docs"
    pages = {page.relative_to(docs).with_suffix("") for page in docs.rglob("*.md") if "_build" not in page.parts} - {Path("README")}
    assert pages <= {page.relative_to(site).with_suffix("") for page in site.rglob("*.html")}
    assert (site / "searchindex.js").exists()  # the search needs no server


class _Links(HTMLParser):
    """What a page links to and shows, and the places in it that can be linked to."""

    def __init__(self, text):
        super().__init__()
        self.links, self.places = [], set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.links += [found[key] for key in ("href", "src") if found.get(key)]
        self.places |= {found[key] for key in ("id", "name") if found.get(key)}


def test_every_link_inside_the_site_leads_somewhere(site):
    pages = {page: _Links(page.read_text(encoding="utf-8")) for page in site.rglob("*.html")}
    broken = []
    for page, parsed in pages.items():
        for link in parsed.links:
            address = urlsplit(link)
            if address.scheme or address.netloc:
                continue
            target = (page.parent / unquote(address.path)).resolve() if address.path else page
            places = pages[target].places | {"top", ""} if target in pages else {unquote(address.fragment)}
            if not target.exists() or unquote(address.fragment) not in places:
                broken.append(f"{page.relative_to(site)}: {link}")
    assert not broken


def test_nothing_is_loaded_from_elsewhere(site):
    """The site works off line: equations, search, gallery."""
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        assert not re.findall(r"<(?:script|img|iframe)[^>]+src=.?https?:", text), page
        assert not re.findall(r"<link[^>]+rel=.?stylesheet[^>]+href=.?https?:", text), page


@pytest.mark.skipif(bool(missing()), reason=missing())
def test_the_search_works_from_a_disk_with_the_network_cut(site):
    with Browser(1000, 800) as browser:
        browser.call("Network.emulateNetworkConditions", offline=True, latency=0, downloadThroughput=-1, uploadThroughput=-1)
        browser.call("Page.navigate", url=f"{(site / 'search.html').as_uri()}?q=marionette")
        browser.wait_for("document.querySelectorAll('#search-results li').length > 0")
        found = browser.run("[...document.querySelectorAll('#search-results li a')].map((link) => link.getAttribute('href'))")
        assert any(link.startswith("api.html") for link in found)
        assert not browser.problems


def test_the_gallery_is_in_it(site):
    text = (site / "gallery.html").read_text(encoding="utf-8")
    for entry in la.gallery.ENTRIES:
        assert f"gallery/{entry.name}.html" in text and (site / "gallery" / f"{entry.name}.html").exists()


def test_equations_of_the_theory_are_numbered(site):
    text = (site / "theory.html").read_text(encoding="utf-8")
    numbers = re.findall(r'id="equation-(\d+)"', text)
    assert numbers == re.findall(r"\\tag\{(\d+)\}", (ROOT / "docs" / "theory.md").read_text(encoding="utf-8"))
    assert numbers == [str(n + 1) for n in range(len(numbers))]  # in the order of the page, without gaps


def _cited(text):
    """Numbers of equations a source says are in docs/theory: "docs/theory (1) to (3)", "docs/theory (4), (5)", "(4) of docs/theory"."""
    listed = r"\(\d+\)(?:(?:,| to|-| and) ?\(\d+\))*"
    found = re.findall(rf"docs/theory ({listed})|({listed}) of docs/theory", text)
    return {int(number) for groups in found for number in re.findall(r"\d+", "".join(groups))}


def test_equations_that_sources_cite_are_there():
    theory = (ROOT / "docs" / "theory.md").read_text(encoding="utf-8")
    numbered = {int(n) for n in re.findall(r"\\tag\{(\d+)\}", theory)}
    sources = {path: _cited(path.read_text(encoding="utf-8")) for path in (ROOT / "src").rglob("*.py")}
    assert not [f"{path.relative_to(ROOT)}: {cited - numbered}" for path, cited in sources.items() if cited - numbered]
    assert set().union(*sources.values()) == numbered  # and each of them is where somebody uses it


def test_every_public_name_is_in_the_reference(site):
    text = (site / "api.html").read_text(encoding="utf-8")
    missing = [name for name in la.__all__ if f'id="leastaction.{name}"' not in text and f">la.{name}<" not in text]
    assert not missing


def test_every_public_name_says_what_it_is_and_has_an_example():
    """Also what is in public modules, but for the mechanisms of la.examples, which are called alike.  Examples are doctests: they run."""
    things = {f"la.{name}": getattr(la, name) for name in la.__all__}
    for name, module in list(things.items()):
        if inspect.ismodule(module) and module is not la.examples:
            del things[name]
            things |= {f"{name}.{inner}": getattr(module, inner) for inner in getattr(module, "__all__", [])}
    things = {name: thing for name, thing in things.items() if callable(thing) or thing is la.examples}
    assert not [name for name, thing in things.items() if not (thing.__doc__ or "").strip()]
    assert not [name for name, thing in things.items() if ">>> " not in thing.__doc__]
