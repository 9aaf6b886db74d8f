"""Joints.  A new joint is a new file here and its branches in `dispatch.py`; see `base.py` for what it contains."""

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
from .universal import Universal

#: every built-in joint type; conformance tests run over this list
ALL: tuple[type[Joint], ...] = (
    Fixed, Revolute, Prismatic, Helical, Cylindrical, Universal, Planar, Spherical, Free,
)  # fmt: skip

__all__ = ["ALL", "Joint", "SymbolicJoint"] + [cls.__name__ for cls in ALL]
