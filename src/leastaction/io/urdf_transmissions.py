"""<transmission>: the inertia that the rotor of a motor adds to a joint, gear ratio squared times its own.

URDF does not define how rotor inertias are written.  Read are the names in use: rotorInertia and motorInertia (in any spelling, as an
element or an attribute, in any namespace) beside mechanicalReduction or gear_ratio; armature is what the joint feels already.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from .leftovers import Leftovers
from .xml_tree import Element, shortened

_ROTOR_INERTIA = {"rotorinertia", "motorinertia"}
_ARMATURE = {"armature"}
_RATIO = {"mechanicalreduction", "gearratio"}


def armatures(robot: Element, joints: Mapping[str, Element], leftovers: Leftovers) -> dict[str, float]:
    """joint -> armature of all transmissions of a robot; what cannot be read is refused as "armature"."""
    found: dict[str, float] = {}
    inside = [inner for element in robot.all("ros2_control") for inner in element.all("transmission")]
    for transmission in [*robot.all("transmission"), *inside]:
        for element, what, value in _numbers(transmission, _ROTOR_INERTIA | _ARMATURE):
            if value == 0.0:
                continue
            name = shortened(transmission.attributes.get("name", ""))
            sentence = f"transmission {name!r}: {what} = {value:g} kg m^2 of the motor"
            if leftovers.ignores("armature", element, sentence):
                continue
            ratio = 1.0 if _plain(what) in _ARMATURE else _ratio(transmission)
            joint, wrong = _joint(transmission, joints)
            if value < 0.0:
                wrong = "it needs a number >= 0"
            elif ratio is None:
                wrong = "its mechanicalReduction is missing, or there are several"
            if wrong:
                leftovers.refuse("armature", element, f"{sentence}; {wrong}")
            elif ratio is not None:
                found[joint] = found.get(joint, 0.0) + ratio**2 * value
    return found


def _joint(transmission: Element, joints: Mapping[str, Element]) -> tuple[str, str]:
    """(name of the one joint, what is wrong with it)."""
    names = [joint.attributes.get("name", "") for joint in transmission.all("joint")]
    if len(names) != 1:
        return "", f"it moves {len(names)} joints, and one is read"
    if names[0] not in joints:
        return "", f"there is no joint {shortened(names[0])!r}"
    kind = joints[names[0]].attributes.get("type", "")
    if kind not in ("revolute", "continuous", "prismatic"):
        return "", f"joint {shortened(names[0])!r} is {shortened(kind)}, and revolute, continuous and prismatic ones have motors"
    return names[0], ""


def _ratio(transmission: Element) -> float | None:
    """The one gear ratio of a transmission."""
    values = {value for _, _, value in _numbers(transmission, _RATIO)}
    return values.pop() if len(values) == 1 else None


def _numbers(transmission: Element, names: set[str]) -> Iterator[tuple[Element, str, float]]:
    """Elements and attributes of these names: where, name, value."""
    for element in transmission.descendants():
        if _plain(element.tag) in names:
            yield element, shortened(element.tag), element.text_number(0.0)
        for name in element.attributes:
            if _plain(name) in names:
                yield element, shortened(name), element.number(name)


def _plain(name: str) -> str:
    """A name without its prefix, in small letters: rotorInertia, rotor_inertia, drake:rotor_inertia."""
    return name.rpartition(":")[2].replace("_", "").lower()
