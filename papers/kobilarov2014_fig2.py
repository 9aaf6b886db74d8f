"""Kobilarov 2014, Fig. 2: the longest steps of Lie-Newmark and of the symplectic Cayley integrator of a rigid body, over kappa.

Bounds (19) and (20) as printed, the bound with the best constant c(kappa), and the first singular Jacobian of random bodies
(50,000 by default).  No body becomes singular below its bound.  With the corrected Jacobian (18) the symplectic integrator has
no singular step at all for the bodies drawn here: it takes kappa beyond about 136, a thin rod.
"""

from __future__ import annotations

import numpy as np

from leastaction.reference import rigid_body as rb

BODIES = 50_000
LONGEST = 20.0  # h |omega| looked at


def random_bodies(count: int = BODIES, largest: float = 14.0, seed: int = 0):
    """Inertias (count, 3, 3) with kappa from 1 to `largest` and unit angular velocities (count, 3)."""
    rng = np.random.default_rng(seed)
    kappa = rng.uniform(1.0, largest, count)
    moments = np.stack([np.ones(count), rng.uniform(1.0, kappa), kappa], axis=1)
    omega = rng.normal(size=(count, 3))
    return moments[:, :, None] * np.eye(3), omega / np.linalg.norm(omega, axis=1)[:, None], kappa


def first_singular_step(jacobian, inertia, omega, points: int = 400):
    """(count,) smallest h |omega| on a grid after which the determinant has changed its sign; infinite if it never does."""
    first = np.full(len(inertia), np.inf)
    for y in np.linspace(LONGEST / points, LONGEST, points):
        singular = np.linalg.det(jacobian(inertia, omega, y)) <= 0.0
        first[singular & np.isinf(first)] = y
    return first


def indefinite(jacobian, inertia, omega, y):
    """Number of bodies whose Jacobian is not positive definite at h |omega| = y."""
    J = jacobian(inertia, y[:, None] * omega, 1.0)
    return int(np.sum(np.linalg.eigvalsh(0.5 * (J + np.swapaxes(J, 1, 2)))[:, 0] < -1e-9))


def study(count: int = BODIES):
    """{method: (bound of every body, first singular step, violations)}"""
    inertia, omega, kappa = random_bodies(count)
    methods = {
        "Lie-Newmark, (19)": (rb.lie_newmark_bound, rb.lie_newmark_jacobian),
        "symplectic, (20)": (rb.cayley_bound, rb.cayley_jacobian),
        "symplectic, c(kappa)": (rb.cayley_bound_sharp, rb.cayley_jacobian),
    }
    singular = {j: first_singular_step(j, inertia, omega) for j in {j for _, j in methods.values()}}
    results = {}
    for name, (bound, jacobian) in methods.items():
        y = np.minimum(bound(kappa), LONGEST)
        violations = indefinite(jacobian, inertia, omega, (1.0 - 1e-9) * y) + int(np.sum(singular[jacobian] < y))
        results[name] = (bound, singular[jacobian], violations)
    return kappa, results


def draw(kappa, results, path: str) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 4.5))
    k = np.linspace(1.0, kappa.max(), 800)
    for colour, (name, (bound, singular, _)) in zip(("C0", "C1", "C2"), results.items(), strict=True):
        axes.plot(k, bound(k), colour, label=f"bound {name}")
        if name.startswith("Lie"):
            hit = np.isfinite(singular)
            dots = {"markersize": 1, "alpha": 0.3, "label": "first singular Jacobian, Lie-Newmark"}
            axes.plot(kappa[hit][::10], singular[hit][::10], ".", color=colour, **dots)
    axes.set(xlabel="condition number of the inertia", ylabel="h |omega|", ylim=(0, 10), xlim=(1, kappa.max()))
    axes.legend()
    figure.savefig(path, dpi=90, bbox_inches="tight")


def main() -> None:
    kappa, results = study()
    print(f"{len(kappa)} bodies, kappa up to {kappa.max():.1f}")
    for name, (bound, singular, violations) in results.items():
        found = np.isfinite(singular)
        nearest = f"; nearest to its bound: {np.min(singular[found] / bound(kappa[found])):.2f} of it" if found.any() else ""
        print(f"{name:22s} {violations} violations; bodies with a singular step up to h|omega| = {LONGEST:g}: {found.mean():.1%}{nearest}")
    if len(sys.argv) > 1:
        draw(kappa, results, sys.argv[1])


if __name__ == "__main__":
    main()
