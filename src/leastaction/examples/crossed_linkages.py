"""Linkages with a name: Bennett's, which should not move but does, and Jansen's, which walks."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..constraints import Close, Coincident
from ..errors import MechanismError
from ..joints import Revolute
from ..mechanism import Mechanism
from ..pose import Pose
from ..shapes import Cylinder
from .look import BLUE, DARK, GOLD, GREEN, RED, STEEL, add_bar

_X, _Y, _Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)

#: Jansen's lengths, cm: of the ground (a, l), the crank (m), the rods (c, f, j, k), the upper triangle (b, d, e) and the foot (g, h, i)
_JANSEN = {
    "a": 38.0, "b": 41.5, "c": 39.3, "d": 40.1, "e": 55.8, "f": 39.4, "g": 36.7, "h": 65.7, "i": 49.0, "j": 50.0,
    "k": 61.9, "l": 7.8, "m": 15.0,
}  # fmt: skip


def bennett(length: float = 1.0, twist: float = 0.6, other_twist: float = 1.2, opening: float = 1.2) -> Mechanism:
    """Bennett's linkage: a loop of four links on four skew hinges that turns, although a count of its freedoms says -2.

    Links have the length `length` (m) and `twist` (rad, between their hinges) or `other_twist` in turn; the other length follows,
    a / sin(alpha) = b / sin(beta).  `opening`: angle (rad) of the first hinge in the zero position, where the loop is closed.
    """
    if not 0.0 < twist < other_twist < np.pi:
        raise MechanismError(f"bennett: twist = {twist:g} and other_twist = {other_twist:g} rad; give 0 < twist < other_twist < pi")
    other = length * np.sin(other_twist) / np.sin(twist)
    # opposite hinges turn by opposite angles; neighbours obey tan(first / 2) tan(second / 2) = ratio
    ratio = np.sin((other_twist + twist) / 2) / np.sin((other_twist - twist) / 2)
    second = 2 * np.arctan(ratio / np.tan(opening / 2))
    mech = Mechanism(gravity=(0, 0, -9.81), name="Bennett linkage")
    parent, at = "world", Pose()
    for name, angle, size, turn, color in (
        ("first", opening, length, twist, RED), ("second", second, other, other_twist, STEEL), ("third", -opening, length, twist, GOLD),
    ):  # fmt: skip
        inertia = size**3 / 12  # 1 kg/m
        mech.add_body(
            name, parent, Revolute(axis=_Z), at @ Pose(rpy=(0, 0, angle)), mass=size, com=(size / 2, 0, 0),
            inertia=(0.02 * inertia, inertia, inertia),
        )  # fmt: skip
        add_bar(mech, name, (0, 0, 0), (size, 0, 0), 0.035 * length, color)
        mech.add_shape(name, Cylinder(0.05 * length, 0.22 * length), color=DARK)
        parent, at = name, Pose(xyz=(size, 0, 0), rpy=(turn, 0, 0))
    mech.add_frame("tip", parent, at)
    back = Pose(xyz=(other, 0, 0), rpy=(other_twist, 0, 0))  # the ground is the fourth link
    ground = Pose(rotation=back.R.T) @ Pose(xyz=-back.p)
    mech.add_frame("ground", "world", ground)
    mech.add_shape("ground", Cylinder(0.05 * length, 0.22 * length), color=DARK)
    add_bar(mech, "world", (0, 0, 0), ground.p, 0.035 * length, DARK)
    mech.add_constraint(Close(Revolute(axis=_Z), "ground", "tip"), name="last hinge")
    return mech


def jansen_walker(pairs: int = 2, crank_inertia: float = 0.05) -> Mechanism:
    """Theo Jansen's walking linkage in the x-z plane: `pairs` pairs of legs on one crank, held up so that its feet tread the air.

    Each leg has six bodies and three pins that close loops; together they leave one degree of freedom, the crank.  Lengths are
    Jansen's, 1 kg/m; `crank_inertia` (kg m^2) is that of the crank with a flywheel.  The zero position is closed.
    """
    mech = Mechanism(name="Jansen walker")
    size = {name: 0.01 * value for name, value in _JANSEN.items()}
    mech.add_body("crank", joint=Revolute(axis=_Y), mass=1.0, inertia=(crank_inertia, crank_inertia, crank_inertia))
    add_bar(mech, "crank", (0, -0.06, 0), (0, 0.22 * (pairs - 1) + 0.06, 0), 0.014, DARK)
    for pair in range(pairs):
        y, phase = 0.22 * pair, 0.4 + 2 * np.pi * pair / max(pairs, 2)
        pin = size["m"] * np.array([np.cos(phase), np.sin(phase)])
        add_bar(mech, "crank", (0, y, 0), (pin[0], y, pin[1]), 0.016, DARK)
        for side, mirror in (("left", 1.0), ("right", -1.0)):
            _leg(mech, f"{side}{pair + 1}", size, pin, mirror, y + 0.03 * mirror)
    for mirror in (1.0, -1.0):
        hinge = (-mirror * size["a"], -size["l"])
        add_bar(mech, "world", (hinge[0], -0.06, hinge[1]), (hinge[0], 0.22 * (pairs - 1) + 0.06, hinge[1]), 0.014, DARK)
    return mech


def _leg(mech: Mechanism, leg: str, size: dict[str, float], pin: NDArray[np.float64], mirror: float, y: float) -> None:
    """A leg on the left of the crank, or its mirror image; all frames have the axes of the world in the zero position."""
    there = np.array([mirror, 1.0])
    C, B = pin * there, np.array([-size["a"], -size["l"]])
    D = _corner(C, size["j"], B, size["b"], 1.0)  # top of the upper triangle
    E = _corner(D, size["e"], B, size["d"], 1.0)  # its outer corner
    K = _corner(C, size["k"], B, size["c"], -1.0)  # knee
    F = _corner(E, size["f"], K, size["g"], 1.0)  # outer corner of the foot
    P = _corner(F, size["h"], K, size["i"], 1.0)  # where it treads
    C, B, D, E, K, F, P = (point * there for point in (C, B, D, E, K, F, P))

    def body(name, parent, origin, of_parent, ends, color):
        """A body on a hinge at `origin` with rods between its points."""
        corners = [origin, *ends]
        rods = [(corners[i], corners[i - 1]) for i in range(len(corners))] if len(corners) > 2 else [(origin, ends[0])]
        masses = np.array([np.linalg.norm(b - a) for a, b in rods])
        middles = np.array([(a + b) / 2 for a, b in rods])
        com = masses @ middles / masses.sum()
        inertia = float(np.sum(masses**3 / 12 + masses * np.sum((middles - com) ** 2, axis=1)))
        x, z = com - origin
        moved = origin - of_parent
        step = y if parent == "world" else 0.0 if parent != "crank" else y
        mech.add_body(
            f"{leg} {name}", parent, Revolute(axis=_Y), Pose(xyz=(moved[0], step, moved[1])), mass=float(masses.sum()), com=(x, 0, z),
            inertia=(0.6 * inertia, inertia, 0.6 * inertia),
        )  # fmt: skip
        for a, b in rods:
            add_bar(mech, f"{leg} {name}", (a[0] - origin[0], 0, a[1] - origin[1]), (b[0] - origin[0], 0, b[1] - origin[1]), 0.011, color)

    def frame(name, of, origin, point):
        mech.add_frame(f"{leg} {name}", f"{leg} {of}", Pose(xyz=(point[0] - origin[0], 0, point[1] - origin[1])))

    body("upper rod", "crank", C, np.zeros(2), [D], STEEL)
    body("lower rod", "crank", C, np.zeros(2), [K], STEEL)
    body("triangle", "world", B, np.zeros(2), [D, E], BLUE)
    body("swing", "world", B, np.zeros(2), [K], GREEN)
    body("outer rod", f"{leg} triangle", E, B, [F], STEEL)
    body("foot", f"{leg} swing", K, B, [F, P], GOLD)
    for name, of, origin, point in (
        ("end of upper rod", "upper rod", C, D), ("top", "triangle", B, D), ("end of lower rod", "lower rod", C, K),
        ("knee", "swing", B, K),
        ("end of outer rod", "outer rod", E, F), ("heel", "foot", K, F), ("toe", "foot", K, P),
    ):  # fmt: skip
        frame(name, of, origin, point)
    for a, b in (("top", "end of upper rod"), ("knee", "end of lower rod"), ("heel", "end of outer rod")):
        mech.add_constraint(Coincident(f"{leg} {a}", f"{leg} {b}", (_X, _Z)), name=f"{leg} {a} pin")


def _corner(a: NDArray[np.float64], from_a: float, b: NDArray[np.float64], from_b: float, side: float) -> NDArray[np.float64]:
    """The point with given distances from a and b; side 1: to the right of the way from a to b, -1: to the left."""
    apart = b - a
    length = float(np.linalg.norm(apart))
    along = (from_a**2 - from_b**2 + length**2) / (2 * length)
    across = np.sqrt(from_a**2 - along**2)
    unit = apart / length
    return a + along * unit + side * across * np.array([unit[1], -unit[0]])
