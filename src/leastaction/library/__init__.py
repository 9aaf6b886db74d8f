"""Joints between shapes: a body slides on a surface, two surfaces touch, a bead runs along a curve, a knee bends.

`surfaces.py`  shapes: sphere, ellipsoid, torus, Bezier surface, any surface p(u, v)
`curves.py`    Bezier curve, any curve p(s)
`contacts.py`  joints made of them: surface_surface, surface_point, curve_point
`linkages.py`  four_bar_knee, barrel_cam, planet_gear

Every joint here is a `SymbolicJoint` of a few lines: what they are made of serves joints of your own as well.

>>> import leastaction as la
>>> ring = la.library.torus(radius=1.0, tube=0.3)
>>> la.library.surface_surface(ring, ring).nv
4
"""

from .contacts import curve_point, surface_point, surface_surface
from .curves import Curve, bezier_curve, curve
from .linkages import barrel_cam, four_bar_knee, planet_gear
from .surfaces import Surface, bezier_surface, ellipsoid, sphere, surface, torus

__all__ = [
    "Curve", "Surface", "barrel_cam", "bezier_curve", "bezier_surface", "curve", "curve_point", "ellipsoid", "four_bar_knee",
    "planet_gear", "sphere", "surface", "surface_point", "surface_surface", "torus",
]  # fmt: skip
