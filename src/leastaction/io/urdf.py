"""URDF, the robot description of ROS: see docs/urdf.md."""

from .urdf_reader import NOT_SIMULATED, parse_robot, read
from .urdf_writer import write

__all__ = ["NOT_SIMULATED", "parse_robot", "read", "write"]
