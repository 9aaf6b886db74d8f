"""Exact derivatives of steps: `la.linearize`."""

from .linearize import Linearization, Linearizations, linearize

__all__ = ["Linearization", "Linearizations", "linearize"]
