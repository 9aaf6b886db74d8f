"""Entry points for the derivatives of a step: what step_derivatives.py cannot know without the kernels."""

from ...compiling.address import call_joint
from ...compiling.decorators import entry
from ...joints import dispatch
from ...lie import retractions
from ...lie.algebra import load3, scale, store3
from ..constraints.ties import constrain_node
from ..constraints.velocities import second_rates
from ..forces.laws import SLOPES, ask
from ..forces.potentials import pair_stiffness, potential_curvatures
from .evaluate import place
from .laws import forces_in_motion
from .layout import GRAVITY, KIND, LAW_ADDRESS, NV, QI, VI, X
from .loads import add_body_forces, gravity_wrench, world_poses
from .midpoint_quadrature import mid_node, wrench_derivative
from .newton_matrix import assemble


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
def user_forces(m, w, t, q, v, out):
    """out = joint forces of the user's functions at time t, coordinates q, velocities v."""
    place(m, w, q, w.r)
    forces_in_motion(w.laws, m, w, t, v)
    for j in range(out.shape[0]):
        out[j] = w.load[j]


@entry
def law_wrench(m, laws, e, t, pose, twist, out):
    """out (6,) = wrench of law e at the pose (12,) and twist (6,) of its place, in the axes of the place."""
    for c in range(12):
        laws.place[e, c] = pose[c]
    for c in range(6):
        laws.rate[e, c] = twist[c]
    laws.time[e] = t
    W = ask(m, laws, e)
    out[0], out[1], out[2], out[3], out[4], out[5] = W[0], W[1], W[2], W[3], W[4], W[5]


@entry
def law_slopes(m, laws, e):
    """Laws.slope[e] = (6, 12) derivative of law e, which knows it, where `law_wrench` evaluated it last."""
    call_joint(m.law_on[e, LAW_ADDRESS], SLOPES, m.law_param, e, laws.place, e, laws.rate, e, laws.time[e], laws.slope)


@entry
def retraction_slopes(m, w, retraction, out):
    """out (n+1, 2, 6, 6) = dtau^-1_x and dtau^-1_{-x} of the displacement x in Work.row of every body."""
    for i in range(1, m.link.shape[0]):
        phi, rho = load3(w.row, i, X), load3(w.row, i, X + 3)
        for k in range(6):
            a = (1.0 if k == 0 else 0.0, 1.0 if k == 1 else 0.0, 1.0 if k == 2 else 0.0)
            l = (1.0 if k == 3 else 0.0, 1.0 if k == 4 else 0.0, 1.0 if k == 5 else 0.0)
            for side in range(2):
                sign = -1.0 if side else 1.0
                ca, cl = retractions.cotangent(retraction, scale(sign, phi), scale(sign, rho), a, l)
                for c in range(3):
                    out[i, side, k, c], out[i, side, k, 3 + c] = ca[c], cl[c]


@entry
def node_loads(m, w, wrenches, turned):
    """What gravity, constant wrenches and springs between points do to the bodies at the node: wrenches (n+1, 6) at their origins in body
    axes, and turned (n+1, 6, 6), how these change as the bodies turn against what is fixed in the world."""
    world_poses(m, w)
    for i in range(1, m.link.shape[0]):
        a, l = gravity_wrench(m.body, i, load3(w.row, i, GRAVITY))
        store3(wrenches, i, 0, a)
        store3(wrenches, i, 3, l)
    add_body_forces(m, w, w.world, 1.0, wrenches, 0)
    for i in range(1, m.link.shape[0]):
        wrench_derivative(m, w, w.row, w.world, i, turned[i])


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
def spring_stiffness(m, w, e, out):
    """out = (k, c, vector r from b to a) of spring e between points, see `pair_stiffness`.  Reads Work.world."""
    out[0], out[1], r = pair_stiffness(m, w.world, e, w.x, w.jet)
    out[2], out[3], out[4] = r[0], r[1], r[2]


@entry
def subtract_potential_curvatures(m, w, q, qq):
    """qq -= second derivatives of the potentials of coordinates at q."""
    potential_curvatures(m, w, q, qq)
