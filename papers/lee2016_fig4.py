"""Lee, Liu, Park, Srinivasa 2016, Fig. 4: how many corrections RIQN and Newton need per step, 50-link chain, 1 ms.

The paper starts every step from the zero configuration ("for quantitatively visible convergence") and finds 5.69 (RIQN, standard
deviation 1.16) and 4 (Newton, 0.0) on average.  It does not say how far the chain swings, nor the tolerance: the farther the chain
is from zero, the worse the guess.  Here the swing is a parameter.  Below it: the same with guesses one would use, where a step
needs 1 to 3 corrections.

Run it with   python papers/lee2016_fig4.py
"""

from __future__ import annotations

import numpy as np

import leastaction as la
from leastaction.yardsticks import Lee2016

PAPER = {"riqn": (5.69, 1.16), "newton": (4.0, 0.0)}
DT = 1e-3
LIMIT = 50  # corrections before a step counts as not solved


def residual_history(model: la.Model, state: la.State, d, method: str, tol: float = 1e-10, dt: float = DT) -> list[float]:
    """Largest residual, relative to the largest momentum, before every correction of the increment d and after the last (Fig. 4a).

    RIQN (Alg. 3) corrects by dt M(q_k)^-1 r, Newton by the exact Jacobian; neither is safeguarded.
    """
    scale = np.abs(state.p).max()
    history = []
    while len(history) <= LIMIT:
        r = la.discrete.momenta(model, state.q, state.q + d, dt)[0] - state.p
        history.append(np.abs(r).max() / scale)
        if not tol < history[-1] < np.inf:
            break
        if method == "riqn":
            d = d - dt * la.dynamics.velocity(model, state.q, r)
        else:
            d = d - la.discrete.newton_direction(model, state.q, state.q + d, dt, r)
    return history


def corrections_from_zero(swing: float, links: int = 50, frames: int = 10_000, every: int = 100, tol: float = 1e-10):
    """Corrections per step from the guess q_{k+1} = 0, {method: (samples,)}; NaN where it does not converge.

    The chain is released at rest with its first joint at `swing` (rad); every `every`-th frame is a sample.
    """
    model = la.examples.chain(links).compile()
    run = la.simulate(model, dt=DT, steps=frames, q={"link1": swing}, record_every=every)
    counts = {}
    for method in PAPER:
        histories = [residual_history(model, run.state(k), -run.q[k], method, tol) for k in range(1, len(run))]
        counts[method] = np.array([len(h) - 1 if h[-1] <= tol else np.nan for h in histories])
    return counts


def corrections_from_guess(guess: str, links: int = 50, frames: int = 2000, tol: float = 1e-10):
    """Corrections per step with one of the guesses of the paper's section 3.3, {method: (frames,)}, chain released from 45 degrees."""
    model = la.examples.chain(links).compile()
    counts = {}
    for method, solver in (("riqn", "riqn"), ("newton", "dense-newton")):
        integrator = Lee2016(solver, guess, tol=tol)
        counts[method] = la.simulate(model, dt=DT, steps=frames, q={"link1": np.pi / 4}, integrator=integrator).iterations - 1
    return counts


def _row(label: str, counts) -> str:
    cells = []
    for method in PAPER:
        solved = counts[method][np.isfinite(counts[method])]
        lost = len(counts[method]) - len(solved)
        text = f"{solved.mean():.2f} +- {solved.std():.2f}" if len(solved) else "-"
        cells.append(text + (f" ({lost} of {len(counts[method])} not solved)" if lost else ""))
    return f"{label:<40}{cells[0]:<38}{cells[1]}"


def main() -> None:
    print("corrections per step, 50-link chain, 1 ms: mean +- standard deviation")
    print(f"{'first guess':<40}{'RIQN':<38}Newton")
    print(f"{'paper: zero configuration':<40}{'5.69 +- 1.16':<38}4.00 +- 0.00")
    for swing in (0.02, 0.05, 0.1, 0.2):
        print(_row(f"zero configuration, swing {swing:g} rad", corrections_from_zero(swing)))
    for guess, meaning in (("ig1", "no motion"), ("ig2", "last increment"), ("ig3", "acceleration")):
        print(_row(f"{guess.upper()}, {meaning}, swing 45 degrees", corrections_from_guess(guess)))


if __name__ == "__main__":
    main()
