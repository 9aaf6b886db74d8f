"""Forces at a node of the time grid: gravity, what acts on bodies (kernels/forces/), joint springs, user forces in joint space."""

from ...compiling.address import call_force
from ...compiling.decorators import inlined, kernel
from ...joints import dispatch
from ...lie.algebra import add, axpy, cross, load3, load9, matmul, matvec, store3, store9
from ..forces.potentials import add_pair_springs
from ..forces.wrenches import constant_wrench
from .layout import KIND, MASS, MOMENT, NV, PARENT, QI, VI, F, P, R


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


@inlined
def acts_on_bodies(m):
    """Is there a force that needs the poses of bodies in the world?"""
    return m.wrench_on.shape[0] > 0 or m.pair_on.shape[0] > 0 or m.law_on.shape[0] > 0


@kernel
def add_wrenches(m, w, impulse):
    """F += impulse * constant wrenches and springs between points.  Reads R, P; writes F and Work.world."""
    if acts_on_bodies(m):
        world_poses(m, w)
        add_body_forces(m, w, w.world, impulse, w.row, F)


@kernel
def add_body_forces(m, w, world, impulse, out, column):
    """out[i, column:] += impulse * (constant wrenches and springs between points) on body i, at its origin in body axes.

    world: (n+1, 12) poses of the bodies; w: scratch with x and jet.
    """
    add_pair_springs(m, w, world, impulse, out, column)
    for e in range(m.wrench_on.shape[0]):
        i = m.wrench_on[e, 0]
        a, l = constant_wrench(m, e, load9(world, i, 0))
        store3(out, i, column, axpy(impulse, a, load3(out, i, column)))
        store3(out, i, column + 3, axpy(impulse, l, load3(out, i, column + 3)))


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


@inlined
def calls_user_functions(m):
    """Is there a force that the user wrote as a function of the motion?"""
    return m.custom.shape[0] > 0 or m.law_on.shape[0] > 0


@kernel
def custom_forces(m, t, q, d, h, velocity, out):
    """out = user forces at time t, coordinates q and the mean velocity d/h of the step."""
    for j in range(out.shape[0]):
        velocity[j] = d[j] / h
        out[j] = 0.0
    for c in range(m.custom.shape[0]):
        call_force(m.custom[c], t, q, velocity, out)

