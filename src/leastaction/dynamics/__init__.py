"""What moves how: `continuous` time (mass matrix, forward and inverse dynamics, energy) and the equations of one `discrete` step."""

from .continuous import (
    Evaluation,
    Evaluator,
    articulated_inertia,
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

__all__ = [
    "Evaluation", "Evaluator", "articulated_inertia", "condition", "energy", "explain_singular", "forward", "inverse", "mass_matrix",
    "massless_joint", "momentum", "pose", "spatial_momentum", "velocity",
]  # fmt: skip
