"""Geoms of MuJoCo's model as shapes: those that could touch as collision shapes, those that are seen as visual ones; and back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ..errors import FormatError
from ..mechanism import WORLD, Mechanism
from ..pose import Pose, quaternion_of_rotation
from ..shapes import COLLISION, VISUAL, Box, Capsule, Cylinder, Mesh, PlacedShape, Shape, Sphere
from .leftovers import Leftovers
from .mjcf_source import Source
from .xml_writing import tag

_SPHERE, _CAPSULE, _ELLIPSOID, _CYLINDER, _BOX, _MESH = 2, 3, 4, 5, 6, 7  # mjtGeom
_SEEN = 3  # groups of geoms below this one are drawn
_READ = (".stl", ".obj", ".msh")  # meshes that MuJoCo reads


def add_shapes(mechanism: Mechanism, source: Source, m: Any, leftovers: Leftovers) -> None:
    for g in range(m.ngeom):
        body = WORLD if m.geom_bodyid[g] == 0 else m.body(m.geom_bodyid[g]).name
        element = source.element("geom", m.geom(g).name) if m.geom(g).name else source.element("body", body)
        shape, pose = _shape(source, m, g), Pose(m.geom_pos[g], quaternion=m.geom_quat[g])
        if shape is None:
            leftovers.aside(element, "planes, ellipsoids, meshes without a file and distance fields are not kept")
            continue
        if isinstance(shape, Mesh):  # MuJoCo moves meshes to their centres of mass
            mesh = m.geom_dataid[g]
            pose = pose @ Pose(m.mesh_pos[mesh], quaternion=m.mesh_quat[mesh]).inverse()
        color = m.mat_rgba[m.geom_matid[g]] if m.geom_matid[g] >= 0 else m.geom_rgba[g]
        roles = [(VISUAL, "visual")] if m.geom_group[g] < _SEEN else []
        roles += [(COLLISION, "contact")] if m.geom_contype[g] or m.geom_conaffinity[g] else []
        for role, kind in roles:
            if not leftovers.ignores(kind, element, f"a geom of body {body!r}"):
                mechanism.add_shape(body, shape, pose, color=np.clip(color, 0.0, 1.0).tolist(), role=role)


def _shape(source: Source, m: Any, g: int) -> Shape | None:
    kind, (a, b, c) = int(m.geom_type[g]), m.geom_size[g].tolist()
    if kind == _SPHERE:
        return Sphere(a)
    if kind == _CAPSULE:
        return Capsule(a, 2 * b)
    if kind == _CYLINDER:
        return Cylinder(a, 2 * b)
    if kind == _BOX:
        return Box((2 * a, 2 * b, 2 * c))
    if kind == _ELLIPSOID and a == b == c:
        return Sphere(a)
    if kind == _MESH and (name := m.mesh(m.geom_dataid[g]).name) in source.meshes:
        return Mesh(source.meshes[name], m.mesh_scale[m.geom_dataid[g]].tolist())
    return None


class Meshes:
    """The meshes of a file that is written, each once."""

    def __init__(self) -> None:
        self._names: dict[tuple[Path, tuple[float, ...]], str] = {}

    def name(self, mesh: Mesh) -> str:
        if mesh.path.suffix.lower() not in _READ:
            raise FormatError(
                f"the mesh {mesh.path.name!r} cannot be written to an .xml file: MuJoCo reads {', '.join(_READ)}; leave such shapes out "
                "(ignore=['meshes'], or ['visual', 'contact'], where the mechanism is read), or convert them"
            )
        return self._names.setdefault((mesh.path, tuple(mesh.scale)), f"{mesh.path.stem} {len(self._names) + 1}")

    def lines(self) -> list[str]:
        return [tag(4, "mesh", name=name, file=path.as_posix(), scale=scale) for (path, scale), name in self._names.items()]


def geom(placed: PlacedShape, host: Pose, meshes: Meshes, indent: int) -> str:
    """A shape as an element; `host` is the pose of the frame it is fixed to."""
    pose = host @ placed.placement
    seen = {"group": "0", "contype": "0", "conaffinity": "0"} if placed.role == VISUAL else {"group": str(_SEEN)}
    return tag(
        indent, "geom", **_geometry(placed.shape, meshes), pos=pose.p if pose.p.any() else None,
        quat=None if np.array_equal(pose.R, np.eye(3)) else quaternion_of_rotation(pose.R), rgba=placed.color, **seen,
    )  # fmt: skip


def _geometry(shape: Shape, meshes: Meshes) -> dict[str, Any]:
    if isinstance(shape, Box):
        return {"type": "box", "size": [edge / 2 for edge in shape.size]}
    if isinstance(shape, Sphere):
        return {"type": "sphere", "size": [shape.radius]}
    if isinstance(shape, Cylinder):  # a capsule is one
        return {"type": "capsule" if isinstance(shape, Capsule) else "cylinder", "size": [shape.radius, shape.length / 2]}
    if isinstance(shape, Mesh):
        return {"type": "mesh", "mesh": meshes.name(shape)}
    raise FormatError(f"{shape!r} cannot be written to an .xml file; it knows Box, Sphere, Cylinder, Capsule and Mesh")
