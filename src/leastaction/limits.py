"""Limits of joints: how far the maker of a mechanism says they go."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, isnan

from .checks import name, numbers, shown
from .errors import MechanismError


@dataclass(frozen=True)
class Limit:
    """Range of a joint with one coordinate.  A run stops where it is left, see `simulate(limits=...)`.

    >>> import leastaction as la
    >>> mech = la.examples.chain(1)
    >>> _ = mech.add_limit("link1", -0.4, 0.4)
    >>> mech.compile().limits[0].lower
    -0.4
    """

    joint: str  #: name of the joint
    lower: float = -inf  #: rad or m
    upper: float = inf  #: rad or m
    velocity: float = inf  #: largest speed, rad/s or m/s; kept for you, runs do not look at it
    effort: float = inf  #: largest joint force, N m or N; kept for you, runs do not look at it

    @property
    def place(self) -> int:
        """Which of the joint's coordinates it is about."""
        return 0

    def __post_init__(self) -> None:
        where = f"limit of joint {name(self.joint, 'limit: joint')!r}"
        for what in ("lower", "upper", "velocity", "effort"):
            object.__setattr__(self, what, _number(getattr(self, what), f"{where}: {what}"))
        if self.lower > self.upper:
            raise MechanismError(f"{where}: lower = {self.lower:g} is greater than upper = {self.upper:g}")
        for what in ("velocity", "effort"):
            if getattr(self, what) < 0.0:
                raise MechanismError(f"{where}: {what} = {getattr(self, what):g}; it needs a number >= 0")


@dataclass(frozen=True)
class Range(Limit):
    """Range of one coordinate of a joint that is only described there: a wire that ends, a patch with an edge."""

    coordinate: str = ""  #: its name
    index: int = 0  #: its place among those of the joint
    error: bool = True  #: is leaving it an error?  Otherwise the run stops

    @property
    def place(self) -> int:
        return self.index


def _number(value: float, what: str) -> float:
    """A number that may be infinite: no limit."""
    given = numbers(value, what, MechanismError, (), finite=False)
    if isnan(given):
        raise MechanismError(f"{what} = {shown(value)} is not a number")
    return float(given)
