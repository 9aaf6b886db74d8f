"""How the momenta at both ends of a step change with the configurations at its ends.   docs/linearize.md

Everything is seen from one inertial frame per tree: axes of the world, origin where its first body is at the start.  There a body has
one momentum M over the whole step (Noether), wrenches and twists of all bodies add up without being carried, and with eta0, eta1 the twists
that move a body at the start and at the end of the step

    M - (h/2) W0  leaves the start,   dL = L1 eta1 - L0 eta0 + ad*_eta0 L
    M + (h/2) W1  arrives at the end, dA = A1 eta1 - A0 eta0 + ad*_eta0 M + ad*_eta1 (h/2) W1

L1 = A0 = K, the stiffness of newton_matrix.py; L0 and A1 have in addition what turns the loads W; laws on bodies add to all four.  Sums
over all bodies beyond a joint make every entry of the four matrices of a step a product of a joint column with one vector.
"""

from typing import NamedTuple

from ...compiling.decorators import apart, inlined, kernel
from ...compiling.records import floats
from ...joints import dispatch
from ...lie import retractions
from ...lie.algebra import (
    ZERO3,
    accumulate3,
    add,
    axpy,
    cross,
    load3,
    load9,
    matvec,
    scale,
    store3,
    store9,
    sub,
    tmatvec,
)
from ..forces.laws import ask, differentiate_law, law_in_body_axes, move_law, place_law, wrench_on_body
from .layout import (
    AA,
    AL,
    GRAVITY,
    KIND,
    L_P,
    L_P1,
    L_R,
    L_R1,
    LA,
    LAW_BODY,
    LL,
    MASS,
    MOMENT,
    MU,
    NV,
    PARENT,
    QI,
    VI,
    P,
    R,
    X,
)
from .loads import acts_on_bodies, add_body_forces
from .midpoint_quadrature import add_turning_forces, place_in_world
from .newton_matrix import assemble
from .spatial import carried, dot6, load_block, store_block, twist_to_parent, wrench_to_parent

# columns of Slopes.beyond: sums over a body and all beyond it
MOMENTUM = 0  # 6  M
START, END = 6, 12  # 6 each  loads W at the ends of the step other than gravity
MASSES = 18  # 1
MOMENT0, MOMENT1 = 19, 22  # 3 each  mass times centre of mass at the ends of the step
BEYOND_COLUMNS = 25

# columns of Slopes.vector, per degree of freedom
S0, S1 = 0, 6  # joint columns at the ends of the step
ROW00, ROW10, ROW11 = 12, 18, 24  # what a column l at or above it is multiplied with: P[j, l] = ROW.S_l
COLUMN00, COLUMN10, COLUMN11 = 30, 36, 42  # what a column j above it is multiplied with: P[j, l] = S_j.COLUMN
VECTOR_COLUMNS = 48


class Forces(NamedTuple):
    """What forces on bodies other than gravity add to the stiffness of a body and all beyond it, blocks as in Work.art."""

    world: floats("n+1", 12)  # poses in the world at the end of the step
    L0: floats("n+1", 36)
    L1: floats("n+1", 36)
    A0: floats("n+1", 36)
    A1: floats("n+1", 36)


class Slopes(NamedTuple):
    """Memory of the derivatives of one step."""

    start: floats("n+1", 12)  # pose of every body in the frame of its tree: rotation, position
    end: floats("n+1", 12)
    row: floats("n+1", 15)  # the node at the end of the step, columns as in Work.row
    K: floats("n+1", 36)  # stiffness of a body and all beyond it, blocks as in Work.art
    forces: Forces  # None where there are none: Numba then compiles without them
    beyond: floats("n+1", BEYOND_COLUMNS)
    wrench: floats("n+1", 6)  # scratch: loads of the bodies, body axes
    vector: floats("nv", VECTOR_COLUMNS)
    own: floats(4, "nv", 6)  # what only the coordinates of the same joint do: P00, P01, P10, P11
    turn: floats("nv", 6)  # tangent vectors at the end per unit of the increment, of joints with quaternions
    E: floats(6, 6)  # scratch
    scratch: floats(6, 6)
    columns: floats("nv", 6)  # scratch
    twice: floats("nv")  # scratch


class Parts(NamedTuple):
    """Which terms are asked for."""

    kinetic: int  # 0: the derivative of the loads at a configuration alone, in P11; w.d has to be zero
    loaded: int  # 0: without gravity, wrenches and springs


@inlined
def half_step(parts, h):
    """What forces are multiplied with."""
    return 0.5 * h if parts.kinetic else 1.0


@inlined
def turned(s_a, s_l, a, l):
    """ad*_s of the wrench (a, l): how it changes when it moves with the twist s.  Also the covector eta -> (ad_eta s).(a, l)."""
    return add(cross(s_a, a), cross(s_l, l)), cross(s_a, l)


@inlined
def times(B, i, a, l):
    """B[i] (a, l) of 6x6 blocks."""
    return (
        add(matvec(load_block(B, i, AA), a), matvec(load_block(B, i, AL), l)),
        add(matvec(load_block(B, i, LA), a), matvec(load_block(B, i, LL), l)),
    )


@inlined
def transposed_times(B, i, a, l):
    """B[i]' (a, l)."""
    return (
        add(tmatvec(load_block(B, i, AA), a), tmatvec(load_block(B, i, LA), l)),
        add(tmatvec(load_block(B, i, AL), a), tmatvec(load_block(B, i, LL), l)),
    )


@inlined
def store_both(array, j, k, a, l):
    store3(array, j, k, a)
    store3(array, j, k + 3, l)


@kernel
def momentum_slopes(m, bare, w, s, parts, given, h, t, retraction):
    """All of Slopes for the step (w.q, w.d) from the time t.  Needs its node and residual (R, P, S0, X, MU); writes linear, S1, art.

    bare   the tree without laws on bodies, whose differences in Newton's matrix are not exact
    given  (4, nv, 6) additions to Slopes.own: springs and dampers of joints with quaternions
    """
    half = half_step(parts, h)
    assemble(bare, w, h, retraction, True)
    place_ends(m, w, s)
    for i in range(1, m.link.shape[0]):
        gather_body(m, w, s, parts, i)
    gather_forces(s.forces, m, w, s, parts, half, h, t, retraction)
    own_slopes(m, w, s, parts, given, half, h)
    g = scale(half if parts.loaded else 0.0, load3(w.row, 0, GRAVITY))
    for i in range(m.link.shape[0] - 1, 0, -1):
        curvature_of_columns(m, w, s, g, i)
        column_vectors(m, s, g, i)
        p = m.link[i, PARENT]
        if p > 0:
            for c in range(36):
                s.K[p, c] += s.K[i, c]
            for c in range(BEYOND_COLUMNS):
                s.beyond[p, c] += s.beyond[i, c]
            forces_to_parent(s.forces, i, p)


@inlined
def place_ends(m, w, s):
    """Poses and joint columns at both ends in the frame of the tree; the node at the end; what increments are in tangent vectors."""
    link, row = m.link, w.row
    store3(s.row, 0, GRAVITY, load3(row, 0, GRAVITY))
    for i in range(1, link.shape[0]):
        p, kind, v = link[i, PARENT], link[i, KIND], link[i, VI]
        R0, p0, R1, p1 = load9(w.linear, i, L_R), load3(w.linear, i, L_P), load9(w.linear, i, L_R1), load3(w.linear, i, L_P1)
        store9(s.row, i, R, R1)
        store3(s.row, i, P, p1)
        store3(s.row, i, GRAVITY, tmatvec(R1, load3(s.row, p, GRAVITY)))
        if p == 0:
            store9(s.start, i, 0, R0)
            store3(s.start, i, 9, ZERO3)
            store9(s.end, i, 0, R1)
            store3(s.end, i, 9, sub(p1, p0))
        else:
            place_in_world(s.start, w.linear, i, p)
            place_in_world(s.end, s.row, i, p)
        Q0, x0, Q1, x1 = load9(s.start, i, 0), load3(s.start, i, 9), load9(s.end, i, 0), load3(s.end, i, 9)
        grouped = dispatch.has_quaternion(kind)
        for j in range(v, v + link[i, NV]):
            if dispatch.turns_about_z(kind):
                a0, l0 = (0.0, 0.0, 1.0), ZERO3
                a1, l1 = a0, l0
            else:
                a0, l0 = load3(w.S0, j, 0), load3(w.S0, j, 3)
                if grouped:  # per tangent vector at the end, not per increment
                    a1, l1 = a0, l0
                    for b in range(link[i, NV]):
                        s.turn[j, b] = dot6(w.S1, v + b, 0, a0, l0)
                else:
                    a1, l1 = load3(w.S1, j, 0), load3(w.S1, j, 3)
            a, l = twist_to_parent(Q0, x0, a0, l0)
            store_both(s.vector, j, S0, a, l)
            a, l = twist_to_parent(Q1, x1, a1, l1)
            store_both(s.vector, j, S1, a, l)


@inlined
def gather_body(m, w, s, parts, i):
    """K and momentum of body i, and its mass, in the frame of the tree."""
    Q0, x0, Q1, x1 = load9(s.start, i, 0), load3(s.start, i, 9), load9(s.end, i, 0), load3(s.end, i, 9)
    on = 1.0 if parts.kinetic else 0.0
    if parts.kinetic:
        aa, al, la, ll = carried(
            Q0, x0, Q1, x1, load_block(w.art, i, AA), load_block(w.art, i, AL), load_block(w.art, i, LA), load_block(w.art, i, LL)
        )
        store_block(s.K, i, AA, aa)
        store_block(s.K, i, AL, al)
        store_block(s.K, i, LA, la)
        store_block(s.K, i, LL, ll)
    else:
        for c in range(36):
            s.K[i, c] = 0.0
    a, l = wrench_to_parent(Q0, x0, load3(w.row, i, MU), load3(w.row, i, MU + 3))
    store_both(s.beyond, i, MOMENTUM, scale(on, a), scale(on, l))
    for c in range(START, END + 6):
        s.beyond[i, c] = 0.0
    mass, moment = m.body[i, MASS], load3(m.body, i, MOMENT)
    s.beyond[i, MASSES] = mass
    store3(s.beyond, i, MOMENT0, axpy(mass, x0, matvec(Q0, moment)))
    store3(s.beyond, i, MOMENT1, axpy(mass, x1, matvec(Q1, moment)))


@kernel
def gather_forces(forces, m, w, s, parts, half, h, t, retraction):
    """Wrenches, springs between points and laws on bodies: L0, L1, A0, A1 and the loads in `beyond`.

    Of a spring between points this is the part at constant force; the rest is not of a single body, see dense_slopes.py.
    """
    if forces is not None:
        n = m.link.shape[0]
        for i in range(n):
            for c in range(36):
                forces.L0[i, c], forces.L1[i, c], forces.A0[i, c], forces.A1[i, c] = 0.0, 0.0, 0.0, 0.0
        if acts_on_bodies(m):
            for i in range(1, n):
                place_in_world(forces.world, s.row, i, m.link[i, PARENT])
            if parts.loaded:
                gather_loads(m, w, s, w.world, s.start, forces.L0, START, half)
                gather_loads(m, w, s, forces.world, s.end, forces.A1, END, half)
            if parts.kinetic:
                gather_laws(w.laws, m, w, s, h, t, retraction)


@kernel
def gather_loads(m, w, s, world, place, target, column, half):
    """Wrenches and springs between points at one end of the step, with bodies at `world`, in the frame of the tree at `place`."""
    n = m.link.shape[0]
    for i in range(n):
        for c in range(6):
            s.wrench[i, c] = 0.0
    add_body_forces(m, w, world, 1.0, s.wrench, 0)
    for i in range(1, n):
        Q, x = load9(place, i, 0), load3(place, i, 9)
        add_load(s, i, column, half, Q, x, load3(s.wrench, i, 0), load3(s.wrench, i, 3))
        for a in range(6):
            for b in range(6):
                s.E[a, b] = 0.0
        add_turning_forces(m, w, world, i, s.E)
        add_carried(target, i, Q, x, Q, x, s.E, half)


@kernel
def forces_to_parent(forces, i, p):
    if forces is not None:
        for c in range(36):
            forces.L0[p, c] += forces.L0[i, c]
            forces.L1[p, c] += forces.L1[i, c]
            forces.A0[p, c] += forces.A0[i, c]
            forces.A1[p, c] += forces.A1[i, c]


@inlined
def add_load(s, i, column, half, Q, x, a, l):
    """A wrench in body axes on body i, whose pose is (Q, x)."""
    a, l = wrench_to_parent(Q, x, a, l)
    accumulate3(s.beyond, i, column, scale(half, a))
    accumulate3(s.beyond, i, column + 3, scale(half, l))


@apart
def gather_laws(laws, m, w, s, h, t, retraction):
    """Half impulses (h/2) W of the laws on bodies at both ends, at the mean twist x/h of the step.

    x changes by dtau^-1_{-x} eta1 - dtau^-1_x eta0 in the axes of the body.  Not for laws that are seen from another body:
    their derivatives are not of a single one.
    """
    if laws is not None:
        half = 0.5 * h
        for e in range(m.law_on.shape[0]):
            i = m.law_on[e, LAW_BODY]
            phi, rho = load3(w.row, i, X), load3(w.row, i, X + 3)
            store3(laws.twist, i, 0, scale(1.0 / h, phi))
            store3(laws.twist, i, 3, scale(1.0 / h, rho))
            Q0, x0, Q1, x1 = load9(s.start, i, 0), load3(s.start, i, 9), load9(s.end, i, 0), load3(s.end, i, 9)
            for at_end in range(2):
                world, when = (s.forces.world, t + h) if at_end else (w.world, t)
                place_law(m, laws, e, world)
                move_law(m, laws, e)
                laws.time[e] = when
                a, l = wrench_on_body(m, e, ask(m, laws, e))
                Q, x = (Q1, x1) if at_end else (Q0, x0)
                add_load(s, i, END if at_end else START, half, Q, x, a, l)
                differentiate_law(m, laws, e)
                law_in_body_axes(m, laws, e, 0, s.E)
                add_carried(s.forces.A1 if at_end else s.forces.L0, i, Q, x, Q, x, s.E, half)
                law_in_body_axes(m, laws, e, 6, s.E)
                for side in range(2):
                    sign = -1.0 if side else 1.0
                    for r in range(6):
                        a, l = retractions.cotangent(
                            retraction, scale(sign, phi), scale(sign, rho), load3(s.E, r, 0), load3(s.E, r, 3)
                        )
                        store3(s.scratch, r, 0, a)
                        store3(s.scratch, r, 3, l)
                    if at_end and side:
                        add_carried(s.forces.A1, i, Q, x, Q1, x1, s.scratch, 0.5)
                    elif at_end:
                        add_carried(s.forces.A0, i, Q, x, Q0, x0, s.scratch, 0.5)
                    elif side:
                        add_carried(s.forces.L1, i, Q, x, Q1, x1, s.scratch, -0.5)
                    else:
                        add_carried(s.forces.L0, i, Q, x, Q0, x0, s.scratch, -0.5)


@inlined
def block(E, r, c):
    """The 3x3 block of E with its corner at (r, c)."""
    return (E[r, c], E[r, c + 1], E[r, c + 2],
            E[r + 1, c], E[r + 1, c + 1], E[r + 1, c + 2],
            E[r + 2, c], E[r + 2, c + 1], E[r + 2, c + 2])  # fmt: skip


@kernel
def add_carried(out, i, Q, x, Q1, x1, E, factor):
    """out[i] += factor Ad' E Ad, wrenches carried from (Q, x) and twists to (Q1, x1)."""
    aa, al, la, ll = carried(Q, x, Q1, x1, block(E, 0, 0), block(E, 0, 3), block(E, 3, 0), block(E, 3, 3))
    for c in range(9):
        out[i, 4 * c + AA] += factor * aa[c]
        out[i, 4 * c + AL] += factor * al[c]
        out[i, 4 * c + LA] += factor * la[c]
        out[i, 4 * c + LL] += factor * ll[c]


@inlined
def own_slopes(m, w, s, parts, given, half, h):
    """Springs, dampers and rotors of plain coordinates; what is given for the others."""
    for j in range(s.own.shape[1]):
        for c in range(6):
            for k in range(4):
                s.own[k, j, c] = given[k, j, c]
    for i in range(1, m.link.shape[0]):
        if not dispatch.has_quaternion(m.link[i, KIND]):
            v = m.link[i, VI]
            for c in range(m.link[i, NV]):
                j = v + c
                if parts.loaded:
                    s.own[0, j, c] += half * m.stiffness[j]
                    s.own[3, j, c] -= half * m.stiffness[j]
                if parts.kinetic:
                    damper, rotor = 0.5 * m.damping[j], m.armature[j] / h
                    s.own[0, j, c] -= damper + rotor
                    s.own[1, j, c] += damper + rotor
                    s.own[2, j, c] += damper - rotor
                    s.own[3, j, c] += rotor - damper


@inlined
def curvature_of_columns(m, w, s, g, i):
    """own += (d S_j / dq_l).F, F the wrench that is passed on by joint i, at both ends."""
    kind, v, nv = m.link[i, KIND], m.link[i, VI], m.link[i, NV]
    if dispatch.turns_about_z(kind) or dispatch.has_quaternion(kind) or not dispatch.columns_change(kind):
        return
    for at_end in range(2):
        sign = 1.0 if at_end else -1.0
        a, l = load3(s.beyond, i, MOMENTUM), load3(s.beyond, i, MOMENTUM + 3)
        column, moment, place = (END, MOMENT1, s.end) if at_end else (START, MOMENT0, s.start)
        a = axpy(sign, add(load3(s.beyond, i, column), cross(load3(s.beyond, i, moment), g)), a)
        l = axpy(sign, axpy(s.beyond[i, MASSES], g, load3(s.beyond, i, column + 3)), l)
        Q, x = load9(place, i, 0), load3(place, i, 9)
        store3(s.wrench, i, 0, tmatvec(Q, sub(a, cross(x, l))))  # in body axes
        store3(s.wrench, i, 3, tmatvec(Q, l))
        column_curvature_of(m, w, s, i, 1.0 if at_end else 0.0)
        for b in range(nv):
            for c in range(nv):
                s.own[3 if at_end else 0, v + b, c] += s.E[b, c]


@kernel
def column_curvature_of(m, w, s, i, f):
    """s.E[j, l] = (d S_j / dq_l).s.wrench[i] of joint i, which has plain coordinates, at the start (f = 0) or end (1) of the step."""
    kind, k, v, nv = m.link[i, KIND], m.link[i, QI], m.link[i, VI], m.link[i, NV]
    for a in range(6):
        for b in range(6):
            s.E[a, b] = 0.0
    dispatch.columns(kind, m.param, i, w.q, k, w.d, v, f, s.columns)
    for j in range(v, v + nv):
        for a in range(6):
            s.columns[j, a] *= 0.5
        s.twice[j] = 2.0 * f * w.d[j]  # to the midpoint of twice the step
    dispatch.mid_curvature(kind, m.param, w.q, k, s.twice, v, nv, s.columns, s.wrench, i, s.E, s.scratch)
    for a in range(6):
        for b in range(6):
            s.E[a, b] *= 4.0  # the midpoint moves by half the increment, and acts on half the start


@inlined
def turning_gravity(g, mass, moment, a):
    """How the load of gravity on mass and moment turns: (moment x (g x a), mass g x a)."""
    y = cross(g, a)
    return cross(moment, y), scale(mass, y)


@inlined
def turned_by_gravity(g, mass, moment, a, l):
    """The transpose of `turning_gravity`: angular part, the linear one is zero."""
    return cross(g, sub(cross(moment, a), scale(mass, l)))


@inlined
def added(sign, y, more):
    """y + sign more, wrenches."""
    return axpy(sign, more[0], y[0]), axpy(sign, more[1], y[1])


@inlined
def forced_columns(forces, i, a0, l0, a1, l1, y, z, u):
    """COLUMN00, COLUMN10 and COLUMN11 with what forces on bodies add to them."""
    if forces is not None:
        y = added(-1.0, y, times(forces.L0, i, a0, l0))
        z = added(-1.0, z, times(forces.A0, i, a0, l0))
        u = added(1.0, u, times(forces.A1, i, a1, l1))
    return y, z, u


@inlined
def forced_rows(forces, i, a0, l0, a1, l1, r, c, d):
    """The rows, likewise; of ROW00 and ROW10 the negative."""
    if forces is not None:
        r = added(1.0, r, transposed_times(forces.L0, i, a0, l0))
        c = added(1.0, c, transposed_times(forces.A0, i, a1, l1))
        d = added(1.0, d, transposed_times(forces.A1, i, a1, l1))
    return r, c, d


@inlined
def column_vectors(m, s, g, i):
    """The vectors of every degree of freedom of joint i; its composites are complete."""
    Ma, Ml = load3(s.beyond, i, MOMENTUM), load3(s.beyond, i, MOMENTUM + 3)
    mass, moment0, moment1 = s.beyond[i, MASSES], load3(s.beyond, i, MOMENT0), load3(s.beyond, i, MOMENT1)
    Wa0, Wl0 = add(load3(s.beyond, i, START), cross(moment0, g)), axpy(mass, g, load3(s.beyond, i, START + 3))
    Wa1, Wl1 = add(load3(s.beyond, i, END), cross(moment1, g)), axpy(mass, g, load3(s.beyond, i, END + 3))
    v = m.link[i, VI]
    for j in range(v, v + m.link[i, NV]):
        a0, l0, a1, l1 = load3(s.vector, j, S0), load3(s.vector, j, S0 + 3), load3(s.vector, j, S1), load3(s.vector, j, S1 + 3)
        # leaving, in the start:  -L0 s0 + ad*_s0 (M - W0)
        xa, xl = times(s.K, i, a0, l0)
        ga, gl = turning_gravity(g, mass, moment0, a0)
        ta, tl = turned(a0, l0, sub(Ma, Wa0), sub(Ml, Wl0))
        ya, yl = sub(ta, add(xa, ga)), sub(tl, add(xl, gl))
        # arriving, in the start:  -A0 s0 + ad*_s0 M
        ta, tl = turned(a0, l0, Ma, Ml)
        za, zl = sub(ta, xa), sub(tl, xl)
        # arriving, in the end:  A1 s1 + ad*_s1 W1
        ua, ul = times(s.K, i, a1, l1)
        ga, gl = turning_gravity(g, mass, moment1, a1)
        ta, tl = turned(a1, l1, Wa1, Wl1)
        ua, ul = add(ua, add(ga, ta)), add(ul, add(gl, tl))
        # the same seen from below
        ra, rl = transposed_times(s.K, i, a0, l0)
        ra = add(ra, turned_by_gravity(g, mass, moment0, a0, l0))
        ca, cl = transposed_times(s.K, i, a1, l1)
        ta, tl = turned(a1, l1, Ma, Ml)
        ca, cl = add(ca, ta), add(cl, tl)
        da, dl = add(ca, turned_by_gravity(g, mass, moment1, a1, l1)), cl
        (ya, yl), (za, zl), (ua, ul) = forced_columns(s.forces, i, a0, l0, a1, l1, (ya, yl), (za, zl), (ua, ul))
        (ra, rl), (ca, cl), (da, dl) = forced_rows(s.forces, i, a0, l0, a1, l1, (ra, rl), (ca, cl), (da, dl))
        store_both(s.vector, j, COLUMN00, ya, yl)
        store_both(s.vector, j, COLUMN10, za, zl)
        store_both(s.vector, j, COLUMN11, ua, ul)
        store_both(s.vector, j, ROW00, scale(-1.0, ra), scale(-1.0, rl))
        store_both(s.vector, j, ROW10, scale(-1.0, ca), scale(-1.0, cl))
        store_both(s.vector, j, ROW11, da, dl)
