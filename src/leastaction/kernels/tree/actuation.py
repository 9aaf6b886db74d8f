"""Servos and dry friction of joints: forces that are taken at the end of a step.   docs/actuation.md

The force f of a step acts as one impulse at the node where the step starts, as the potential does:

    r -= kick f(q + d, d/h) - push

kick    the time it stands for: half of the step before and half of this one; half a step where a run starts
push    what the momentum at the node has of it already: the force of the last step over half of that step

f falls as d grows, so that the equations keep their one solution however stiff a servo is, and what oscillates too fast for the step is
damped out (implicit Euler: L-stable, order 1).  With `push` in it, the momentum of a joint that is held at rest is zero.

`act` is Work.actuation, None in most mechanisms: Numba then leaves out what is done with it.
"""

from math import inf

from ...compiling.decorators import inlined, kernel
from ..solving.sizes import UNBOUNDED
from .layout import SERVO_HIGH, SERVO_KD, SERVO_KP, SERVO_LOW

SETTLED = 0.1  # of the force by which friction is exceeded: what may be left of the residual of the other joints when one is let go


@inlined
def is_actuated(act, m):
    """Are there forces of this kind?"""
    if act is None:
        return False
    return m.has_friction or m.servo_on.shape[0] > 0


@inlined
def servo_force(m, e, error, rate):
    """Force of servo e within its limits, and is it between them?"""
    f = m.servo[e, SERVO_KP] * error + m.servo[e, SERVO_KD] * rate
    if f > m.servo[e, SERVO_HIGH]:
        return m.servo[e, SERVO_HIGH], False
    if f < m.servo[e, SERVO_LOW]:
        return m.servo[e, SERVO_LOW], False
    return f, True


@kernel
def begin_actuation(act, h):
    """The first node: there was no step before."""
    if act is not None:
        act.kick[0] = 0.5 * h
        for j in range(act.push.shape[0]):
            act.push[j] = 0.0


@inlined
def take_aim(act, nv, tau, row):
    """Targets of the servos: they follow the nv joint forces in a row of inputs."""
    if act is not None:
        for e in range(act.aim.shape[0]):
            act.aim[e] = tau[row, nv + e]


@kernel
def drive_joints(act, m, w, h):
    """r -= impulses of the servos for the increment d, without what the momentum has of them already."""
    if act is not None:
        set_drives(act, m, w.q, w.d, h)
        for j in range(w.d.shape[0]):
            w.r[j] -= act.kick[0] * act.drive[j] - act.push[j]


@kernel
def add_drives(act, m, q, d, h, load):
    """load += the same impulses, for the increment d from q."""
    if act is not None:
        set_drives(act, m, q, d, h)
        for j in range(d.shape[0]):
            load[j] += act.kick[0] * act.drive[j] - act.push[j]


@kernel
def set_drives(act, m, q, d, h):
    """drive (forces of the servos), slope, and size (what their impulses are made of)."""
    if act is not None:
        servos, kick, top = m.servo_on.shape[0], act.kick[0], 0.0
        for j in range(d.shape[0]):
            act.drive[j] = 0.0
            act.slope[j] = 0.0
        for e in range(servos):
            j, k = m.servo_on[e, 0], m.servo_on[e, 1]
            error, rate = act.aim[e] - q[k] - d[j], act.aim[servos + e] - d[j] / h
            f, inside = servo_force(m, e, error, rate)
            if inside:
                act.slope[j] += kick * (m.servo[e, SERVO_KP] + m.servo[e, SERVO_KD] / h)
                top = max(top, kick * (m.servo[e, SERVO_KP] * abs(error) + m.servo[e, SERVO_KD] * abs(rate)))
            top = max(top, kick * abs(f))
            act.drive[j] += f
        for j in range(d.shape[0]):
            top = max(top, abs(act.push[j]))
        act.size[0] = top


@inlined
def largest_impulse(act):
    """Largest part of an impulse in the last residual."""
    if act is None:
        return 0.0
    return act.size[0]


@kernel
def hold_joints(act, m, w):
    """r -= impulses of dry friction: of a joint that moves against its motion, of one at rest what holds it, as far as friction can.

    A joint that is held does not move: its slope is infinite, so its pivot is, and corrections leave it where it is.  One that friction
    cannot hold is let go when the others have settled, for only then is the force on it the one it will have; until then it counts no more
    than they do.  Returns whether there is any dry friction.
    """
    if act is None:
        return False
    if not m.has_friction:
        return False
    unsettled, most_pulled = 0.0, 0.0
    for j in range(w.d.shape[0]):
        most = act.kick[0] * m.friction[j]
        if most > 0.0 and w.d[j] == 0.0:
            most_pulled = max(most_pulled, abs(w.r[j]) - most)
            continue
        if most > 0.0:
            hold(act, m, w, j, -most if w.d[j] > 0.0 else most, most)
        unsettled = max(unsettled, abs(w.r[j]))
    settled = unsettled <= SETTLED * most_pulled
    for j in range(w.d.shape[0]):
        most = act.kick[0] * m.friction[j]
        if most > 0.0 and w.d[j] == 0.0:
            hold(act, m, w, j, min(max(w.r[j], -most), most), most)
            if settled and act.stopped[j] == 0.0 and abs(w.r[j]) > 0.5 * most_pulled:
                act.turned[0] = 1.0
            else:
                act.slope[j] = inf
                if not settled:
                    w.r[j] = min(max(w.r[j], -unsettled), unsettled)
            act.stopped[j] = 0.0
    return True


@inlined
def hold(act, m, w, j, impulse, most):
    w.r[j] -= impulse
    act.drive[j] += m.friction[j] * impulse / most
    act.grip[j] = impulse


@inlined
def grip_of(act, j):
    """Impulse of dry friction in the last residual."""
    if act is None:
        return 0.0
    return act.grip[j]


@kernel
def keep_pulls(act, m, w):
    """Remember which way the residual pulls joints that are at rest."""
    if act is not None:
        for j in range(w.d.shape[0]):
            act.pull[j] = w.r[j] if m.friction[j] > 0.0 and w.d[j] == 0.0 else 0.0


@kernel
def stop_at_kinks(act, m, w, h, unit, old, x):
    """Corrections do not jump over what they cannot see: one from old to x ends

    at rest              if it would turn the motion of a joint with dry friction round, or move one against the force that it was let go by
    between the limits   of a servo, if it would lead from one of them to the other

    unit * x is the increment d.
    """
    if act is not None:
        act.turned[0] = 0.0
        servos = m.servo_on.shape[0]
        for e in range(servos):
            j, kp, kd = m.servo_on[e, 0], m.servo[e, SERVO_KP], m.servo[e, SERVO_KD]
            at_rest, slope = kp * (act.aim[e] - w.q[m.servo_on[e, 1]]) + kd * act.aim[servos + e], unit * (kp + kd / h)
            low, high = at_rest - m.servo[e, SERVO_HIGH], at_rest - m.servo[e, SERVO_LOW]
            if (slope * old[j] < low and slope * x[j] > high) or (slope * old[j] > high and slope * x[j] < low):
                x[j] = 0.5 * (low + high) / slope
                act.turned[0] = 1.0
        if m.has_friction:
            for j in range(x.shape[0]):
                act.stopped[j] = 0.0
                if m.friction[j] > 0.0 and (old[j] * x[j] < 0.0 or act.pull[j] * x[j] > 0.0):
                    x[j] = 0.0
                    act.stopped[j] = act.turned[0] = 1.0


@inlined
def turns(act, m, new, bound):
    """Where a correction ended at a kink, or a joint is let go, the residual may grow, for the others do not know of it yet; elsewhere up
    to `bound`."""
    if act is None:
        return False
    return is_actuated(act, m) and new < UNBOUNDED and (new < bound or act.turned[0] > 0.0)


@kernel
def forget_stops(act):
    if act is not None:
        act.turned[0] = 0.0
        for j in range(act.stopped.shape[0]):
            act.stopped[j] = 0.0


@kernel
def slopes_changed(act):
    """Is the factorisation at hand one for other slopes: another joint sticks, another servo is at its limit?"""
    if act is None:
        return False
    changed = False
    for j in range(act.slope.shape[0]):
        changed |= act.slope[j] != act.slope_used[j]
    return changed


@inlined
def slope_of(act, j):
    """By how much the impulse on joint coordinate j falls as d grows."""
    if act is None:
        return 0.0
    return act.slope[j]


@kernel
def steepest(act):
    """Largest slope of a servo."""
    top = 0.0
    if act is not None:
        for j in range(act.slope.shape[0]):
            top = max(top, act.slope[j])
    return top


@kernel
def keep_slopes(act):
    if act is not None:
        for j in range(act.slope.shape[0]):
            act.slope_used[j] = act.slope[j]


@kernel
def recall_slopes(act):
    if act is not None:
        for j in range(act.slope.shape[0]):
            act.slope[j] = act.slope_used[j]


@kernel
def brace(act, J, known):
    """Slopes in a dense matrix dr/dd; those of servos are in it already if `known`.  What sticks leaves the others alone."""
    if act is not None:
        n = J.shape[0]
        for j in range(n):
            if act.slope[j] == inf:
                for i in range(n):
                    J[i, j] = J[j, i] = 0.0
                J[j, j] = inf
            elif not known:
                J[j, j] += act.slope[j]


@kernel
def arrive_driven(act, momenta, h, kick):
    """At the end of a step of length h: half of its force is in the momenta there."""
    if act is not None:
        for j in range(act.push.shape[0]):
            act.push[j] = 0.5 * h * act.drive[j]
            momenta[j] += act.push[j]
        act.kick[0] = kick


@kernel
def add_servo_forces(m, q, v, tau, forces):
    """forces += those of the servos in continuous time; tau: a row of inputs."""
    nv, servos = v.shape[0], m.servo_on.shape[0]
    for e in range(servos):
        j = m.servo_on[e, 0]
        f, _ = servo_force(m, e, tau[nv + e] - q[m.servo_on[e, 1]], tau[nv + servos + e] - v[j])
        forces[j] += f
