"""Continuous dynamics on random trees: CRBA, RNEA and ABA agree with each other and with the description."""

import numpy as np
import pytest
from support.symbolic_samples import symbolic_samples
from support.trees import how_many

import leastaction as la
from leastaction.forces import Damper, LinearSpring, NonlinearSpring, Spring, UserPotential
from leastaction.joints import ALL
from leastaction.testing import Kinematics, random_mechanism, random_state
from leastaction.testing import matrices as mat
from leastaction.testing.action import mass_matrix, potential, spatial_inertia, spring_energy, user_energy, wrench_work
from leastaction.testing.joint_alone import derivative

TREES = range(how_many(200))
STEP = 1e-40  # complex step, the one of testing.action
TOLERANCE = 1e-10


def case(seed, forces=True):
    rng = np.random.default_rng(1000 + seed)
    joints = [*ALL, *symbolic_samples()] if seed % 2 else None  # every second tree mixes in joints that are only a pose
    with_potentials, with_rotors = forces and seed % 3 == 0, seed % 5 < 2
    mech = random_mechanism(rng, int(rng.integers(1, 9)), joints, forces, potentials=with_potentials, armatures=with_rotors)
    model = mech.compile()
    q, v = random_state(model, rng)
    return rng, mech, model, q, v


def imaginary_variations(kin, q):
    """One row per degree of freedom, varied by an imaginary step along it."""
    return kin.varied(np.broadcast_to(q, (kin.nv, kin.nq)), 1j * STEP * np.eye(kin.nv))


def applied_forces(kin, q, v):
    """Springs, dampers and wrenches as joint forces, from the description."""
    varied = imaginary_variations(kin, q)
    total = wrench_work(kin, varied)
    for force in kin.mechanism.forces:
        if isinstance(force, Spring):
            total = total - spring_energy(kin, force, varied).imag / STEP
        elif isinstance(force, (LinearSpring, NonlinearSpring, UserPotential)):
            total = total - np.imag(user_energy(kin, force, varied, {})) / STEP
        elif isinstance(force, Damper):
            _, _, vs = kin.by_joint[force.joint]
            total[vs] -= np.asarray(force.damping) * v[vs]
    return total


def close(got, wanted, scale, seed):
    error = np.abs(np.asarray(got) - wanted).max()
    assert error <= TOLERANCE * scale, f"tree {seed}: off by {error:.3g}, scale {scale:.3g}"


def test_mass_matrix_is_the_kinetic_energy_of_the_description():
    for seed in TREES:
        _, mech, model, q, v = case(seed)
        M = la.dynamics.mass_matrix(model, q)
        wanted = mass_matrix(Kinematics(mech), q)
        close(M, wanted, np.abs(wanted).max(), seed)
        assert np.array_equal(M, M.T) and np.linalg.eigvalsh(M)[0] > 0, f"tree {seed}"


def test_energy_is_kinetic_plus_potential_of_the_description():
    for seed in TREES:
        _, mech, model, q, v = case(seed)
        kin = Kinematics(mech)
        kinetic = 0.5 * v @ mass_matrix(kin, q) @ v
        rest = float(potential(kin, q))
        close(la.dynamics.energy(model, q, v), kinetic + rest, abs(kinetic) + abs(rest), seed)


def test_momentum_and_velocity_are_inverse_and_equal_the_mass_matrix():
    for seed in TREES:
        _, _, model, q, v = case(seed)
        M = la.dynamics.mass_matrix(model, q)
        p = la.dynamics.momentum(model, q, v)
        close(p, M @ v, np.abs(M).max() * np.abs(v).max(), seed)
        close(la.dynamics.velocity(model, q, p), v, np.abs(v).max() * np.linalg.cond(M), seed)


def test_inverse_dynamics_is_linear_in_the_acceleration_with_the_mass_matrix():
    for seed in TREES:
        rng, _, model, q, v = case(seed)
        a = rng.normal(size=model.nv)
        M = la.dynamics.mass_matrix(model, q)
        full, bias = la.dynamics.inverse(model, q, v, a), la.dynamics.inverse(model, q, v, np.zeros(model.nv))
        close(full, M @ a + bias, np.abs(M).max() + np.abs(bias).max(), seed)


def test_inverse_dynamics_at_rest_is_the_gradient_of_gravity():
    for seed in TREES:
        _, mech, model, q, _ = case(seed, forces=False)
        kin = Kinematics(mech)
        wanted = potential(kin, imaginary_variations(kin, q)).imag / STEP
        zero = np.zeros(model.nv)
        close(la.dynamics.inverse(model, q, zero, zero), wanted, np.abs(wanted).max() + 1.0, seed)


def test_inverse_after_forward_gives_back_all_forces():
    for seed in TREES:
        rng, mech, model, q, v = case(seed)
        tau = rng.normal(size=model.nv)
        a = la.dynamics.forward(model, q, v, tau)
        wanted = tau + applied_forces(Kinematics(mech), q, v)
        scale = np.abs(la.dynamics.mass_matrix(model, q)).max() * np.abs(a).max() + np.abs(wanted).max()
        close(la.dynamics.inverse(model, q, v, a), wanted, scale, seed)


def test_power_of_the_forces_is_the_change_of_energy():
    """dE/dt = v.(tau + dampers + wrenches) along the motion that forward dynamics gives; finds errors of velocity terms."""
    for seed in TREES:
        rng, mech, model, q, v = case(seed)
        kin = Kinematics(mech)
        tau = rng.normal(size=model.nv)
        a = la.dynamics.forward(model, q, v, tau)
        mech.forces = [f for f in mech.forces if not isinstance(f, (Spring, LinearSpring, NonlinearSpring, UserPotential))]
        power = v @ (tau + applied_forces(kin, q, v))
        rate = derivative(lambda s: la.dynamics.energy(model, kin.advanced(q, s * v), v + s * a), 1.0)  # noqa: B023
        scale = abs(power) + np.abs(v).max() * np.abs(la.dynamics.mass_matrix(model, q)).max() * np.abs(a).max()
        assert abs(rate - power) <= 1e-8 * scale, f"tree {seed}: {rate} W against {power} W"  # differences, not rounding


@pytest.mark.parametrize("seed", range(10))
def test_free_floating_momentum_is_the_sum_over_the_bodies(seed):
    """Momentum about the world origin, from complex steps of the poses along v."""
    _, mech, model, q, v = case(seed)
    kin = Kinematics(mech)
    varied = kin.varied(q.astype(complex), 1j * STEP * v)
    total = np.zeros(6)
    for body in mech.bodies.values():
        T = kin.place(body.name, varied)
        twist = mat.rigid_inverse(T.real) @ (T.imag / STEP)
        V = np.concatenate([mat.vee(twist[:3, :3]), twist[:3, 3]])
        momentum = spatial_inertia(body) @ V
        R, x = T.real[:3, :3], T.real[:3, 3]
        total += np.concatenate([R @ momentum[:3] + np.cross(x, R @ momentum[3:]), R @ momentum[3:]])
    close(la.dynamics.spatial_momentum(model, q, v), total, np.abs(total).max(), seed)
