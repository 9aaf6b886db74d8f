"""Geoms of MuJoCo's model as shapes: those that could touch as collision shapes, those that are seen as visual ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..mechanism import WORLD, Mechanism
from ..pose import Pose
from ..shapes import COLLISION, VISUAL, Box, Capsule, Cylinder, Mesh, Shape, Sphere
from .leftovers import Leftovers
from .mjcf_source import Source

_SPHERE, _CAPSULE, _ELLIPSOID, _CYLINDER, _BOX, _MESH = 2, 3, 4, 5, 6, 7  # mjtGeom
_SEEN = 3  # groups of geoms below this one are drawn


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
