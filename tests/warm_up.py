"""Compile every kernel once before the tests start, so that parallel workers find them in the cache instead of each compiling its own."""

from support.symbolic_samples import symbolic_samples

import leastaction as la


def main() -> None:
    model = la.examples.chain(2).compile()
    integrators = [cls for cls in (getattr(la, name) for name in la.__all__) if isinstance(cls, type) and issubclass(cls, la.Integrator)]
    for integrator in integrators:
        if integrator is not la.Integrator:
            run = la.simulate(model, steps=2, dt=1e-3, v=[0.1, 0.2], integrator=integrator())
            assert run.energy.shape == (3,)
    for joint in symbolic_samples():
        assert joint.kind
    closed = la.examples.four_bar().compile()
    start = closed.assemble({"rod1": 0.8, "rod2": -2.0, "rod3": -1.3})
    for integrator in (la.Variational(), la.Variational(quadrature="midpoint"), la.RK4(), la.Maximal()):
        la.simulate(closed, steps=2, dt=1e-3, q=start, integrator=integrator)
    la.dynamics.forward(closed, start)
    q, v = run.q[-1], run.v[-1]
    la.dynamics.mass_matrix(model, q)
    la.dynamics.inverse(model, q, v, la.dynamics.forward(model, q, v))


if __name__ == "__main__":
    main()
