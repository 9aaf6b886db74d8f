"""Joint forces mean their numbers, not how those lie in memory."""

import numpy as np
import pytest

import leastaction as la

STEPS, DT = 12, 5e-3
INTEGRATORS = [
    la.Variational(), la.Variational(quadrature="midpoint"), la.Midpoint(), la.Maximal(), la.Trapezoid(), la.FloatingBase(),
    la.Composition(la.Variational(), order=4), la.AdaptiveStep(la.Variational()), la.SemiImplicitEuler(), la.RK4(), la.RKMK4(),
]  # fmt: skip


def layouts(tau):
    """The same numbers, laid out in every way NumPy knows."""
    wide = np.zeros((2 * len(tau), 3 * tau.shape[1]))
    wide[::2, ::3] = tau
    frozen = tau.copy()
    frozen.flags.writeable = False
    shifted = np.empty(tau.nbytes + 1, dtype=np.uint8)[1:].view(np.float64).reshape(tau.shape)
    shifted[:] = tau
    return {
        "three series side by side": np.array([tau[:, j] for j in range(tau.shape[1])]).T,
        "Fortran order": np.asfortranarray(tau),
        "every second row, every third column": wide[::2, ::3],
        "backwards": tau[::-1].copy()[::-1],
        "read-only": frozen,
        "not aligned": shifted,
        "other byte order": tau.astype(tau.dtype.newbyteorder()),
        "a list": tau.tolist(),
    }


@pytest.mark.parametrize("integrator", INTEGRATORS, ids=lambda i: f"{type(i).__name__}-{getattr(i, 'quadrature', '')}")
def test_the_layout_of_tau_does_not_matter(integrator):
    model = la.examples.chain(3).compile()
    tau = 3.0 * np.random.default_rng(0).normal(size=(STEPS, model.nv))
    wanted = la.simulate(model, dt=DT, steps=STEPS, q=[0.3, 0.2, -0.4], tau=tau, integrator=integrator)
    sim = la.Simulator(model, dt=DT, q=[0.3, 0.2, -0.4], integrator=integrator)
    for row in np.asfortranarray(tau):
        sim.step(row)
    np.testing.assert_array_equal(sim.q, wanted.q[-1])
    for layout, given in layouts(tau).items():
        got = la.simulate(model, dt=DT, steps=STEPS, q=[0.3, 0.2, -0.4], tau=given, integrator=integrator)
        np.testing.assert_array_equal(got.q, wanted.q, err_msg=layout)
        np.testing.assert_array_equal(got.p, wanted.p, err_msg=layout)


def test_whole_numbers_are_numbers():
    model = la.examples.chain(3).compile()
    tau = np.arange(STEPS * 3).reshape(STEPS, 3) % 5
    wanted = la.simulate(model, dt=DT, steps=STEPS, tau=tau.astype(float)).q
    for given in (tau, tau.astype(np.int8), np.asfortranarray(tau.astype(np.float32))):
        np.testing.assert_array_equal(la.simulate(model, dt=DT, steps=STEPS, tau=given).q, wanted)
