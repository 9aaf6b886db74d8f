"""Laws on bodies (kernels/forces/laws.py) in a tree of frames."""

from ...compiling.decorators import apart, inlined
from ...lie.algebra import ZERO3, accumulate3, add, load3, load9, matvec, store3
from ..forces.laws import law_damping, law_wrenches
from ..tree.layout import LAW_BODY
from ..tree.spatial import dot6, pass_to_parent, twist_to_child, wrench_to_parent
from .derivatives import place
from .frames import STILL, unit_twist
from .layout import PSI, WORLD_P, WORLD_R, A, P, R, V
from .potentials import place_bodies


@inlined
def block(D, r, c):
    """3x3 block of D with its corner at (r, c)."""
    return (D[r, c], D[r, c + 1], D[r, c + 2], D[r + 1, c], D[r + 1, c + 1], D[r + 1, c + 2],
            D[r + 2, c], D[r + 2, c + 1], D[r + 2, c + 2])  # fmt: skip


@apart
def add_law_forces(m, f, s, w, t, out):
    """out += joint forces of the laws at the time t, where `gradients` was evaluated last.  Writes Work.world and column A."""
    row, count = s.row, f.parent.shape[0]
    place(f, s)
    place_bodies(m, f, s, w)
    for k in range(1, count):
        store3(row, k, A, ZERO3)
        store3(row, k, A + 3, ZERO3)
    for i in range(1, m.link.shape[0]):
        k = f.of_body[i]
        store3(w.laws.twist, i, 0, load3(row, k, V))
        store3(w.laws.twist, i, 3, load3(row, k, V + 3))
    law_wrenches(m, w.laws, w.world, t)
    for i in range(1, m.link.shape[0]):
        accumulate3(row, f.of_body[i], A, load3(w.laws.wrench, i, 0))
        accumulate3(row, f.of_body[i], A + 3, load3(w.laws.wrench, i, 3))
    for k in range(count - 1, 0, -1):
        if f.motion[k] != STILL:
            a, l = unit_twist(f.motion[k], f.pitch[k])
            out[f.coordinate[k]] += dot6(row, k, A, a, l)
        if f.parent[k] > 0:
            pass_to_parent(row, k, f.parent[k], A, load9(row, k, R), load3(row, k, P), load3(row, k, A), load3(row, k, A + 3))


@apart
def add_law_damping(m, f, s, w, J):
    """J -= half the derivative of the laws' joint forces in the velocities, after `curvatures`.  Their change with the pose is left out."""
    for e in range(m.law_on.shape[0]):
        k = f.of_body[m.law_on[e, LAW_BODY]]
        Q, p, D = load9(s.row, k, WORLD_R), load3(s.row, k, WORLD_P), w.laws.damping
        law_damping(m, w.laws, e, ZERO3)
        aa, al, la, ll = block(D, 0, 0), block(D, 0, 3), block(D, 3, 0), block(D, 3, 3)
        for b in range(f.depth[k]):
            j = f.above[k, b]
            omega, vel = twist_to_child(Q, p, load3(s.pair, j, PSI), load3(s.pair, j, PSI + 3))
            moment, force = add(matvec(aa, omega), matvec(al, vel)), add(matvec(la, omega), matvec(ll, vel))
            moment, force = wrench_to_parent(Q, p, moment, force)
            for a in range(f.depth[k]):
                J[f.above[k, a], j] -= 0.5 * dot6(s.pair, f.above[k, a], PSI, moment, force)
