"""The gallery as pages: an index with thumbnails, and a page with story, playback, plots and source for each entry."""

from __future__ import annotations

import html
import shutil
from collections.abc import Callable, Iterable
from os import PathLike
from pathlib import Path
from string import Template

from .. import page
from ..checks import path as checked_path
from ..checks import shown
from ..checks import text as checked_text
from ..errors import StateError
from .entries import ENTRIES, Entry, entry

_HERE = Path(__file__).parent
PICTURES = _HERE / "thumbnails"  #: <name>.webp and <name>-dark.webp


def write(
    folder: str | PathLike[str],
    names: Iterable[str] = (),
    *,
    steps: int | None = None,
    home: str = "",
    say: Callable[[str], None] = lambda _: None,
) -> list[Path]:
    """Write the gallery, or the entries with these names, to a folder: index.html and a page each; returns what was written.

    steps   of every run, instead of its whole duration
    home    address of a page that the index belongs to; no index is written then
    say     is told about every page

    >>> import tempfile
    >>> import leastaction as la
    >>> [path.name for path in la.gallery.write(tempfile.mkdtemp(), ["heavy-top"], steps=2)]
    ['index.html', 'heavy-top.html']
    """
    if isinstance(names, str) or not isinstance(names, Iterable) or not callable(say):
        raise StateError(f"names = {shown(names)}, say = {shown(say)}; give a list of names, and a function (text)")
    chosen = [entry(name) for name in names] or list(ENTRIES)
    out, home = checked_path(folder, "folder"), checked_text(home, "home")
    try:
        (out / PICTURES.name).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StateError(f"cannot write into the folder {str(out)!r}: {error.strerror}") from error
    written = []
    for one in chosen:
        path = out / f"{one.name}.html"
        made = page.write(
            one.run(steps), path, title=one.title, traces=one.traces, reactions=one.reactions, story=one.story, code=shown_code(one),
            home=home or "index.html",
        )  # fmt: skip
        for picture in pictures(one):
            shutil.copyfile(picture, out / PICTURES.name / picture.name)
        say(f"{path}: {made}")
        written.append(path)
    if not home:
        index = out / "index.html"
        text = Template((_HERE / "index.html").read_text(encoding="utf-8"))
        index.write_text(text.substitute(cards=cards(chosen), style=style()), encoding="utf-8")
        written.insert(0, index)
    return written


def shown_code(one: Entry) -> str:
    """The program, and under it the builder that it calls."""
    return f"{one.code}\n\n# ---- la.examples.{one.example} ----\n\n{one.source}"


def pictures(one: Entry) -> list[Path]:
    """Its thumbnails, for light and for dark pages; none if they were not taken yet."""
    return [path for kind in ("", "-dark") if (path := PICTURES / f"{one.name}{kind}.webp").exists()]


def style() -> str:
    return (_HERE / "cards.css").read_text(encoding="utf-8")


def cards(entries: Iterable[Entry], base: str = "") -> str:
    """A list of links with pictures; base: folder of the pages, seen from where the list stands."""
    return "<ul class=cards>\n" + "\n".join(_card(one, base) for one in entries) + "\n</ul>"


def _card(one: Entry, base: str) -> str:
    source = f"{base}{PICTURES.name}/{one.name}"
    picture = (
        f'<img class=light src="{source}.webp" alt="" width=480 height=320 loading=lazy>'
        f'<img class=dark src="{source}-dark.webp" alt="" width=480 height=320 loading=lazy>'
        if len(pictures(one)) == 2 else "<span class=no-picture></span>"
    )  # fmt: skip
    return (
        f'<li><a href="{base}{one.name}.html">{picture}<strong>{html.escape(one.title)}</strong>'
        f"<span>{html.escape(one.story)}</span></a></li>"
    )
