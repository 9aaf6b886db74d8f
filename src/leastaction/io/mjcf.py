"""MJCF, the robot description of MuJoCo: see docs/mjcf.md."""

from ..errors import FormatError
from ..mechanism import Mechanism
from .mjcf_reader import NOT_SIMULATED, read

__all__ = ["NOT_SIMULATED", "read", "write"]


def write(mechanism: Mechanism) -> str:
    raise FormatError(f"{mechanism.name!r} cannot be written to an MJCF file: these are read only; save a .urdf or .sexp file")
