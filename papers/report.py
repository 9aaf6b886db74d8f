"""The report: one HTML file that needs nothing from outside."""

from __future__ import annotations

import html
import os
import platform
import sys
import time
import traceback
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from string import Template

import leastaction as la

from .contents import ENTRIES, PAPERS, Entry, chosen
from .drawing import addresses
from .result import CONFIRMED, NOT_CONFIRMED, NOT_TESTABLE, Film, Picture, Result, Table

FAILED, NOT_MADE = "failed", "not made yet"
_CLASSES = {CONFIRMED: "yes", NOT_CONFIRMED: "no", NOT_TESTABLE: "open", FAILED: "no", NOT_MADE: "open"}
_TEMPLATE = Path(__file__).with_name("report.html")


@dataclass
class Made:
    """An entry and what became of it."""

    entry: Entry
    result: Result | None
    seconds: float  #: that passed
    processor: float = 0.0  #: seconds of the processor, with those of child processes
    failure: str = ""

    def verdicts(self) -> list[str]:
        if self.result is None:
            return [FAILED if self.failure else NOT_MADE]
        return [claim.verdict for claim in self.result.claims]


def run(names: Sequence[str], quick: bool, folder: Path) -> int:
    """Make the chosen figures one after the other and write folder/index.html; returns the exit code."""
    from . import disagreements

    entries = chosen(list(names))
    made = []
    for k, entry in enumerate(entries, start=1):
        print(f"[{k}/{len(entries)}] {entry.key}: {PAPERS[entry.paper].split(':')[0]}, {entry.what} ...", file=sys.stderr, flush=True)
        made.append(make(entry, quick))
        print(summary(made[-1]))
    papers = list(dict.fromkeys(entry.paper for entry in entries))
    errata = disagreements.found(papers) if not names or set(names) & set(PAPERS) else []
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "index.html"
    path.write_text(page(made, errata, quick, list(names)), encoding="utf-8")
    count = Counter(v for m in made for v in m.verdicts())
    print(f"\n{', '.join(f'{n} {verdict}' for verdict, n in count.items())}; wrote {path}")
    return 1 if count[FAILED] else 0


def make(entry: Entry, quick: bool) -> Made:
    """Run one script; what goes wrong in it is part of the report."""
    if not entry.made:
        return Made(entry, None, 0.0)
    began, worked = time.perf_counter(), _processor()
    try:
        result, failure = entry.script().make(quick), ""
    except Exception:
        result, failure = None, traceback.format_exc()
    return Made(entry, result, time.perf_counter() - began, _processor() - worked, failure)


def _processor() -> float:
    """Seconds of the processor so far, with those of child processes: what a figure costs on a machine that others use too."""
    return sum(os.times()[:4])


def summary(made: Made) -> str:
    """What the terminal shows."""
    if made.result is None:
        return f"  {made.failure or NOT_MADE}"
    lines = [
        f"  {c.verdict}: {c.says}\n      paper: {c.paper or '-'}; here: {c.ours}" + (f" ({c.reason})" if c.reason else "")
        for c in made.result.claims
    ]
    return "\n".join([*lines, f"  {made.seconds:.1f} s, {made.processor:.1f} s of the processor"])


def page(made: list[Made], errata: list, quick: bool, names: list[str]) -> str:
    sections = []
    for paper, title in PAPERS.items():
        own = [m for m in made if m.entry.paper == paper]
        if own:
            sections.append(f"<h2 id={paper}>{_text(title)}</h2>" + "".join(map(_section, own)))
    return Template(_TEMPLATE.read_text(encoding="utf-8")).substitute(
        facts=_text(_facts(made, quick, names)),
        overview=_overview(made),
        sections="\n".join(sections),
        errata=_errata(errata),
        errata_link=' What a paper prints wrong is in <a href="#errata">where we disagree</a>.' if errata else "",
    )


def _facts(made: list[Made], quick: bool, names: list[str]) -> str:
    command = " ".join(["leastaction papers", *names, *(["--quick"] if quick else [])])
    kind = "short versions: fewer sizes, shorter runs, times taken once" if quick else "whole versions"
    return (
        f"Written by {command} ({kind}) in {sum(m.seconds for m in made):.0f} s "
        f"({sum(m.processor for m in made):.0f} s of the processor) on {platform.machine()}, {platform.system()}, "
        f"Python {platform.python_version()}, leastaction {la.__version__}. Times are of this machine; ratios are what to compare."
    )


def _overview(made: list[Made]) -> str:
    rows = []
    for m in made:
        link = f'<a href="#{m.entry.key}">{_text(m.entry.what)}</a>'
        chips = " ".join(_chip(verdict, count) for verdict, count in Counter(m.verdicts()).items())
        rows.append(
            f"<tr><td>{_text(PAPERS[m.entry.paper].split(':')[0])}<td>{link}<td>{_text(m.entry.title)}<td>{chips}<td "
            f"class=number>{m.seconds:.0f}<td class=number>{m.processor:.0f}</tr>"
        )
    left_out = [entry for entry in ENTRIES if entry.key not in {m.entry.key for m in made}]
    note = f"<p>Not asked for in this run: {_text(', '.join(entry.key for entry in left_out))}.</p>" if left_out else ""
    head = "<tr><th>paper<th><th>what is repeated<th>verdicts<th>s<th>of the processor</tr>"
    return f"<div class=wide><table><thead>{head}</thead>{''.join(rows)}</table></div>{note}"


def _chip(verdict: str, count: int = 1) -> str:
    return f'<span class="chip {_CLASSES[verdict]}">{f"{count} × " if count > 1 else ""}{verdict}</span>'


def _section(m: Made) -> str:
    entry = m.entry
    command = f"leastaction papers {entry.key}"
    head = f"<section id={entry.key}><h3>{_text(entry.what)}: {_text(entry.title)}</h3>"
    took = f"{m.seconds:.1f} s, {m.processor:.1f} s of the processor, script papers/{entry.key}.py"
    foot = f"<p class=command><code>{command}</code> <span>{took}</span></p></section>"
    if m.result is None:
        words = f"<pre>{_text(m.failure)}</pre>" if m.failure else "<p>There is no script for it yet.</p>"
        return head + _chip(m.verdicts()[0]) + words + (foot if m.failure else "</section>")
    r = m.result
    return "".join(
        [
            head,
            f"<p>{_text(r.setting)}</p>",
            *map(_picture, r.pictures),
            *map(_film, r.films),
            _claims(r),
            *map(_table, r.tables),
            foot,
        ]
    )


def _claims(r: Result) -> str:
    rows = [
        f"<tr><td>{_text(c.says)}<td>{_text(c.paper) or '–'}<td>{_text(c.ours)}<td>{_chip(c.verdict)}"
        + (f"<br><small>{_text(c.reason)}</small>" if c.reason else "")
        + "</tr>"
        for c in r.claims
    ]
    head = "<tr><th>what is said<th>number of the paper<th>here<th>verdict</tr>"
    return f"<div class=wide><table class=claims><thead>{head}</thead>{''.join(rows)}</table></div>"


def _picture(picture: Picture) -> str:
    light, dark = addresses(picture)
    alt = _text(picture.caption)
    return (
        f'<figure><picture><source srcset="{dark}" media="(prefers-color-scheme: dark)"><img src="{light}" alt="{alt}"></picture>'
        f"<figcaption>{alt}</figcaption></figure>"
    )


def _table(table: Table) -> str:
    head = "".join(f"<th>{_text(cell)}" for cell in table.header)
    rows = "".join("<tr>" + "".join(f"<td>{_text(cell)}" for cell in row) + "</tr>" for row in table.rows)
    caption = f"<caption>{_text(table.caption)}</caption>" if table.caption else ""
    return f"<div class=wide><table class=numbers>{caption}<thead><tr>{head}</tr></thead>{rows}</table></div>"


def _film(film: Film) -> str:
    """A page of its own inside the report; it wakes up when it is scrolled into view."""
    document = html.escape(la.page.make(film.run, accuracy=2e-3).text, quote=True)
    caption = _text(film.caption)
    return f'<figure><iframe loading=lazy title="{caption}" srcdoc="{document}"></iframe><figcaption>{caption}</figcaption></figure>'


def _errata(errata: list) -> str:
    if not errata:
        return ""
    rows = []
    for e in errata:
        cells = "".join(f"<td>{_text(cell)}" for cell in (e.where, e.printed, e.correct, e.shown))
        rows.append(f"<tr>{cells}<td>{_chip(CONFIRMED if e.holds else NOT_CONFIRMED)}</tr>")
    head = "<tr><th>where<th>printed<th>right<th>shown by<th>correction</tr>"
    return (
        "<h2 id=errata>Where we disagree</h2><p>What is printed, what is right, and what happens with either: each row was computed for "
        "this page by a function of papers/disagreements.py. The verdict is on the correction.</p>"
        f"<div class=wide><table class=claims><thead>{head}</thead>{''.join(rows)}</table></div>"
    )


def _text(words: str) -> str:
    return html.escape(words)
