"""leastaction: multibody simulation with variational integrators.

>>> import leastaction as la
>>> model = la.examples.chain(10).compile()
>>> run = la.simulate(model, dt=1e-3, duration=0.1, q={"link1": 0.785})
>>> bool(abs(run.energy - run.energy[0]).max() < 1e-3)
True
"""

from . import analysis, discrete, dynamics, examples, plot, solvability
from .errors import ConvergenceError, LeastActionError, MechanismError, SingularMassError, StateError
from .forces import CustomForce, Damper, Spring, Wrench
from .integrators import RK4, RKMK4, AdaptiveStep, Composition, FloatingBase, Heun, Integrator, SemiImplicitEuler, Trapezoid, Variational
from .joints import Cylindrical, Fixed, Free, Helical, Planar, Prismatic, Revolute, Spherical, Universal
from .mechanism import Mechanism
from .model import Model
from .pose import Pose
from .simulate import Simulator, simulate
from .state import State
from .trajectory import Trajectory

__version__ = "0.1.0"

__all__ = [
    "AdaptiveStep", "Composition", "ConvergenceError", "CustomForce", "Cylindrical", "Damper", "Fixed", "FloatingBase", "Free",
    "Helical", "Heun", "Integrator", "LeastActionError", "Mechanism", "MechanismError", "Model", "Planar", "Pose", "Prismatic", "RK4",
    "RKMK4", "Revolute", "SemiImplicitEuler", "Simulator", "SingularMassError", "Spherical", "Spring", "State", "StateError",
    "Trajectory", "Trapezoid", "Universal", "Variational", "Wrench", "analysis", "discrete", "dynamics", "examples", "plot",
    "simulate", "solvability",
]  # fmt: skip
