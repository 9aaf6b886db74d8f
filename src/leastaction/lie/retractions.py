"""The retractions by number.  A new one is a new file beside `retraction_exp.py` and a branch in each function here."""

from ..compiling.decorators import inlined
from . import retraction_cayley as cayley
from . import retraction_exp as exponential

EXP, CAYLEY = 0, 1
NAMES = {"exp": EXP, "cayley": CAYLEY}


@inlined
def coordinates(retraction, w, u, t):
    """x = tau^-1(displacement) as (phi, rho)."""
    if retraction == CAYLEY:
        return cayley.coordinates(w, u, t)
    return exponential.coordinates(w, u, t)


@inlined
def displacement(retraction, phi, rho):
    """Displacement tau(x) as quaternion (w, u) and translation t."""
    if retraction == CAYLEY:
        return cayley.displacement(phi, rho)
    return exponential.displacement(phi, rho)


@inlined
def cotangent(retraction, phi, rho, m, l):
    """(dtau^-1_x)' applied to the momentum (m, l)."""
    if retraction == CAYLEY:
        return cayley.cotangent(phi, rho, m, l)
    return exponential.cotangent(phi, rho, m, l)


@inlined
def stiffness(retraction, phi, rho, mass, moment, inertia):
    """h K of docs/theory (3), four 3x3 blocks."""
    if retraction == CAYLEY:
        return cayley.stiffness(phi, rho, mass, moment, inertia)
    return exponential.stiffness(phi, rho, mass, moment, inertia)
