"""Exact derivatives of a step: `la.linearize`."""

from .linearize import Linearization, linearize

__all__ = ["Linearization", "linearize"]
