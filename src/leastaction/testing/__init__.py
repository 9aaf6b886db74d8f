"""Tools for people who extend the package, and for its own tests.

check_joint, check_force, check_constraint, check_integrator, check_retraction    the laws of each: AssertionError says which is broken
force_bench, constraint_bench          the mechanisms forces and constraints are checked on, with names to act on
every_integrator                       what they are checked with
random_mechanism, random_state         trees with every joint and force in them
leaving_momentum, arriving_momentum    derivatives of the discrete action, independent of all kernels
probe                                  entry points to single kernels of joints and retractions
"""

from .action import arriving_momentum, discrete_lagrangian, leaving_momentum
from .constraint_laws import ConstraintReport, check_constraint, constraint_bench
from .every_integrator import every_integrator
from .force_laws import ForceReport, check_force, force_bench
from .integrator_laws import IntegratorReport, check_integrator
from .joint_laws import check_joint
from .kinematics import Kinematics
from .random_mechanism import random_mechanism, random_pose, random_state
from .retraction_laws import check_retraction

__all__ = [
    "ConstraintReport", "ForceReport", "IntegratorReport", "Kinematics", "arriving_momentum", "check_constraint", "check_force",
    "check_integrator", "check_joint", "check_retraction", "constraint_bench", "discrete_lagrangian", "every_integrator", "force_bench",
    "leaving_momentum", "random_mechanism", "random_pose", "random_state",
]  # fmt: skip
