"""Every retraction of the package obeys the laws of a retraction.  A new one in `lie.retractions.ALL` is picked up by itself."""

import numpy as np
import pytest

import leastaction as la
from leastaction.lie.retractions import ALL, BODY_NAMES, NAMES
from leastaction.testing import check_retraction


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("seed", range(3))
def test_functions_belong_to_one_map(name, seed):
    check_retraction(name, seed)


def test_numbers_are_those_of_both_lists():
    assert sorted(BODY_NAMES.values()) == list(range(len(ALL)))
    assert all(BODY_NAMES[name] == number for name, number in NAMES.items())


def test_trees_refuse_what_is_no_function_of_the_screw():
    for name in set(ALL) - set(NAMES):
        with pytest.raises(la.StateError, match=f"retraction = '{name}'"):
            la.Variational(retraction=name)


@pytest.mark.parametrize("name", ALL)
def test_every_retraction_leads_to_the_same_motion(name):
    """To second order: half the step, a quarter of the difference."""
    model = la.examples.ball_chain(2).compile()
    start = {"q": {"link1": (0.8, 0.6, 0.0, 0.0)}, "v": {"link2": (1.0, 2.0, 3.0)}}

    def end(retraction, dt):
        return la.simulate(model, dt=dt, duration=0.1, integrator=la.Maximal(retraction, tol=1e-12), **start).q[-1]

    apart = [np.abs(end(name, dt) - end("exp", 2.5e-4)).max() for dt in (4e-3, 2e-3)]
    assert apart[0] < 1e-3
    assert 3.0 < apart[0] / apart[1] < 5.0
