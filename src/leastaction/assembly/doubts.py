"""What makes the result of a run doubtful although every step was solved: numbers that are too unequal for it, one sentence each."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..dynamics.kinematics import Configurations
from ..kernels.tree.layout import INERTIA, LAW_BASE, MASS, MOMENT, PARENT
from ..model import Model

Array = NDArray[np.float64]

_LEAST_ACCURACY = 1e-5  # of its own momentum, to which the lightest part of a mechanism has to be solved
_FAR = 1e7  # times the size of a mechanism: how far it may be from the origin
_LOOKED_AT = 64  # nodes with the fastest joints, where bodies are looked at


def too_light(model: Model, tol: float) -> str:
    """Is there a part that is solved too coarsely by steps whose residual is tol of the largest momentum of all?"""
    if tol == 0.0 or not len(model.bodies) or len(model.tree.felt):  # there every joint is judged by itself
        return ""
    link, moved = model.tree.link, model.tree.body[:, MASS].copy()
    for i in range(len(link) - 1, 0, -1):  # what each joint moves
        moved[link[i, PARENT]] += moved[i]
    moved = moved[1:]
    heaviest, lightest = int(np.argmax(moved)), int(np.argmin(np.where(moved > 0.0, moved, np.inf)))
    if not moved[lightest] > 0.0 or tol * moved[heaviest] <= _LEAST_ACCURACY * moved[lightest]:
        return ""
    names, ratio = model.body_names, moved[heaviest] / moved[lightest]
    return (
        f"body {names[lightest]!r} and what it carries are {ratio:.1g} times lighter than {names[heaviest]!r} and what that carries, and "
        f"steps are solved to tol = {tol:g} of the largest momentum: the light part may be far off; give it a model of its own, a smaller "
        "tol, or use integrator=Maximal(), which measures every body by itself"
    )


def too_far(model: Model, q: Array, always: bool) -> str:
    """Is the mechanism at q (T, nq) so far from the origin that differences of positions are coarse?

    always   does the integrator take such differences, whatever is in the model?
    """
    between_points = len(model.tree.pair_on) or (model.tree.law_on[:, LAW_BASE] >= 0).any()
    apart = always or model.closures or between_points or any(b.joint.has_quaternion and b.joint.nv == 6 for b in model.bodies)
    if not apart or not len(model.bodies):
        return ""
    places = Configurations(model, q).p[:, 1:]
    distance = float(np.abs(places).max())
    body = model.tree.body[1:]
    reach = np.abs(body[:, MOMENT : MOMENT + 3]).sum(axis=1) / np.maximum(body[:, MASS], 1e-300)
    gyration = np.sqrt(np.abs(body[:, INERTIA : INERTIA + 6]).max(axis=1) / np.maximum(body[:, MASS], 1e-300))
    size = float(np.ptp(places, axis=1).max() + np.where(body[:, MASS] > 0.0, reach + gyration, 0.0).max())
    size = size or float(np.ptp(places, axis=0).max())  # a point is as large as its way
    if size == 0.0 or not distance > _FAR * size:
        return ""
    return (
        f"the mechanism is {distance:.1g} m from the origin of the world, where positions are known to {np.spacing(distance):.1g} m: "
        "springs and dampers between points, constraints, positions of free bodies and Maximal() are that coarse; put the origin near it"
    )


def too_fast(model: Model, q: Array, v: Array, t: Array, dt: float, limit: float) -> str:
    """Does a body turn by more than `limit` rad in a step of dt?  q, v, t: nodes of a run."""
    turning = np.array([turns for body in model.bodies for turns in body.joint.angular], dtype=bool)
    if limit == np.inf or not turning.any():
        return ""
    together = np.abs(v[:, turning]).sum(axis=1)  # no body turns faster than all joints together
    worst = np.argsort(together)[: -_LOOKED_AT - 1 : -1]
    worst = worst[dt * together[worst] > limit]
    if not len(worst):
        return ""
    twists, _ = Configurations(model, q[worst]).motions(v[worst], np.zeros_like(v[worst]))
    turns = dt * np.linalg.norm(twists[:, 1:, :3], axis=2)
    k, i = np.unravel_index(int(np.argmax(turns)), turns.shape)
    if turns[k, i] <= limit:
        return ""
    return (
        f"body {model.body_names[i]!r} turns by {turns[k, i]:.3g} rad per step of dt = {dt:g} s at t = {t[worst[k]]:g} s, and from "
        f"{limit:.3g} rad on steps of this integrator are far from its motion; give dt below {0.3 * limit * dt / turns[k, i]:.1g}"
    )
