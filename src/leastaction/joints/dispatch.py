"""The one place that knows which joint is which: number -> kernels.

Each function has one branch per joint; what a joint does not need (a bias when S is constant, ...) falls through to
the default of joints whose coordinates are plain numbers.  A new joint is a new file and its branches here; a joint that is
only a pose needs neither (`SymbolicJoint`): its kind is the address of its generated code.
"""

from ..compiling.decorators import inlined, kernel
from ..lie.algebra import ZERO3
from . import cylindrical, free, generated, helical, planar, prismatic, revolute, spherical, universal

REVOLUTE, PRISMATIC, HELICAL, CYLINDRICAL, UNIVERSAL, PLANAR, SPHERICAL, FREE = range(8)

PARAMETERS = 4  # numbers a built-in joint may keep in Tree.param


@kernel
def pose(kind, param, i, q, k, d, v, f):
    """Pose (R, p) of the joint at the fraction f of the step."""
    if kind == REVOLUTE:
        return revolute.pose(param, i, q, k, d, v, f)
    if kind == PRISMATIC:
        return prismatic.pose(param, i, q, k, d, v, f)
    if kind == HELICAL:
        return helical.pose(param, i, q, k, d, v, f)
    if kind == CYLINDRICAL:
        return cylindrical.pose(param, i, q, k, d, v, f)
    if kind == UNIVERSAL:
        return universal.pose(param, i, q, k, d, v, f)
    if kind == PLANAR:
        return planar.pose(param, i, q, k, d, v, f)
    if kind == SPHERICAL:
        return spherical.pose(param, i, q, k, d, v, f)
    if kind == FREE:
        return free.pose(param, i, q, k, d, v, f)
    return generated.pose(kind, param, i, q, k, d, v, f)


@kernel
def displacement(kind, param, i, q, k, d, v):
    """X(q)^-1 X(q + d) as quaternion (w, u) and translation t."""
    if kind == REVOLUTE:
        return revolute.displacement(param, i, q, k, d, v)
    if kind == PRISMATIC:
        return prismatic.displacement(param, i, q, k, d, v)
    if kind == HELICAL:
        return helical.displacement(param, i, q, k, d, v)
    if kind == CYLINDRICAL:
        return cylindrical.displacement(param, i, q, k, d, v)
    if kind == UNIVERSAL:
        return universal.displacement(param, i, q, k, d, v)
    if kind == PLANAR:
        return planar.displacement(param, i, q, k, d, v)
    if kind == SPHERICAL:
        return spherical.displacement(param, i, q, k, d, v)
    if kind == FREE:
        return free.displacement(param, i, q, k, d, v)
    return generated.displacement(kind, param, i, q, k, d, v)


@kernel
def columns(kind, param, i, q, k, d, v, f, S):
    """Body twists per unit coordinate rate, written to rows S[v:]."""
    if kind == REVOLUTE:
        revolute.columns(param, i, q, k, d, v, f, S)
    elif kind == PRISMATIC:
        prismatic.columns(param, i, q, k, d, v, f, S)
    elif kind == HELICAL:
        helical.columns(param, i, q, k, d, v, f, S)
    elif kind == CYLINDRICAL:
        cylindrical.columns(param, i, q, k, d, v, f, S)
    elif kind == UNIVERSAL:
        universal.columns(param, i, q, k, d, v, f, S)
    elif kind == PLANAR:
        planar.columns(param, i, q, k, d, v, f, S)
    elif kind == SPHERICAL:
        spherical.columns(param, i, q, k, d, v, f, S)
    elif kind == FREE:
        free.columns(param, i, q, k, d, v, f, S)
    else:
        generated.place(kind, param, i, q, k, d, v, f, S)


@kernel
def place(kind, param, i, q, k, d, v, f, S):
    """Pose and columns together."""
    if is_generated(kind):
        return generated.place(kind, param, i, q, k, d, v, f, S)
    columns(kind, param, i, q, k, d, v, f, S)
    return pose(kind, param, i, q, k, d, v, f)


@kernel
def mid_columns(kind, param, i, q, k, d, v, nv, S0, S1, S2):
    """Twist of the midpoint pose per unit variation of the start (S0), of the increment (S1) and of the end (S2)."""
    if kind == SPHERICAL:
        spherical.mid_columns(param, i, q, k, d, v, S0, S1, S2)
    elif kind == FREE:
        free.mid_columns(param, i, q, k, d, v, S0, S1, S2)
    else:
        columns(kind, param, i, q, k, d, v, 0.5, S0)
        for j in range(v, v + nv):
            for a in range(6):
                S0[j, a] *= 0.5
                S1[j, a] = S0[j, a]
                S2[j, a] = S0[j, a]


@kernel
def mid_curvature(kind, param, q, k, d, v, nv, S1, G, i, E, scratch):
    """E[j, l] += (d S0_j / d d_l) . G with the wrench G[i, :] held fixed in the midpoint body frame; scratch: (6, 6)."""
    if kind == UNIVERSAL:
        universal.mid_curvature(q, k, d, v, G, i, E)
    elif kind == PLANAR:
        planar.mid_curvature(q, k, d, v, G, i, E)
    elif kind == SPHERICAL:
        spherical.mid_curvature(d, v, G, i, E)
    elif kind == FREE:
        free.mid_curvature(d, v, S1, G, i, E)
    elif is_generated(kind):
        generated.mid_curvature(kind, param, q, k, d, v, nv, S1, G, i, E, scratch)


@kernel
def advance(kind, q, k, d, v, nv):
    """q <- q + d in place."""
    if kind == SPHERICAL:
        spherical.advance(q, k, d, v)
    elif kind == FREE:
        free.advance(q, k, d, v)
    else:
        for j in range(nv):
            q[k + j] += d[v + j]


@kernel
def carry(kind, d, v, nv, r, target):
    """target -= r, a momentum at the start of the step seen from its end."""
    if kind == SPHERICAL:
        spherical.carry(d, v, r, target)
    elif kind == FREE:
        free.carry(d, v, r, target)
    else:
        for j in range(v, v + nv):
            target[j] -= r[j]


@kernel
def end_increment(kind, d, v, nv, out):
    """out[v:] = the increment in the axes of the step's end: minus the increment that leads back."""
    for j in range(v, v + nv):
        out[j] = d[j]
    if kind == FREE:
        free.end_increment(d, v, out)


@inlined
def has_quaternion(kind):
    """Is the joint's velocity a twist rather than the rate of its coordinates?"""
    return kind in (SPHERICAL, FREE)


@inlined
def is_generated(kind):
    return kind > FREE


@kernel
def rate(kind, q, k, qd, v, nv, out):
    """out[k:] = time derivative of the coordinates for the joint velocity qd[v:]."""
    if kind == SPHERICAL:
        spherical.rate(q, k, qd, v, out)
    elif kind == FREE:
        free.rate(q, k, qd, v, out)
    else:
        for j in range(nv):
            out[k + j] = qd[v + j]


@kernel
def normalise(kind, q, k):
    """Put the coordinates back on their manifold (unit quaternions)."""
    if kind == SPHERICAL:
        spherical.normalise(q, k)
    elif kind == FREE:
        spherical.normalise(q, k + 3)


@kernel
def bias(kind, param, i, q, k, qd, v):
    """(dS/dt) qd as (angular, linear); zero for joints with constant S."""
    if kind == UNIVERSAL:
        return universal.bias(param, i, q, k, qd, v)
    if kind == PLANAR:
        return planar.bias(param, i, q, k, qd, v)
    if is_generated(kind):
        return generated.bias(kind, param, i, q, k, qd, v)
    return ZERO3, ZERO3


@kernel
def spring(kind, q, k, rest, d, v, nv, f, stiffness, g):
    """Energy of the joint spring at the fraction f (0 or 1/2) of the step; its gradient is added to g[v:]."""
    if kind == SPHERICAL:
        return spherical.spring(q, k, rest, d, v, f, stiffness, g)
    if kind == FREE:
        return free.spring(q, k, rest, d, v, f, stiffness, g)
    energy = 0.0
    for j in range(nv):
        stretch = q[k + j] + f * d[v + j] - rest[k + j]
        g[v + j] += stiffness[v + j] * stretch
        energy += 0.5 * stiffness[v + j] * stretch * stretch
    return energy


@kernel
def spring_curvature(kind, q, k, rest, d, v, nv, stiffness, S0, S1, E):
    """E[j, l] += derivative of the midpoint spring force on the start of joint j in the increment l (see loads at midpoint)."""
    if kind == SPHERICAL:
        spherical.spring_curvature(q, k, rest, d, v, nv, stiffness, S0, S1, E)
    elif kind == FREE:
        spherical.spring_curvature(q, k + 3, rest, d, v, nv, stiffness, S0, S1, E)
        free.translation_spring_curvature(q, k, rest, d, v, stiffness, S0, S1, E)
    else:
        for j in range(nv):
            E[j, j] += 0.25 * stiffness[v + j]
