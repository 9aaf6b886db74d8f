"""Springs between points in the Lagrangian of a tree of frames: gradients and second derivatives.

The vector r from point b to point a moves by D_i per unit of q_i, which is the velocity of a minus that of b.  With U(|r|), n = r/|r|:

    dU/dq_i      = (U'/|r|) r.D_i
    d2U/dq_i dq_j = (U'/|r|) (D_i.D_j + r.dD_i/dq_j) + (U'' - U'/|r|) n.D_i n.D_j,     dD_i/dq_j = omega_i x (what j moves), i above j
"""

from ...compiling.decorators import kernel
from ...lie.algebra import accumulate3, add, cross, dot, load3, load9, matvec, scale, store3, store9, sub, tmatvec
from ..forces.potentials import pair_energy, pair_stiffness
from ..tree.layout import PAIR_A, PAIR_B
from .layout import PSI, WORLD_P, WORLD_R, W


@kernel
def place_bodies(m, f, s, w):
    """Work.world = poses of the bodies.  Reads the world poses of the frames."""
    origin = load3(s.row, 0, WORLD_P)
    for i in range(1, m.link.shape[0]):
        k = f.of_body[i]
        store9(w.world, i, 0, load9(s.row, k, WORLD_R))
        store3(w.world, i, 9, sub(load3(s.row, k, WORLD_P), origin))


@kernel
def add_pair_forces(m, f, s, w):
    """Springs between points pull with their frames' weights: added to column W."""
    place_bodies(m, f, s, w)
    for e in range(m.pair_on.shape[0]):
        _, over, _, r = pair_energy(m, w.world, e, w.x, w.jet)
        for side in range(2):
            k = f.of_body[m.pair_on[e, side]]
            force = scale(over if side else -over, tmatvec(load9(s.row, k, WORLD_R), r))
            point = load3(m.pair, e, PAIR_B if side else PAIR_A)
            accumulate3(s.row, k, W, cross(point, force))
            accumulate3(s.row, k, W + 3, force)


@kernel
def pair_curvatures(m, f, s, w):
    """s.qq -= second derivatives of the springs between points.  Reads Work.world and s.pair; writes s.moves."""
    nv = s.q.shape[0]
    for e in range(m.pair_on.shape[0]):
        over, along, r = pair_stiffness(m, w.world, e, w.x, w.jet)
        for j in range(nv):
            store3(s.moves, j, 0, (0.0, 0.0, 0.0))
        for side in range(2):
            sign = -1.0 if side else 1.0
            k = f.of_body[m.pair_on[e, side]]
            x = add(load3(s.row, k, WORLD_P), matvec(load9(s.row, k, WORLD_R), load3(m.pair, e, PAIR_B if side else PAIR_A)))
            for b in range(f.depth[k]):
                j = f.above[k, b]
                moved = add(load3(s.pair, j, PSI + 3), cross(load3(s.pair, j, PSI), x))
                accumulate3(s.moves, j, 0, scale(sign, moved))
                for a in range(b + 1):
                    i = f.above[k, a]
                    bend = sign * over * dot(r, cross(load3(s.pair, i, PSI), moved))
                    s.qq[i, j] -= bend
                    if i != j:
                        s.qq[j, i] -= bend
        for i in range(nv):
            di = load3(s.moves, i, 0)
            for j in range(nv):
                dj = load3(s.moves, j, 0)
                s.qq[i, j] -= over * dot(di, dj) + along * dot(r, di) * dot(r, dj)
