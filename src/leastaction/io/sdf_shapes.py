"""<visual> and <collision> of an SDF link."""

from __future__ import annotations

from ..mechanism import Mechanism
from ..shapes import COLLISION, VISUAL, Box, Capsule, Cylinder, Shape, Sphere
from .leftovers import Leftovers
from .mesh_paths import MeshPaths
from .places import at
from .sdf_frames import Frames, own_pose
from .urdf_shapes import mesh
from .xml_tree import Element, shortened

_PLACED = {"visual": (VISUAL, "visual"), "collision": (COLLISION, "contact")}  # role, what is named in `ignore`
_NOT_DRAWN = ("plane", "heightmap", "polyline", "image", "empty", "ellipsoid", "cone")


def add_shape(
    mechanism: Mechanism, link: str, body: str, element: Element, frames: Frames, leftovers: Leftovers, paths: MeshPaths
) -> None:
    role, kind = _PLACED[element.tag]
    if leftovers.ignores(kind, element, f"{element} of link {link!r}"):
        return
    geometry = element.need("geometry")
    if len(geometry.children) != 1:
        geometry.fail(f"{geometry} has {len(geometry.children)} shapes in it; it needs one")
    shape = _shape(geometry.children[0], leftovers, paths)
    if shape is None:
        return
    pose, given = own_pose(element), element.one("pose")
    other = "" if given is None else given.attributes.get("relative_to", "").strip()
    if other and other != link:
        pose = frames[link].inverse() @ frames[other] @ pose
    with at(element):
        mechanism.add_shape(body, shape, pose, color=_color(element, leftovers), role=role)


def _shape(given: Element, leftovers: Leftovers, paths: MeshPaths) -> Shape | None:
    with at(given):
        if given.tag == "box":
            return Box(given.need("size").text_numbers(3))
        if given.tag == "sphere":
            return Sphere(given.need("radius").text_numbers(1)[0])
        if given.tag in ("cylinder", "capsule"):
            radius, length = (given.need(name).text_numbers(1)[0] for name in ("radius", "length"))
            return Cylinder(radius, length) if given.tag == "cylinder" else Capsule(radius, length)
        if given.tag == "mesh":
            scale = given.one("scale")
            if given.all("submesh"):
                leftovers.aside(given, "meshes are drawn whole: <submesh> is not read")
            return mesh(
                given, given.need("uri").text_word(), (1.0,) * 3 if scale is None else scale.text_numbers(3), paths, leftovers
            )
    if given.tag in _NOT_DRAWN:
        leftovers.aside(given, f"shapes of the kind {given} are not drawn")
    else:
        leftovers.refuse("extensions", given, f"{given} is not a shape of SDF")
    return None


def _color(element: Element, leftovers: Leftovers) -> tuple[float, ...] | None:
    material = element.one("material")
    diffuse = None if material is None else material.one("diffuse")
    if diffuse is None:
        return None
    count = len(diffuse.text.split())
    if count not in (3, 4):
        diffuse.fail(f"{diffuse} is {shortened(diffuse.text)!r}; it needs 3 or 4 numbers separated by blanks")
    color = diffuse.text_numbers(count)
    if min(color) < 0.0 or max(color) > 1.0:
        leftovers.aside(diffuse, "colours with numbers outside of 0 to 1 are not read")
        return None
    return color
