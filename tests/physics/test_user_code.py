"""Functions of the user in compiled code: exceptions end the run with their line, indices are checked, what is read cannot be written."""

import numpy as np
import pytest

import leastaction as la
from leastaction.errors import ConvergenceError, MechanismError
from leastaction.forces import Force
from leastaction.forces.functions import explain_failure


def late(t, q, v, tau):
    if t > 0.055:
        raise ValueError("too late")
    tau[0] -= v[0]


def outside(t, q, v, tau):
    tau[0] -= v[int(100 * t)]


def writes(t, q, v, tau):
    if t > 1.0:
        q[0] = 1.0


def law_outside(t, R, x, V, p, W):
    W[3] += p[int(100 * t)]


def law_writes(t, R, x, V, p, W):
    if t > 1.0:
        V[0] = 1.0


class Law(Force):
    def __init__(self, law):
        self.law = law

    def apply(self, builder):
        builder.add_body_force("law", "tip", self.law, [1.0, 2.0])


def simulate(force, **options):
    mech = la.examples.chain(2)
    mech.add_force(force)
    return la.simulate(mech.compile(), dt=0.01, steps=20, **options)


def test_an_exception_ends_the_run_and_is_shown():
    words = r"'late' raised an exception at t = 0.06 s, ValueError: too late, in line \d+ of .*test_user_code"
    with pytest.raises(ConvergenceError, match=words) as caught:
        simulate(la.CustomForce(late))
    kept = caught.value.trajectory
    assert kept.t[-1] == pytest.approx(0.05)  # the momentum at 0.06 s needs the force that could not be had
    assert np.isfinite(kept.energy).all()


def test_an_index_out_of_range_is_found():
    with pytest.raises(ConvergenceError, match="IndexError: index 2 is out of bounds"):
        simulate(la.CustomForce(outside))
    with pytest.raises(ConvergenceError, match="infinite or NaN.*laws on bodies"):
        simulate(Law(law_outside))


def test_what_is_read_cannot_be_written():
    with pytest.raises(MechanismError, match="'writes'.*changes one of q and v, which it may only read"):
        simulate(la.CustomForce(writes))
    with pytest.raises(MechanismError, match="law.*changes one of R, x, V and p, which it may only read"):
        simulate(Law(law_writes))


def test_a_failure_is_told_once():
    """A later run that fails for another reason does not get the blame of an earlier one."""
    mech = la.examples.chain(2)
    mech.add_force(la.CustomForce(late))
    model = mech.compile()
    with pytest.raises(ConvergenceError, match="too late"):
        la.simulate(model, dt=0.01, steps=20)
    assert explain_failure(model.keep_alive[0]) == ""
