"""Kernels for one mechanism: what is known before the simulation is computed before it (partial evaluation).

terms    numbers that remember how they were computed and fold constants
memory   what is known about the entries of the arrays
trace    runs the Python source of a kernel with terms
plan     facts that hold throughout, fused loops, no stores nobody reads
emit     the result as the source of a Numba module
build    the programs: forward dynamics and the variational step
"""

from .build import Specialised

__all__ = ["Specialised"]
