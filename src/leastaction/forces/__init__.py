"""Forces.  A new force is a new file: a description with `apply(builder)`; gravity belongs to the Mechanism."""

from .base import Force
from .custom import CustomForce
from .potential import LinearSpring, NonlinearSpring, UserPotential
from .spring import Damper, Spring
from .wrench import Wrench

__all__ = ["CustomForce", "Damper", "Force", "LinearSpring", "NonlinearSpring", "Spring", "UserPotential", "Wrench"]
