"""`leastaction info FILE`: the tree, masses, freedoms, constraints, limits, and what would not be simulated."""

from __future__ import annotations

import argparse
import json
from math import isfinite
from typing import Any

import leastaction as la

from ..io.leftovers import LEFT_OUT
from ..mechanism import WORLD, Body
from ..shapes import not_simulated
from . import files

HELP = "show what a mechanism in a file consists of, and what of it would not be simulated"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    files.add_file(parser)


def run(arguments: argparse.Namespace) -> None:
    refused = ""
    try:
        mechanism = files.load(arguments)
    except la.FormatError as error:
        files.leave_out_what_is_not_simulated(arguments)
        mechanism = files.load(arguments)  # a file that is wrong fails again
        refused = str(error)
    model = None
    try:
        model = mechanism.compile()
    except la.MechanismError as error:
        refused = refused or str(error)
    known = described(mechanism, model, refused)
    print(json.dumps(known, indent=2) if arguments.json else as_text(known))


def described(mechanism: la.Mechanism, model: la.Model | None, refused: str) -> dict[str, Any]:
    bodies = in_tree_order(mechanism)
    return {
        "name": mechanism.name,
        "mass": sum(body.mass for body, _ in bodies),
        "bodies": len(bodies),
        "joints that move": sum(body.joint.nv > 0 for body, _ in bodies),
        "degrees of freedom": sum(body.joint.nv for body, _ in bodies),
        "constraints": [repr(constraint) for constraint in mechanism.constraints],
        "forces": [f"{type(force).__name__} {getattr(force, 'joint', '')}".strip() for force in mechanism.forces],
        "motors": [repr(motor) for motor in mechanism.motors],
        "servos": [repr(servo) for servo in mechanism.servos],
        "shapes": {role: sum(shape.role == role for shape in mechanism.shapes) for role in ("visual", "collision")},
        "tree": [_body(body, depth, mechanism) for body, depth in bodies],
        "frames": list(mechanism.frames),
        "not simulated": refused.splitlines() + list(not_simulated(mechanism.shapes)),
        "notes": [note for note in mechanism.notes if not (refused and note.startswith(LEFT_OUT))],
        "simulates": model is not None and not refused,
    }


def in_tree_order(mechanism: la.Mechanism) -> list[tuple[Body, int]]:
    """Bodies, each behind its parent, and how deep they hang."""
    below: dict[str, list[Body]] = {}
    for body in mechanism.bodies.values():
        parent = body.parent
        while parent in mechanism.frames:
            parent = mechanism.frames[parent].parent
        below.setdefault(parent, []).append(body)
    found, stack = [], [(body, 0) for body in reversed(below.get(WORLD, []))]
    while stack:
        body, depth = stack.pop()
        found.append((body, depth))
        stack.extend((child, depth + 1) for child in reversed(below.get(body.name, [])))
    return found


def _body(body: Body, depth: int, mechanism: la.Mechanism) -> dict[str, Any]:
    limit = mechanism.limits.get(body.joint_name)
    known: dict[str, Any] = {
        "name": body.name, "parent": body.parent, "depth": depth, "joint": body.joint_name, "type": type(body.joint).__name__,
        "mass": body.mass,
    }  # fmt: skip
    if body.armature.any():
        known["armature"] = body.armature.tolist()
    if limit is not None:
        ends = {"lower": limit.lower, "upper": limit.upper, "velocity": limit.velocity, "effort": limit.effort}
        known["limits"] = {name: value if isfinite(value) else None for name, value in ends.items()}
    return known


def as_text(known: dict[str, Any]) -> str:
    freedoms, constraints = known["degrees of freedom"], known["constraints"]
    kept = f", {len(constraints)} constraint{'s' * (len(constraints) != 1)}" if constraints else ""
    lines = [
        f"{known['name']}: {known['mass']:.6g} kg in {known['bodies']} bodies, {known['joints that move']} joints that move, "
        f"{freedoms} degree{'s' * (freedoms != 1)} of freedom{kept}",
        "",
        *_tree(known["tree"]),
    ]
    for title in ("constraints", "forces", "motors", "servos", "not simulated", "notes"):
        if known[title]:
            lines += ["", f"{title}:", *(f"  {entry}" for entry in known[title])]
    return "\n".join(lines)


def _tree(bodies: list[dict[str, Any]]) -> list[str]:
    rows = [("body", "joint", "type", "mass, kg", "limits")]
    for body in bodies:
        name = "  " * min(body["depth"], 20) + body["name"]
        joint = "" if body["type"] == "Fixed" else body["joint"]
        rows.append((name, joint, body["type"], f"{body['mass']:.4g}", _limits(body)))
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def _limits(body: dict[str, Any]) -> str:
    limits = body.get("limits", {})
    lower, upper = limits.get("lower"), limits.get("upper")
    if lower is None and upper is None:
        return ""
    return f"{'-inf' if lower is None else f'{lower:.4g}'} to {'inf' if upper is None else f'{upper:.4g}'}"
