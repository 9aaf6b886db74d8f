"""Servos and dry friction of joints: forces that are taken at the end of a step.   docs/actuation.md

The force f of a step acts as one impulse at the node where the step starts, as the potential does:

    r -= kick f(q + d, d/h) - push

kick    the time it stands for: half of the step before and half of this one; half a step where a run starts
push    what the momentum at the node has of it already: the force of the last step over half of that step

f falls as d grows, so that the equations keep their one solution however stiff a servo is, and what oscillates too fast for the step is
damped out (implicit Euler: L-stable, order 1).  With `push` in it, the momentum of a joint that is held at rest is zero.
"""

from math import inf

from ...compiling.decorators import inlined, kernel
from ..solving.sizes import UNBOUNDED
from .layout import SERVO_HIGH, SERVO_KD, SERVO_KP, SERVO_LOW

SETTLED = 0.1  # of the force by which friction is exceeded: what may be left of the residual of the other joints when one is let go


@inlined
def is_actuated(m):
    """Are there forces of this kind?"""
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
def begin_actuation(w, h):
    """The first node: there was no step before."""
    w.kick[0] = 0.5 * h
    for j in range(w.push.shape[0]):
        w.push[j] = 0.0


@inlined
def take_aim(w, tau, row):
    """Targets of the servos: they follow the joint forces in a row of inputs."""
    nv = w.d.shape[0]
    for e in range(w.aim.shape[0]):
        w.aim[e] = tau[row, nv + e]


@kernel
def drive_joints(m, w, h):
    """r -= impulses of the servos for the increment d.  Writes drive (their forces), slope, and drive_size (what r is made of)."""
    servos, kick, top = m.servo_on.shape[0], w.kick[0], 0.0
    for j in range(w.d.shape[0]):
        w.drive[j] = 0.0
        w.slope[j] = 0.0
    for e in range(servos):
        j, k = m.servo_on[e, 0], m.servo_on[e, 1]
        error, rate = w.aim[e] - w.q[k] - w.d[j], w.aim[servos + e] - w.d[j] / h
        f, inside = servo_force(m, e, error, rate)
        if inside:
            w.slope[j] += kick * (m.servo[e, SERVO_KP] + m.servo[e, SERVO_KD] / h)
            top = max(top, kick * (m.servo[e, SERVO_KP] * abs(error) + m.servo[e, SERVO_KD] * abs(rate)))
        top = max(top, kick * abs(f))
        w.drive[j] += f
    for j in range(w.d.shape[0]):
        top = max(top, abs(w.push[j]))
        w.r[j] -= kick * w.drive[j] - w.push[j]
    w.drive_size[0] = top


@kernel
def hold_joints(m, w):
    """r -= impulses of dry friction: of a joint that moves against its motion, of one at rest what holds it, as far as friction can.

    A joint that is held does not move: its slope is infinite, so its pivot is, and corrections leave it where it is.  One that friction
    cannot hold is let go when the others have settled, for only then is the force on it the one it will have; until then it counts no more
    than they do.
    """
    unsettled, most_pulled = 0.0, 0.0
    for j in range(w.d.shape[0]):
        most = w.kick[0] * m.friction[j]
        if most > 0.0 and w.d[j] == 0.0:
            most_pulled = max(most_pulled, abs(w.r[j]) - most)
            continue
        if most > 0.0:
            hold(m, w, j, -most if w.d[j] > 0.0 else most, most)
        unsettled = max(unsettled, abs(w.r[j]))
    settled = unsettled <= SETTLED * most_pulled
    for j in range(w.d.shape[0]):
        most = w.kick[0] * m.friction[j]
        if most > 0.0 and w.d[j] == 0.0:
            hold(m, w, j, min(max(w.r[j], -most), most), most)
            if settled and w.stopped[j] == 0.0 and abs(w.r[j]) > 0.5 * most_pulled:
                w.turned[0] = 1.0
            else:
                w.slope[j] = inf
                if not settled:
                    w.r[j] = min(max(w.r[j], -unsettled), unsettled)
            w.stopped[j] = 0.0


@inlined
def hold(m, w, j, impulse, most):
    w.r[j] -= impulse
    w.drive[j] += m.friction[j] * impulse / most
    w.grip[j] = impulse


@kernel
def keep_pulls(m, w):
    """Remember which way the residual pulls joints that are at rest."""
    for j in range(w.d.shape[0]):
        w.pull[j] = w.r[j] if m.friction[j] > 0.0 and w.d[j] == 0.0 else 0.0


@kernel
def stop_at_kinks(m, w, h, unit, old, x):
    """Corrections do not jump over what they cannot see: one from old to x ends

    at rest              if it would turn the motion of a joint with dry friction round, or move one against the force that it was let go by
    between the limits   of a servo, if it would lead from one of them to the other

    unit * x is the increment d.
    """
    w.turned[0] = 0.0
    servos = m.servo_on.shape[0]
    for e in range(servos):
        j, kp, kd = m.servo_on[e, 0], m.servo[e, SERVO_KP], m.servo[e, SERVO_KD]
        at_rest, slope = kp * (w.aim[e] - w.q[m.servo_on[e, 1]]) + kd * w.aim[servos + e], unit * (kp + kd / h)
        low, high = at_rest - m.servo[e, SERVO_HIGH], at_rest - m.servo[e, SERVO_LOW]
        if (slope * old[j] < low and slope * x[j] > high) or (slope * old[j] > high and slope * x[j] < low):
            x[j] = 0.5 * (low + high) / slope
            w.turned[0] = 1.0
    if m.has_friction:
        for j in range(x.shape[0]):
            w.stopped[j] = 0.0
            if m.friction[j] > 0.0 and (old[j] * x[j] < 0.0 or w.pull[j] * x[j] > 0.0):
                x[j] = 0.0
                w.stopped[j] = w.turned[0] = 1.0


@inlined
def turns(m, w, new, bound):
    """Where a correction ended at a kink, or a joint is let go, the residual may grow, for the others do not know of it yet; elsewhere up
    to `bound`."""
    return is_actuated(m) and new < UNBOUNDED and (new < bound or w.turned[0] > 0.0)


@kernel
def forget_stops(w):
    w.turned[0] = 0.0
    for j in range(w.d.shape[0]):
        w.stopped[j] = 0.0


@kernel
def slopes_changed(w):
    """Is the factorisation at hand one for other slopes: another joint sticks, another servo is at its limit?"""
    changed = False
    for j in range(w.slope.shape[0]):
        changed |= w.slope[j] != w.slope_used[j]
    return changed


@kernel
def keep_slopes(w):
    for j in range(w.slope.shape[0]):
        w.slope_used[j] = w.slope[j]


@kernel
def recall_slopes(w):
    for j in range(w.slope.shape[0]):
        w.slope[j] = w.slope_used[j]


@kernel
def brace(J, w, known):
    """Slopes in a dense matrix dr/dd; those of servos are in it already if `known`.  What sticks leaves the others alone."""
    n = J.shape[0]
    for j in range(n):
        if w.slope[j] == inf:
            for i in range(n):
                J[i, j] = J[j, i] = 0.0
            J[j, j] = inf
        elif not known:
            J[j, j] += w.slope[j]


@kernel
def arrive_driven(w, h, kick):
    """At the end of a step of length h: half of its force is in the momentum there."""
    for j in range(w.d.shape[0]):
        w.push[j] = 0.5 * h * w.drive[j]
        w.target[j] += w.push[j]
    w.kick[0] = kick


@kernel
def add_servo_forces(m, q, v, tau, forces):
    """forces += those of the servos in continuous time; tau: a row of inputs."""
    nv, servos = v.shape[0], m.servo_on.shape[0]
    for e in range(servos):
        j = m.servo_on[e, 0]
        f, _ = servo_force(m, e, tau[nv + e] - q[m.servo_on[e, 1]], tau[nv + servos + e] - v[j])
        forces[j] += f
