"""Run inside the patched copy: the laws of every joint and retraction that the package without it does not have.

    laws.py laws          all laws, with every integrator; for NUMBA_DISABLE_JIT=1
    laws.py run FILE      a short simulation with all of them; saves where it ends
"""

import sys

import numpy as np

import leastaction as la
from leastaction import joints
from leastaction.errors import LeastActionError
from leastaction.examples import random_joint
from leastaction.lie.retractions import ALL, NAMES
from leastaction.testing import Kinematics, check_joint, check_retraction, every_integrator, leaving_momentum
from leastaction.testing.every_integrator import in_short

KNOWN = {"Fixed", "Revolute", "Prismatic", "Helical", "Cylindrical", "Universal", "Planar", "Spherical", "Free"}
NEW_JOINTS = [k for k in joints.ALL if k.__name__ not in KNOWN]
NEW_RETRACTIONS = [r for r in ALL if r not in ("exp", "cayley", "quaternion")]


def tree(kind, seed=3):
    """Two bodies, the first on the new joint."""
    rng = np.random.default_rng(seed)
    mech = la.Mechanism(name=f"tree on {kind.__name__}")
    rod = {"mass": 1.0, "com": (0.05, 0.02, -0.25), "inertia": (0.03, 0.04, 0.02)}
    mech.add_body("new", joint=random_joint(kind, rng), **rod)
    mech.add_body("elbow", "new", la.Revolute((0, 1, 0)), la.Pose(xyz=(0, 0, -0.5)), **rod)
    model = mech.compile()
    q = model.neutral()
    q[model.q_slice("elbow")] = 0.4
    return mech, model, model.state(q, 0.5 * rng.normal(size=model.nv))


def check_tree(kind):
    """With every integrator: towards the same motion, or refused by name; and the discrete action."""
    mech, model, start = tree(kind)
    kin = Kinematics(mech)
    truth = la.simulate(model, start, dt=1e-3, steps=20, integrator=la.RKMK4()).q[-1]
    taken = []
    for integrator in every_integrator(tol=1e-11):
        name = in_short(integrator)
        try:
            run = la.simulate(model, start, dt=5e-3, steps=4, integrator=integrator)
        except LeastActionError as error:
            assert "new" in str(error) or model.name in str(error), f"{name} refuses {kind.__name__} without a name: {error}"
            continue
        if integrator.uniform:
            off = np.abs(kin.increment(truth, run.q[-1])).max()
            assert off < 10 * 5e-3 ** min(integrator.order, 2), f"{name}: {kind.__name__} ends {off:.2g} away from where it should"
        taken.append(name)
    assert {"Variational-exp-trapezoid", "Variational-cayley-midpoint", "Maximal-exp", "RK4"} <= set(taken), taken
    run = la.simulate(model, start, dt=5e-3, steps=1, integrator=la.Variational(tol=1e-13))
    off = np.abs(leaving_momentum(kin, run.q[0], run.q[1], 5e-3) - start.p).max()
    assert off < 1e-9 * np.abs(start.p).max(), f"{kind.__name__}: the first step differs from the discrete action by {off:.2g}"


def with_retraction(name):
    return la.Variational(name, tol=1e-12) if name in NAMES else la.Maximal(name, tol=1e-12)


def check_retracted(name):
    """A known tree with the new retraction moves as it should, to second order."""
    _, model, start = tree(la.Spherical)
    truth = la.simulate(model, start, dt=1e-3, steps=20, integrator=la.RKMK4()).q[-1]
    ends = [la.simulate(model, start, dt=0.02 / n, steps=n, integrator=with_retraction(name)).q[-1] for n in (2, 4)]
    errors = [np.abs(end - truth).max() for end in ends]
    assert errors[1] < 0.35 * errors[0], f"retraction {name!r}: errors {errors} for 2 and 4 steps are not of order two"


def run(path):
    ends = []
    for kind in NEW_JOINTS:
        _, model, start = tree(kind)
        for retraction in ("exp", *NEW_RETRACTIONS):
            end = la.simulate(model, start, dt=5e-3, steps=5, integrator=with_retraction(retraction))
            ends += [end.q[-1], end.v[-1], end.energy[-1:]]
    np.save(path, np.concatenate(ends))


def main():
    assert NEW_JOINTS and NEW_RETRACTIONS, f"nothing new: joints {joints.ALL}, retractions {list(ALL)}"
    if sys.argv[1] == "run":
        run(sys.argv[2])
        return
    for kind in NEW_JOINTS:
        check_joint(kind)
        check_tree(kind)
    for name in NEW_RETRACTIONS:
        check_retraction(name)
        check_retracted(name)


if __name__ == "__main__":
    main()
