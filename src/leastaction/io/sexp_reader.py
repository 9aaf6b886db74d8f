"""S-expressions -> Mechanism.  Both spellings of the paper are read: Listing 1 and Table II."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..checks import listed, shown
from ..constraints import Coincident, Constraint, Distance, Gear, Prescribed
from ..errors import FormatError, MechanismError
from ..forces import Damper, LinearSpring, Spring, Wrench
from ..frames import PRIMITIVES, FrameTree
from ..joints import Fixed, Revolute
from ..mechanism import WORLD, Mechanism
from .expressions import Expression, parse
from .places import at

SYSTEMS = ("mechanical-system", "system")

_KINEMATIC = '(K "name") or (K "name" "motion")'


Motions = Mapping[str, Callable[..., Any] | str | float]


def read(path: Path, *, motions: Motions | None = None) -> Mechanism:
    """motions: {coordinate: what `la.Prescribed` takes}, of kinematic coordinates; they replace those in the file."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise FormatError(f"not a text file: byte {error.start} is not UTF-8", path=str(path)) from None
    return parse_mechanism(text, path=str(path), name=path.stem, motions=motions)


def parse_mechanism(text: str, path: str = "", name: str = "mechanism", motions: Motions | None = None) -> Mechanism:
    """The mechanism a text describes; `path` is what messages start with."""
    expressions = parse(text, path)
    if not expressions:
        raise FormatError(f"the file is empty; it needs one ({SYSTEMS[0]} ...)", path=path, line=1, column=1)
    system = expressions[0]
    if system.head not in SYSTEMS:
        system.fail(f"the file starts with {system}; it needs ({SYSTEMS[0]} ...) or (SYSTEM ...)")
    if len(expressions) > 1:
        expressions[1].fail(f"{expressions[1]} stands outside of the system, which ended before; is a ) too many?")
    return _Reader(name, _checked_motions(motions)).system(system)


def _checked_motions(motions: Motions | None) -> Motions:
    if motions is None:
        return {}
    if not isinstance(motions, Mapping):
        raise FormatError(f"motions = {shown(motions)}; give a motion for each kinematic coordinate, as in {{'x': '0.1 * sin(t)'}}")
    return motions


class _Reader:
    def __init__(self, name: str, motions: Motions):
        self.motions = motions
        self.kinematic: dict[str, tuple[Expression, list[Expression]]] = {}  # coordinate -> (K ...) and what follows the name there
        self.tree = FrameTree(gravity=(0.0, 0.0, 0.0), name=name)
        self.mechanism = self.tree.mechanism
        self.points: dict[tuple[str, str], list[tuple[Expression, NDArray[np.float64]]]] = {}
        self.components: dict[str, Callable[[Expression], None]] = {
            "point-constraint": self._point_constraint,
            "distance-constraint": self._distance_constraint,
            "wire-constraint": self._distance_constraint,
            "screw-constraint": self._screw_constraint,
            "linear-spring": self._linear_spring,
            "config-spring": self._joint_spring,
            "torsional-spring": self._joint_spring,
            "damper": self._damper,
            "body-wrench": self._wrench,
            "world-wrench": self._wrench,
        }

    def system(self, system: Expression) -> Mechanism:
        frames, rest, gravity = [], [], None
        for component in _items(system)[1:]:
            if component.head in PRIMITIVES:
                frames.append(component)
            elif component.head == "gravity":
                if gravity is not None:
                    component.fail(f"gravity is given twice, first in line {gravity.line}; remove one")
                gravity = component
                self.mechanism.gravity = self._numbers(component, _items(component)[1:], (3,), "(gravity x y z)")
            elif component.head in self.components:
                rest.append(component)
            else:
                known = ["gravity", *PRIMITIVES, *self.components]
                component.fail(f"{component} is unknown here; a system consists of {', '.join(known)}")
        self._frames(frames)
        self.places = {WORLD: None, **self.mechanism.bodies, **self.mechanism.frames}
        self.coordinates = {b.joint_name: b for b in self.mechanism.bodies.values() if not isinstance(b.joint, Fixed)}
        for component in rest:  # may name frames that come later in the file
            self.components[component.head](component)
        self._close_points()
        self._prescribe()
        return self.mechanism

    # ------------------------------------------------------------------------------------------------ frames

    def _frames(self, frames: list[Expression]) -> None:
        stack = [(frame, WORLD) for frame in reversed(frames)]
        self.tree.reserved |= _declared_names(frames)
        while stack:
            frame, parent = stack.pop()
            transforms, name, mass, children = self._parts(frame)
            for i, (primitive, parameter) in enumerate(transforms):
                last = i == len(transforms) - 1
                with at(primitive):
                    node = self.tree.add(
                        parent, primitive.word, parameter, name if last else None,
                        mass=mass[0] if last else 0.0, inertia=mass[1:] if last else np.zeros(3),
                    )  # fmt: skip
                parent = node.name
            stack.extend((child, parent) for child in reversed(children))

    def _parts(self, frame: Expression):
        """([(primitive, parameter)], name, (mass, Ixx, Iyy, Izz), frames hanging on it)."""
        items, transforms, at = _items(frame), [], 0
        while at < len(items) and items[at].word in PRIMITIVES:
            if at + 1 == len(items):
                items[at].fail(f'{items[at]} has no parameter; give a number or a coordinate, as in ({items[at]} "q" ...)')
            transforms.append((items[at], self._parameter(items[at], items[at + 1])))
            at += 2
        name, mass, children = None, None, []
        for item in items[at:]:
            if item.head in PRIMITIVES:
                children.append(item)
            elif item.head == "name":
                if name is not None:
                    item.fail(f"{frame} has two names; remove one")
                name = self._strings(item, _items(item)[1:], 1, '(Name "...")')[0]
            elif item.head == "mass":
                if mass is not None:
                    item.fail(f"{frame} has two masses; hang one of them on a frame of its own, as in (tx 0 (Mass ...))")
                mass = self._mass(item)
            else:
                item.fail(f"{item} is unknown in a frame; what may stand here are {', '.join(PRIMITIVES)}, Name and Mass")
        return transforms, name, np.zeros(4) if mass is None else mass, children

    def _parameter(self, primitive: Expression, item: Expression) -> float | str:
        if item.is_number:
            assert item.value is not None
            return item.value
        if item.head == "k":
            whole, rest = item, _items(item)[2:]
            item = _items(item)[1] if len(_items(item)) > 1 else item.fail(f'{item} has no coordinate: {_KINEMATIC}')
            self.kinematic[item.text] = whole, rest
        if item.head == "d":
            item = self._one(item, '(D "name")')
        if not item.quoted:
            hint = f'; a coordinate stands in quotes, "{item}"' if item.word else ""
            item.fail(f'{primitive} {item}: its parameter is a number, "name", (D "name") or {_KINEMATIC}{hint}')
        if not item.text:
            item.fail(f"the coordinate of {primitive} has an empty name")
        return item.text

    def _mass(self, item: Expression) -> NDArray[np.float64]:
        values = _items(item)[1:]
        if len(values) == 1 and values[0].quoted:  # Table II: (MASS "1 0.1 0.1 0.1")
            values = [Expression(values[0].line, values[0].column, values[0].path, text=t, value=v) for t, v in _split(values[0].text)]
        mass = self._numbers(item, values, (1, 4), "(Mass m) or (Mass m Ixx Iyy Izz)")
        with at(item):
            if mass[0] < 0.0:
                raise MechanismError(f"mass {mass[0]:g} kg; it needs a number >= 0")
        return np.append(mass, np.zeros(4 - len(mass)))

    # ------------------------------------------------------------------------------------------------ constraints

    def _point_constraint(self, component: Expression) -> None:
        form = '(point-constraint "A" "B" (x y z))'
        a, b, rest = self._two_frames(component, form)
        direction = self._numbers(component, _without_name(rest), (3,), form)
        if not np.any(direction):
            component.fail("the direction of this point-constraint is zero; give a vector, for example (1 0 0)")
        self.points.setdefault((a, b), []).append((component, direction))

    def _close_points(self) -> None:
        for (a, b), rows in self.points.items():
            names = dict.fromkeys(name for component, _ in rows if (name := self._name_of(component)))
            self._constrain(rows[0][0], _coincident, self.mechanism, a, b, np.array([d for _, d in rows]), name=" and ".join(names))

    def _prescribe(self) -> None:
        for coordinate in self.motions:
            if coordinate not in self.kinematic:
                there = f"those there are: {listed(self.kinematic)}" if self.kinematic else "there are none"
                raise FormatError(f"motions has {shown(coordinate)}, which is not a kinematic coordinate, (K ...), of the file; {there}")
        for coordinate, (component, rest) in self.kinematic.items():
            values = _without_name(rest)
            if len(values) > 1 or any(not v.is_number and not (v.quoted and v.text) for v in values):
                component.fail(f"{component} is written {_KINEMATIC}")
            written = (values[0].value if values[0].is_number else values[0].text) if values else None
            motion = self.motions.get(coordinate, written)
            if motion is None:
                component.fail(
                    f'{component}: the motion of {coordinate!r} is yours to say: motions={{{coordinate!r}: "0.1 * sin(t)"}}, '
                    f'or in the file, (K "{coordinate}" "0.1 * sin(t)")'
                )
            self._constrain(component, _prescribed, coordinate, motion, name=self._name_of(component))

    def _constrain(self, component: Expression, make: Callable[..., Constraint], *arguments: Any, name: str | None = None) -> None:
        """Add a constraint under the (Name "...") of its component, if it has one."""
        name = self._name_of(component) if name is None else name
        with at(component):
            self.mechanism.add_constraint(make(*arguments), name or None)

    def _name_of(self, component: Expression) -> str:
        given = [item for item in _items(component) if item.head == "name"]
        if len(given) > 1:
            given[1].fail(f"{component} has two names; remove one")
        return self._strings(given[0], _items(given[0])[1:], 1, '(Name "...")')[0] if given else ""

    def _distance_constraint(self, component: Expression) -> None:
        form = '(distance-constraint "A" "B" length)'
        a, b, rest = self._two_frames(component, form)
        length = self._numbers(component, _without_name(rest), (1,), form)[0]
        self._constrain(component, Distance, a, b, length)

    def _screw_constraint(self, component: Expression) -> None:
        form = '(screw-constraint "angle" "travel" metres-per-radian)'
        items = _without_name(_items(component)[1:])
        angle, travel = self._coordinates(component, items, 2, form)
        pitch = self._numbers(component, items[2:], (1,), form)[0]
        self._constrain(component, Gear, travel, angle, pitch)

    # ------------------------------------------------------------------------------------------------ forces

    def _linear_spring(self, component: Expression) -> None:
        form = '(linear-spring "A" "B" stiffness length)'
        a, b, rest = self._two_frames(component, form)
        stiffness, length = self._numbers(component, _without_name(rest), (2,), form)
        with at(component):
            self.mechanism.add_force(LinearSpring(a, b, float(stiffness), float(length)))

    def _joint_spring(self, component: Expression) -> None:
        form = f'({component.head} "coordinate" stiffness rest)'
        items = _without_name(_items(component)[1:])
        (coordinate,) = self._coordinates(component, items, 1, form)
        values = self._numbers(component, items[1:], (1, 2), form)
        with at(component):
            self.mechanism.add_force(Spring(coordinate, values[0], values[1] if len(values) > 1 else None))

    def _damper(self, component: Expression) -> None:
        form = '(damper "coordinate" damping)'
        items = _without_name(_items(component)[1:])
        (coordinate,) = self._coordinates(component, items, 1, form)
        with at(component):
            self.mechanism.add_force(Damper(coordinate, self._numbers(component, items[1:], (1,), form)[0]))

    def _wrench(self, component: Expression) -> None:
        form = f'({component.head} "frame" (fx fy fz) (mx my mz))'
        items = _without_name(_items(component)[1:])
        (frame,) = self._named(component, items, 1, form, "frame", self.places)
        values = self._numbers(component, items[1:], (3, 6), form)
        axes = "body" if component.head == "body-wrench" else "world"
        with at(component):
            self.mechanism.add_force(Wrench(frame, values[:3], values[3:] if len(values) == 6 else (0.0, 0.0, 0.0), frame=axes))

    # ------------------------------------------------------------------------------------------------ pieces

    def _two_frames(self, component: Expression, form: str) -> tuple[str, str, list[Expression]]:
        items = _items(component)[1:]
        a, b = self._named(component, items, 2, form, "frame", self.places)
        return a, b, items[2:]

    def _coordinates(self, component: Expression, items: list[Expression], count: int, form: str) -> list[str]:
        return self._named(component, items, count, form, "coordinate", self.coordinates)

    def _named(self, component: Expression, items: list[Expression], count: int, form: str, what: str, known: Collection[str]) -> list[str]:
        names = self._strings(component, items[:count], count, form)
        for item, name in zip(items, names, strict=False):
            if name not in known:
                item.fail(f"there is no {what} {name!r}; there are {listed(known)}")
        return names

    def _strings(self, component: Expression, items: list[Expression], count: int, form: str) -> list[str]:
        for item in items:
            if not item.quoted or not item.text:
                item.fail(f"{item} stands where a name in quotes is wanted: {form}")
        if len(items) != count:
            component.fail(f"{component} has {len(items)} name(s) where {count} are wanted: {form}")
        return [item.text for item in items]

    def _one(self, component: Expression, form: str) -> Expression:
        items = _items(component)
        if len(items) != 2:
            component.fail(f"{component} has {len(items) - 1} entries; it is written {form}")
        return items[1]

    def _numbers(self, component: Expression, items: list[Expression], counts: tuple[int, ...], form: str) -> NDArray[np.float64]:
        """Bare numbers, or numbers in (one level of) parentheses."""
        flat = [inner for item in items for inner in (item.items if item.items is not None else [item])]
        for item in flat:
            if not item.is_number:
                item.fail(f"{item} stands where a number is wanted: {form}")
        if len(flat) not in counts:
            component.fail(f"{component} has {len(flat)} number(s); it needs {' or '.join(map(str, counts))}: {form}")
        return np.array([item.value for item in flat], dtype=float)


def _items(expression: Expression) -> list[Expression]:
    return expression.items or []


def _split(text: str) -> list[tuple[str, float | None]]:
    return [(e.text, e.value) for e in parse(text.replace("(", " ").replace(")", " ").replace('"', " "))]


def _without_name(items: list[Expression]) -> list[Expression]:
    """Constraints have a (Name "...") if it is given; that of a force is for the reader of the file."""
    return [item for item in items if item.head != "name"]


def _declared_names(frames: list[Expression]) -> set[str]:
    """All names given to frames, which frames without a name must not take."""
    names, stack = set(), list(frames)
    while stack:
        for item in _items(stack.pop()):
            if item.head in PRIMITIVES:
                stack.append(item)
            elif item.head == "name":
                names |= {inner.text for inner in _items(item)[1:]}
    return names


def _prescribed(coordinate: str, motion: Any) -> Prescribed:
    """A text is read at once, so that a mistake in it is found where it stands."""
    if isinstance(motion, str):
        from sympy import Symbol

        from ..symbolic.reading import expression

        expression(motion, f"the motion of {coordinate!r}", {"t": Symbol("t", real=True)})
    return Prescribed(coordinate, motion)


def _coincident(mechanism: Mechanism, a: str, b: str, directions: NDArray[np.float64]) -> Constraint:
    """The points of frames a and b coincide along directions of the world.

    Directions of a frame are the same, and cost less, where it does not turn, or turns only about one axis which maps the given
    directions on each other: those of a planar mechanism in its plane.
    """
    if np.linalg.matrix_rank(directions, tol=1e-9) == 3:
        return Coincident(a, b)
    for first, second in ((a, b), (b, a)):
        rotation, axes = orientation(mechanism, first)
        if all(keeps(axis, axes[0], directions) for axis in axes):
            return Coincident(first, second, directions @ rotation)
    return Coincident(a, b, directions, axes="world")


def orientation(mechanism: Mechanism, name: str) -> tuple[NDArray[np.float64], list[NDArray[np.float64]]]:
    """Rotation of a frame with all coordinates zero, and the axes in the world that it turns about."""
    path = []
    while name != WORLD:
        thing = mechanism.bodies.get(name) or mechanism.frames[name]
        path.append(thing)
        name = thing.parent
    rotation, axes = np.eye(3), []
    for thing in reversed(path):
        rotation = rotation @ thing.placement.R
        joint = getattr(thing, "joint", None)
        if isinstance(joint, Revolute):
            axes.append(rotation @ joint.axis)
    return rotation, axes


def keeps(axis: NDArray[np.float64], first: NDArray[np.float64], directions: NDArray[np.float64]) -> bool:
    """Is the axis that of the first turn, and do turns about it keep the span of the directions?"""
    parallel = np.abs(np.cross(axis, first)).max() < 1e-12
    along = directions @ axis / np.linalg.norm(directions, axis=1)
    plane = len(directions) == 2 and bool(np.all(np.abs(along) < 1e-12))
    line = len(directions) == 1 and bool(np.all(np.abs(along) > 1.0 - 1e-12))
    return bool(parallel) and (plane or line)
