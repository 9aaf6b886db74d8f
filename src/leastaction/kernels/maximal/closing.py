"""Joints given by their pose that close loops: rows as of the joints of symbolic.py, between bodies of a tree or single ones.

The coordinates of such a joint are nobody's unknowns.  At a node they are those of the nearest pose of the joint, found from where they
were last; over a step W e = 0 finds them, and N e = 0 is what the joint forbids.  The memory, `Loops`, is None in most mechanisms: Numba
then leaves out what is done with it.

`net` has the constraints (Net or Ties), `poses` and `apart` say how the bodies stand.
"""

from ...compiling.decorators import apart, inlined
from ...joints.charts import change_chart
from ...joints.generated import bias
from ...lie.algebra import add, cross, dot, load9, matvec, sub, tmatvec
from ..tree.layout import CHARTED, KIND, NV, QI, VI
from .layout import B_R, FIRST_ROW, ROW_VALUE, ROWS
from .rows import joint_frame
from .symbolic import (
    approach_coordinates,
    basis_row,
    correction,
    error_of_pose,
    factor_coordinates,
    felt_by_pose,
    find_coordinates,
    held_direction,
    invert_coordinates,
    lay_basis,
    put_row,
)


@apart
def loop_nodes(loops, net, poses, distances):
    """Coordinates of these joints at a node, and the basis of the step that starts there."""
    if loops is not None:
        for i in range(loops.con.shape[0]):
            kind, v, nv = loops.link[i, KIND], loops.link[i, VI], loops.link[i, NV]
            approach_coordinates(loops, net, loops, poses, distances, i, loops.con[i])
            if loops.link[i, CHARTED]:
                change_chart(kind, loops.param, i, loops.q, loops.link[i, QI], nv, loops.rate, loops.rate, v, loops.charts, loops.chart)
            Y, shift = joint_frame(net, poses, distances, loops.con[i])
            error_of_pose(loops, loops, i, loops.q, Y, shift)
            lay_basis(loops.S, v, nv, loops.basis[i])


@apart
def loop_values(loops, net, poses, distances, at_end, out, first):
    """out[first:] = N e, at a node or at the end of the step."""
    if loops is not None:
        for i in range(loops.con.shape[0]):
            e, nv = loops.con[i], loops.link[i, NV]
            if at_end:
                find_coordinates(loops, net, loops, poses, distances, i, e, loops.q_end)
            Y, shift = joint_frame(net, poses, distances, e)
            c, _, p = error_of_pose(loops, loops, i, loops.q_end if at_end else loops.q, Y, shift)
            for j in range(net.con[e, FIRST_ROW], net.con[e, FIRST_ROW] + net.con[e, ROWS]):
                a, l = basis_row(loops, i, nv + int(net.row[j, ROW_VALUE]))
                out[first + j] = dot(a, c) + dot(l, p)


@apart
def loop_gradients(loops, net, poses, distances, at_end, G):
    """Rows of G: derivatives of these values."""
    if loops is not None:
        for i in range(loops.con.shape[0]):
            e, v, nv = loops.con[i], loops.link[i, VI], loops.link[i, NV]
            axes = load9(net.place, e, B_R)
            c, E, p = invert_coordinates(loops, net, loops, poses, distances, i, e, loops.q_end if at_end else loops.q)
            for k in range(net.con[e, ROWS]):
                row = nv + int(net.row[net.con[e, FIRST_ROW] + k, ROW_VALUE])
                a, l = held_direction(loops, i, v, nv, row, c, p)
                a, l = felt_by_pose(c, E, a, l)
                put_row(net, poses, distances, e, k, matvec(axes, a), matvec(axes, l), G)


@inlined
def loop_second_rates(loops, con, i, Q, turn, turn_rate, p1, p2):
    """c.rate of the rows of joint i at a node where it is not violated: second time derivatives of N e, W e = 0.

    Q: axes of body B in A, turn and turn_rate: of B against A in axes of B, p1 and p2: rates of the point of B in axes of A.
    With V the twist of frame b against frame a and U = V - S q', W U = 0:  e'' = V' - (dS/dt) q' + [U, S q'] + (0, U_a x U_l) - S q''
    """
    e, k, v, nv = loops.con[i], loops.link[i, QI], loops.link[i, VI], loops.link[i, NV]
    axes, speed = load9(con.place, e, B_R), tmatvec(Q, p1)
    Va, Vl = tmatvec(axes, turn), tmatvec(axes, speed)
    a, l = tmatvec(axes, turn_rate), tmatvec(axes, sub(tmatvec(Q, p2), cross(turn, speed)))
    Y, shift = joint_frame(con, con.start, con.apart, e)
    c, _, p = error_of_pose(loops, loops, i, loops.q, Y, shift)
    factor_coordinates(loops, loops, i, c, p)
    correction(loops, i, nv, Va, Vl)
    Sa, Sl = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    for j in range(nv):
        x = -loops.small_row[j]
        loops.rate[v + j] = x
        Sa = add(Sa, (x * loops.S[v + j, 0], x * loops.S[v + j, 1], x * loops.S[v + j, 2]))
        Sl = add(Sl, (x * loops.S[v + j, 3], x * loops.S[v + j, 4], x * loops.S[v + j, 5]))
    Ua, Ul = sub(Va, Sa), sub(Vl, Sl)
    ba, bl = bias(loops.link[i, KIND], loops.param, i, loops.q, k, loops.rate, v)
    a = add(sub(a, ba), cross(Ua, Sa))
    l = add(add(sub(l, bl), add(cross(Ua, Sl), cross(Ul, Sa))), cross(Ua, Ul))
    for r in range(con.con[e, FIRST_ROW], con.con[e, FIRST_ROW] + con.con[e, ROWS]):
        na, nl = basis_row(loops, i, nv + int(con.row[r, ROW_VALUE]))
        con.rate[r] = dot(na, a) + dot(nl, l)
