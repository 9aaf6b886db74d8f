"""`--stop "elbow > 0.5"`: events as they are written on the command line."""

from __future__ import annotations

import re

import leastaction as la
from leastaction.checks import listed
from leastaction.events.description import AXES, Coordinate, Height

_CONDITION = re.compile(r"\s*(.+?)\s*([<>])\s*(\S+)\s*")


def stops(texts: list[str], model: la.Model, start: la.State) -> list[la.Event]:
    """Terminal events for conditions that do not hold at the start."""
    return [_stop(text, model, start) for text in texts]


def _stop(text: str, model: la.Model, start: la.State) -> la.Event:
    parts = _CONDITION.fullmatch(text)
    try:
        value = float(parts[3]) if parts else 0.0
    except ValueError:
        parts = None
    if parts is None:
        raise la.StateError(f"--stop {text!r}: write it as 'elbow > 0.5' or 'tip.z < 0': a coordinate, < or >, and a number")
    name, rising = parts[1], parts[2] == ">"
    frame, _, axis = name.rpartition(".")
    condition: Coordinate | Height
    if name in model.coordinate_names:
        condition = Coordinate(name, value)
    elif frame in model.frames and axis in AXES:
        condition = Height(frame, AXES.index(axis), value)
    else:
        known = f"coordinates are {listed(model.coordinate_names)}; of bodies and frames ({listed(model.frames)}) write name.x, .y or .z"
        raise la.StateError(f"--stop {text!r}: there is no {name!r}; {known}")
    now = float(condition.bind(model)(start.q[None])[0])
    if (now > 0.0) == rising and now != 0.0:
        raise la.StateError(f"--stop {text!r}: it is so at the start already, {name} = {now + value:g}; start elsewhere, or leave it out")
    return la.Event(condition, name=text.strip(), direction="rising" if rising else "falling", terminal=True)
