"""What the wrench through a joint is made of, for many configurations at once.   docs/reactions.md

Everything is of body i and all that hangs on it, (moment, force) or (angular, linear) in its axes at its origin, so that differences of
what is found here are what passes through joint i.  O(n) per configuration.
"""

from ...compiling.decorators import apart, entry, inlined, kernel
from ...lie.algebra import store3
from .continuous import inverse_dynamics, momentum
from .drnea import residual, set_node
from .laws import forces_in_motion, step_forces
from .layout import GRAVITY, F
from .loads import world_poses


@inlined
def keep(w, out):
    """out (n+1, 6) = what stands in F."""
    for i in range(1, out.shape[0]):
        for c in range(6):
            out[i, c] = w.row[i, F + c]


@kernel
def go_to(m, w, q):
    """Node at q; F = gravity, constant wrenches and springs between points."""
    for j in range(w.q.shape[0]):
        w.q[j] = q[j]
    set_node(m, w, 1.0, 1.0, 0.0, w.r)
    world_poses(m, w)


@entry
def applied_wrenches(m, w, q, out, world, columns):
    """At the configurations q (T, nq): gravity, wrenches and springs between points in out (T, n+1, 6), poses in the world
    (T, n+1, 12) and joint columns (T, nv, 6)."""
    for k in range(q.shape[0]):
        go_to(m, w, q[k])
        keep(w, out[k])
        for i in range(world.shape[1]):
            for c in range(12):
                world[k, i, c] = w.world[i, c]
        for j in range(columns.shape[1]):
            for c in range(6):
                columns[k, j, c] = w.S0[j, c]


@entry
def step_momenta(m, w, h, retraction, times, q, d, momenta, laws):
    """Of the steps with increments d (T, nv) and length h that leave q (T, nq): momenta at their start and wrenches of laws on bodies."""
    for k in range(q.shape[0]):
        go_to(m, w, q[k])
        for j in range(w.d.shape[0]):
            w.d[j] = d[k, j]
        residual(m, w, h, retraction)
        keep(w, momenta[k])
        keep_step_laws(w.laws, m, w, h, times[k], laws[k])


@apart
def keep_step_laws(laws, m, w, h, t, out):
    if laws is not None:
        step_forces(laws, m, w, t, w.d, h)
        keep(w, out)


@entry
def motion(m, w, scratch, times, q, v, a, momenta, inertial, laws):
    """At the velocities v and accelerations a (T, nv): momenta, what they change by per second (as wrenches) and laws on bodies."""
    for k in range(q.shape[0]):
        go_to(m, w, q[k])
        keep_laws(w.laws, m, w, times[k], v[k], laws[k])
        momentum(m, w, v[k], w.z)
        keep(w, momenta[k])
        for i in range(1, m.link.shape[0]):
            store3(w.row, i, GRAVITY, (0.0, 0.0, 0.0))
        inverse_dynamics(m, w, v[k], a[k], scratch, w.z)
        keep(w, inertial[k])


@apart
def keep_laws(laws, m, w, t, v, out):
    if laws is not None:
        forces_in_motion(laws, m, w, t, v)
        keep(w, out)
