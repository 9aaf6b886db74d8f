"""Entry points for the derivatives of a step: what step_derivatives.py cannot know without the kernels."""

from ...compiling.decorators import entry
from ...joints import dispatch
from ..constraints.ties import constrain_node
from ..constraints.velocities import second_rates
from ..lagrangian.potentials import potential_curvatures
from .evaluate import place
from .layout import KIND, NV, QI, VI
from .loads import custom_forces
from .midpoint_quadrature import mid_node
from .newton_matrix import assemble
from .potentials import pair_energy


@entry
def stiffness_blocks(m, w, h, retraction):
    """After `discrete.leaving`: the exact stiffness of every body in w.art, poses and columns of the end in w.linear, w.S1."""
    assemble(m, w, h, retraction, True)


@entry
def column_curvature(m, w, G, S, E, scratch):
    """E[i, j, l] = (d S_j / dq_l) . G[i] of the joint of body i at w.q; zero for ball and free joints.

    w.d has to be zero; G: (n+1, 6) wrenches; S: (nv, 6) and scratch: (6, 6) are overwritten; E: (n+1, 6, 6).
    """
    for i in range(1, m.link.shape[0]):
        kind, k, v, nv = m.link[i, KIND], m.link[i, QI], m.link[i, VI], m.link[i, NV]
        for a in range(6):
            for b in range(6):
                E[i, a, b] = 0.0
        if dispatch.has_quaternion(kind):
            continue
        dispatch.columns(kind, m.param, i, w.q, k, w.d, v, 0.0, S)
        for j in range(v, v + nv):
            for a in range(6):
                S[j, a] *= 0.5
        dispatch.mid_curvature(kind, m.param, w.q, k, w.d, v, nv, S, G, i, E[i], scratch)
        for a in range(6):
            for b in range(6):
                E[i, a, b] *= 4.0  # the midpoint moves by half the increment, and acts on half the start


@entry
def user_forces(m, t, q, v, scratch, out):
    """out = forces of the user at time t, coordinates q, velocities v; scratch: (nv,)."""
    custom_forces(m, t, q, v, 1.0, scratch, out)


@entry
def middle_forces(m, w, mid):
    """mid.start and mid.end = joint forces of potentials and wrenches at the midpoint of the step (w.q, w.d)."""
    mid_node(m, w, mid)


@entry
def second_constraint_rates(m, w, c, t, q, v, scratch):
    """c.rate = second time derivative of h at q for the constant velocity v; scratch: (n+1, 6) zeros."""
    place(m, w, q, w.r)
    constrain_node(m, w, c, t)
    second_rates(m, w, c, t, v, scratch)


@entry
def pair_stiffness(m, w, e, out):
    """out = (U'/r, U'', vector r from b to a) of spring e between points.  Reads Work.world."""
    _, out[0], out[1], r = pair_energy(m, w.world, e, w.x, w.jet)
    out[2], out[3], out[4] = r[0], r[1], r[2]


@entry
def subtract_potential_curvatures(m, w, q, qq):
    """qq -= second derivatives of the potentials of coordinates at q."""
    potential_curvatures(m, w, q, qq)
