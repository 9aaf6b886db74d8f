"""What a symbolic joint says of itself before anything is compiled: corners that mutants lived in (`make mutation`)."""

import numpy as np
import pytest
from support.symbolic_samples import euler_ball

import leastaction as la
from leastaction.compiling.records import allocate
from leastaction.joints import charts
from leastaction.kernels.tree.charts import switch_charts
from leastaction.kernels.tree.layout import Charts


def screw(**options):
    """One coordinate that turns and lifts."""
    return la.SymbolicJoint("screw", pose=lambda q, sp: sp.rot_z(q[0]) @ sp.move(0, 0, q[0] / 3), nq=1, **options)


def test_ranges_have_a_lower_and_an_upper_end():
    assert screw(ranges=[(-1.0, 2.0)]).ranges == ((-1.0, 2.0),)
    for empty in ((2.0, -1.0), (1.0, 1.0)):
        with pytest.raises(la.MechanismError, match="lower < upper"):
            screw(ranges=[empty])


def test_coordinates_that_do_the_same_are_refused_and_those_that_nearly_do_are_not():
    def pair(share):
        return la.SymbolicJoint("pair", pose=lambda q, sp: sp.rot_z(q[0] + q[1]) @ sp.move(0, 0, share * q[1]), nq=2)

    assert pair(1e-3).nv == 2
    with pytest.raises(la.MechanismError, match="move the body in the same way"):
        pair(0.0)


def test_an_angle_is_what_a_whole_turn_leaves_unchanged():
    arm = la.SymbolicJoint("arm", pose=lambda q, sp: sp.rot_z(q[0]) @ sp.move(q[1], 0, 0), nq=2)
    assert arm.angular == (True, False)
    assert screw().angular == (False,)


def test_the_gram_matrix_of_columns_is_factored_and_solved():
    rng = np.random.default_rng(3)
    for nv in (1, 2, 3, 6):
        S = np.zeros((charts.SCRATCH_ROWS, 6))
        columns = rng.normal(size=(nv, 6))
        S[charts.HERE : charts.HERE + nv] = columns
        quality = charts.factor_gram(S, charts.HERE, nv)
        gram, b = columns @ columns.T, rng.normal(size=nv)
        lengths = np.diag(gram)
        assert quality == pytest.approx(np.linalg.det(gram) / np.prod(lengths), rel=1e-9)  # squared volume of columns of unit length
        x = b.copy()
        charts.solve_gram(S, nv, x)
        assert np.allclose(gram @ x, b, rtol=0.0, atol=1e-9 * np.abs(b).max() * np.linalg.cond(gram))


def test_a_change_of_charts_keeps_pose_twist_and_wrench():
    rng, joint = np.random.default_rng(5), euler_ball(charts=2)
    mech = la.Mechanism()
    mech.add_body("stand", joint=la.Revolute((0, 1, 0)), mass=1.0, inertia=(0.1, 0.1, 0.1))
    mech.add_body("top", "stand", joint, mass=1.0, inertia=(0.1, 0.1, 0.1))
    model = mech.compile()
    work, scratch = model.make_work(), allocate(Charts, {})
    for pitch, changes in ((np.pi / 2 - 0.02, True), (0.3, False)):
        q, tangent, covector = np.array([0.1, 0.3, pitch, 0.4, 0.0]), rng.normal(size=4), rng.normal(size=4)
        before = q.copy(), tangent.copy(), covector.copy()
        columns, pose = joint.columns(q[1:4], 0), joint.reference_pose(q[1:4], 0)
        scratch.rows[:] = rng.normal(size=scratch.rows.shape)  # what stands in scratch must not matter
        assert bool(switch_charts(scratch, model.tree, work, q, tangent, covector)) is changes
        assert q[4] == changes and (q[0], tangent[0], covector[0]) == tuple(part[0] for part in before)
        if not changes:
            assert all(np.array_equal(now, then) for now, then in zip((q, tangent, covector), before, strict=True))
            continue
        there = joint.columns(q[1:4], 1)
        assert np.allclose(joint.reference_pose(q[1:4], 1), pose, rtol=0.0, atol=1e-12)
        assert np.allclose(tangent[1:] @ there, before[1][1:] @ columns, rtol=0.0, atol=1e-11)
        for twist in np.eye(3):  # the work of the wrench on any motion
            rates = [np.linalg.solve(S[:, :3].T, twist) for S in (there, columns)]
            assert covector[1:] @ rates[0] == pytest.approx(before[2][1:] @ rates[1], rel=1e-9)
