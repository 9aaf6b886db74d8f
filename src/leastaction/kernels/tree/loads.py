"""Forces at a node of the time grid: gravity, wrenches, springs, user forces."""

from ...compiling.address import call_force
from ...compiling.decorators import inlined, kernel
from ...joints import dispatch
from ...lie.algebra import add, axpy, cross, load3, load9, matmul, matvec, store3, store9, tmatvec
from .layout import KIND, MASS, MOMENT, NV, PARENT, QI, VI, W_FORCE, W_MOMENT, W_POINT, WORLD_FIXED, F, P, R
from .potentials import add_pair_springs


@inlined
def gravity_wrench(body, i, g):
    """Gravity on body i, g in body axes: (com x m g, m g)."""
    return cross(load3(body, i, MOMENT), g), (body[i, MASS] * g[0], body[i, MASS] * g[1], body[i, MASS] * g[2])


@kernel
def world_poses(m, w):
    """Pose of every body in the world, from the poses in the parents.  Reads R, P; writes Work.world."""
    for i in range(1, m.link.shape[0]):
        p = m.link[i, PARENT]
        Q = load9(w.world, p, 0)
        store9(w.world, i, 0, matmul(Q, load9(w.row, i, R)))
        store3(w.world, i, 9, add(load3(w.world, p, 9), matvec(Q, load3(w.row, i, P))))


@kernel
def applied_wrench(m, w, e):
    """Wrench number e on its body, at the body origin in body axes."""
    i = m.wrench_on[e, 0]
    force = load3(m.wrench, e, W_FORCE)
    moment = load3(m.wrench, e, W_MOMENT)
    if m.wrench_on[e, 1] == WORLD_FIXED:
        Q = load9(w.world, i, 0)
        force = tmatvec(Q, force)
        moment = tmatvec(Q, moment)
    return add(moment, cross(load3(m.wrench, e, W_POINT), force)), force


@kernel
def add_wrenches(m, w, impulse):
    """F += impulse * applied wrenches and springs between points.  Reads R, P; writes F and Work.world."""
    if m.wrench_on.shape[0] > 0 or m.pair_on.shape[0] > 0:
        world_poses(m, w)
        add_pair_springs(m, w, impulse)
    for e in range(m.wrench_on.shape[0]):
        i = m.wrench_on[e, 0]
        a, l = applied_wrench(m, w, e)
        store3(w.row, i, F, axpy(impulse, a, load3(w.row, i, F)))
        store3(w.row, i, F + 3, axpy(impulse, l, load3(w.row, i, F + 3)))


@kernel
def spring_gradient(m, q, d, f, g):
    """g = gradient of the joint springs at the fraction f of the step; returns their energy."""
    energy = 0.0
    for j in range(g.shape[0]):
        g[j] = 0.0
    if m.has_springs:
        for i in range(1, m.link.shape[0]):
            v, k = m.link[i, VI], m.link[i, QI]
            energy += dispatch.spring(m.link[i, KIND], q, k, m.rest, d, v, m.link[i, NV], f, m.stiffness, g)
    return energy


@kernel
def custom_forces(m, t, q, d, h, velocity, out):
    """out = user forces at time t, coordinates q and the mean velocity d/h of the step."""
    for j in range(out.shape[0]):
        velocity[j] = d[j] / h
        out[j] = 0.0
    for c in range(m.custom.shape[0]):
        call_force(m.custom[c], t, q, velocity, out)

