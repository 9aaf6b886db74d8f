"""The documentation as a site: every page is in it, every link leads somewhere, every public name is in the reference."""

import subprocess
import sys
from pathlib import Path

import pytest

import leastaction as la

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    pytest.importorskip("sphinx", reason="the site is built with Sphinx: pip install 'leastaction[docs]'")
    out = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-d", out / "doctrees", ROOT / "docs", out / "html"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr  # a warning is an error: pages nobody links to, links that lead nowhere, docstrings that break
    return out / "html"


def test_every_page_is_there(site):
    pages = {page.stem for page in (ROOT / "docs").glob("*.md")} - {"README"}
    assert pages <= {page.stem for page in site.glob("*.html")}
    assert (site / "searchindex.js").exists()  # the search needs no server


def test_every_public_name_is_in_the_reference(site):
    text = (site / "api.html").read_text(encoding="utf-8")
    missing = [name for name in la.__all__ if f'id="leastaction.{name}"' not in text and f">la.{name}<" not in text]
    assert not missing


def test_every_public_name_says_what_it_is():
    assert not [name for name in la.__all__ if not (getattr(la, name).__doc__ or "").strip()]
