"""Run inside a copy of the package: the laws of every joint and retraction that the package without it does not have.

    laws.py joint | retraction     all laws, with every integrator; slow if compiled
    laws.py run FILE               a short simulation with all of them; saves where it ends
"""

import sys

import numpy as np

import leastaction as la
from leastaction import joints
from leastaction.errors import LeastActionError
from leastaction.examples import random_joint
from leastaction.lie.retractions import ALL, NAMES
from leastaction.testing import Kinematics, arriving_momentum, check_joint, check_retraction, every_integrator, leaving_momentum
from leastaction.testing.every_integrator import in_short

KNOWN = {"Fixed", "Revolute", "Prismatic", "Helical", "Cylindrical", "Universal", "Planar", "Spherical", "Free"}
NEW_JOINTS = [k for k in joints.ALL if k.__name__ not in KNOWN]
NEW_RETRACTIONS = [r for r in ALL if r not in ("exp", "cayley", "quaternion")]
DT, STEPS = 5e-3, 4


def tree(kind):
    """Two bodies, the first on the joint in question."""
    rng = np.random.default_rng(3)
    mech = la.Mechanism(name=f"tree on {kind.__name__}")
    rod = {"mass": 1.0, "com": (0.05, 0.02, -0.25), "inertia": (0.03, 0.04, 0.02)}
    mech.add_body("new", joint=random_joint(kind, rng), **rod)
    mech.add_body("elbow", "new", la.Revolute((0, 1, 0)), la.Pose(xyz=(0, 0, -0.5)), **rod)
    model = mech.compile()
    kin = Kinematics(mech)
    q = kin.advanced(model.neutral(), 0.3 * rng.normal(size=model.nv))
    return model, kin, model.state(q, 0.5 * rng.normal(size=model.nv))


def truth(model, start):
    """Where it should end."""
    return la.simulate(model, start, dt=DT / 4, steps=4 * STEPS, integrator=la.RKMK4()).q[-1]


def check_tree(kind):
    """With every integrator: the same motion, or refused by name; and the discrete action."""
    model, kin, start = tree(kind)
    wanted, taken = truth(model, start), []
    for integrator in every_integrator(tol=1e-11):
        name = in_short(integrator)
        try:
            run = la.simulate(model, start, dt=DT, steps=STEPS, integrator=integrator)
        except LeastActionError as error:
            assert "new" in str(error) or model.name in str(error), f"{name} refuses {kind.__name__} without a name: {error}"
            continue
        if integrator.uniform:
            off = np.abs(kin.increment(wanted, run.q[-1])).max()
            assert off < 10 * DT ** min(integrator.order, 2), f"{name}: {kind.__name__} ends {off:.2g} away from where it should"
        taken.append(name)
    assert {"Variational-exp-trapezoid", "Variational-cayley-midpoint", "Maximal-exp-trapezoid", "Midpoint", "RK4"} <= set(taken), taken
    sim = la.Simulator(model, start, dt=DT, integrator=la.Variational(tol=1e-13))
    sim.step()
    for got, law in ((start.p, leaving_momentum), (sim.state.p, arriving_momentum)):
        momentum = law(kin, start.q, sim.q, DT)
        off = np.abs(got - momentum).max()
        assert off < 1e-9 * np.abs(momentum).max(), f"{kind.__name__}: a step differs from the discrete action by {off:.2g}"
    la.linearize(model, la.Variational(), start, DT)


def with_retraction(name):
    return la.Variational(name, tol=1e-12) if name in NAMES else la.Maximal(name, tol=1e-12)


def check_retracted(name):
    """A known tree with the new retraction moves as it should, to second order."""
    model, kin, start = tree(la.Spherical)
    wanted = truth(model, start)
    ends = [la.simulate(model, start, dt=DT / n, steps=n * STEPS, integrator=with_retraction(name)).q[-1] for n in (1, 2)]
    errors = [np.abs(kin.increment(wanted, end)).max() for end in ends]
    assert errors[1] < 0.35 * errors[0], f"retraction {name!r}: errors {errors} with a step and half of it are not of order two"


def run(path):
    ends = []
    for kind in NEW_JOINTS:
        model, _, start = tree(kind)
        for retraction in ("exp", *NEW_RETRACTIONS):
            end = la.simulate(model, start, dt=DT, steps=STEPS, integrator=with_retraction(retraction))
            ends += [end.q[-1], end.v[-1], end.energy[-1:]]
    np.save(path, np.concatenate(ends))


def main(what, *arguments):
    if what == "joint":
        assert NEW_JOINTS, f"nothing new: {joints.ALL}"
        for kind in NEW_JOINTS:
            assert kind.kind == [k for k in joints.ALL if k.nv > 0].index(kind)
            check_joint(kind)
            check_tree(kind)
    elif what == "retraction":
        assert NEW_RETRACTIONS, f"nothing new: {list(ALL)}"
        for name in NEW_RETRACTIONS:
            check_retraction(name)
            check_retracted(name)
    else:
        run(*arguments)


if __name__ == "__main__":
    main(*sys.argv[1:])
