"""Writing joint columns: rows of S, (angular, linear)."""

from ..compiling.decorators import inlined


@inlined
def set_column(S, j, axis, value):
    """S[j, :] = value along one of the six axes."""
    for a in range(6):
        S[j, a] = 0.0
    S[j, axis] = value
