"""Entry points for the derivatives of a step beside those of its momenta: forces of the user, midpoint forces, constraints."""

from ...compiling.decorators import entry, kernel
from ..constraints.ties import constrain_end, constrain_node
from ..constraints.velocities import second_rates
from .drnea import residual, set_node
from .evaluate import place
from .laws import forces_in_motion, step_forces
from .midpoint_quadrature import mid_node
from .step import advance_coordinates


@entry
def user_forces(m, w, t, q, v, out):
    """out = joint forces of the user's functions at time t, coordinates q, velocities v."""
    place(m, w, q, w.r)
    forces_in_motion(w.laws, m, w, t, v)
    for j in range(out.shape[0]):
        out[j] = w.load[j]


@entry
def law_impulses(m, w, h, t, retraction, out):
    """out (2, nv) = half impulses of the user's functions at both ends of the step (w.q, w.d) from the time t; moves w.q to its end."""
    set_node(m, w, h, 0.0, False, w.z)
    residual(m, w, h, retraction)
    for k in range(2):
        if k:
            advance_coordinates(m, w)
            set_node(m, w, h, 0.0, True, w.z)
        step_forces(w.laws, m, w, t + k * h, w.d, h)
        for j in range(out.shape[1]):
            out[k, j] = 0.5 * h * w.load[j]


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
def impulse_curvature(m, w, c, t, q, lam, v, scratch, single, out):
    """out (nv, nv) = symmetric part of the derivative of Dh' lam in q: the polarisation of the second rate of h, which is quadratic in v.

    v, single: (nv) zeros, scratch: (n+1, 6) zeros.
    """
    place(m, w, q, w.r)
    constrain_node(m, w, c, t)
    rest = weighted_rates(m, w, c, t, v, scratch, lam)
    for i in range(v.shape[0]):
        v[i] = 1.0
        single[i] = weighted_rates(m, w, c, t, v, scratch, lam)
        out[i, i] = 0.5 * (weighted_rates_doubled(m, w, c, t, v, scratch, lam, i) - 2.0 * single[i] + rest)
        for j in range(i):
            v[j] = 1.0
            both = weighted_rates(m, w, c, t, v, scratch, lam)
            v[j] = 0.0
            out[i, j] = out[j, i] = 0.5 * (both - single[i] - single[j] + rest)
        v[i] = 0.0


@entry
def rows_over_step(m, w, c, t, h, retraction):
    """c.value of all rows of the constraints over the step (w.q, w.d) from the time t."""
    set_node(m, w, h, 0.0, 0.0, w.z)
    constrain_node(m, w, c, t)
    residual(m, w, h, retraction)
    constrain_end(m, w, c, t + h, h)


@kernel
def weighted_rates(m, w, c, t, v, scratch, lam):
    """lam . (second time derivative of h for the constant velocity v)"""
    second_rates(m, w, c, t, v, scratch)
    total = 0.0
    for a in range(lam.shape[0]):
        total += lam[a] * c.rate[a]
    return total


@kernel
def weighted_rates_doubled(m, w, c, t, v, scratch, lam, i):
    """The same with twice the i-th velocity."""
    v[i] *= 2.0
    total = weighted_rates(m, w, c, t, v, scratch, lam)
    v[i] *= 0.5
    return total


@entry
def velocity_curvature(m, w, c, t, q, v, scratch, out):
    """out (m, nv) = symmetric part of the derivative of Dh v + dh/dt in q.  scratch: (n+1, 6) zeros; v is left as it was."""
    place(m, w, q, w.r)
    constrain_node(m, w, c, t)
    for j in range(v.shape[0]):
        own = v[j]
        v[j] = own + 1.0
        second_rates(m, w, c, t, v, scratch)
        for a in range(out.shape[0]):
            out[a, j] = 0.25 * c.rate[a]
        v[j] = own - 1.0
        second_rates(m, w, c, t, v, scratch)
        for a in range(out.shape[0]):
            out[a, j] -= 0.25 * c.rate[a]
        v[j] = own
