"""Velocities, momenta, energies and inverse dynamics in continuous time.  All need a node: `set_node` first."""

from ...compiling.decorators import inlined, kernel
from ...joints import dispatch
from ...lie.algebra import add, axpy, cross, dot, load3, load9, matvec, scale, store3, sub
from .drnea import project
from .layout import ETA, GRAVITY, KIND, MASS, MOMENT, NV, PARENT, QI, VI, F, P, R
from .loads import world_poses
from .spatial import add_column, body_momentum, twist_to_child


@inlined
def joint_twist(m, w, i, v):
    """S_i v_i as (angular, linear)."""
    j = m.link[i, VI]
    if dispatch.turns_about_z(m.link[i, KIND]):
        return (0.0, 0.0, v[j]), (0.0, 0.0, 0.0)
    a, l = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    for k in range(j, j + m.link[i, NV]):
        a, l = add_column(w.S0, k, v[k], a, l)
    return a, l


@kernel
def twists(m, w, v):
    """Body twists V_i = Ad V_parent + S_i v_i.  Reads R, P, S0; writes ETA."""
    row = w.row
    for i in range(1, m.link.shape[0]):
        p = m.link[i, PARENT]
        a, l = twist_to_child(load9(row, i, R), load3(row, i, P), load3(row, p, ETA), load3(row, p, ETA + 3))
        ja, jl = joint_twist(m, w, i, v)
        store3(row, i, ETA, add(a, ja))
        store3(row, i, ETA + 3, add(l, jl))


@kernel
def momentum(m, w, v, out):
    """Joint momenta p = M v; the momentum of all bodies about the world origin is left in F of row 0."""
    row = w.row
    twists(m, w, v)
    store3(row, 0, F, (0.0, 0.0, 0.0))
    store3(row, 0, F + 3, (0.0, 0.0, 0.0))
    for i in range(1, m.link.shape[0]):
        a, l = body_momentum(m.body, i, load3(row, i, ETA), load3(row, i, ETA + 3))
        store3(row, i, F, a)
        store3(row, i, F + 3, l)
    project(m, w, out)
    if m.has_armature:
        for j in range(v.shape[0]):
            out[j] += m.armature[j] * v[j]


@kernel
def gravity_potential(m, w):
    """-sum m g.com.  Reads R, P; writes world."""
    world_poses(m, w)
    energy = 0.0
    g = (m.gravity[0], m.gravity[1], m.gravity[2])
    for i in range(1, m.link.shape[0]):
        com = add(scale(m.body[i, MASS], load3(w.world, i, 9)), matvec(load9(w.world, i, 0), load3(m.body, i, MOMENT)))
        energy -= dot(g, com)
    return energy


@inlined
def velocity_products(m, w, i, v):
    """ad_V (S v) + (dS/dt) v of body i: the part of its acceleration that joint velocities cause."""
    row = w.row
    omega, vel = load3(row, i, ETA), load3(row, i, ETA + 3)
    ja, jl = joint_twist(m, w, i, v)
    a, l = cross(omega, ja), add(cross(omega, jl), cross(vel, ja))
    if not dispatch.turns_about_z(m.link[i, KIND]):
        ba, bl = dispatch.bias(m.link[i, KIND], m.param, i, w.q, m.link[i, QI], v, m.link[i, VI])
        a, l = add(a, ba), add(l, bl)
    return a, l


@inlined
def gyroscopic_wrench(m, w, i):
    """-ad_V' G V of body i."""
    omega, vel = load3(w.row, i, ETA), load3(w.row, i, ETA + 3)
    a, l = body_momentum(m.body, i, omega, vel)
    return add(cross(omega, a), cross(vel, l)), cross(omega, l)


@kernel
def inverse_dynamics(m, w, v, acceleration, accelerations, out):
    """Joint forces for the given acceleration, gravity included (recursive Newton-Euler).

    accelerations: (n+1, 6) scratch.  Reads R, P, S0; writes ETA, F, out.  Wrenches, springs and dampers are not included.
    """
    row, link = w.row, m.link
    twists(m, w, v)
    for i in range(1, link.shape[0]):
        p = link[i, PARENT]
        a, l = twist_to_child(load9(row, i, R), load3(row, i, P), load3(accelerations, p, 0), load3(accelerations, p, 3))
        ja, jl = joint_twist(m, w, i, acceleration)
        ba, bl = velocity_products(m, w, i, v)
        a, l = add(add(a, ja), ba), add(add(l, jl), bl)
        store3(accelerations, i, 0, a)
        store3(accelerations, i, 3, l)
        # gravity as an acceleration of the frame
        fa, fl = body_momentum(m.body, i, a, sub(l, load3(row, i, GRAVITY)))
        ga, gl = gyroscopic_wrench(m, w, i)
        store3(row, i, F, axpy(1.0, ga, fa))
        store3(row, i, F + 3, axpy(1.0, gl, fl))
    project(m, w, out)
    if m.has_armature:
        for j in range(v.shape[0]):
            out[j] += m.armature[j] * acceleration[j]
