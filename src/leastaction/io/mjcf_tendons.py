"""Fixed tendons of MuJoCo's model: lengths that are sums of joint coordinates, L = sum of coefficients times q.

A spring of one is an energy of these coordinates, an equality of one is an equation between them, a motor on one pulls all of its joints.
"""

from __future__ import annotations

from typing import Any

from ..constraints import SymbolicConstraint
from ..forces import UserPotential

_ON_A_JOINT = 1  # mjWRAP_JOINT


def shares(m: Any, t: int) -> dict[str, float] | None:
    """{joint: coefficient} of tendon t; None if it runs through space."""
    parts = range(m.tendon_adr[t], m.tendon_adr[t] + m.tendon_num[t])
    if any(m.wrap_type[w] != _ON_A_JOINT for w in parts):
        return None
    found: dict[str, float] = {}
    for w in parts:
        name = m.jnt(int(m.wrap_objid[w])).name
        found[name] = found.get(name, 0.0) + float(m.wrap_prm[w])
    return {name: coefficient for name, coefficient in found.items() if coefficient}


def spring(m: Any, t: int) -> UserPotential | None:
    """Its energy k/2 (L - L0)^2; None if it runs through space, or is slack between two lengths."""
    length, (low, high) = shares(m, t), m.tendon_lengthspring[t].tolist()
    if not length or low != high:
        return None
    return UserPotential(f"k / 2 * ({_sum(length, list(length))} - ({low!r}))**2", list(length), {"k": float(m.tendon_stiffness[t])})


def tie(m: Any, e: int) -> SymbolicConstraint | None:
    """L1 - L1(0) = a0 + a1 (L2 - L2(0)) + ...; None if one of the tendons runs through space."""
    first, second = int(m.eq_obj1id[e]), int(m.eq_obj2id[e])
    ends = [shares(m, t) for t in (first, second) if t >= 0]
    if not all(ends):
        return None
    joints = list(dict.fromkeys(name for length in ends if length for name in length))
    texts = [f"({_sum(length, joints)} - ({m.tendon_length0[t]:.17g}))" for length, t in zip(ends, (first, second), strict=False) if length]
    coefficients = m.eq_data[e, : 5 if len(ends) == 2 else 1].tolist()
    polynomial = [f"({a!r})" + f" * {texts[-1]}**{k}" * (k > 0) for k, a in enumerate(coefficients) if a]
    return SymbolicConstraint(m.eq(e).name, joints, f"{texts[0]} - ({' + '.join(polynomial) or '0'})")


def _sum(length: dict[str, float], joints: list[str]) -> str:
    return " + ".join(f"({coefficient!r}) * q{joints.index(name)}" for name, coefficient in length.items())
