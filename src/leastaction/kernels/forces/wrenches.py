"""Constant wrenches: force and moment fixed in the world or in the body."""

from ...compiling.decorators import inlined
from ...lie.algebra import add, cross, hat, hat_mat, load3, matadd, matscale, tmatvec
from ..tree.layout import W_FORCE, W_MOMENT, W_POINT, WORLD_FIXED


@inlined
def in_body_axes(m, e, R):
    """Force and moment number e as the user gave them, in body axes; R: body axes in the world."""
    force, moment = load3(m.wrench, e, W_FORCE), load3(m.wrench, e, W_MOMENT)
    if m.wrench_on[e, 1] == WORLD_FIXED:
        return tmatvec(R, force), tmatvec(R, moment)
    return force, moment


@inlined
def constant_wrench(m, e, R):
    """(moment, force) of wrench e at the origin of its body, body axes."""
    force, moment = in_body_axes(m, e, R)
    return add(moment, cross(load3(m.wrench, e, W_POINT), force)), force


@inlined
def constant_wrench_turned(m, e, R):
    """Derivatives (moment, force), 3x3 each, of `constant_wrench` as the body turns: a vector v fixed in space turns by v x zeta."""
    force, moment = in_body_axes(m, e, R)
    turn = hat(force)
    if m.wrench_on[e, 1] != WORLD_FIXED:
        turn, moment = matscale(0.0, turn), (0.0, 0.0, 0.0)
    return matadd(hat_mat(load3(m.wrench, e, W_POINT), turn), hat(moment)), turn
