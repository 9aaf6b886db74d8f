"""Wrenches of constraints between two frames, for many configurations at once.   docs/reactions.md"""

from ...compiling.decorators import entry
from ..maximal.layout import FIRST_ROW, FIRST_SLOT, ROWS
from ..tree.evaluate import place
from .ties import constrain_node


@entry
def constraint_wrenches(m, w, con, times, q, forces, out, side):
    """out (T, nc, 6) = wrench of every constraint between two frames on body B (side 1) or A (0), in its axes at its origin, for the forces
    (T, m) of the rows.  They are opposite, except along directions of the world."""
    for k in range(q.shape[0]):
        place(m, w, q[k], w.r)
        constrain_node(m, w, con, times[k])
        for c in range(con.con.shape[0]):
            slot = con.con[c, FIRST_SLOT] + side
            for e in range(6):
                out[k, c, e] = 0.0
            for j in range(con.con[c, ROWS]):
                for e in range(6):
                    out[k, c, e] += forces[k, con.con[c, FIRST_ROW] + j] * con.G[slot, j, e]
