"""Mechanisms as files with six digits have them: bodies in general axes, every number rounded.

    python -m support.six_digits [seconds [loop]]        # long runs of such loops: what of them stays closed, and their energy
"""

import sys

import numpy as np

import leastaction as la
from leastaction.assembly.equations import TreeClosing
from leastaction.assembly.nearly import Measured
from leastaction.pose import Pose

DIGITS = 6


def rounded(x):
    return np.round(np.asarray(x, dtype=float), DIGITS)


def rounded_pose(pose):
    """Position and roll, pitch, yaw with six digits."""
    R = pose.R
    rpy = (np.arctan2(R[2, 1], R[2, 2]), -np.arcsin(np.clip(R[2, 0], -1.0, 1.0)), np.arctan2(R[1, 0], R[0, 0]))
    return Pose(xyz=rounded(pose.p), rpy=rounded(rpy))


def in_six_digits(mechanism, seed=0):
    """The same mechanism of hinges and free bodies, each body in axes of its own, all numbers rounded."""
    rng = np.random.default_rng(seed)
    turned = {name: Pose(rpy=rng.uniform(-1.0, 1.0, 3)) for name in mechanism.bodies}
    turned["world"] = Pose()
    new = la.Mechanism(gravity=rounded(mechanism.gravity), name=f"{mechanism.name} in six digits")
    for body in mechanism.bodies.values():
        own = turned[body.name]
        joint = body.joint if isinstance(body.joint, la.Free) else la.Revolute(axis=rounded(own.R.T @ body.joint.axis))
        new.add_body(
            body.name, body.parent, joint, rounded_pose(turned[body.parent].inverse() @ body.placement @ own), mass=rounded(body.mass),
            com=rounded(own.R.T @ body.com), inertia=rounded(own.R.T @ body.inertia @ own.R),
        )  # fmt: skip
    for frame in mechanism.frames.values():
        new.add_frame(frame.name, frame.parent, rounded_pose(turned[frame.parent].inverse() @ frame.placement))
    for constraint in mechanism.constraints:
        new.add_constraint(constraint)
    return new


def four_bar_of_free_bodies():
    """Crank of 1 m, coupler of 2 m and rocker of 1.5 m in the x-z plane, three free bodies that four hinges hold together."""
    A, D = np.zeros(3), np.array([2.0, 0.0, 0.0])
    B = np.array([np.cos(1.2), 0.0, np.sin(1.2)])
    along = (D - B) / np.linalg.norm(D - B)
    reach = (4.0 + np.linalg.norm(D - B) ** 2 - 2.25) / (2 * np.linalg.norm(D - B))
    C = B + reach * along + np.sqrt(4.0 - reach**2) * np.array([-along[2], 0.0, along[0]])
    mech = la.Mechanism(name="four-bar of free bodies")
    middles = {"world": np.zeros(3)}
    for name, ends in {"crank": (A, B), "coupler": (B, C), "rocker": (D, C)}.items():
        length = np.linalg.norm(ends[1] - ends[0])
        middles[name] = 0.5 * (ends[0] + ends[1])
        mech.add_body(name, joint=la.Free(), placement=Pose(middles[name]), mass=length, inertia=3 * (length**3 / 12 + 0.01,))
    for k, (a, b, point) in enumerate([("world", "crank", A), ("crank", "coupler", B), ("coupler", "rocker", C), ("world", "rocker", D)]):
        for side, body in (("a", a), ("b", b)):
            mech.add_frame(f"{side}{k}", body, Pose(point - middles[body], rpy=(-np.pi / 2, 0.0, 0.0)))
        mech.add_constraint(la.Close(la.Revolute(axis=(0, 0, 1)), f"a{k}", f"b{k}"))
    return mech


LOOPS = {
    "four-bar, one hinge closes it": (lambda: la.examples.four_bar(joint=True), {"rod1": 0.8, "rod2": -2.0, "rod3": -1.3}, None),
    "four-bar of free bodies, four hinges": (four_bar_of_free_bodies, None, None),
    "Bennett, swinging": (la.examples.bennett, None, None),
    "Bennett, all the way round": (la.examples.bennett, None, {"first": 6.0}),
}
INTEGRATORS = {
    "Variational": la.Variational(),
    "Maximal": la.Maximal(),
    "Composition(Variational, order=4)": la.Composition(la.Variational(), order=4),
    "Midpoint": la.Midpoint(),
    "Composition(Maximal, order=4)": la.Composition(la.Maximal(), order=4),
}


def misfit(run, every):
    """Largest error of any row as it is described, also of those that are left out; rad, lengths over the size of the mechanism."""
    measured = Measured(TreeClosing(run.model), run.q[0])
    return max(float(np.abs(measured.errors(q)).max()) for q in run.q[::every])


def long_run(name, integrator, duration, dt=1e-2):
    """A row of numbers: kept rows, all rows as described, range and drift of the energy as parts of the largest kinetic one."""
    make, start, speed = LOOPS[name]
    model = in_six_digits(make()).compile()
    q = model.assemble(start)
    v = None if speed is None else model.project_velocity(q, speed)
    run = la.simulate(model, q=q, v=v, dt=dt, duration=duration, integrator=integrator, progress=False)
    most = float(run.kinetic.max())
    ends = np.array_split(run.energy, 10)
    return {
        "slack": model.slack, "closure": float(run.constraint_error.max()), "misfit": misfit(run, max(1, len(run) // 2000)),
        "energy": float(np.ptp(run.energy)) / most, "drift": abs(float(ends[-1].mean() - ends[0].mean())) / most,
        "left out": len(run.redundant), "warnings": run.warnings,
    }  # fmt: skip


def main():
    """Exit code 1 if a loop opens by more than its slack, or the mean energy of the last tenth is not that of the first."""
    duration, wrong = float(sys.argv[1]) if len(sys.argv) > 1 else 600.0, False
    print("| loop | integrator | rows that are kept | all rows | energy | drift |\n|---|---|---|---|---|---|")
    for name in (name for name in LOOPS if not sys.argv[2:] or sys.argv[2] in name):
        for label, integrator in INTEGRATORS.items():
            try:
                found = long_run(name, integrator, duration)
            except la.LeastActionError as error:
                print(f"| {name} | {label} | {str(error)[:150]} | | | |", flush=True)
                wrong = True
                continue
            numbers = " | ".join(f"{found[key]:.1e}" for key in ("closure", "misfit", "energy", "drift"))
            print(f"| {name} | {label} | {numbers} | {' '.join(found['warnings'])[:150]}", flush=True)
            wrong |= found["misfit"] > found["slack"] or found["drift"] > 1e-2
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main())
