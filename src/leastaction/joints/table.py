"""From the list of joints to their numbers: `Joint.kind` is a joint's place among those that move.

What a joint of the list lacks is an error here, when the package is imported; what its file lacks is one in `dispatch.py`.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from types import ModuleType

from .base import ABOUT_Z, AS_ANCHOR, AS_RAIL, FREELY, NOT_DRAWN, Joint

NO_KERNELS = -1  # kind of a joint without degrees of freedom: the compiler merges its body with the parent

_ATTRIBUTES = {"nq": int, "nv": int, "coordinates": tuple, "angular": tuple}
_METHODS = {"reference_pose": "q", "reference_coordinates": "R, p"}
_CHOICES = {"turns": ("", ABOUT_Z, FREELY), "drawn": (AS_RAIL, AS_ANCHOR, NOT_DRAWN)}


def number(joints: Sequence[type[Joint]]) -> None:
    """Check the joints of the list and set their kind."""
    for joint in joints:
        _check(joint)
    moving = [joint for joint in joints if joint.nv > 0]
    for joint in joints:
        first = next(other for other in joints if other is joint or other.__module__ == joint.__module__)
        if list(joints).count(joint) > 1:
            raise TypeError(f"{joint.__name__} stands twice in joints.ALL, and would have two numbers; enter it once")
        if first is not joint:
            raise TypeError(f"{first.__name__} and {joint.__name__} share the kernels of {joint.__module__}; give each a file of its own")
        joint.kind = moving.index(joint) if joint.nv > 0 else NO_KERNELS  # type: ignore[assignment, method-assign]


def modules(joints: Sequence[type[Joint]]) -> list[ModuleType]:
    """The files of the joints that move, by kind."""
    return [sys.modules[joint.__module__] for joint in joints if joint.nv > 0]


def _check(joint: type[Joint]) -> None:
    name = getattr(joint, "__name__", repr(joint))
    if not (isinstance(joint, type) and issubclass(joint, Joint)):
        raise TypeError(f"joints.ALL holds {name}, which is not a subclass of Joint")
    if "kind" in vars(joint):
        raise TypeError(f"{name}.kind = {vars(joint)['kind']!r}: the number of a joint is its place in joints.ALL; leave `kind` out")
    for attribute, kind in _ATTRIBUTES.items():
        if not isinstance(getattr(joint, attribute, None), kind):
            raise TypeError(f"{name} has no class attribute {attribute} (a {kind.__name__}); see joints/base.py for what a joint says")
    for attribute, size in (("coordinates", joint.nq), ("angular", joint.nv)):
        if len(getattr(joint, attribute)) != size:
            raise TypeError(f"{name}.{attribute} = {getattr(joint, attribute)!r} has {len(getattr(joint, attribute))} entries, not {size}")
    for attribute, choices in _CHOICES.items():
        if getattr(joint, attribute) not in choices:
            raise TypeError(f"{name}.{attribute} = {getattr(joint, attribute)!r}; it is one of {', '.join(map(repr, choices))}")
    for method, parameters in _METHODS.items():
        if getattr(joint, method) is getattr(Joint, method):
            raise TypeError(f"{name} has no method {method}({parameters}), which every joint of joints.ALL needs")
