"""Where the links, joints and frames of an SDF model are while all joints are at zero.

A pose in SDF is given relative to any other thing that has one: <pose relative_to="name">.  Here all of them become poses in the frame of
the model.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import radians

from ..checks import listed
from ..mechanism import WORLD
from ..pose import Pose
from .places import at
from .xml_tree import Element, shortened

MODEL = "__model__"

_FORMATS = {"": 6, "euler_rpy": 6, "quat_xyzw": 7}


def own_pose(element: Element) -> Pose:
    """What the <pose> of an element says, relative to whatever it is relative to; identity without one."""
    given = element.one("pose")
    if given is None or not given.text.strip():
        return Pose()
    written = given.attributes.get("rotation_format", "")
    if written not in _FORMATS:
        given.fail(f"rotation_format of {given} is {shortened(written)!r}; it is euler_rpy or quat_xyzw")
    numbers = given.text_numbers(_FORMATS[written])
    with at(given):
        if written == "quat_xyzw":
            x, y, z, w = numbers[3:]
            return Pose(numbers[:3], quaternion=(w, x, y, z))
        in_degrees = given.attributes.get("degrees", "").strip().lower() in ("true", "1")
        return Pose(numbers[:3], rpy=[radians(angle) for angle in numbers[3:]] if in_degrees else numbers[3:])


class Frames:
    """Poses by name; `default` says what the pose of a thing is relative to if its file does not; `model` is that of the model."""

    def __init__(self, things: Mapping[str, Element], default: Mapping[str, str], model: Pose):
        self.things, self.default = things, default
        self._known: dict[str, Pose] = {MODEL: Pose(), WORLD: model.inverse()}

    def __getitem__(self, name: str) -> Pose:
        """In the frame of the model."""
        asked, chain = name, dict[str, str]()  # a thing -> what its pose is relative to
        while name not in self._known:
            if name in chain:
                self.things[name].fail(f"the pose of {shortened(name)!r} is given relative to itself, by way of {listed(chain)}")
            chain[name] = self._relative_to(name)
            name = chain[name]
        for name, other in reversed(chain.items()):
            self._known[name] = self._known[other] @ own_pose(self.things[name])
        return self._known[asked]

    def _relative_to(self, name: str) -> str:
        given = self.things[name].one("pose")
        other = "" if given is None else given.attributes.get("relative_to", given.attributes.get("frame", "")).strip()
        other = other or self.default[name]
        if other not in self.things and other not in self._known:
            (given or self.things[name]).fail(
                f"the pose of {name!r} is relative to {shortened(other)!r}, which does not exist; there are {listed([MODEL, *self.things])}"
            )
        return other
