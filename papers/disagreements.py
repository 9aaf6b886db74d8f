"""Where we disagree with what is printed: each erratum that matters, with a small computation that shows it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Erratum:
    where: str
    printed: str
    correct: str
    shown: str  #: what was computed, with numbers
    holds: bool  #: the correction is right and the printed one is not


DEMONSTRATIONS: dict[str, list[Callable[[], Erratum]]] = {}


def demonstrates(paper: str):
    """Put a function into the list of its paper."""

    def register(function: Callable[[], Erratum]) -> Callable[[], Erratum]:
        DEMONSTRATIONS.setdefault(paper, []).append(function)
        return function

    return register


def found(papers: list[str]) -> list[Erratum]:
    return [demonstrate() for paper in papers for demonstrate in DEMONSTRATIONS.get(paper, [])]
