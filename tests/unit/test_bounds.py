"""No kernel reads or writes outside its arrays: every integrator on every kind of joint and constraint, guarded or not.

Here with the compiler switched off, where NumPy checks every index, and with canaries around all arrays; of compiled code with bounds
checks only the default path.  `make bounds` runs the physics, conformance and io tests with compiled bounds checks.
"""

import os
import subprocess
import sys

WALK = """
import itertools
import numpy as np
import leastaction as la
from leastaction.compiling import canaries
from support.symbolic_samples import symbolic_samples

assert canaries.ON

def loaded(mech):
    for body in mech.joint_names[1:]:
        mech.add_force(la.Spring(body, 3.0))
        mech.add_force(la.Damper(body, 0.1))
    return mech

def symbolic(joints):
    mech = la.Mechanism(name="symbolic joints")
    parent = "world"
    for k, joint in enumerate(joints):
        mech.add_body(f"part{k}", parent=parent, joint=joint, mass=1.0, com=(0.1, 0.2, 0.3), inertia=(0.2, 0.3, 0.4))
        parent = f"part{k}"
    return mech

def trees():
    yield loaded(la.examples.chain(3)).compile(), None
    for seed in range(3):
        yield loaded(la.examples.random_tree(8, seed=seed, floating=seed == 0)).compile(), None
    for joint in symbolic_samples():
        yield symbolic([joint]).compile(), None
    loop = la.examples.four_bar().compile()
    yield loop, loop.assemble({"rod1": 0.8, "rod2": -2.0, "rod3": -1.3})
    geared = la.examples.chain(3)
    geared.add_constraint(la.Gear("link1", "link2", 2.0))
    geared = geared.compile()
    yield geared, geared.assemble({"link1": 0.4, "link2": 0.2})

def integrators():
    for name in la.__all__:
        thing = getattr(la, name)
        if isinstance(thing, type) and issubclass(thing, la.Integrator) and thing is not la.Integrator:
            yield thing()
    yield la.Variational(quadrature="midpoint")
    yield la.Variational("cayley")
    yield la.Composition(la.Trapezoid(), order=6)

made = refused = 0
rng = np.random.default_rng(0)
for (model, q), integrator, guard in itertools.product(trees(), integrators(), (False, True)):
    v = None if model.closures else rng.normal(size=model.nv)
    try:
        run = la.simulate(model, dt=1e-3, steps=3, integrator=integrator, q=q, v=v, guard=guard, tau=np.full((3, model.nv), 0.01))
        assert np.isfinite(run.energy).all() and np.isfinite(run.momentum).all() and np.isfinite(run.constraint_error).all()
        made += 1
    except la.ConvergenceError:
        made += 1
    except la.LeastActionError:
        refused += 1
for model, q in trees():
    state = model.state(q=q)
    la.dynamics.inverse(model, q, state.v, la.dynamics.forward(model, q))
    la.dynamics.condition(model, q)
    la.discrete.jacobian(model, state.q, state.q, 1e-3, quadrature="midpoint")
    for integrator in (la.Variational(), la.Variational(quadrature="midpoint"), la.Midpoint()):
        try:
            la.linearize(model, integrator, state, 1e-3)
        except la.LeastActionError:
            refused += 1
chain = la.examples.chain(3).compile()
starts = rng.normal(size=(20, chain.nv))
batch = la.rollout(chain, q=starts, dt=1e-3, steps=5, threads=2)  # threads that write into the same arrays
for k, start in enumerate(starts):
    assert np.array_equal(batch.q[k, -1], la.simulate(chain, q=start, dt=1e-3, steps=5).q[-1])
print(made, refused)
"""

DEFAULT = """
import numpy as np
import leastaction as la
from leastaction.compiling import cache
from leastaction.compiling.decorators import entry

assert cache.version().startswith("standard-bounds-")

@entry
def beyond(a):
    return a[a.shape[0]]

try:
    beyond(np.zeros(3))
except IndexError:
    pass
else:
    raise AssertionError("indices are not checked")
model = la.examples.chain(3).compile()
run = la.simulate(model, dt=1e-3, steps=20, q=[0.1, 0.2, 0.3])
assert np.isfinite(run.q).all()
print(1, 0)
"""


def walk(code, **environment):
    """(runs made, refused) by the code in an interpreter of its own."""
    env = {name: value for name, value in os.environ.items() if name not in ("NUMBA_DISABLE_JIT", "LEASTACTION_PUBLIC_NUMBA")}
    env |= {"LEASTACTION_GUARD": "1", "PYTHONPATH": os.pathsep.join(sys.path), **environment}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr
    return tuple(map(int, done.stdout.split()[-2:]))


def test_every_integrator_stays_inside_its_arrays():
    made, refused = walk(WALK, NUMBA_DISABLE_JIT="1")
    assert made > 200 and made > refused


def test_the_default_path_with_compiled_bounds_checks():
    assert walk(DEFAULT, NUMBA_BOUNDSCHECK="1", NUMBA_OPT="0") == (1, 0)
