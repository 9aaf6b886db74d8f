"""Functions of the user in a tree: laws on bodies (kernels/forces/laws.py) and forces in joint space, as joint forces.

`laws` is Work.laws, None where there are none: Numba then leaves out what is done with them.
"""

from ...compiling.decorators import apart, kernel
from ...lie import retractions
from ...lie.algebra import load3, scale, store3
from ..forces.laws import law_damping, law_wrenches
from .continuous import twists
from .drnea import project
from .layout import AA, AL, ETA, LA, LAW_BASE, LAW_BODY, LL, F, X
from .loads import custom_forces


@apart
def step_forces(laws, m, w, t, d, h):
    """Work.load = joint forces of the user's functions at the node during a step: increments d/h, twists X/h.

    Reads X, world, S0; writes load, z (as scratch), F.
    """
    custom_forces(m, t, w.q, d, h, w.z, w.load)
    if laws is not None:
        for i in range(1, m.link.shape[0]):
            store3(w.laws.twist, i, 0, scale(1.0 / h, load3(w.row, i, X)))
            store3(w.laws.twist, i, 3, scale(1.0 / h, load3(w.row, i, X + 3)))
        add_law_forces(m, w, t, w.z, w.load)


@apart
def forces_in_motion(laws, m, w, t, v):
    """Work.load = joint forces of the user's functions at the node in continuous time, velocities v.

    Reads world, S0; writes load, step (as scratch), ETA, F.
    """
    custom_forces(m, t, w.q, v, 1.0, w.step, w.load)
    if laws is not None:
        twists(m, w, v)
        for i in range(1, m.link.shape[0]):
            store3(w.laws.twist, i, 0, load3(w.row, i, ETA))
            store3(w.laws.twist, i, 3, load3(w.row, i, ETA + 3))
        add_law_forces(m, w, t, w.step, w.load)


@kernel
def add_law_forces(m, w, t, scratch, out):
    """out += S0' (wrenches of the laws) at the poses Work.world and the twists in Laws.  Writes F."""
    law_wrenches(m, w.laws, w.world, t)
    for i in range(1, m.link.shape[0]):
        store3(w.row, i, F, load3(w.laws.wrench, i, 0))
        store3(w.row, i, F + 3, load3(w.laws.wrench, i, 3))
    project(m, w, scratch)
    for j in range(out.shape[0]):
        out[j] += scratch[j]


@apart
def add_law_damping(laws, m, w, retraction):
    """art += what the half impulses of the laws at the start of the step add to the stiffness K of the bodies.

    The mean twist x/h changes by dtau^-1_{-x} eta / h with the end of the step, h/2 W by half the damping times that.  Reads X and
    where the laws were last evaluated.  Not for laws that couple two bodies: law_couplings.py.
    """
    if laws is not None:
        for e in range(m.law_on.shape[0]):
            if m.law_on[e, LAW_BASE] >= 0:
                continue
            i = m.law_on[e, LAW_BODY]
            phi, rho = scale(-1.0, load3(w.row, i, X)), scale(-1.0, load3(w.row, i, X + 3))
            law_damping(m, w.laws, e, LAW_BODY, (0.0, 0.0, 0.0))
            for r in range(6):
                a, l = retractions.cotangent(retraction, phi, rho, load3(w.laws.damping, r, 0), load3(w.laws.damping, r, 3))
                first, second, k = (AA, AL, 3 * r) if r < 3 else (LA, LL, 3 * r - 9)
                for c in range(3):
                    w.art[i, first + 4 * (k + c)] -= 0.5 * a[c]
                    w.art[i, second + 4 * (k + c)] -= 0.5 * l[c]
