"""Triangles of mesh files, as a page draws them: 16-bit vertices, 8-bit normals, edges kept sharp."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..drawing.runs import Array
from ..errors import MechanismError
from ..shapes import Mesh

_SMOOTH = np.cos(np.radians(35.0))  # faces that meet at a smaller angle are shaded as one surface
_FEWEST = 24  # triangles of a decimated piece


@dataclass
class Triangles:
    """A piece of one colour."""

    vertices: Array  #: (V, 3) m
    faces: NDArray[np.int64]  #: (F, 3)
    color: tuple[float, float, float, float] | None  #: of the file, if it says one


class MeshReader:
    """Reads every file once.  Together the meshes keep to a number of triangles."""

    def __init__(self, most_triangles: int | None):
        self.most_triangles = most_triangles
        self.found = 0  #: triangles in the files that were read
        self.kept = 0  #: triangles that are drawn
        self._pieces: dict[Mesh, list[Triangles]] = {}

    def read(self, mesh: Mesh) -> list[Triangles]:
        if mesh not in self._pieces:
            self._pieces[mesh] = _load(mesh)
        return self._pieces[mesh]

    def decimate(self) -> None:
        """To call once everything is read: as many triangles as allowed, shared out in proportion."""
        pieces = [piece for read in self._pieces.values() for piece in read]
        self.found = sum(len(piece.faces) for piece in pieces)
        if self.most_triangles is not None and self.found > self.most_triangles:
            for piece in pieces:
                _simplify(piece, self.most_triangles / self.found)
        self.kept = sum(len(piece.faces) for piece in pieces)


def _load(mesh: Mesh) -> list[Triangles]:
    try:
        import trimesh
    except ImportError as error:
        raise ImportError(f"mesh {str(mesh.path)!r} needs trimesh, which is not installed: pip install leastaction[page]") from error
    if not Path(mesh.path).is_file():
        raise MechanismError(f"mesh {str(mesh.path)!r} does not exist; give the path of an STL, OBJ, DAE or glTF file")
    try:
        scene = trimesh.load_scene(str(mesh.path))
        pieces = scene.dump()
    except ImportError as error:
        raise ImportError(f"mesh {str(mesh.path)!r} cannot be read: {error}; pip install leastaction[page]") from error
    except Exception as error:  # whatever a parser of somebody else's file says
        raise MechanismError(f"mesh {str(mesh.path)!r} cannot be read: {type(error).__name__}: {error}") from error
    found = [_triangles(piece, mesh) for piece in pieces if isinstance(piece, trimesh.Trimesh) and len(piece.faces)]
    if not found:
        raise MechanismError(f"mesh {str(mesh.path)!r} holds no triangles")
    return found


def _triangles(piece: Any, mesh: Mesh) -> Triangles:
    scale = np.asarray(mesh.scale)
    faces = np.asarray(piece.faces, dtype=np.int64)
    if np.prod(scale) < 0.0:
        faces = faces[:, ::-1]  # mirrored: the outside stays outside
    vertices = np.asarray(piece.vertices, dtype=float) * scale
    used, inverse = np.unique(np.round(vertices, 9), axis=0, return_inverse=True)  # STL repeats every vertex
    return Triangles(used, inverse.reshape(-1)[faces], _colour(piece))


def _colour(piece: Any) -> tuple[float, float, float, float] | None:
    visual = piece.visual
    material = getattr(visual, "material", None)
    rgba = getattr(material, "main_color", None) if material is not None else visual.main_color if visual.defined else None
    if rgba is None:
        return None
    r, g, b, a = (float(c) / 255.0 for c in np.asarray(rgba).ravel()[:4])
    return r, g, b, a


def _simplify(piece: Triangles, part: float) -> None:
    try:
        import fast_simplification
    except ImportError as error:
        raise ImportError(
            "the meshes have more than triangles= allows, and fewer need fast-simplification, which is not installed: "
            "pip install leastaction[page], or triangles=None to keep them all"
        ) from error
    wanted = max(_FEWEST, int(part * len(piece.faces)))
    if wanted < len(piece.faces):
        vertices, faces = fast_simplification.simplify(piece.vertices.astype(np.float32), piece.faces.astype(np.int32), target_count=wanted)
        piece.vertices, piece.faces = np.asarray(vertices, dtype=float), np.asarray(faces, dtype=np.int64)


def shaded(piece: Triangles) -> tuple[Array, Array, NDArray[np.int64]]:
    """Vertices (V, 3), unit normals (V, 3) and faces (F, 3); a vertex on a sharp edge is there once for each side."""
    corners = piece.vertices[piece.faces]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])  # as long as twice the area
    unit = normals / np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-300)
    owner = piece.faces.ravel()
    order = np.argsort(owner, kind="stable")
    start = np.searchsorted(owner[order], np.arange(len(piece.vertices) + 1))
    valence = np.diff(start)
    smooth = np.zeros((len(owner), 3))
    face = order // 3
    for k in range(int(valence.max(initial=0))):  # every corner with the k-th face around its vertex
        here = np.flatnonzero(valence[owner] > k)
        other = face[start[owner[here]] + k]
        same = np.einsum("ij,ij->i", unit[here // 3], unit[other]) > _SMOOTH
        smooth[here] += normals[other] * same[:, None]
    smooth /= np.maximum(np.linalg.norm(smooth, axis=1, keepdims=True), 1e-300)
    key = np.column_stack([owner, np.rint(127 * smooth).astype(np.int64)])
    _, first, corner = np.unique(key, axis=0, return_index=True, return_inverse=True)
    return piece.vertices[owner[first]], smooth[first], corner.reshape(-1, 3)
