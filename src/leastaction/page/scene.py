"""What a page draws of a model: rods between two points, solids on a body, and which of them belong to what.

Where a body has shapes, these are drawn; the skeleton of such a body can be switched on.  Everything is in the frames of the kernels' rows,
so that a page only needs their poses.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..constraints.base import BALL, ELLIPSOID, ROLLING, SPHERE
from ..drawing.runs import Array
from ..drawing.skeleton import CONSTRAINT, GROUND, LINK, RAIL, SPRING, Skeleton
from ..joints import Joint
from ..joints.base import frame_with_z
from ..joints.primitives import SCREW_Z, SLIDE_X, SLIDE_Z, TURN_X, TURN_Y, TURN_Z
from ..kernels.tree.layout import INERTIA, MASS, MOMENT, PARENT, PLACE_P, PLACE_R
from ..model import Model
from ..pose import Pose, quaternion_of_rotation
from ..shapes import VISUAL, Box, Capsule, Cylinder, Mesh, PlacedShape, Sphere
from .meshes import MeshReader, shaded
from .pack import Pack, short

#: kinds of joints by the motions they consist of
_GLYPHS = {
    (TURN_Z,): "hinge", (SLIDE_Z,): "slide", (SCREW_Z,): "screw", (TURN_Z, SLIDE_Z): "cylindrical", (TURN_X, TURN_Y): "universal",
    (SLIDE_X, SLIDE_X + 1, TURN_Z): "plane",
}  # fmt: skip
_SLENDER = 13.0  # links longer than this part of the mechanism are drawn as they are,
_THICKEST = 2.2  # shorter ones so much stouter at most
_ROUND = (ROLLING, BALL, SPHERE, ELLIPSOID)  # constraints whose body is drawn as a disc or a ball
_CORNERS = np.array([(x, y, z) for x in (-1.0, 1.0) for y in (-1.0, 1.0) for z in (-1.0, 1.0)])


def glyph(joint: Joint) -> str:
    """As what a joint is drawn: hinge, slide, screw, cylindrical, universal, plane, ball, free or general."""
    if joint.has_quaternion:
        return "ball" if joint.nv == 3 else "free"
    return _GLYPHS.get(tuple(p.motion for p in joint.primitives() or ()), "general")


class Scene:
    """The drawing of one model.  `reach` and `points` say how far it extends."""

    def __init__(self, model: Model, q: Array, meshes: MeshReader):
        """q (T, nq): coordinates that occur, at some of which the lengths of rails are found."""
        self.model, self._q, self._meshes = model, q, meshes
        self.skeleton = Skeleton(model)
        self.rods: list[list[Any]] = []
        self.solids: list[list[Any]] = []
        self.mesh_solids: list[tuple[PlacedShape, int, Pose]] = []
        self._extent: list[list[Array]] = [[] for _ in range(len(model.bodies) + 1)]  # points of each row
        self.unit = self._length_of_a_link()
        self._slides = self._find_slides()
        self._shaped = {model.frames[s.body][0] for s in model.shapes if s.role == VISUAL}
        for placed in model.shapes:
            if placed.role == VISUAL:
                self._add_shape(placed)
        self._add_links()
        self._add_masses()
        for row in range(1, len(model.bodies) + 1):
            self._add_joint(row)
        for point in self.skeleton.anchors:
            self._solid("box", 0, Pose(self.skeleton.local[point]), 0.065 * self.unit * np.ones(3), "ground")
        self._add_discs()

    # ------------------------------------------------------------------------------------------------ how far it extends

    @property
    def reach(self) -> Array:
        """(bodies,) largest distance of something drawn from the origin of its body's frame, m."""
        return np.array([max((float(np.linalg.norm(p, axis=-1).max()) for p in row), default=0.0) for row in self._extent[1:]])

    def points(self, R: Array, p: Array, moving: bool = False) -> Array:
        """(T, points, 3) in the world what bounds the drawing, or what moves of it; R (T, bodies, 3, 3), p (T, bodies, 3)."""
        found = []
        for row, local in enumerate(self._extent):
            if local and (row or not moving):
                every = np.concatenate(local)
                low, high = every.min(axis=0), every.max(axis=0)
                at = (low + high) / 2 + _CORNERS * (high - low) / 2
                if row == 0:
                    found.append(np.broadcast_to(at, (len(p), *at.shape)))
                else:
                    found.append(np.einsum("tij,nj->tni", R[:, row - 1], at) + p[:, row - 1, None])
        return np.concatenate(found, axis=1)

    def _length_of_a_link(self) -> float:
        """What all thicknesses are in proportion to: long chains of short links are drawn stouter, so that they can be seen."""
        points = self.skeleton.points(self._q[0])
        size = float(np.ptp(points, axis=0).max())
        lengths = [float(np.linalg.norm(points[a] - points[b])) for a, b, kind, _ in self.skeleton.lines if kind == LINK]
        usable = [x for x in lengths if x > 1e-6 * max(lengths)] if lengths else []
        if usable:
            link = float(np.median(usable))
            return min(max(link, size / _SLENDER), _THICKEST * link)
        solids = (self._solid_of_inertia(row) for row in range(1, len(self.model.bodies) + 1))
        sizes = [float(np.linalg.norm(solid[2])) for solid in solids if solid]
        return max(sizes, default=1.0) or 1.0

    # ------------------------------------------------------------------------------------------------ parts

    def _rod(self, a: tuple[int, Array], b: tuple[int, Array], radius: float, role: str, owner: int, extends: bool = True) -> None:
        self.rods.append([a[0], *short(a[1]), b[0], *short(b[1]), float(f"{radius:.4g}"), role, owner])
        if extends:
            for row, local in (a, b):
                self._extent[row].append(np.asarray(local, dtype=float).reshape(1, 3))

    def _solid(self, kind: str, row: int, pose: Pose, half: Array, role: str, color: Any = None, owner: int | None = None) -> None:
        """half (3,): what the unit solid, which fills the cube from -1 to 1, is multiplied by."""
        self.solids.append(
            [kind, row, *short(pose.p), *short(quaternion_of_rotation(pose.R)), *short(half), role, row if owner is None else owner]
            + ([short(color)] if color is not None else [])
        )
        self._extent[row].append(pose.p + (_CORNERS * half) @ pose.R.T)

    def _add_shape(self, placed: PlacedShape) -> None:
        row, place = self.model.frames[placed.body]
        pose, shape, color = place @ placed.placement, placed.shape, placed.color
        if isinstance(shape, Box):
            self._solid("box", row, pose, np.asarray(shape.size) / 2, "shape", color)
        elif isinstance(shape, Sphere):
            self._solid("sphere", row, pose, np.full(3, shape.radius), "shape", color)
        elif isinstance(shape, Cylinder):
            half = np.array([shape.radius, shape.radius, shape.length / 2])
            self._solid("cylinder", row, pose, half, "shape", color)
            if isinstance(shape, Capsule):
                for end in (-1.0, 1.0):
                    self._solid("sphere", row, pose @ Pose((0.0, 0.0, end * half[2])), np.full(3, shape.radius), "shape", color)
        elif isinstance(shape, Mesh):
            self.mesh_solids.append((placed, row, pose))
            for piece in self._meshes.read(shape):
                low, high = piece.vertices.min(axis=0), piece.vertices.max(axis=0)
                self._extent[row].append(pose.p + ((low + high) / 2 + _CORNERS * (high - low) / 2) @ pose.R.T)

    def _add_links(self) -> None:
        s, unit = self.skeleton, self.unit
        radius = {LINK: 0.045, GROUND: 0.022, RAIL: 0.022, CONSTRAINT: 0.018, SPRING: 0.075}
        role = {LINK: "link", GROUND: "ground", RAIL: "ground", CONSTRAINT: "constraint", SPRING: "spring"}
        within: dict[int, list[tuple[Array, Array]]] = {}  # links by the row they are on
        for a, b, kind, _ in s.lines:
            if kind == LINK and s.rows[a] == s.rows[b]:
                within.setdefault(s.rows[a], []).append((s.local[a], s.local[b]))
        for a, b, kind, owner in s.lines:
            rows, ends = (s.rows[a], s.rows[b]), (s.local[a], s.local[b])
            if rows[0] == rows[1] and np.linalg.norm(ends[0] - ends[1]) < 1e-9 * unit:
                continue
            if kind == RAIL and (owner in self._slides or self._turns_only(owner)):
                continue
            if kind == LINK and rows[0] == rows[1] and any(_inside(*ends, *line) for line in within[rows[0]]):
                continue
            self._rod((rows[0], ends[0]), (rows[1], ends[1]), radius[kind] * unit, role[kind], owner)
            if kind == CONSTRAINT:
                for row, local in zip(rows, ends, strict=True):
                    self._solid("sphere", row, Pose(local), np.full(3, 0.05 * unit), "constraint", owner=0)

    def _add_masses(self) -> None:
        heaviest = max((m for _, m in self.skeleton.masses), default=1.0)
        held = {owner for *_, role, owner in self.rods if role == "link"} | {c.b[0] for c in self.model.closures if c.kind in _ROUND}
        for point, mass in self.skeleton.masses:
            row, local = self.skeleton.rows[point], self.skeleton.local[point]
            if row and row not in held and row not in self._shaped and (alone := self._solid_of_inertia(row)):
                held.add(row)
                self._solid(alone[0], row, *alone[1:], "link")
            self._solid("sphere", row, Pose(local), np.full(3, 0.13 * self.unit * (mass / heaviest) ** (1 / 3)), "mass")

    def _solid_of_inertia(self, row: int) -> tuple[str, Pose, Array] | None:
        """A ball, cylinder or box of even density with the mass and inertia of a row: kind, place, half its sizes."""
        numbers = self.model.tree.body[row]
        mass = float(numbers[MASS])
        if mass <= 0.0:
            return None
        com = numbers[MOMENT : MOMENT + 3] / mass
        upper = np.zeros((3, 3))
        upper[np.triu_indices(3)] = numbers[INERTIA : INERTIA + 6]
        about_com = upper + np.triu(upper, 1).T - mass * (com @ com * np.eye(3) - np.outer(com, com))
        moments, axes = np.linalg.eigh(about_com)
        if moments[2] <= 1e-12 * mass * (com @ com):
            return None
        alike = np.isclose(moments[:2], moments[1:], rtol=1e-3)
        if alike.any() and not alike.all():  # the axis of the cylinder becomes z
            axis = 2 if alike[0] else 0
            radius = np.sqrt(2 * moments[axis] / mass)
            length = np.sqrt(max(12 * moments[1] / mass - 3 * radius**2, (0.04 * radius) ** 2))
            return "cylinder", Pose(com, rotation=frame_with_z(axes[:, axis])), np.array([radius, radius, length / 2])
        if alike.all():
            return "sphere", Pose(com), np.full(3, np.sqrt(2.5 * moments[1] / mass))
        if np.linalg.det(axes) < 0.0:
            axes[:, 0] *= -1.0
        squares = 1.5 * (moments.sum() - 2 * moments) / mass
        return "box", Pose(com, rotation=axes), np.sqrt(np.maximum(squares, 1e-4 * squares.max()))

    # ------------------------------------------------------------------------------------------------ joints

    def _base(self, row: int) -> tuple[int, Pose]:
        """Row of the parent, pose of the joint there with zero coordinates, canonical axes."""
        numbers = self.model.tree.body[row]
        placement = Pose(numbers[PLACE_P : PLACE_P + 3], rotation=numbers[PLACE_R : PLACE_R + 9].reshape(3, 3))
        return int(self.model.tree.link[row, PARENT]), placement

    def _turns_only(self, row: int) -> bool:
        return glyph(self.model.bodies[row - 1].joint) in ("hinge", "universal", "ball", "free")

    def _find_slides(self) -> dict[int, tuple[float, float]]:
        """Rows of joints that slide along their z axis, from where to where they do."""
        found = {}
        for row, body in enumerate(self.model.bodies, start=1):
            if glyph(body.joint) in ("slide", "screw", "cylindrical"):
                primitive = (body.joint.primitives() or ())[-1]
                along = self._q[:, self.model.q_slice(body.joint_name)][:, -1]
                if primitive.motion == SCREW_Z:
                    along = along * primitive.pitch
                found[row] = (float(along.min()), float(along.max()))
        return found

    def _add_joint(self, row: int) -> None:
        kind = glyph(self.model.bodies[row - 1].joint)
        u, here, (up, base) = self.unit, Pose(), self._base(row)
        along_x, along_y = Pose(rotation=frame_with_z(np.eye(3)[0])), Pose(rotation=frame_with_z(np.eye(3)[1]))
        if kind == "hinge":
            self._solid("cylinder", row, here, u * np.array([0.085, 0.085, 0.11]), "joint")
        elif kind == "universal":
            self._solid("cylinder", up, base @ along_x, u * np.array([0.05, 0.05, 0.13]), "joint", owner=row)
            self._solid("cylinder", row, along_y, u * np.array([0.05, 0.05, 0.13]), "joint")
        elif kind == "ball":
            self._solid("sphere", row, here, np.full(3, 0.1 * u), "joint")
            self._solid("cylinder", up, base, u * np.array([0.115, 0.115, 0.02]), "joint", owner=row)
        elif kind == "plane":
            self._solid("box", row, here, u * np.array([0.16, 0.16, 0.015]), "joint")
        elif kind == "general":
            self._solid("diamond", row, here, np.full(3, 0.11 * u), "joint")
        if row in self._slides:
            low, high = self._slides[row]
            ends = [base.p + base.R[:, 2] * x for x in (low - 0.3 * u, high + 0.3 * u)]
            if kind == "screw":
                middle, half = (low + high) / 2, (high - low) / 2 + 0.3 * u
                self._solid("screw", up, base @ Pose((0.0, 0.0, middle)), np.array([0.07 * u, 0.07 * u, half]), "ground", owner=row)
            self._rod((up, ends[0]), (up, ends[1]), 0.03 * u, "ground", row)
            sleeve = ("box", [0.09, 0.09, 0.13]) if kind == "slide" else ("cylinder", [0.1, 0.1, 0.13])
            self._solid(sleeve[0], row, here, u * np.array(sleeve[1]), "joint")

    def _add_discs(self) -> None:
        for closure in self.model.closures:
            if closure.kind not in _ROUND or closure.b[0] in self._shaped:
                continue
            (row, pose), radius = closure.b, closure.numbers[0]
            if closure.kind != ROLLING:
                sizes = np.array(closure.numbers) if closure.kind == ELLIPSOID else np.full(3, radius)
                self._solid("sphere", row, pose, sizes, "link")
            else:
                disc = pose @ Pose(rotation=frame_with_z(np.asarray(closure.rows[0].w)))
                self._solid("cylinder", row, disc, np.array([radius, radius, 0.03 * radius]), "link")

    # ------------------------------------------------------------------------------------------------ for the page

    def described(self, pack: Pack, kept: dict[tuple[Mesh, int], int], meshes: list[dict[str, Any]]) -> dict[str, Any]:
        """As JSON; triangles go to the pack.  To call after MeshReader.decimate."""
        for placed, row, pose in self.mesh_solids:
            assert isinstance(placed.shape, Mesh)
            for k, piece in enumerate(self._meshes.read(placed.shape)):
                if (placed.shape, k) not in kept:
                    kept[placed.shape, k] = len(meshes)
                    meshes.append(_packed(pack, *shaded(piece)))
                drawn = meshes[kept[placed.shape, k]]
                centre, half = np.array(drawn["centre"]), np.array(drawn["half"])
                self._solid(f"mesh{kept[placed.shape, k]}", row, pose @ Pose(centre), half, "shape", placed.color or piece.color)
        model, points = self.model, self.skeleton
        return {
            "bodies": list(model.body_names),
            "joints": [{"name": b.joint_name, "kind": glyph(b.joint)} for b in model.bodies],
            "places": [[p.name, p.place[0], *short(p.place[1].p), *short(quaternion_of_rotation(p.place[1].R))] for p in model.parts],
            "masses": [[points.rows[point], *short(points.local[point]), float(mass)] for point, mass in points.masses],
            "rods": self.rods, "solids": self.solids, "shaped": sorted(self._shaped), "unit": self.unit,
        }  # fmt: skip


def _inside(a: Array, b: Array, start: Array, end: Array) -> bool:
    """Is the line from a to b a shorter piece of the one from start to end?"""
    along = end - start
    length = float(along @ along)
    if length <= (1 + 1e-9) * float((b - a) @ (b - a)):
        return False
    for point in (a, b):
        s = float((point - start) @ along) / length
        if not -1e-9 <= s <= 1 + 1e-9 or np.linalg.norm(point - start - s * along) > 1e-6 * np.sqrt(length):
            return False
    return True


def _packed(pack: Pack, vertices: Array, normals: Array, faces: Any) -> dict[str, Any]:
    low, high = vertices.min(axis=0), vertices.max(axis=0)
    centre, half = (low + high) / 2, np.maximum((high - low) / 2, 1e-9)
    whole = np.rint((vertices - centre) / half * 32767).astype("<i2")
    size = "<u2" if len(vertices) < 65536 else "<u4"
    return {
        "centre": short(centre), "half": short(half), "vertices": pack.raw(whole),
        "normals": pack.raw(np.rint(normals * 127).astype("i1")), "faces": pack.raw(faces.astype(size)), "wide": size == "<u4",
    }  # fmt: skip
