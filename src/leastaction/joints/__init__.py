"""Joints.  A new joint is a new file here, which `base.py` describes, and its place in the list ALL."""

from .base import Joint
from .cylindrical import Cylindrical
from .fixed import Fixed
from .free import Free
from .helical import Helical
from .planar import Planar
from .prismatic import Prismatic
from .revolute import Revolute
from .spherical import Spherical
from .symbolic import SymbolicJoint
from .table import number
from .universal import Universal

#: every built-in joint type.  The place in this list is the joint's number in compiled code; conformance tests run over it
ALL: tuple[type[Joint], ...] = (
    Fixed, Revolute, Prismatic, Helical, Cylindrical, Universal, Planar, Spherical, Free,
)  # fmt: skip
number(ALL)

__all__ = ["ALL", "Joint", "SymbolicJoint"] + [cls.__name__ for cls in ALL]
