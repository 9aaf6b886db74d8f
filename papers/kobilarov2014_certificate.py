"""How good is the certified step?  Random trees and chains: does Newton converge at it, and how much longer a step would it solve?

Pure Newton from the last velocity on the equation of la.Trapezoid, 200 random trees of joints with plain coordinates at random states;
five times as many mechanisms of extreme masses, lengths and speeds, with la.Trapezoid itself, whose majorants are compared with
derivatives met at random points, and whose roundings with what the proof allows for; then chains of 1 to 5 links.

Run it with   python -m papers.kobilarov2014_certificate [number of trees]
"""

from __future__ import annotations

import sys

import numpy as np

import leastaction as la
from leastaction.kernels.solvability.layout import EPSILON, ETA, SECOND, THIRD
from leastaction.solvability import (
    StepEquation,
    certified,
    certified_constants,
    certified_step,
    empirical_limit,
    sampled_constants,
)

JOINTS = (la.Revolute, la.Prismatic, la.Helical, la.Cylindrical, la.Universal, la.Planar)


def random_equation(seed: int) -> StepEquation:
    """A tree of 1 to 4 bodies under gravity, some with a damper and a spring, moving at random."""
    rng = np.random.default_rng(seed)
    mech = la.examples.random_tree(int(rng.integers(1, 5)), seed=seed, joints=JOINTS)
    body = mech.bodies["body1"]
    if body.joint.nv == 1 and rng.uniform() < 0.5:
        mech.add_force(la.Damper("body1", float(rng.uniform(0.0, 2.0))))
        mech.add_force(la.Spring("body1", float(rng.uniform(0.0, 20.0))))
    model = mech.compile()
    return StepEquation(model, model.state(rng.normal(size=model.nq), rng.uniform(0.0, 3.0) * rng.normal(size=model.nv)))


def hostile_state(seed: int, balls: bool = False) -> la.State:
    """Masses from 1e-6 to 1e6 kg, lengths from a millimetre to a kilometre, slow and very fast; with ball joints and floating bases."""
    rng = np.random.default_rng(seed)

    def spread(low: float, high: float) -> float:
        return float(np.exp(rng.uniform(np.log(low), np.log(high))))

    mech = la.Mechanism(gravity=rng.normal(size=3) * (seed % 3 != 0) * 9.81, name=f"hostile {seed}")
    names = ["world"]
    for k in range(1, int(rng.integers(2, 5))):
        size, mass = spread(1e-3, 1e3), spread(1e-6, 1e6)
        inertia = mass * size**2 * (1.0 + rng.uniform(0.0, 0.5, 3)) / 12.0
        joint = la.examples.random_joint(JOINTS[rng.integers(len(JOINTS))], rng)
        if balls and (k % 2 == seed % 2 or rng.uniform() < 0.3):
            joint = la.Free() if k == 1 and seed % 4 == 1 else la.Spherical()
        placement = la.Pose(xyz=spread(1e-3, 1e3) * rng.normal(size=3), rpy=rng.normal(size=3))
        parent = "world" if isinstance(joint, la.Free) else names[rng.integers(len(names))]
        mech.add_body(f"body{k}", parent, joint, placement, mass=mass, com=size * rng.normal(size=3), inertia=inertia)
        names.append(f"body{k}")
    model = mech.compile()
    q = rng.normal(size=model.nq)
    for body in model.bodies:
        if body.joint.has_quaternion:
            end = model.q_slice(body.joint_name).stop
            q[end - 4 : end] /= np.linalg.norm(q[end - 4 : end])
    return model.state(q, spread(1e-3, 1e4) * rng.normal(size=model.nv))


def unsolved(count: int, balls: bool = False) -> tuple[list[str], int]:
    """What la.Trapezoid itself makes of the certified steps of hostile mechanisms: (messages of those not solved, refused)."""
    bad, refused = [], 0
    for seed in range(count):
        state = hostile_state(seed, balls)
        try:
            h = certified(state.model, state)
        except la.StateError:
            refused += 1
            continue
        try:
            la.simulate(state.model, state, dt=min(h, 1e3), steps=1, integrator=la.Trapezoid())
        except la.ConvergenceError as error:
            bad.append(f"hostile {seed}: {error}")
    return bad, refused


def not_bounded(equation: StepEquation, seed: int, points: int = 3) -> list[str]:
    """Numbers of the certificate, and constants of the paper, that a derivative met at a random point exceeds.

    In long doubles, along directions that are improved a few times: for each the largest of a random start is looked for.
    """
    h = equation.certified(1e3, 1e-12)
    if h == 0.0:
        return []
    proof, exact, rng, n = equation.judged(h), equation.in_long_doubles(), np.random.default_rng(seed), len(equation.q)
    eta, second, third = proof.out[[ETA, SECOND, THIRD]]
    v0, bad = exact.v0, []

    def check(what: str, met: float, bound: float) -> None:
        if met > bound:
            bad.append(f"{what}: met {met:.6g}, bound {bound:.6g}")

    def largest(tensor: np.ndarray) -> float:
        """Nearly the norm of a tensor [i, x, y, ...], symmetric in x, y, ..."""
        T = np.tensordot(proof.Y, tensor, (1, 0)).astype(float)
        for axis in range(1, T.ndim):
            T = np.moveaxis(np.tensordot(T, proof.Ri, (axis, 0)), -1, axis)
        x, size = rng.normal(size=n), 0.0
        for _ in range(6):
            x /= np.linalg.norm(x)
            W = T
            while W.ndim > 2:
                W = W @ x
            size = max(size, float(np.linalg.norm(W @ x)))
            x = np.linalg.svd(W)[2][0] + 0.3 * x
        return size

    check("eta", float(np.linalg.norm(proof.Y @ exact.value(v0, h))), eta)
    check("b", largest(exact.second(v0, h)), second)
    for _ in range(points):
        u = rng.normal(size=n)
        away = proof.Ri @ (2.0 * eta * u / np.linalg.norm(u))
        check("c", largest(exact.third(h, v0 + away)), third)
        check("reach", float(np.max(np.abs(h * (v0 + away)) / np.maximum(proof.reach, 1e-300))), 1.0 + 1e-12)
    sure, seen = certified_constants(equation, 0.01), sampled_constants(equation, 0.01, points, seed)
    check("m1", sure.m1, seen.m1)
    for name in ("m2", "l0", "l1", "l2"):
        check(name, getattr(seen, name), getattr(sure, name))
    return bad


def rounding(seed: int) -> float:
    """Largest error of e, A and B of a hostile mechanism over what the proof allows for; long doubles are the truth."""
    state = hostile_state(seed)
    equation = StepEquation(state.model, state)
    h = max(equation.certified(1e3, 1e-12), 1e-9)
    proof, exact = equation.judged(h), equation.in_long_doubles()
    share, epsilon = proof.share, proof.out[EPSILON]
    if not np.isfinite(proof.out[THIRD]):
        return 0.0
    errors = (
        (np.abs(proof.e - exact.value(exact.v0, h)), proof.error_e), (np.abs(proof.A - exact.jacobian(exact.v0, h)) @ share, proof.error_A),
        (np.abs(proof.B - exact.second(exact.v0, h)) @ share @ share, proof.error_B),
    )  # fmt: skip
    return max(float(np.max(error / np.maximum(epsilon * allowed, 1e-300))) for error, allowed in errors)


def failures(count: int) -> list[int]:
    """Seeds whose certified step Newton's method does not solve."""
    bad = []
    for seed in range(count):
        equation = random_equation(seed)
        h = certified_step(equation).h
        if not equation.newton(min(h, 1e3))[1]:
            bad.append(seed)
    return bad


def chain_ratios(links: int, count: int) -> np.ndarray:
    """(count,) first unsolvable step over certified step of chains at random states; NaN where nothing limits it."""
    ratios = []
    for seed in range(count):
        rng = np.random.default_rng(seed)
        model = la.examples.chain(links, spatial=seed % 2 == 1).compile()
        equation = StepEquation(model, model.state(rng.normal(size=links), rng.normal(size=links)))
        h = certified_step(equation).h
        ratios.append(empirical_limit(equation, h, 1.1) / h if np.isfinite(h) else np.nan)
    return np.array(ratios)


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    bad = failures(count)
    print(f"{count} random trees: Newton failed at the certified step of {len(bad)} {bad}")
    for balls in (False, True):
        messages, refused = unsolved(5 * count, balls)
        print(f"{5 * count} hostile mechanisms{' with ball joints' * balls}: {refused} without a certificate; ", end="")
        print("\n".join([f"Trapezoid did not solve {len(messages)} certified steps", *messages]))
    exceeded = {}
    for seed in range(5 * count):
        state = hostile_state(seed)
        if found := not_bounded(StepEquation(state.model, state), seed):
            exceeded[seed] = found
    print(f"{5 * count} hostile mechanisms: a derivative exceeds its majorant in {len(exceeded)} {exceeded}")
    worst = max(rounding(seed) for seed in range(5 * count))
    print(f"rounding: at most {worst:.2g} of what the proof allows for")
    for links in range(1, 6):
        ratios = chain_ratios(links, 20)
        limited = ratios[~np.isnan(ratios)]
        text = f"median {np.median(limited):.1f}, largest {limited.max():.1f}" if len(limited) else "nothing limits the step: it is linear"
        print(f"chain of {links}: first unsolvable step over certified step: {text}")


if __name__ == "__main__":
    main()
