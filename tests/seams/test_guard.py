"""A guarded run records what the same run without a guard records, whatever the integrator records besides.

In a process of its own: the fault was memory written past its end, which does not raise but abort.
"""

import subprocess
import sys

import pytest

RUN = """
import numpy as np
import leastaction as la

model, start = {model}
for every in (1, 7):
    runs = [
        la.simulate(model, dt=2e-3, steps=301, q=start, integrator={integrator}, record_every=every, guard=guard) for guard in (False, True)
    ]
    plain, guarded = runs
    np.testing.assert_array_equal(guarded.t, plain.t)
    np.testing.assert_allclose(guarded.q, plain.q, rtol=0.0, atol=1e-9)
    np.testing.assert_allclose(guarded.energy, plain.energy, rtol=0.0, atol=1e-9 * abs(plain.energy).max())
    assert guarded.constraint_error.shape == plain.t.shape
    np.testing.assert_allclose(guarded.constraint_error, plain.constraint_error, rtol=0.0, atol=1e-9)
    assert len(guarded.iterations) == 301 and guarded.redundant == plain.redundant
sim = la.Simulator(model, dt=2e-3, q=start, integrator={integrator}, guard=True)
for _ in range(301):
    sim.step()
np.testing.assert_allclose(sim.q, la.simulate(model, dt=2e-3, steps=301, q=start, integrator={integrator}).q[-1], rtol=0.0, atol=1e-9)
"""

FOUR_BAR = "(lambda m: (m, m.assemble({'rod1': 0.8, 'rod2': -2.0, 'rod3': -1.3})))(la.examples.four_bar().compile())"
CHAIN = "(la.examples.chain(3).compile(), [0.8, -0.2, 0.4])"


@pytest.mark.parametrize(
    ("model", "integrator"),
    [
        (FOUR_BAR, "la.Variational()"),
        (FOUR_BAR, "la.Variational(quadrature='midpoint')"),
        (FOUR_BAR, "la.Midpoint()"),
        (FOUR_BAR, "la.RK4()"),
        (FOUR_BAR, "la.Maximal()"),
        (CHAIN, "la.Maximal()"),
        (CHAIN, "la.Variational()"),
    ],
    ids=lambda text: "four-bar" if text == FOUR_BAR else "chain" if text == CHAIN else text,
)
def test_a_guarded_run_is_the_plain_run(model, integrator):
    done = subprocess.run([sys.executable, "-c", RUN.format(model=model, integrator=integrator)], capture_output=True, text=True)
    assert done.returncode == 0, f"exit code {done.returncode}\n{done.stderr[-2000:]}"
