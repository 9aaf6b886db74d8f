"""The same robot in MuJoCo and here: what its joints feel, in the velocities of our model."""

import mujoco
import numpy as np

import leastaction as la
from leastaction.io.leftovers import Leftovers
from leastaction.io.mjcf_reader import IGNORABLE, NOT_SIMULATED, compiled
from leastaction.io.mjcf_source import Source
from leastaction.pose import rotation_of_quaternion

FREE, BALL = 0, 1


def joint_names(path, packages=()):
    """Names of the joints of a file in the order of MuJoCo, those without one as the reader calls them."""
    ours = compiled(Source(path, Leftovers(IGNORABLE, NOT_SIMULATED), packages))
    return [ours.jnt(j).name for j in range(ours.njnt)]


class Theirs:
    """MuJoCo's model of a file, its soft constraints, contacts and actuators off."""

    def __init__(self, path, model, packages=()):
        mujoco.set_mju_user_warning(lambda warning: None)  # else it writes a log where we stand
        self.model, self.m = model, mujoco.MjModel.from_xml_path(str(path))
        off = mujoco.mjtDisableBit
        self.m.opt.disableflags |= off.mjDSBL_CONTACT | off.mjDSBL_CONSTRAINT | off.mjDSBL_ACTUATION
        self.m.opt.density = self.m.opt.viscosity = 0.0  # what the reader does not know
        for what in ("damping", "armature"):
            getattr(self.m, f"tendon_{what}")[:] = 0.0
        self.m.body_gravcomp[:] = 0.0
        self.names = joint_names(path, packages)
        assert len(self.names) == self.m.njnt
        self.data = mujoco.MjData(self.m)

    def qpos(self, q):
        """MuJoCo's coordinates of those of our model."""
        self.set(q, np.zeros(self.model.nv))
        return self.data.qpos.copy()

    def set(self, q, v):
        """Go to a state of our model; returns B and dB/dt v, with MuJoCo's velocities B v."""
        m, model = self.m, self.model
        B, rate = np.zeros((m.nv, model.nv)), np.zeros(m.nv)
        for j, name in enumerate(self.names):
            qs, vs, at, first = model.q_slice(name), model.v_slice(name), m.jnt_qposadr[j], m.jnt_dofadr[j]
            nq, nv = qs.stop - qs.start, vs.stop - vs.start
            self.data.qpos[at : at + nq] = q[qs]
            block = np.eye(nv)
            if m.jnt_type[j] == FREE:  # linear in the world, angular in the body
                R, (omega, vel) = rotation_of_quaternion(q[qs][3:]), np.split(v[vs], 2)
                block = np.block([[np.zeros((3, 3)), R], [np.eye(3), np.zeros((3, 3))]])
                rate[first : first + 3] = R @ np.cross(omega, vel)
            B[first : first + nv, vs] = block
        self.data.qvel[:] = B @ v
        mujoco.mj_forward(m, self.data)
        return B, rate

    def inertia_and_forces(self, q, v):
        """Mass matrix, and M times the acceleration: gravity, velocity products, springs and dampers."""
        B, rate = self.set(q, v)
        M = np.zeros((self.m.nv, self.m.nv))
        try:
            mujoco.mj_fullM(self.m, self.data, M)
        except TypeError:  # of older versions
            mujoco.mj_fullM(self.m, M, self.data.qM)
        return B.T @ M @ B, B.T @ (self.data.qfrc_passive - self.data.qfrc_bias - M @ rate)


def trajectory_end(theirs, start, seconds, step):
    """qpos after some time by Runge-Kutta steps of MuJoCo; None if they diverge, as they do with dampers that are stiff for the step."""
    theirs.m.opt.integrator, theirs.m.opt.timestep = mujoco.mjtIntegrator.mjINT_RK4, step
    theirs.set(start.q, start.v)
    for _ in range(round(seconds / step)):
        mujoco.mj_step(theirs.m, theirs.data)
    return None if any(warning.number for warning in theirs.data.warning) else theirs.data.qpos.copy()


def differences(theirs, states=20, seed=0):
    """Largest relative differences of mass matrix and forces at random states."""
    model, rng = theirs.model, np.random.default_rng(seed)
    worst = np.zeros(2)
    for _ in range(states):
        q = np.concatenate([body.joint.sample_coordinates(rng) for body in model.bodies])
        v = rng.normal(size=model.nv)
        M, force = theirs.inertia_and_forces(q, v)
        ours = la.dynamics.mass_matrix(model, q)
        felt = ours @ la.dynamics.forward(model, q, v)
        worst = np.maximum(worst, [np.abs(ours - M).max() / np.abs(M).max(), np.abs(felt - force).max() / max(np.abs(force).max(), 1e-3)])
    return worst
