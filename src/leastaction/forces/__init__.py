"""Forces.  A new force is one file: a class with `apply(builder)`, see base.py; gravity belongs to the Mechanism."""

from .base import Force
from .custom import CustomForce
from .drag import Drag
from .friction import DryFriction
from .point_damper import PointDamper
from .potential import LinearSpring, NonlinearSpring, UserPotential
from .spring import Damper, Spring
from .wrench import Wrench

__all__ = [
    "CustomForce", "Damper", "Drag", "DryFriction", "Force", "LinearSpring", "NonlinearSpring", "PointDamper", "Spring", "UserPotential",
    "Wrench",
]  # fmt: skip
