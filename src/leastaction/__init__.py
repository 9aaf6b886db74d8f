"""leastaction: multibody simulation with variational integrators.

>>> import leastaction as la
>>> model = la.examples.chain(10).compile()
>>> run = la.simulate(model, dt=1e-3, duration=0.1, q={"link1": 0.785})
>>> bool(abs(run.energy - run.energy[0]).max() < 1e-3)
True

Importing the package takes no time: each name is imported from its room when it is first asked for.
"""

import sys
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any

__version__ = "0.1.0"

# room -> names users see as la.<name>; the same names stand in __init__.pyi, for type checkers
_ROOMS = {
    "analysis.crosscheck": "Crosscheck crosscheck",
    "batch": "Rollout Sweep rollout sweep",
    "constraints": "Cam Close Coincident Constraint Distance Gear PointOnPlane Prescribed Rolling RollingBall RollingEllipsoid Screw "
    "Skate SymbolicConstraint VelocityConstraint",
    "coordinates.conversion": "MaximalState to_maximal to_minimal",
    "dynamics": "discrete",
    "errors": "ConvergenceError FormatError LeastActionError LimitError MechanismError SingularMassError StateError",
    "events": "Event Every Occurrence crosses passes",
    "forces": "CustomForce Damper Drag DryFriction LinearSpring NonlinearSpring PointDamper Spring UserPotential Wrench",
    "frames": "FrameTree",
    "integrators": "AdaptiveStep Composition FloatingBase Heun Integrator Maximal Midpoint RK4 RKMK4 SemiImplicitEuler Trapezoid "
    "Variational",
    "io": "load save",
    "joints": "Cylindrical Fixed Free Helical Planar Prismatic Revolute Spherical SymbolicJoint Universal",
    "limits": "Limit",
    "linearization": "Linearization Linearizations linearize",
    "mechanism": "Mechanism",
    "model": "Model",
    "motors": "Motor Servo",
    "page": "show",
    "pose": "Pose",
    "reactions": "Reaction Reactions",
    "records": "open",
    "shapes": "Box Capsule Cylinder Mesh Sphere",
    "simulate": "simulate",
    "simulator": "Simulator",
    "solvability": "CertifiedStep",
    "state": "State",
    "trajectory": "Trajectory",
    "viewer": "view",
}
_HOME = {name: room for room, names in _ROOMS.items() for name in names.split()}
_MODULES = ("analysis", "constraints", "dynamics", "examples", "gallery", "gym", "library", "page", "plot", "solvability")

__all__ = sorted([*_HOME, *_MODULES])


def __getattr__(name: str) -> Any:
    """A public name, or a module of the package, which is then there for good."""
    if name in _HOME:
        value = getattr(import_module(f".{_HOME[name]}", __name__), name)
    elif not name.startswith("_") and find_spec(f"{__name__}.{name}"):
        value = import_module(f".{name}", __name__)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


class _Package(ModuleType):
    """Where a module and what it offers have the same name, la.<name> is what it offers."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not (name in _HOME and isinstance(value, ModuleType) and value.__name__ == f"{__name__}.{name}"):
            super().__setattr__(name, value)

    def __reduce__(self) -> tuple[Any, ...]:
        """As other modules travel with functions that use them: by name."""
        return import_module, (self.__name__,)


sys.modules[__name__].__class__ = _Package
