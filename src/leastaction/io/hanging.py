"""What hangs on what in a mechanism that is to be written: all of it on the world, or it would be missing in the file."""

from __future__ import annotations

from ..errors import FormatError
from ..mechanism import WORLD, Body, Frame, Mechanism


def children_of(mechanism: Mechanism) -> dict[str, list[Body | Frame]]:
    """Bodies and frames by what they hang on; an error names the first that does not hang on the world."""
    children: dict[str, list[Body | Frame]] = {}
    things: list[Body | Frame] = [*mechanism.bodies.values(), *mechanism.frames.values()]
    for thing in things:
        children.setdefault(thing.parent, []).append(thing)
    reached, stack = {WORLD}, [WORLD]
    while stack:
        found = [thing.name for thing in children.get(stack.pop(), [])]
        reached.update(found)
        stack += found
    for thing in things:
        if thing.name not in reached:
            known = {WORLD, *mechanism.bodies, *mechanism.frames}
            why = "which does not exist" if thing.parent not in known else "which does not hang on the world"
            raise FormatError(f"{thing.name!r} hangs on {thing.parent!r}, {why}; add it, or hang {thing.name!r} on something else")
    return children
