"""Mechanisms and starting states that are timed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import leastaction as la

from .peers.base import Array

CHAIN_LENGTHS = (1, 10, 20, 50, 100, 200, 1000)


@dataclass(frozen=True)
class Case:
    name: str
    kind: str  #: "planar chain", "3-D chain", "ball chain" or "humanoid"
    links: int
    mechanism: la.Mechanism
    model: la.Model
    q: Array  #: start of the timed motion
    v: Array

    def random_state(self, seed: int = 0) -> tuple[Array, Array]:
        """A general state, for comparing adapters: no symmetry hides an error."""
        rng = np.random.default_rng(seed)
        q = self.model.neutral() + 0.3 * rng.normal(size=self.model.nq)
        for body in self.model.bodies:
            if body.joint.has_quaternion:
                quaternion = q[self.model.q_slice(body.joint_name)][-4:]
                quaternion /= np.linalg.norm(quaternion)
        return q, rng.normal(size=self.model.nv)


def chain(n: int, spatial: bool) -> Case:
    """First joint at 45 degrees, at rest."""
    mechanism = la.examples.chain(n, spatial=spatial)
    model = mechanism.compile()
    q = model.coordinates({"link1": np.pi / 4})
    kind = "3-D chain" if spatial else "planar chain"
    return Case(f"{kind}, {n} link{'s' if n > 1 else ''}", kind, n, mechanism, model, q, np.zeros(model.nv))


def ball_chain(n: int, whirling: bool = False) -> Case:
    """First joint at 45 degrees, the straight chain swinging sideways and spinning.

    whirling: every joint turns at that rate against the link before, so that speeds add up along the chain.  With 50 links
    the kinetic energy is 27 times what it takes to lift the hanging chain to the height of its support.
    """
    mechanism = la.examples.ball_chain(n)
    model = mechanism.compile()
    q = model.coordinates({"link1": (np.cos(np.pi / 8), 0.0, np.sin(np.pi / 8), 0.0)})
    v = np.zeros((n, 3))
    v[: n if whirling else 1] = 0.2, 0.0, 0.5
    return Case(f"ball-joint chain, {n} links{', whirling' if whirling else ''}", "ball chain", n, mechanism, model, q, v.ravel())


def humanoid() -> Case:
    """Limbs bent and moving, the whole body tumbling as it falls."""
    mechanism = la.examples.humanoid()
    model = mechanism.compile()
    joints = np.arange(model.nv - 6)
    q, v = model.neutral(), np.zeros(model.nv)
    q[7:], v[6:] = 0.3 * np.sin(joints), np.cos(joints)
    v[:6] = 0.5, 0.3, 0.2, 0.4, 0.0, 1.0
    return Case("floating humanoid, 35 degrees of freedom", "humanoid", len(model.bodies), mechanism, model, q, v)


def all_cases(lengths: tuple[int, ...] = CHAIN_LENGTHS) -> list[Case]:
    chains = [chain(n, spatial) for spatial in (False, True) for n in lengths if n > 1 or not spatial]
    return [*chains, ball_chain(10), ball_chain(50), ball_chain(10, whirling=True), ball_chain(50, whirling=True), humanoid()]
