"""SDF, the model description of Gazebo: see docs/sdf.md."""

from ..errors import FormatError
from ..mechanism import Mechanism
from .sdf_reader import NOT_SIMULATED, parse_model, read

__all__ = ["NOT_SIMULATED", "parse_model", "read", "write"]


def write(mechanism: Mechanism) -> str:
    raise FormatError(f"mechanism {mechanism.name!r}: SDF files are read and not written; save it as .urdf or .sexp")
