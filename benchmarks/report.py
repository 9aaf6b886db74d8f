"""Tables and targets of the speed comparison, for the terminal and for docs/benchmarks.md."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator
from pathlib import Path

import numba
import numpy as np

import leastaction as la

from .peers.base import Peer
from .speed import ABA, STEP, Results, Row

DOCS = Path(__file__).resolve().parent.parent / "docs"


def table(header: list[str], body: list[list[str]]) -> str:
    """A Markdown table whose columns line up."""
    widths = [max(len(row[k]) for row in [header, *body]) for k in range(len(header))]
    lines = [header, ["-" * w for w in widths], *body]
    return "\n".join("| " + " | ".join(cell.ljust(w) for cell, w in zip(line, widths, strict=True)) + " |" for line in lines)


def number(value: float | None, digits: int = 3) -> str:
    return "-" if value is None or not np.isfinite(value) else f"{value:.{digits}g}" if value < 100 else f"{value:.0f}"


def times_table(rows: list[Row], peers: list[Peer]) -> str:
    columns = [STEP, ABA, *(p.name for p in peers)]
    body = []
    for r in rows:
        name = r.case.name if r.confirmed else f"{r.case.name} (noisy)"
        body.append([name, *(number(_microseconds(r, c)) for c in columns), f"{r.evaluations:.2f}"])
    return table(["microseconds", *columns, "evaluations per step"], body)


def _microseconds(row: Row, column: str) -> float | None:
    return row.seconds[column] * 1e6 if column in row.seconds else None


def ratio_table(rows: list[Row], peers: list[Peer]) -> str:
    header = ["ours / theirs", *(f"step / {p.name}" for p in peers), "ABA / pin.aba"]
    body = [[r.case.name, *(number(r.ratio(STEP, p.name)) for p in peers), number(r.ratio(ABA, "pin.aba"))] for r in rows]
    return table(header, body)


def kernel_table(kernels: dict[str, dict[str, float]]) -> str:
    names = list(next(iter(kernels.values())))
    return table(["microseconds", *names], [[case, *(number(t[n] * 1e6) for n in names)] for case, t in kernels.items()])


def targets(rows: list[Row]) -> Iterator[tuple[str, float | None, float]]:
    """(what, measured, limit) of everything the project promises about speed."""
    for r in rows:
        chain = r.case.kind in ("planar chain", "3-D chain")
        if chain and 10 <= r.case.links <= 200:
            yield f"{r.case.name}: step / pin.aba", r.ratio(STEP, "pin.aba"), 0.65 if r.case.links <= 100 else 0.75
        if chain and r.case.links >= 10:
            yield f"{r.case.name}: step / MuJoCo Euler", r.ratio(STEP, "MuJoCo Euler"), 1.0
        if chain and r.case.links == 100:
            yield f"{r.case.name}: ABA / pin.aba", r.ratio(ABA, "pin.aba"), 0.6
        if r.case.kind in ("ball chain", "humanoid"):
            yield f"{r.case.name}: step / pin.aba", r.ratio(STEP, "pin.aba"), 1.0
    for kind in ("planar chain", "3-D chain"):
        per_link = {r.case.links: r.seconds[STEP] / r.case.links for r in rows if r.case.kind == kind}
        if 100 in per_link and 1000 in per_link:
            yield f"{kind}: cost per link at 1000 links / at 100", per_link[1000] / per_link[100], 1.2


def target_table(rows: list[Row]) -> str:
    body = []
    for what, measured, limit in targets(rows):
        if measured is not None:
            body.append([what, number(measured), f"<= {limit:g}", "holds" if measured <= limit else "MISSED"])
    return table(["target", "measured", "limit", ""], body)


def machine() -> str:
    """Class of machine and versions; nothing that names the computer."""
    cpu = platform.processor() or platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        cpu = next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    cores = os.cpu_count()
    return f"{cpu} ({platform.machine()}, {cores} cores, one used), {platform.system()}, Python {platform.python_version()}"


def versions(peers: list[Peer]) -> str:
    packages = {"leastaction": la.__version__, "numba": numba.__version__, "numpy": np.__version__}
    packages |= {p.name.split()[0].replace("pin.aba", "pin"): p.version for p in peers}
    return ", ".join(f"{name} {version}" for name, version in packages.items())


def left_out(rows: list[Row], missing: dict[str, str]) -> list[str]:
    notes = [f"- {name}: not measured ({reason})" for name, reason in missing.items()]
    reasons = dict.fromkeys((column, reason) for r in rows for column, reason in r.left_out.items())
    return notes + [f"- {column} is left out ({reason}) where the table has a dash" for column, reason in reasons]


def page(results: Results) -> str:
    """docs/benchmarks.md"""
    rows, kernels, peers, missing = results.rows, results.kernels, results.peers, results.missing
    return "\n".join([
        "# Speed",
        "",
        "Written by `python -m benchmarks` (or `make bench`); run it to get the table of your own machine.  Compare the ratios, not the",
        "microseconds: machines differ, and the ratios were measured in one run, interleaved, on one core.",
        "",
        f"- Machine: {machine()}",
        f"- Versions: {versions(peers)}",
        "- Step 1 ms.  Chains start with the first joint at 45 degrees, at rest; ball-joint chain and humanoid move in all axes.",
        "- `leastaction step`: a full step of `la.Variational()`, tolerance 1e-10, 300 to 1000 warm steps in one compiled loop.",
        "- `leastaction ABA`, `pin.aba`: forward dynamics once, ours repeated in compiled code, Pinocchio's called from Python.",
        "- MuJoCo: `mj_step(model, data, nstep)`, contacts and constraints off; DART: `world.step()`.  Euler steps are of order 1,",
        "  ours of order 2, RK4 steps of order 4.",
        "- Before anything is timed, mass matrix and accelerations of every peer are compared with ours at a random state (1e-9 relative).",
        "- Times are minima of CPU time over interleaved repeats; `(noisy)` marks rows whose minima were not reached three times.",
        *(f"- {p.name}: {p.note}" for p in peers if p.note),
        *left_out(rows, missing),
        "",
        "## Time of one call",
        "",
        times_table(rows, peers),
        "",
        "## Ratios",
        "",
        ratio_table(rows, peers),
        "",
        "## Targets",
        "",
        target_table(rows),
        "",
        "## Where a step of leastaction goes",
        "",
        kernel_table(kernels) if kernels else "(not measured)",
        "",
    ])  # fmt: skip
