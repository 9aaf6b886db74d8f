"""The majorant of a certificate with ball joints, once more as products of power series; kernels are called one by one here."""

import numpy as np
import pytest

import leastaction as la
from leastaction import solvability as sv
from leastaction import testing
from leastaction.kernels.solvability.columns import find_columns, turn_screws
from leastaction.kernels.solvability.layout import EPSILON, ETA
from leastaction.kernels.solvability.majorants import add_errors, differentiate, find_full, find_near

INERTIA = (0.3, 0.2, 0.15)


def product(a, b):
    """Of two power series, without what is of fourth order."""
    return np.convolve(a, b)[:4]


def constant(pair):
    return tuple(np.array([x, 0.0, 0.0, 0.0]) for x in pair)


def turned(a, b):
    """Lengths of the bracket of two twists, as power series."""
    return product(a[0], b[0]), product(a[0], b[1]) + product(a[1], b[0])


def columns_along(near, turns):
    """J' = [J, sum of J eta] over what is beyond, J(0) = near: power series of every column."""
    beyond, found = constant((0.0, 0.0)), []
    for start, eta in zip(reversed(near), reversed(turns), strict=True):
        J = constant(start)
        for _ in range(3):
            slope = turned(J, beyond)
            J = tuple(np.array([x, y[0], y[1] / 2, y[2] / 3]) for x, y in zip(start, slope, strict=True))
        beyond = tuple(b + product(x, eta) for b, x in zip(beyond, J, strict=True))
        found.insert(0, J)
    return found


def groups(joints, v, share, eta):
    """Of every hinge, ball or half of a free joint: (its freedoms, bound of its speed, of its direction, its turn as a series)."""
    found, first = [], 0
    for joint in joints:
        size = 3 if joint.has_quaternion else 1
        for j in range(first, first + joint.nv, size):
            own = slice(j, j + size)
            d = np.linalg.norm(share[own])
            turn = {la.Spherical: [d, 0.32476 * d**2, 0.5 * d**3 / 2, 0.0], la.Free: np.zeros(4)}.get(type(joint), [d, 0.0, 0.0, 0.0])
            found.append((own, np.linalg.norm(v[own]) + 2.0 * eta * d, d, np.array(turn)))
        first += joint.nv
    return found


def moving_chain(joints):
    rng, mech = np.random.default_rng(7), la.Mechanism()
    for k, joint in enumerate(joints):
        about = {"mass": rng.uniform(1.0, 2.0), "com": 0.3 * rng.normal(size=3), "inertia": INERTIA}
        mech.add_body(f"body{k}", f"body{k - 1}" if k else "world", joint, la.Pose(xyz=rng.normal(size=3), rpy=rng.normal(size=3)), **about)
    model = mech.compile()
    q, v = testing.random_state(model, rng)
    return sv.StepEquation(model, model.state(q, v)), v


@pytest.mark.parametrize("root, more", [(la.Free, 2), (la.Spherical, 2), (la.Revolute, 2), (la.Revolute, 1), (la.Spherical, 0)])
def test_the_majorant_of_the_third_derivative_is_that_of_power_series(root, more):
    joints = (root(), *([la.Spherical()] if more else []), la.Helical((0, 0, 1), 0.3), *([la.Spherical()] if more > 1 else []))
    (equation, v), h = moving_chain(joints), 0.02
    proof, record = equation.judged(h), equation.tensors.record
    parts = groups(joints, v, proof.share, proof.out[ETA])
    turns = [turn for *_, turn in parts]
    moving = [np.array([speed, d, 0.0, 0.0]) for _, speed, d, _ in parts]  # s is along v
    momenta = [np.zeros(4) for _ in parts]
    turn_screws(record, proof, equation.q)
    for i in range(1, len(joints) + 1):
        n = find_columns(record, proof, i, equation.q)
        find_full(record, proof, i)
        find_near(proof, n, h, proof.out[EPSILON])
        own = proof.path[:n]
        way = h * proof.pace[own] * (proof.rate[own, 0] > 0.0)  # of what moves columns before it
        w, l = proof.full[:n].T
        change = np.triu(np.outer(w, l) + np.outer(l, w), 1) @ way
        np.testing.assert_allclose(proof.near[:n, 1], np.minimum(l, proof.here[:n] + proof.out[EPSILON] * l + change), rtol=1e-14)
        near = [tuple(proof.near[own.start]) for own, *_ in parts if own.start < n]
        start = [constant(x) for x in near]
        J = [tuple(x * h ** np.arange(4) for x in pair) for pair in columns_along(near, turns[: len(near)])]
        for part in (0, 1):
            twist, twist0 = (sum(product(x[part], m) for x, m in zip(some, moving, strict=False)) for some in (J, start))
            for c in range(len(near)):
                momenta[c] = momenta[c] + 0.5 * record.metric[i, part] * (product(J[c][part], twist) + product(start[c][part], twist0))
    for c, (own, *_) in enumerate(parts):
        m, x = momenta[c], h * moving[c]
        if root is la.Free and c == 1:
            m = m + 0.5 * product(h * moving[0], m)
        elif own.stop - own.start == 3:
            more = 0.5 * product(x, m) + 0.25 * product(product(x, x), m)
            if root is la.Free and c == 0:
                more += 0.5 * product(momenta[1] + 0.5 * product(x, momenta[1]), h * moving[1])
            m = m + more
        np.testing.assert_allclose(proof.third[own], 6.0 * m[3], rtol=1e-9)


def test_sums_behind_rounding_are_those_of_power_series():
    """Of a chain of screws: mean momentum, and slope of the kinetic energy with velocities of what is before a column, along v + s d."""
    joints = (la.Revolute((0, 1, 0)), la.Helical((0, 0, 1), 0.3), la.Universal(), la.Prismatic((1, 0, 0)))
    (equation, v), h = moving_chain(joints), 0.02
    proof, record = equation.judged(h), equation.tensors.record
    moving = [np.array([a + 2.0 * proof.out[ETA] * d, d, 0.0, 0.0]) for a, d in zip(np.abs(v), proof.share, strict=True)]
    turns = [np.array([d, 0.0, 0.0, 0.0]) for d in proof.share]
    allowed = [np.array([abs(p) + 0.5 * h * abs(f), 0.0, 0.0, 0.0]) for p, f in zip(equation.p, equation.force, strict=True)]
    proof.error_e[:], proof.error_A[:], proof.error_B[:] = [a[0] for a in allowed], 0.0, 0.0
    for i in range(1, len(joints) + 1):
        n = find_columns(record, proof, i, equation.q)
        find_full(record, proof, i)
        differentiate(proof, proof.full, n, 2)
        add_errors(record, proof, i, n, h)
        start = [constant(x) for x in proof.full[:n]]
        J = [tuple(x * h ** np.arange(4) for x in pair) for pair in columns_along([tuple(x) for x in proof.full[:n]], turns[:n])]
        before = constant((0.0, 0.0))
        for c in range(n):
            back = turned(before, start[c])
            for part in (0, 1):
                twist, twist0 = (sum(product(x[part], m) for x, m in zip(some, moving, strict=False)) for some in (J, start))
                mean = 0.5 * (product(J[c][part], twist) + product(start[c][part], twist0))
                allowed[c] = allowed[c] + record.metric[i, part] * (mean + 0.5 * h * product(back[part], twist0))
            before = tuple(b + product(x, moving[c]) for b, x in zip(before, start[c], strict=True))
    for found, order, factorial in ((proof.error_e, 0, 1.0), (proof.error_A, 1, 1.0), (proof.error_B, 2, 2.0)):
        np.testing.assert_allclose(found, [factorial * a[order] for a in allowed], rtol=1e-12)
