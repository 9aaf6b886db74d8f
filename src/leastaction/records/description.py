"""Mechanisms and integrators as text, and back.

An object of the package is written as the name of its class and the arguments it was made with; reading calls the constructor, which
checks them.  Nothing in a file is ever run as code.  Functions of the user cannot be written that way: they are named instead.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from .. import constraints, forces, integrators, joints, shapes
from ..checks import same, shown
from ..errors import FormatError, LeastActionError
from ..limits import Limit
from ..mechanism import Body, Mechanism
from ..motors import Motor, Servo
from ..pose import Pose
from ..solvability import CertifiedStep

_ROOMS = (joints, forces, constraints, integrators)
_CLASSES: dict[str, type] = {
    name: cls for room in _ROOMS for name in room.__all__ if isinstance(cls := getattr(room, name), type)
} | {
    cls.__name__: cls
    for cls in (
        shapes.Box, shapes.Sphere, shapes.Cylinder, shapes.Capsule, shapes.Mesh, shapes.PlacedShape, Limit, Motor, Servo, CertifiedStep,
    )  # fmt: skip
}

_ROUNDING = 1e-9  # relative: constructors normalise axes, and doing so twice may change their last digit
_KNOWN = {"name", "_gravity", "_slack", "bodies", "frames", "forces", "constraints", "shapes", "limits", "motors", "servos", "keyframes"}
_KNOWN |= {"_notes", "_moved_by"}


class CannotStore(Exception):
    """Something that text cannot say; its message names it."""


# ------------------------------------------------------------------------------------------------------------- values


def encode(value: Any) -> Any:
    """A value as what JSON knows, every digit kept.  CannotStore names what is not a value."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, (np.bool_, np.integer, np.floating)):
        value = value.item()
    if isinstance(value, (int, float)):
        return value if np.isfinite(value) else {"float": repr(value)}
    if isinstance(value, np.ndarray) and value.dtype.kind in "fiub":
        return {"array": encode(value.tolist()), "dtype": value.dtype.str, "shape": list(value.shape)}
    if isinstance(value, list):
        return [encode(v) for v in value]
    if isinstance(value, tuple):
        return {"tuple": [encode(v) for v in value]}
    if isinstance(value, dict) and all(isinstance(k, str) for k in value):
        return {"dict": {k: encode(v) for k, v in value.items()}}
    if isinstance(value, Path):
        return {"path": str(value)}
    if isinstance(value, Pose):
        return {"pose": [value.p.tolist(), value.R.tolist()]}
    if _CLASSES.get(type(value).__name__) is type(value):
        return _encode_object(value)
    name = getattr(value, "__qualname__", None) or type(value).__name__
    raise CannotStore(f"the function {name}" if callable(value) else f"{shown(value, 80)}, a {name}")


def _encode_object(thing: Any) -> dict[str, Any]:
    kind = type(thing).__name__
    arguments = {}
    for name, parameter in inspect.signature(type(thing)).parameters.items():
        if not hasattr(thing, name):
            if parameter.default is not parameter.empty:
                continue  # what it makes of the default is compared below
            raise CannotStore(f"{kind}, which does not keep its {name}")
        try:
            arguments[name] = encode(getattr(thing, name))
        except CannotStore as reason:
            raise CannotStore(f"{reason} ({name} of {kind})") from None
    text: dict[str, Any] = {"class": kind, "arguments": arguments}
    again = vars(decode(text))
    changed = {name: value for name, value in vars(thing).items() if name not in again or not same(value, again[name])}
    changed = {name: value for name, value in changed.items() if encode(value) != encode(again.get(name))}
    if changed:
        text["exactly"] = {name: encode(value) for name, value in changed.items()}
        if not same(sorted(vars(thing)), sorted(vars(decode(text)))):
            raise CannotStore(f"{kind}, which was changed after it was made")
    return text


def decode(text: Any) -> Any:
    """The value; a FormatError says what is wrong with it."""
    if text is None or isinstance(text, (bool, int, float, str)):
        return text
    if isinstance(text, list):
        return [decode(v) for v in text]
    match text:
        case {"float": str(number)} if number in ("inf", "-inf", "nan"):
            return float(number)
        case {"array": list() as numbers, "dtype": str(dtype), "shape": list(shape)} if dtype[1:2] in ("f", "i", "u", "b"):
            return np.array(decode(numbers), dtype=np.dtype(dtype)).reshape([int(n) for n in shape])
        case {"tuple": list(values)}:
            return tuple(decode(v) for v in values)
        case {"dict": dict(values)}:
            return {k: decode(v) for k, v in values.items()}
        case {"path": str(path)}:
            return Path(path)
        case {"pose": [p, R]}:
            return _exactly(Pose(p, rotation=R), {"p": np.array(p, dtype=float), "R": np.array(R, dtype=float)})
        case {"class": str(kind), "arguments": dict(arguments)} if kind in _CLASSES:
            thing = _CLASSES[kind](**{name: decode(value) for name, value in arguments.items()})
            return _exactly(thing, {name: decode(value) for name, value in text.get("exactly", {}).items()})
    raise FormatError(f"{shown(text, 80)} is nothing this version of leastaction can make")


def _exactly(thing: Any, wanted: dict[str, Any]) -> Any:
    """The thing with these attributes to the last digit; none may differ from what the constructor made by more than rounding."""
    for name, value in wanted.items():
        made = vars(thing).get(name)
        if isinstance(made, np.ndarray) and isinstance(value, np.ndarray) and made.shape == value.shape and made.dtype == value.dtype:
            fits = np.allclose(made, value, rtol=_ROUNDING, atol=_ROUNDING)
        elif isinstance(made, float) and isinstance(value, float):
            fits = abs(made - value) <= _ROUNDING * max(1.0, abs(made))
        else:
            fits = name == "name" and isinstance(value, str) and isinstance(thing, constraints.Constraint)
        if not fits:
            raise FormatError(f"{type(thing).__name__}: {name} = {shown(value, 80)} does not belong to its arguments")
        object.__setattr__(thing, name, value)
    return thing


# ------------------------------------------------------------------------------------------------------------- mechanisms


def encode_mechanism(mechanism: Mechanism) -> tuple[dict[str, Any] | None, list[str]]:
    """The description as what JSON knows, and what it cannot say, in words; None if there is such a thing."""
    missing: list[str] = []

    def each(things: Iterable[Any], what: str) -> list[Any]:
        texts = []
        for thing in things:
            try:
                texts.append({f.name: encode(getattr(thing, f.name)) for f in fields(thing)} if what == "body" else encode(thing))
            except CannotStore as reason:
                missing.append(f"{reason}, of body {thing.name!r}" if what == "body" else str(reason))
        return texts

    text = {
        "name": mechanism.name, "gravity": encode(mechanism.gravity), "slack": mechanism.slack,
        "bodies": each(mechanism.bodies.values(), "body"),
        "frames": [[f.name, f.parent, encode(f.placement)] for f in mechanism.frames.values()],
        "forces": each(mechanism.forces, "force"), "constraints": each(mechanism.constraints, "constraint"),
        "shapes": each(mechanism.shapes, "shape"), "limits": each(mechanism.limits.values(), "limit"),
        "motors": each(mechanism.motors, "motor"), "servos": each(mechanism.servos, "servo"),
        "keyframes": each(mechanism.keyframes.values(), "keyframe"),
        "keyframe names": list(mechanism.keyframes), "notes": list(mechanism.notes),
    }  # fmt: skip
    fresh = vars(type(mechanism)(name=mechanism.name)) if type(mechanism) is Mechanism else {}
    missing += [f"{name} of the mechanism" for name, value in vars(mechanism).items()
                if name not in _KNOWN and not same(value, fresh.get(name))]  # fmt: skip
    return (None, list(dict.fromkeys(missing))) if missing else (text, [])


def decode_mechanism(text: dict[str, Any], path: str) -> Mechanism:
    """The mechanism that was written; a FormatError names the file and what is wrong in it."""
    try:
        mechanism = Mechanism(decode(text["gravity"]), text["name"], text.get("slack", 0.0))
        for body in text["bodies"]:
            _add_body(mechanism, {name: decode(value) for name, value in body.items()})
        for name, parent, placement in text["frames"]:
            mechanism.add_frame(name, parent, decode(placement))
        for force in text["forces"]:
            mechanism.add_force(decode(force))
        for constraint in text["constraints"]:
            mechanism.add_constraint(decode(constraint))
        for shape in text["shapes"]:
            placed = decode(shape)
            mechanism.add_shape(placed.body, placed.shape, placed.placement, color=placed.color, role=placed.role)
        for limit in text["limits"]:
            given = decode(limit)
            mechanism.add_limit(given.joint, given.lower, given.upper, velocity=given.velocity, effort=given.effort)
        for motor in text["motors"]:
            mechanism.add_motor(decode(motor))
        for servo in text.get("servos", ()):
            mechanism.add_servo(decode(servo))
        mechanism.keyframes = dict(zip(text["keyframe names"], map(decode, text["keyframes"]), strict=True))
        mechanism._notes = [str(note) for note in text["notes"]]
        return mechanism
    except LeastActionError as error:
        raise FormatError(f"the description of the mechanism in it is wrong: {error}", path=path) from error
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError, OverflowError) as error:
        raise FormatError(f"the description of the mechanism in it cannot be read: {type(error).__name__}: {error}", path=path) from error


def _add_body(mechanism: Mechanism, given: dict[str, Any]) -> None:
    body = mechanism.add_body(**given, unphysical=True)
    exact: dict[str, Any] = {}
    for name in ("com", "inertia"):
        made, wanted = getattr(body, name), given[name]
        if not np.allclose(made, wanted, rtol=_ROUNDING, atol=_ROUNDING * float(np.abs(made).max())):
            raise FormatError(f"body {body.name!r}: {name} = {shown(wanted, 80)} belongs to no body")
        exact[name] = wanted
    mechanism.bodies[body.name] = replace(body, **exact)


assert {f.name for f in fields(Body)} <= {*inspect.signature(Mechanism.add_body).parameters}, "a field of Body that add_body does not take"
