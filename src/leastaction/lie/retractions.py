"""The retractions by number: one branch for each of the list, written by the machine.

A retraction is a file of four functions on tuples of floats, `coordinates`, `displacement`, `cotangent` and `stiffness`, and two facts:

    OF_THE_SCREW    is tau(x) a function of the matrix of the twist x?  Then dtau^-1_{-x} = dtau^-1_x + ad_x, which the integrators of
                    trees use; others serve single bodies only (la.Maximal)
    COUPLES         has its stiffness blocks between rotation and translation for a body about its centre of mass?

A new one is a new file beside `retraction_cayley.py` and its entry in ALL.
"""

from collections.abc import Callable, Sequence
from types import ModuleType
from typing import NamedTuple

from ..compiling.switch import one_of, switch
from . import retraction_cayley, retraction_exp, retraction_quaternion

#: every retraction by its name
ALL: dict[str, ModuleType] = {"exp": retraction_exp, "cayley": retraction_cayley, "quaternion": retraction_quaternion}

for _name, _module in ALL.items():
    for _fact in ("OF_THE_SCREW", "COUPLES"):
        if not isinstance(getattr(_module, _fact, None), bool):
            raise TypeError(f"retraction {_name!r}: {_module.__name__} does not say {_fact} = True or False")

# trees come first, so that their numbers are those of both lists
_TREES = [name for name, module in ALL.items() if module.OF_THE_SCREW]
_BODIES = [*_TREES, *(name for name, module in ALL.items() if not module.OF_THE_SCREW)]

#: numbers of those that trees can use, and of all
NAMES = {name: number for number, name in enumerate(_TREES)}
BODY_NAMES = {name: number for number, name in enumerate(_BODIES)}
EXP = NAMES["exp"]


class Functions(NamedTuple):
    """The four functions with the number of the retraction as the first parameter."""

    coordinates: Callable
    displacement: Callable
    cotangent: Callable
    stiffness: Callable


def _functions(names: Sequence[str]) -> Functions:
    cases = [ALL[name] for name in names]
    return Functions(
        switch("coordinates", "retraction, w, u, t", cases, inline=True, doc="x = tau^-1(displacement) as (phi, rho)."),
        switch("displacement", "retraction, phi, rho", cases, inline=True, doc="tau(x) as quaternion (w, u) and translation t."),
        switch("cotangent", "retraction, phi, rho, m, l", cases, inline=True, doc="(dtau^-1_x)' applied to the momentum (m, l)."),
        switch("stiffness", "retraction, phi, rho, mass, moment, inertia", cases, inline=True, doc="h K of docs/theory (3), four blocks."),
    )


coordinates, displacement, cotangent, stiffness = _functions(_TREES)
#: the same for all retractions, for bodies whose frame stands in their centre of mass
BODY = _functions(_BODIES)
couples = one_of(
    "couples", [k for k, name in enumerate(_BODIES) if ALL[name].COUPLES], doc="Are the blocks between rotation and translation not zero?"
)
of_the_screw = one_of(
    "of_the_screw", list(range(len(_TREES))), doc="Are the coordinates of a displacement the same in the axes of its start and of its end?"
)
