"""Higher order against Runge-Kutta: long runs of chains, and error over CPU time.

Run it with   python -m benchmarks.composition [--no-chains] [picture.png]

Everything runs in one process on one core, and the candidates take turns, so that a slow phase of the machine hits all alike.
"""

from __future__ import annotations

import sys

import numpy as np

import leastaction as la

from .peers.mujoco_ import PEERS
from .timing import clock, pin_to_one_core

MUJOCO_RK4 = next(p for p in PEERS if "RK4" in p.name)
SPECIALISED = ("order 4, suzuki", "order 6, kahan-li")  # in the plots also with code for one mechanism
FRACTIONS = 20  # of a long run, made in turn


def integrators(tol: float = 1e-8) -> dict[str, la.Integrator]:
    """Compositions over the Cayley retraction, the cheaper one; tol is far below the error of the method."""
    base = la.Variational(retraction="cayley", tol=tol)
    return {
        "order 2": base, "order 4, suzuki": la.Composition(base, scheme="suzuki"),
        "order 4, triple-jump": la.Composition(base, scheme="triple-jump"),
        "order 6, kahan-li": la.Composition(base, scheme="kahan-li"), "our RK4": la.RK4(),
    }  # fmt: skip


def long_chain(links: int, seconds: float, dt: float = 1e-2) -> dict[str, tuple[float, float, float]]:
    """{name: (CPU time per step in us, largest |dE| over the sum of m g d_i, time reached)} of the chain released at 45 degrees."""
    mech = la.examples.chain(links)
    model = mech.compile()
    q = model.coordinates({"link1": np.pi / 4})
    scale = 9.81 * sum(i + 0.5 for i in range(links))
    steps = round(seconds / dt / FRACTIONS)
    peer = MUJOCO_RK4.build(mech, dt)
    peer.set_state(q, np.zeros(links))
    start = la.dynamics.energy(model, q)
    own = model.specialise()
    cases = {name: (model, i) for name, i in integrators().items()}
    cases |= {f"{name}, specialised": (own, i) for name, i in integrators().items() if name.startswith("order")}
    for chain, integrator in cases.values():
        la.simulate(chain, dt=dt, q=q, steps=3, integrator=integrator)  # compiles
    sims = {name: la.Simulator(chain, dt=dt, q=q, integrator=i) for name, (chain, i) in cases.items()}
    names = [*sims, "MuJoCo RK4"]
    used, worst, reached = dict.fromkeys(names, 0.0), dict.fromkeys(names, 0.0), dict.fromkeys(names, 0.0)
    for _ in range(FRACTIONS):
        used["MuJoCo RK4"] += peer.timed(steps) * steps
        energy = la.dynamics.energy(model, np.array(peer.data.qpos), np.array(peer.data.qvel))
        worst["MuJoCo RK4"] = max(worst["MuJoCo RK4"], abs(energy - start))
        for name, sim in list(sims.items()):
            began = clock()
            try:
                run = sim.run(steps, progress=False)
            except la.ConvergenceError as error:
                run = error.trajectory
                sims.pop(name)
            used[name] += clock() - began
            worst[name] = max(worst[name], np.abs(run.energy - start).max())
            reached[name] = sim.t
    reached["MuJoCo RK4"] = seconds
    return {n: (1e6 * used[n] / max(reached[n] / dt, 1.0), worst[n] / scale, reached[n]) for n in used}


def cases() -> dict[str, tuple[la.Mechanism, la.State, float]]:
    """name -> (mechanism, start, seconds)"""
    pendulum, chain, floating = la.examples.chain(2), la.examples.chain(10), la.examples.humanoid()
    two, ten, humanoid = (m.compile() for m in (pendulum, chain, floating))
    v = np.zeros(humanoid.nv)
    v[:6], v[6:] = (0.5, 0.3, 0.2, 0.4, 0.0, 1.0), np.cos(np.arange(humanoid.nv - 6))
    return {
        "double pendulum": (pendulum, two.state({"link1": 2.0, "link2": 1.0}), 5.0),
        "10-link chain": (chain, ten.state({"link1": np.pi / 4}), 2.0),
        "floating humanoid": (floating, humanoid.state(v=v), 0.5),
    }


def work_precision(mech: la.Mechanism, state: la.State, seconds: float) -> dict[str, list[tuple[float, float, float]]]:
    """{integrator: [(dt, CPU seconds, largest error of a coordinate at the end)]}, against order 6 with a far smaller step."""
    model = state.model
    fine = la.Composition(la.Variational(tol=1e-13), order=6)
    truth = la.simulate(model, state, dt=seconds / 4000, steps=4000, integrator=fine, record_every=4000).q[-1]
    result: dict[str, list[tuple[float, float, float]]] = {}
    own = model.specialise()
    cases = {name: (state, i) for name, i in integrators(1e-11).items()}
    cases |= {f"{name}, specialised": (own.state(state.q, state.v), cases[name][1]) for name in SPECIALISED}
    for name, (state, integrator) in cases.items():
        model = state.model
        la.simulate(model, state, dt=1e-3, steps=3, integrator=integrator)
        for steps in (50, 100, 200, 400, 800):
            dt, times, run = seconds / steps, [], None
            try:
                for _ in range(3):
                    began = clock()
                    run = la.simulate(model, state, dt=dt, steps=steps, integrator=integrator, record_every=steps, progress=False)
                    times.append(clock() - began)
            except la.ConvergenceError:
                continue
            assert run is not None
            result.setdefault(name, []).append((dt, min(times), float(np.abs(run.q[-1] - truth).max())))
    if MUJOCO_RK4.supports(mech) == "":
        result["MuJoCo RK4"] = [_mujoco(mech, state, seconds, steps, truth) for steps in (50, 100, 200, 400, 800)]
    return result


def _mujoco(mech: la.Mechanism, state: la.State, seconds: float, steps: int, truth) -> tuple[float, float, float]:
    peer = MUJOCO_RK4.build(mech, seconds / steps)
    times = []
    for _ in range(3):
        peer.set_state(state.q, state.v)
        times.append(peer.timed(steps) * steps)
    q = np.empty_like(truth)
    for link, first in zip(peer.links, peer.first_q, strict=True):
        q[link.qi : link.qi + link.joint.nq] = peer.data.qpos[first : first + link.joint.nq]
    return seconds / steps, min(times), float(np.abs(q - truth).max())


def draw(results: dict[str, dict[str, list[tuple[float, float, float]]]], path: str) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(results), figsize=(4.2 * len(results), 4.0), squeeze=False)
    colours: dict[str, str] = {"MuJoCo RK4": "k"}
    for panel, (case, curves) in zip(axes[0], results.items(), strict=True):
        for name, points in curves.items():
            _, cpu, error = zip(*points, strict=True)
            method = name.removesuffix(", specialised")
            colour = colours.setdefault(method, f"C{len(colours) - 1}")
            style = "--x" if name == "MuJoCo RK4" else "-o" if name == method else ":s"
            panel.loglog(cpu, error, style, color=colour, markersize=3, linewidth=1, label=name)
        panel.set(title=case, xlabel="CPU time, s", ylabel="error at the end")
        panel.xaxis.set_minor_formatter(plt.NullFormatter())
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="lower center", ncol=4, fontsize=8)
    figure.tight_layout(rect=(0.0, 0.12, 1.0, 1.0))
    figure.savefig(path, dpi=80)


def main() -> None:
    pin_to_one_core()
    for links, seconds in ((10, 1000.0), (100, 20.0)) if "--no-chains" not in sys.argv else ():
        print(f"\n{links} links, {seconds:g} s at 10 ms: us per step, ratio to MuJoCo RK4, max |dE| / sum(m g d), reached")
        rows = long_chain(links, seconds)
        for name, (us, error, reached) in rows.items():
            print(f"  {name:34s} {us:8.1f} {us / rows['MuJoCo RK4'][0]:6.2f} {error:10.2e} {reached:8.1f} s", flush=True)
    results = {}
    for name, case in cases().items():
        results[name] = work_precision(*case)
        print(f"\n{name}: dt, CPU time in ms, error")
        for integrator, points in results[name].items():
            print(f"  {integrator:22s}", "  ".join(f"{dt:.4f} {1e3 * cpu:.2f} {error:.1e}" for dt, cpu, error in points), flush=True)
    if sys.argv[-1].endswith(".png"):
        draw(results, sys.argv[-1])


if __name__ == "__main__":
    main()
