"""How large a residual is."""

from ...compiling.decorators import inlined

UNBOUNDED = 1e300  # a residual that is infinite or NaN is counted as larger


@inlined
def relative_size(value, unit):
    """value / unit, for a residual that may be zero or NaN and a unit that may be zero."""
    if value != value:
        return 10.0 * UNBOUNDED
    return value / unit if value > 0.0 else 0.0


@inlined
def largest(a):
    """Largest entry; a NaN stays."""
    return largest_between(a, 0, a.shape[0])


@inlined
def largest_between(a, first, last):
    top = 0.0
    for j in range(first, last):
        x = abs(a[j])
        if x > top or x != x:
            top = x
    return top
