"""Entry points on single configurations: poses, forces, dynamics."""

from ...compiling.decorators import entry, inlined, kernel
from ..forces.laws import law_energies
from ..forces.potentials import add_potentials, pair_springs_energy
from .actuation import add_servo_forces
from .articulated import forward_dynamics, mass_factor
from .continuous import gravity_potential, inverse_dynamics
from .crba import mass_matrix
from .drnea import set_node
from .laws import forces_in_motion
from .loads import calls_user_functions, spring_gradient, world_poses


@kernel
def place(m, w, q, forces):
    """Node at q; `forces` = generalised gravity, wrench and spring forces there."""
    place_by(set_node, m, w, q, forces)


@inlined
def place_by(node, m, w, q, forces):
    """The same with the kernel to use."""
    for j in range(w.q.shape[0]):
        w.q[j] = q[j]
    node(m, w, 1.0, 1.0, 0.0, forces)
    subtract_potentials(m, w, forces)


@kernel
def subtract_potentials(m, w, forces):
    """forces -= gradients of joint springs and potentials of coordinates at w.q."""
    if m.has_springs:
        spring_gradient(m, w.q, w.d, 0.0, w.load)
        for j in range(forces.shape[0]):
            forces[j] -= w.load[j]
    add_potentials(m, w, w.q, -1.0, forces)


@entry
def place_entry(m, w, q, forces):
    place(m, w, q, forces)


@entry
def world(m, w, q):
    """Work.world = poses of all bodies in the world at q."""
    place(m, w, q, w.r)
    world_poses(m, w)


@kernel
def potential_energies(m, w):
    """(gravity, everything else that stores energy) at the node, J.  Reads R, P, q; writes world, load."""
    gravity = gravity_potential(m, w)
    elastic = spring_gradient(m, w.q, w.d, 0.0, w.load) + add_potentials(m, w, w.q, 1.0, w.load)
    return gravity, elastic + pair_springs_energy(m, w) + law_energies(w.laws, m, w.world)


@kernel
def applied_forces(m, w, t, v, tau, forces):
    """forces += tau - damping + user forces + servos, in continuous time.

    tau: a row of inputs.  Needs the node of `place`; writes load, step, ETA, F.
    """
    smooth_forces(m, w, t, v, tau, forces)
    if m.servo_on.shape[0] > 0:
        add_servo_forces(m, w.q, v, tau, forces)


@kernel
def smooth_forces(m, w, t, v, tau, forces):
    """The same without the servos."""
    for j in range(forces.shape[0]):
        forces[j] += tau[j] - m.damping[j] * v[j]
    if calls_user_functions(m):
        forces_in_motion(w.laws, m, w, t, v)
        for j in range(forces.shape[0]):
            forces[j] += w.load[j]


@kernel
def acceleration(m, w, t, q, v, tau, scratch, out):
    """Forward dynamics with every force of the model."""
    acceleration_by(set_node, forward_dynamics, m, w, t, q, v, tau, scratch, out)


@inlined
def acceleration_by(node, dynamics, m, w, t, q, v, tau, scratch, out):
    """The same with the kernels to use."""
    place_by(node, m, w, q, w.r)
    applied_forces(m, w, t, v, tau, w.r)
    dynamics(m, w, v, w.r, scratch, out)


@entry
def forward(m, w, t, q, v, tau, scratch, out):
    acceleration(m, w, t, q, v, tau, scratch, out)


@entry
def articulated(m, w, q):
    """Work.art = articulated inertia of every body at q, its own joint not yet eliminated; Work.S0 = joint columns."""
    place(m, w, q, w.r)
    mass_factor(m, w)


@entry
def inverse(m, w, q, v, a, scratch, out):
    place(m, w, q, w.r)
    inverse_dynamics(m, w, v, a, scratch, out)


@entry
def matrix(m, w, q, scratch, out):
    place(m, w, q, w.r)
    mass_matrix(m, w, scratch, out)
