"""What moves how: `continuous` time (mass matrix, forward and inverse dynamics, energy) and the equations of one `discrete` step."""

from .continuous import (
    Evaluation,
    Evaluator,
    condition,
    energy,
    explain_singular,
    forward,
    inverse,
    mass_matrix,
    massless_joint,
    momentum,
    pose,
    spatial_momentum,
    velocity,
)
from .kinematics import FrameMotion, centre_of_mass, centroidal_matrix, frame, jacobian

__all__ = [
    "Evaluation", "Evaluator", "FrameMotion", "centre_of_mass", "centroidal_matrix", "condition", "energy",
    "explain_singular", "forward", "frame", "inverse", "jacobian", "mass_matrix", "massless_joint", "momentum", "pose", "spatial_momentum",
    "velocity",
]  # fmt: skip
