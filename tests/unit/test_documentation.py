"""Every Python example of the README and of docs/ runs, in the order of its page, and every link leads somewhere.

Blocks that are files of the package (```python file=...) are not examples: tests/extending writes them into a copy.
"""

import re
from pathlib import Path

import pytest

import leastaction.plot  # noqa: F401
from leastaction.io import registry

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted(p for p in (ROOT / "docs").rglob("*.md") if "_build" not in p.parts), ROOT / "papers" / "README.md"]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def name(page):
    return str(page.relative_to(ROOT))


def with_examples():
    for page in PAGES:
        if BLOCK.search(page.read_text(encoding="utf-8")):
            # laws on bodies make every integrator compile once more
            yield pytest.param(page, marks=pytest.mark.slow) if page.name in ("extending.md", "forces.md") else page


@pytest.mark.parametrize("page", list(with_examples()), ids=name)
def test_examples_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(registry, "FORMATS", dict(registry.FORMATS))  # what a page registers is not for other tests
    text = page.read_text(encoding="utf-8")
    namespace: dict = {"__name__": "example"}
    for block in BLOCK.finditer(text):
        line = text[: block.start(1)].count("\n")
        # empty lines in front: a traceback shows the line of the page
        exec(compile("\n" * line + block[1], page, "exec"), namespace)


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_lead_somewhere(page):
    text = page.read_text(encoding="utf-8")
    for target, anchor in re.findall(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]*))?\)", text):
        linked = (page.parent / target).resolve() if target else page
        assert linked.exists(), f"{name(page)} links to {target}, which does not exist"
        if anchor:
            headings = re.findall(r"^#+ (.*)$", linked.read_text(encoding="utf-8"), re.MULTILINE)
            assert anchor in {re.sub(r"[^\w -]", "", h).strip().lower().replace(" ", "-") for h in headings}
