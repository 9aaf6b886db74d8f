"""docs/extending.md as what it is: instructions that can be executed.

    ```python file=joints/slot.py      a new file of the package
    ```diff file=joints/__init__.py    a change of one: lines with "-" and " " are looked for, and replaced by those with "+" and " ";
                                       "@@" separates places
    ```python                          an example that runs as it stands, after those before it in its section
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import NamedTuple

import leastaction

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "extending.md"
_FENCE = re.compile(r"^```(python|diff)(?: file=(\S+))?\n(.*?)^```", re.MULTILINE | re.DOTALL)


class Block(NamedTuple):
    section: str  #: heading it stands under, without "## "
    line: int  #: of the page
    language: str
    file: str  #: of the package, or empty
    text: str


def blocks(section: str | None = None, page: Path = PAGE) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    found = []
    for match in _FENCE.finditer(text):
        headings = re.findall(r"^## (.*)$", text[: match.start()], re.MULTILINE)
        found.append(Block(headings[-1] if headings else "", text[: match.start(3)].count("\n"), match[1], match[2] or "", match[3]))
    return [b for b in found if section is None or b.section == section]


def run(section: str) -> dict:
    """Execute the examples of a section that are not files of the package; returns their names."""
    namespace: dict = {"__name__": "example"}
    for block in blocks(section):
        if block.language == "python" and not block.file:
            exec(compile("\n" * block.line + block.text, PAGE, "exec"), namespace)
    return namespace


def files_of(section: str) -> dict[str, list[Block]]:
    """Files of the package that a section writes or changes."""
    found: dict[str, list[Block]] = {}
    for block in blocks(section):
        if block.file:
            found.setdefault(block.file, []).append(block)
    return found


def table() -> dict[str, list[str]]:
    """What the table at the top promises: new thing -> files it touches."""
    rows = {}
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")] if line.startswith("|") else []
        if len(cells) == 3 and cells[0] != "new" and not set(cells[0]) <= {"-"}:
            rows[cells[0]] = re.findall(r"`([\w/<>]+\.py)`", f"{cells[1]} {cells[2]}")
    return rows


def patched_copy(target: Path, *sections: str) -> Path:
    """A copy of the package in target/leastaction with everything that the sections say; returns `target`, to be put on PYTHONPATH."""
    shutil.copytree(Path(leastaction.__file__).parent, target / "leastaction", ignore=shutil.ignore_patterns("__pycache__"))
    for section in sections:
        for name, parts in files_of(section).items():
            for block in parts:
                apply(block, target / "leastaction" / name)
    return target


def apply(block: Block, path: Path) -> None:
    """Write or change the file a block names."""
    if block.language == "python":
        assert not path.exists(), f"docs/extending.md:{block.line}: {block.file} exists already; show the change as a diff"
        path.write_text(block.text, encoding="utf-8")
        return
    for place in re.split(r"^@@.*\n", block.text, flags=re.MULTILINE):
        lines = place.splitlines()
        before, after = ("\n".join(line[1:] for line in lines if line[:1] in kept) for kept in ("- ", "+ "))
        change(path, before, after)


def change(path: Path, before: str, after: str) -> None:
    """Replace what stands in a file exactly once."""
    text = path.read_text(encoding="utf-8")
    assert text.count(before) == 1, f"{path.name} has these lines {text.count(before)} times:\n{before}"
    path.write_text(text.replace(before, after), encoding="utf-8")
