"""What `leastaction/__init__.py` offers, as type checkers and editors read it; there each name is imported when it is first asked for."""

from . import analysis, constraints, dynamics, examples, gallery, gym, library, page, plot, solvability
from .analysis.crosscheck import Crosscheck, crosscheck
from .batch import Rollout, Sweep, rollout, sweep
from .constraints import (
    Cam,
    Close,
    Coincident,
    Constraint,
    Distance,
    Gear,
    PointOnPlane,
    Prescribed,
    Rolling,
    RollingBall,
    RollingEllipsoid,
    Screw,
    Skate,
    SymbolicConstraint,
    VelocityConstraint,
)
from .coordinates.conversion import MaximalState, to_maximal, to_minimal
from .dynamics import discrete
from .errors import ConvergenceError, FormatError, LeastActionError, LimitError, MechanismError, SingularMassError, StateError
from .events import Event, Every, Occurrence, crosses, passes
from .forces import CustomForce, Damper, Drag, DryFriction, LinearSpring, NonlinearSpring, PointDamper, Spring, UserPotential, Wrench
from .frames import FrameTree
from .integrators import (
    RK4,
    RKMK4,
    AdaptiveStep,
    Composition,
    FloatingBase,
    Heun,
    Integrator,
    Maximal,
    Midpoint,
    SemiImplicitEuler,
    Trapezoid,
    Variational,
)
from .io import load, save
from .joints import Cylindrical, Fixed, Free, Helical, Planar, Prismatic, Revolute, Spherical, SymbolicJoint, Universal
from .limits import Limit
from .linearization import Linearization, Linearizations, linearize
from .mechanism import Mechanism
from .model import Model
from .motors import Motor, Servo
from .page import show
from .pose import Pose
from .reactions import Reaction, Reactions
from .records import open
from .shapes import Box, Capsule, Cylinder, Mesh, Sphere
from .simulate import simulate
from .simulator import Simulator
from .solvability import CertifiedStep
from .state import State
from .trajectory import Trajectory
from .viewer import view

__version__: str

__all__ = [
    "AdaptiveStep", "Box", "Cam", "Capsule", "CertifiedStep", "Close", "Coincident", "Composition", "Constraint",
    "ConvergenceError", "Crosscheck", "CustomForce", "Cylinder", "Cylindrical", "Damper", "Distance", "Drag", "DryFriction",
    "Event", "Every", "Fixed", "FloatingBase", "FormatError", "FrameTree", "Free", "Gear", "Helical", "Heun", "Integrator",
    "LeastActionError", "Limit", "LimitError", "LinearSpring", "Linearization", "Linearizations", "Maximal", "MaximalState",
    "Mechanism", "MechanismError", "Mesh", "Midpoint", "Model", "Motor", "NonlinearSpring", "Occurrence", "Planar", "PointDamper",
    "PointOnPlane", "Pose", "Prescribed", "Prismatic", "RK4", "RKMK4", "Reaction", "Reactions", "Revolute", "Rolling",
    "RollingBall", "RollingEllipsoid", "Rollout", "Screw", "SemiImplicitEuler", "Servo", "Simulator", "SingularMassError", "Skate",
    "Sphere", "Spherical", "Spring", "State", "StateError", "Sweep", "SymbolicConstraint", "SymbolicJoint", "Trajectory",
    "Trapezoid", "Universal", "UserPotential", "Variational", "VelocityConstraint", "Wrench", "analysis", "constraints",
    "crosscheck", "crosses", "discrete", "dynamics", "examples", "gallery", "gym", "library", "linearize", "load", "open", "page",
    "passes", "plot", "rollout", "save", "show", "simulate", "solvability", "sweep", "to_maximal", "to_minimal", "view",
]  # fmt: skip
