"""Random planar linkages driven through their dead points: each run keeps its energy law or stops with a reason.

    python tests/support/dead_points.py [number of linkages]
"""

import sys

import numpy as np

import leastaction as la

LAW = 0.05  # of the energy that moves: what a run that is right may be off by


def rod(length):
    inertia = length**3 / 12
    return {"mass": length, "com": (length / 2, 0, 0), "inertia": (0.01 * inertia, inertia, inertia)}


def linkage(seed):
    """A loop of three rods, or of two and a slider, and a start.  Half of them have lengths with which all rods come to lie in one line."""
    rng = np.random.default_rng(seed)
    kind = ("any", "parallelogram", "kite", "slider", "equal slider")[seed % 5]
    a, b = rng.uniform(0.5, 1.0), rng.uniform(1.0, 2.0)
    c, ground = {"any": (rng.uniform(0.8, 1.5), rng.uniform(1.0, 1.8)), "parallelogram": (a, b), "kite": (b, a)}.get(kind, (0.0, 0.0))
    mech = la.Mechanism(name=f"{kind} {seed}")
    y = (0, 1, 0)
    mech.add_body("crank", joint=la.Revolute(axis=y), **rod(a))
    if kind == "equal slider":
        b = a
    mech.add_body("coupler", "crank", la.Revolute(axis=y), la.Pose(xyz=(a, 0, 0)), **rod(b))
    angle = rng.uniform(-2.5, 2.5)
    if "slider" in kind:
        mech.add_frame("end", "coupler", la.Pose(xyz=(b, 0, 0)))
        mech.add_body("slider", joint=la.Prismatic(axis=(1, 0, 0)), mass=1.0)
        mech.add_constraint(la.Coincident("slider", "end", directions=((1, 0, 0), (0, 0, 1))))
        lean = np.arcsin(np.clip(a * np.sin(angle) / b, -1, 1))
        q = {"crank": angle, "coupler": -angle - lean, "slider": a * np.cos(angle) + b * np.cos(lean)}
    else:
        mech.add_body("rocker", joint=la.Revolute(axis=y), placement=la.Pose(xyz=(ground, 0, 0)), **rod(c))
        mech.add_frame("end", "coupler", la.Pose(xyz=(b, 0, 0)))
        mech.add_frame("pin", "rocker", la.Pose(xyz=(c, 0, 0)))
        mech.add_constraint(la.Coincident("pin", "end", directions=((1, 0, 0), (0, 0, 1))))
        q = {"crank": angle, "coupler": 0.5, "rocker": 1.0}
        if kind == "parallelogram":
            q = {"crank": angle, "coupler": -angle, "rocker": angle}
    return mech.compile(), q, rng.uniform(-3.0, 3.0)


def outcome(seed, assembly="stop", duration=10.0, dt=1e-2, integrator=None):
    """"kept", "stopped: why", "warned: by how much" (the run says so), "no start" or "WRONG: by how much" of one linkage under a torque."""
    model, guess, torque = linkage(seed)
    try:
        q = model.assemble(guess)
        v = model.project_velocity(q, {"crank": 2.0})
    except la.StateError:
        return "no start"
    tau = model.velocities({"crank": torque}, "tau")
    try:
        run = la.simulate(model, q=q, v=v, dt=dt, duration=duration, tau=tau, assembly=assembly, integrator=integrator, progress=False)
    except la.LeastActionError as error:
        return f"stopped: {error}"
    moving = max(float(run.kinetic.max()), float(np.ptp(run.potential)))
    # nodes right at a singular position have no velocity of their own: what counts is what stays
    off = max(float(np.abs(np.median(part))) for part in np.array_split(run.energy_balance, 20))
    if off <= LAW * moving:
        return "kept"
    said = any("energy" in warning for warning in run.warnings)
    return f"{'warned' if said else 'WRONG'}: off by {off / moving:.2g} of what moves"


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    results = {}
    for seed in range(count):
        found = outcome(seed)
        results.setdefault(found.split(":")[0], []).append(seed)
        if found != "kept":
            print(seed, linkage(seed)[0].name, found[:160], flush=True)
    print({name: len(seeds) for name, seeds in results.items()})
    return 1 if "WRONG" in results else 0


if __name__ == "__main__":
    sys.exit(main())
