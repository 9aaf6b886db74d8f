"""Composite-rigid-body algorithm: the mass matrix."""

from ...compiling.decorators import kernel
from ...joints import dispatch
from ...lie.algebra import add, axpy, congruent, cross, load3, load6, load9, matvec, symvec
from .layout import INERTIA, KIND, MASS, MOMENT, NV, PARENT, QI, VI, P, R
from .spatial import column_dot, wrench_to_parent


@kernel
def mass_matrix(m, w, composite, out):
    """M(q), dense.  composite: (n+1, BODY_COLUMNS) zeros; out: (nv, nv) zeros.  Reads R, P; writes S0, composite, out."""
    link, row = m.link, w.row
    n = link.shape[0]
    for i in range(1, n):
        for c in range(MASS, INERTIA + 6):
            composite[i, c] = m.body[i, c]
        dispatch.columns(link[i, KIND], m.param, i, w.q, link[i, QI], w.d, link[i, VI], 0.0, w.S0)
    for i in range(n - 1, 0, -1):
        add_composite(composite, i, link[i, PARENT], load9(row, i, R), load3(row, i, P))
    for i in range(1, n):
        c = load3(composite, i, MOMENT)
        inertia = load6(composite, i, INERTIA)
        for j in range(link[i, VI], link[i, VI] + link[i, NV]):
            sa, sl = load3(w.S0, j, 0), load3(w.S0, j, 3)
            a, l = add(symvec(inertia, sa), cross(c, sl)), axpy(composite[i, MASS], sl, cross(sa, c))
            k = i
            while k > 0:
                for r in range(link[k, VI], link[k, VI] + link[k, NV]):
                    out[r, j] = column_dot(w.S0, r, a, l)
                    out[j, r] = out[r, j]
                a, l = wrench_to_parent(load9(row, k, R), load3(row, k, P), a, l)
                k = link[k, PARENT]
            out[j, j] += m.armature[j]


@kernel
def add_composite(composite, i, p, rot, r):
    """Mass, first moment and inertia of row i, seen from its parent p."""
    mass = composite[i, MASS]
    c = matvec(rot, load3(composite, i, MOMENT))
    s = congruent(rot, load6(composite, i, INERTIA))
    # shift by r: I + 2 (c.r) 1 - (c r' + r c') + m (r.r 1 - r r')
    d = 2.0 * (c[0] * r[0] + c[1] * r[1] + c[2] * r[2]) + mass * (r[0] * r[0] + r[1] * r[1] + r[2] * r[2])
    entry = -1
    for a in range(3):
        for b in range(a, 3):
            entry += 1
            shifted = s[entry] - c[a] * r[b] - r[a] * c[b] - mass * r[a] * r[b]
            if a == b:
                shifted += d
            composite[p, INERTIA + entry] += shifted
    composite[p, MASS] += mass
    for a in range(3):
        composite[p, MOMENT + a] += c[a] + mass * r[a]
