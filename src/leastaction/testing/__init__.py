"""Tools for people who extend the package, and for its own tests.

check_joint, check_integrator, check_retraction    the laws each has to obey; AssertionError says which one is broken
random_mechanism, random_state         trees with every joint and force in them
symbolic_samples                       symbolic joints of 1 to 6 degrees of freedom
leaving_momentum, arriving_momentum    derivatives of the discrete action, independent of all kernels
"""

from .action import arriving_momentum, discrete_lagrangian, leaving_momentum
from .integrator_laws import IntegratorReport, check_integrator
from .joint_laws import check_joint
from .kinematics import Kinematics
from .random_mechanism import random_mechanism, random_pose, random_state
from .retraction_laws import check_retraction
from .symbolic_samples import symbolic_samples

__all__ = [
    "IntegratorReport", "Kinematics", "arriving_momentum", "check_integrator", "check_joint", "check_retraction",
    "discrete_lagrangian",
    "leaving_momentum", "random_mechanism", "random_pose", "random_state", "symbolic_samples",
]  # fmt: skip
