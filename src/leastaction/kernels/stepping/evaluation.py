"""What follows from the nodes of a record: velocities, momenta, energies.  For trees, with constraints or without."""

from numba import types

from ...compiling.decorators import entry
from ..constraints.ties import Ties, constrain_node
from ..constraints.velocities import impulse_responses, project
from ..tree.articulated import mass_factor, mass_solve
from ..tree.continuous import momentum
from ..tree.evaluate import place, potential_energies, smooth_forces
from ..tree.layout import F, Tree, Work
from .record import Record

# columns of the energies
KINETIC, GRAVITATIONAL, ELASTIC = 0, 1, 2

# what a record holds beside q
KICKED_MOMENTUM, VELOCITY = 0, 1


@entry
def evaluate_nodes(m, w, con, what, half_step, times, q, recorded, v, p, energy, total):
    """Velocities, momenta, energies (T, 3) and momentum of the whole mechanism (T, 6) at the nodes q (T, nq) and times (T,).

    what = KICKED_MOMENTUM: `recorded` is p + half_step * forces(q);  VELOCITY: it is v
    con    None, or the constraints: then velocities and momenta are those they allow, v = M^-1 (p - Dh' l) with Dh v + dh/dt = 0
    """
    nv = v.shape[1]
    for k in range(q.shape[0]):
        place(m, w, q[k], w.r)
        if what == VELOCITY:
            for j in range(nv):
                v[k, j] = recorded[k, j]
            momentum(m, w, v[k], p[k])
        else:
            for j in range(nv):
                p[k, j] = recorded[k, j] - half_step * w.r[j]
            mass_factor(m, w)
            mass_solve(m, w, p[k], v[k])
            if con is None:
                momentum(m, w, v[k], w.z)
            else:
                constrain_node(m, w, con, times[k])
                impulse_responses(m, w, con)
                project(con, con.rate, v[k])
                momentum(m, w, v[k], p[k])
        twice = 0.0
        for j in range(nv):
            twice += v[k, j] * p[k, j]
        energy[k, KINETIC] = 0.5 * twice
        for c in range(6):
            total[k, c] = w.row[0, F + c]
        energy[k, GRAVITATIONAL], energy[k, ELASTIC] = potential_energies(m, w)


@evaluate_nodes.expected_after()
def nodes_of_loop(*arguments):
    """Of a time loop, (arrays, record, tau, steps, end): somebody will ask for its energies."""
    if len(arguments) != 5 or getattr(arguments[1], "instance_class", None) is not Record:
        return None
    return nodes_of(*arguments[0])


def nodes_of(*records):
    """Types with which nodes are evaluated; None if the records of a tree are not among these."""
    of = {kind.instance_class: kind for kind in records if isinstance(kind, types.BaseNamedTuple)}
    if Tree not in of or Work not in of:
        return None
    line, table = (types.Array(types.float64, n, "C") for n in (1, 2))
    return of[Tree], of[Work], of.get(Ties, types.none), types.int64, types.float64, line, *[table] * 6


@entry
def applied_powers(m, bare, w, times, q, v, tau, forces, powers):
    """powers (T,) = power of the forces that m has and `bare` has not, at the nodes q (T, nq), v (T, nv) and times (T,).

    tau   no joint forces;  forces (nv,) scratch
    """
    for k in range(q.shape[0]):
        place(bare, w, q[k], forces)
        smooth_forces(bare, w, times[k], v[k], tau, forces)
        place(m, w, q[k], w.r)
        smooth_forces(m, w, times[k], v[k], tau, w.r)
        power = 0.0
        for j in range(v.shape[1]):
            power += v[k, j] * (w.r[j] - forces[j])
        powers[k] = power
