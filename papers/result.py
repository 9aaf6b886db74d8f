"""What a script of a figure hands to the report: claims with numbers, pictures, tables, films."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

import leastaction as la

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CONFIRMED, NOT_CONFIRMED, NOT_TESTABLE = "confirmed", "not confirmed", "not testable here"


@dataclass(frozen=True)
class Claim:
    """What a paper says, and what came out here.

    holds   what the numbers say; None: they cannot tell, and `reason` says why
    """

    says: str  #: in our words
    paper: str  #: the number its text gives, "" if it gives none
    ours: str  #: the number measured here
    holds: bool | None
    reason: str = ""  #: of a verdict that needs one

    def __post_init__(self) -> None:
        if self.holds is None and not self.reason:
            raise ValueError(f"the claim {self.says!r} is not tested and gives no reason")

    @property
    def verdict(self) -> str:
        return NOT_TESTABLE if self.holds is None else CONFIRMED if self.holds else NOT_CONFIRMED


@dataclass(frozen=True)
class Picture:
    """`draw` is called with an empty Matplotlib figure, once in light and once in dark colours."""

    draw: Callable[[Figure], None]
    caption: str = ""
    size: tuple[float, float] = (8.0, 3.4)  #: inches


@dataclass(frozen=True)
class Table:
    header: list[str]
    rows: list[list[str]]
    caption: str = ""


@dataclass(frozen=True)
class Film:
    """A run that plays in the report."""

    run: la.Trajectory
    caption: str = ""


@dataclass
class Result:
    """A figure or table, repeated."""

    setting: str  #: what was simulated, and what the paper leaves open
    claims: list[Claim]
    pictures: list[Picture] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    films: list[Film] = field(default_factory=list)


def growth(sizes, values) -> float:
    """Exponent of `values` in `sizes`, fitted."""
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])


def missing(*packages: str) -> str:
    """Why a comparison cannot be made, "" if it can."""
    absent = [name for name in packages if importlib.util.find_spec(name) is None]
    return f"{', '.join(absent)} is not installed: pip install leastaction[papers]" if absent else ""
