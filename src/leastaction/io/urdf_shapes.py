"""<visual> and <collision> of a URDF link, and the colours of materials."""

from __future__ import annotations

from ..mechanism import Mechanism
from ..pose import Pose
from ..shapes import COLLISION, VISUAL, Box, Capsule, Cylinder, Mesh, Shape, Sphere
from .leftovers import Leftovers
from .mesh_paths import MeshPaths, OutsideError
from .places import at
from .xml_tree import Element, shortened

Color = tuple[float, ...]

_PLACED = {"visual": VISUAL, "collision": COLLISION}
_KINDS = {"visual": "visual", "collision": "contact"}  # what is named in `ignore` to leave them out
_KNOWN = ("origin", "geometry", "material", "verbose", "contact_coefficients")


def origin(element: Element) -> Pose:
    """Pose that the <origin> of an element gives."""
    found = element.one("origin")
    if found is None:
        return Pose()
    return Pose(found.numbers("xyz", 3, (0.0, 0.0, 0.0)), rpy=found.numbers("rpy", 3, (0.0, 0.0, 0.0)))


def mesh(element: Element, name: str, scale: tuple[float, ...], paths: MeshPaths, leftovers: Leftovers) -> Mesh | None:
    """The mesh of this name, if it may be read and its package is there."""
    try:
        path = paths.find(name)
    except OutsideError as error:
        if leftovers.ignores("meshes", element, f"mesh {shortened(name)!r}"):
            return None
        element.fail(f"mesh {error}; or leave such meshes out with ignore=['meshes']")
    if path is None:
        leftovers.aside(element, "meshes are left out because their package is not found; give its folder as packages=[...]")
        return None
    if not path.is_file():
        leftovers.aside(element, "meshes do not exist where the file says they are")
    return Mesh(path, scale)


class ShapeReader:
    def __init__(self, robot: Element, leftovers: Leftovers, paths: MeshPaths):
        self.leftovers, self.paths = leftovers, paths
        self.colors: dict[str, Color] = {}
        every = [m for element in robot.all("link") for shape in element.children for m in shape.all("material")]
        for material in [*robot.all("material"), *every]:  # those inside of links may be used by other links, too
            color = self._own_color(material)
            if color is not None:
                self.colors.setdefault(material.attributes.get("name", ""), color)

    def add(self, mechanism: Mechanism, body: str, element: Element) -> None:
        """The shape of a <visual> or <collision>."""
        for child in element.children:
            if child.tag not in _KNOWN:
                self.leftovers.aside(child, f"{child} of shapes is not read")
        geometry = element.need("geometry")
        if self.leftovers.ignores(_KINDS[element.tag], element, f"{element} of link {body!r}"):
            return
        if len(geometry.children) != 1:
            geometry.fail(f"{geometry} has {len(geometry.children)} shapes in it; it needs one")
        shape = self._shape(geometry.children[0])
        if shape is not None:
            with at(element):
                mechanism.add_shape(body, shape, origin(element), color=self._color(element), role=_PLACED[element.tag])

    def _shape(self, given: Element) -> Shape | None:
        with at(given):
            if given.tag == "box":
                return Box(given.numbers("size", 3))
            if given.tag == "sphere":
                return Sphere(given.number("radius"))
            if given.tag == "cylinder":
                return Cylinder(given.number("radius"), given.number("length"))
            if given.tag == "capsule":
                return Capsule(given.number("radius"), given.number("length"))
            if given.tag == "mesh":
                return self._mesh(given)
        self.leftovers.refuse("extensions", given, f"{given} is not a shape of URDF (box, sphere, cylinder, capsule, mesh)")
        return None

    def _mesh(self, given: Element) -> Mesh | None:
        return mesh(given, given.word("filename"), given.numbers("scale", 3, (1.0, 1.0, 1.0)), self.paths, self.leftovers)

    def _color(self, element: Element) -> Color | None:
        material = element.one("material")
        if material is None:
            return None
        return self._own_color(material) or self.colors.get(material.attributes.get("name", ""))

    def _own_color(self, material: Element) -> Color | None:
        if material.all("texture"):
            self.leftovers.aside(material, "textures of materials are not read")
        color = material.one("color")
        if color is None:
            return None
        rgba = color.numbers("rgba", 4)
        if min(rgba) < 0.0 or max(rgba) > 1.0:
            self.leftovers.aside(color, "colours with numbers outside of 0 to 1 are not read")
            return None
        return rgba
