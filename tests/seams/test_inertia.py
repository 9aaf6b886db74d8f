"""A principal moment is small or negative beside the largest one, not beside 1 kg m^2; what rounding made negative is zero."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import leastaction as la
from leastaction.pose import rotation_of_quaternion


def described(inertia, joint=None):
    mech = la.Mechanism()
    mech.add_body("rod", joint=joint or la.Revolute(axis=(0, 1, 0)), mass=1.0, com=(0, 0, -0.5), inertia=inertia)
    return mech


@pytest.mark.parametrize("size", [1e-12, 1e-8, 1e-3, 1.0, 1e6])
@pytest.mark.parametrize("ratio", [5e-20, 1e-16, 5e-12, 1e-9])
def test_negative_by_rounding_is_zero_and_reported(ratio, size):
    mech = described((size, size, -ratio * size))
    assert np.linalg.eigvalsh(mech.bodies["rod"].inertia)[0] == 0.0
    np.testing.assert_allclose(np.diag(mech.bodies["rod"].inertia), (size, size, 0.0), rtol=1e-15)
    model = mech.compile()
    assert len(mech.notes) == 1 and model.notes == mech.notes
    for word in ("rod", f"{-ratio * size:.3g}", f"{size:.3g}", "zero"):
        assert word in mech.notes[0]
    assert "1 note " in repr(mech) and "1 note " in repr(model)


@given(
    quaternion=st.tuples(*[st.floats(-1.0, 1.0)] * 4).filter(lambda w: np.linalg.norm(w) > 0.1),
    share=st.floats(0.5, 1.0),
    size=st.sampled_from([1e-9, 1e-3, 1.0, 1e4]),
    digits=st.integers(7, 16),
)
def test_what_some_body_has_survives_being_written_to_a_file(quaternion, share, size, digits):
    """A thin plate or rod in any attitude, its numbers rounded to some digits: accepted, and never negative beyond rounding."""
    R = rotation_of_quaternion(np.array(quaternion) / np.linalg.norm(quaternion))
    exact = R @ np.diag([size * share, size * (1 - share), size]) @ R.T
    scale = 10.0 ** -digits * size
    printed = np.round((exact + exact.T) / 2 / scale) * scale
    mech = described(printed)
    kept = mech.bodies["rod"].inertia
    assert np.linalg.eigvalsh(kept)[0] >= -1e-15 * size  # what an eigenvalue is known to
    assert np.abs(kept - exact).max() < 10 * scale + 1e-14 * size


def test_what_is_not_changed_is_not_touched():
    given_matrix = np.array([[0.3, 0.01, 0.02], [0.01, 0.4, -0.03], [0.02, -0.03, 0.5]])
    mech = described(given_matrix)
    np.testing.assert_array_equal(mech.bodies["rod"].inertia, given_matrix)
    assert mech.notes == () == mech.compile().notes and "note" not in repr(mech)
    assert described((0.0, 0.0, 0.0)).notes == ()


@pytest.mark.parametrize("size", [1e-12, 1.0, 1e6])
@pytest.mark.parametrize(("moments", "named"), [((1.0, 1.0, -1e-3), "negative"), ((1.0, 0.1, 0.1), "belong to no body")])
def test_what_no_body_has_is_refused_at_every_size(moments, named, size):
    with pytest.raises(la.MechanismError, match=f"rod.*{named}"):
        described(size * np.array(moments))
