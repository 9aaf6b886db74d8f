"""MJCF, the robot description of MuJoCo: see docs/mjcf.md."""

from .mjcf_reader import NOT_SIMULATED, read
from .mjcf_writer import write

__all__ = ["NOT_SIMULATED", "read", "write"]
