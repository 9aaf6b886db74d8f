"""The variational integrator converges with order 2 to an independent solution, with everything that can act on a tree."""

import itertools

import numpy as np
import pytest

import leastaction as la
from leastaction.dynamics import discrete
from leastaction.reference import ode

COMBINATIONS = list(itertools.product(("exp", "cayley"), ("trapezoid", "midpoint")))
DURATION = 0.4
COUNTS = 40 * 2 ** np.arange(4)


def drag(t, q, v, tau):
    for i in range(6):
        tau[i] -= 0.5 * v[i]


@pytest.fixture(scope="module")
def exact(driven_tree):
    """Configuration and velocity at the end, to 1e-12."""
    solution = ode.solve(driven_tree.model, driven_tree.state, [driven_tree.state.t + DURATION], tau=driven_tree.tau)
    return solution.q[-1], solution.v[-1]


@pytest.fixture(scope="module")
def ends(driven_tree):
    """{(retraction, quadrature): last nodes (q, v) with COUNTS steps}."""

    model, state, tau = driven_tree.model, driven_tree.state, driven_tree.tau

    def end(retraction, quadrature, steps):
        integrator = la.Variational(retraction=retraction, quadrature=quadrature)
        run = la.simulate(model, state, dt=DURATION / steps, steps=int(steps), integrator=integrator, tau=tau)
        return run.q[-1], run.v[-1]

    return {pair: [end(*pair, steps) for steps in COUNTS] for pair in COMBINATIONS}


def distance(model, a, b):
    return max(np.abs(discrete.increment(model, a[0], b[0])).max(), np.abs(a[1] - b[1]).max())


def fitted_order(errors):
    return -np.polyfit(np.log(COUNTS), np.log(errors), 1)[0]


@pytest.mark.parametrize("pair", COMBINATIONS, ids="-".join)
def test_second_order(driven_tree, exact, ends, pair):
    errors = [distance(driven_tree.model, end, exact) for end in ends[pair]]
    assert errors[-1] > 1e-9, "errors have reached the accuracy of the reference: the fit says nothing"
    assert fitted_order(errors) == pytest.approx(2.0, abs=0.05), errors


@pytest.mark.parametrize("pair", COMBINATIONS[1:], ids="-".join)
def test_discretisations_converge_to_each_other(driven_tree, ends, pair):
    """They differ, and by order 2."""
    gaps = [distance(driven_tree.model, a, b) for a, b in zip(ends[COMBINATIONS[0]], ends[pair], strict=True)]
    assert gaps[0] > 1e-6
    assert fitted_order(gaps) == pytest.approx(2.0, abs=0.1), gaps


def test_extrapolation_gives_order_four(exact, ends):
    """The error of a symmetric method has only even powers of dt: (4 fine - coarse)/3 removes the first one."""
    errors = []
    for coarse, fine in zip(ends[COMBINATIONS[0]][:-1], ends[COMBINATIONS[0]][1:], strict=True):
        v = (4.0 * fine[1] - coarse[1]) / 3.0
        errors.append(np.abs(v - exact[1]).max())
    assert -np.polyfit(np.log(COUNTS[1:]), np.log(errors), 1)[0] == pytest.approx(4.0, abs=0.3), errors


@pytest.mark.parametrize("force", [la.Damper("body", (0.3, 0.2, 0.4, 0.5, 0.6, 0.7)), la.CustomForce(drag)], ids=["damper", "user force"])
def test_second_order_of_drag_on_a_tumbling_body(force, discretisation):
    """The velocity of a free body turns with its axes during the step: at each end the force needs it in the axes of that end."""
    mech = la.examples.tumbling_body()
    mech.add_force(force)
    model = mech.compile()
    state = model.state(v=(1.0, 2.0, -1.5, 1.0, -2.0, 0.5))
    solution = ode.solve(model, state, [DURATION])
    errors = []
    for steps in COUNTS:
        run = la.simulate(model, state, dt=DURATION / steps, steps=int(steps), integrator=la.Variational(**discretisation))
        errors.append(distance(model, (run.q[-1], run.v[-1]), (solution.q[-1], solution.v[-1])))
    assert fitted_order(errors) == pytest.approx(2.0, abs=0.05), errors


def drag(t, q, v, tau):
    for i in range(len(v)):
        tau[i] -= 0.5 * v[i]


FORCES_ON_A_FREE_BODY = {
    "nothing": None,
    "damper": la.Damper("body", (0.5, 0.1, 0.9, 1.0, 2.0, 0.5)),
    "spring": la.Spring("body", (3.0, 20.0)),
    "user force": la.CustomForce(drag),
    "wrench": la.Wrench("body", force=(1.0, 2.0, 3.0), moment=(0.1, 0.2, 0.3), point=(0.3, 0.0, 0.1), frame="body"),
}


@pytest.mark.parametrize("quadrature", ["trapezoid", "midpoint"])
@pytest.mark.parametrize("name", FORCES_ON_A_FREE_BODY)
def test_every_force_keeps_the_order_on_a_turning_free_body(name, quadrature):
    # the axes turn during a step: a force that mixes up those of its start and of its end is of order 1
    mechanism = la.Mechanism()
    mechanism.add_body("body", joint=la.Free(), mass=2.0, com=(0.1, 0.2, 0.0), inertia=(0.3, 0.4, 0.5))
    if FORCES_ON_A_FREE_BODY[name] is not None:
        mechanism.add_force(FORCES_ON_A_FREE_BODY[name])
    model = mechanism.compile()
    state = model.state(v=np.array([1.0, 2.0, 3.0, 0.5, -1.0, 0.7]))
    exact = la.simulate(model, state, dt=2e-4, duration=0.5, integrator=la.RKMK4()).q[-1]
    steps = [4e-3, 2e-3, 1e-3]
    errors = [
        np.abs(la.simulate(model, state, dt=h, duration=0.5, integrator=la.Variational(quadrature=quadrature)).q[-1] - exact).max()
        for h in steps
    ]
    assert la.analysis.convergence_order(errors, steps) == pytest.approx(2.0, abs=0.05)
