"""Laws on bodies (kernels/forces/laws.py) in a tree of frames."""

from ...compiling.decorators import apart, inlined
from ...lie.algebra import ZERO3, accumulate3, add, load3, load9, matvec, store3
from ..forces.laws import law_damping, law_wrenches
from ..tree.layout import LAW_BASE, LAW_BODY
from ..tree.spatial import dot6, pass_to_parent, twist_to_child, wrench_to_parent
from .curved import twist_of
from .derivatives import place
from .frames import STILL
from .layout import PSI, WORLD_P, WORLD_R, A, P, R, V
from .potentials import place_bodies


@inlined
def block(D, r, c):
    """3x3 block of D with its corner at (r, c)."""
    return (D[r, c], D[r, c + 1], D[r, c + 2], D[r + 1, c], D[r + 1, c + 1], D[r + 1, c + 2],
            D[r + 2, c], D[r + 2, c + 1], D[r + 2, c + 2])  # fmt: skip


@apart
def add_law_forces(laws, m, frames, lag, w, t, out):
    """out += joint forces of the laws at the time t, where `gradients` was evaluated last.  Writes Work.world and column A."""
    if laws is not None:
        row, count = lag.row, frames.parent.shape[0]
        place(frames, lag)
        place_bodies(m, frames, lag, w)
        for k in range(1, count):
            store3(row, k, A, ZERO3)
            store3(row, k, A + 3, ZERO3)
        for i in range(1, m.link.shape[0]):
            k = frames.of_body[i]
            store3(w.laws.twist, i, 0, load3(row, k, V))
            store3(w.laws.twist, i, 3, load3(row, k, V + 3))
        law_wrenches(m, w.laws, w.world, t)
        for i in range(1, m.link.shape[0]):
            accumulate3(row, frames.of_body[i], A, load3(w.laws.wrench, i, 0))
            accumulate3(row, frames.of_body[i], A + 3, load3(w.laws.wrench, i, 3))
        for k in range(count - 1, 0, -1):
            if frames.motion[k] != STILL:
                a, l = twist_of(lag.curved, frames, k)
                out[frames.coordinate[k]] += dot6(row, k, A, a, l)
            if frames.parent[k] > 0:
                pass_to_parent(row, k, frames.parent[k], A, load9(row, k, R), load3(row, k, P), load3(row, k, A), load3(row, k, A + 3))


@apart
def add_law_damping(laws, m, frames, lag, w, J):
    """J -= half the derivative of the laws' joint forces in the velocities, after `curvatures`.  Their change with the pose is left out."""
    if laws is not None:
        for e in range(m.law_on.shape[0]):
            body = frames.of_body[m.law_on[e, LAW_BODY]]
            Q, p, D = load9(lag.row, body, WORLD_R), load3(lag.row, body, WORLD_P), w.laws.damping
            law_damping(m, w.laws, e, LAW_BODY, ZERO3)
            aa, al, la, ll = block(D, 0, 0), block(D, 0, 3), block(D, 3, 0), block(D, 3, 3)
            sides = 2 if m.law_on[e, LAW_BASE] > 0 else 1
            for moving in range(sides):  # the body a law is seen from moves it, and is moved by it, the other way round
                k = frames.of_body[m.law_on[e, LAW_BASE]] if moving else body
                for b in range(frames.depth[k]):
                    j = frames.above[k, b]
                    omega, vel = twist_to_child(Q, p, load3(lag.pair, j, PSI), load3(lag.pair, j, PSI + 3))
                    moment, force = add(matvec(aa, omega), matvec(al, vel)), add(matvec(la, omega), matvec(ll, vel))
                    moment, force = wrench_to_parent(Q, p, moment, force)
                    for pushed in range(sides):
                        c, sign = frames.of_body[m.law_on[e, LAW_BASE]] if pushed else body, 0.5 if pushed == moving else -0.5
                        for a in range(frames.depth[c]):
                            J[frames.above[c, a], j] -= sign * dot6(lag.pair, frames.above[c, a], PSI, moment, force)
