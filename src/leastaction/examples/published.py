"""Problems by which the field compares its programs: Andrews' squeezer, the N-four-bar, Bricard's linkage, a governor and three
slider-cranks.   docs/published.md"""

from __future__ import annotations

import numpy as np

from ..constraints import Close, Coincident
from ..errors import MechanismError
from ..forces import LinearSpring, PointDamper
from ..joints import Prismatic, Revolute, Spherical, Universal
from ..mechanism import Mechanism
from ..pose import Pose

_X, _Y, _Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)

#: where the squeezer starts, at rest: its seven angles, rad
SQUEEZER_START = {
    "beta": -0.0617138900142764496, "theta": 0.0, "gamma": 0.455279819163070380, "phi": 0.222668390165885885,
    "delta": 0.487364979543842550, "omega": -0.222668390165885885, "epsilon": 1.23054744454982119,
}  # fmt: skip
SQUEEZER_TORQUE = 0.033  #: of the motor on joint "beta", N m


def squeezer() -> Mechanism:
    """Andrews' squeezing mechanism: seven bodies in a plane, six constraint rows, one degree of freedom; no gravity.

    Schiehlen 1990, Hairer and Wanner II, section VII.7, and the test set for IVP solvers, whose angles are the joints of this tree.
    Start at `SQUEEZER_START` with the constant joint force `SQUEEZER_TORQUE` on "beta"; the reference is its state after 0.03 s.
    """
    mech = Mechanism(gravity=(0, 0, 0), name="Andrews' squeezer")
    a, b, c = (-0.06934, -0.00227, 0.0), (-0.03635, 0.03273, 0.0), (0.014, 0.072, 0.0)
    bodies = (  # angle, hangs on, where, mass, moment of inertia, centre of mass
        ("beta", "world", (0.0, 0.0, 0.0), 0.04325, 2.194e-6, (0.00092, 0.0)),
        ("theta", "beta", (0.007, 0.0, 0.0), 0.00365, 4.410e-7, (-0.0115, 0.0)),
        ("gamma", "world", b, 0.02373, 5.255e-6, (0.01043, -0.01874)),
        ("delta", "world", a, 0.07050, 1.169e-5, (0.02308, 0.00916)),
        ("phi", "delta", (0.04, 0.0, 0.0), 0.00706, 5.667e-7, (0.0, -0.00579)),
        ("epsilon", "world", a, 0.05498, 1.912e-5, (-0.00449, -0.01228)),
        ("omega", "epsilon", (0.0, -0.04, 0.0), 0.00706, 5.667e-7, (0.00579, 0.0)),
    )
    for name, parent, at, mass, moment, (x, y) in bodies:
        mech.add_body(name, parent, Revolute(axis=_Z), Pose(xyz=at), mass=mass, com=(x, y, 0), inertia=(moment / 2, moment / 2, moment))
    ends = {"theta": (-0.028, 0.0, 0.0), "gamma": (0.0, -0.035, 0.0), "phi": (0.0, -0.02, 0.0), "omega": (0.02, 0.0, 0.0)}
    for name, at in ends.items():
        mech.add_frame(f"end of {name}", name, Pose(xyz=at))
    for name in ("gamma", "phi", "omega"):
        mech.add_constraint(Coincident(f"end of {name}", "end of theta", directions=(_X, _Y)))
    mech.add_frame("spring", "gamma", Pose(xyz=(0.02, -0.018, 0.0)))
    mech.add_frame("hook", "world", Pose(xyz=c))
    mech.add_force(LinearSpring("hook", "spring", 4530.0, 0.07785))
    return mech


def n_four_bar(windows: int = 2) -> Mechanism:
    """Four-bars in a row in the x-y plane, 2 N + 1 rods of 1 m and 1 kg: the N-four-bar of the IFToMM library (A02).

    Upright rods stand on the ground 1 m apart, and horizontal ones join their upper ends: zero coordinates, where it starts.
    When all rods are horizontal its freedoms grow from 1 to N + 1: every turn passes two such positions.  The library starts it with
    1 m/s of the upper end of the first rod along x: v = {"rod0": -1.0}, projected.
    """
    if windows < 1:
        raise MechanismError(f"n_four_bar({windows}): it has one window or more")
    mech = Mechanism(gravity=(0, -9.81, 0), name=f"{windows} four-bars in a row")
    moments = (1 / 12, 0.0, 1 / 12)
    for k in range(windows + 1):
        mech.add_body(f"rod{k}", joint=Revolute(axis=_Z), placement=Pose(xyz=(k, 0, 0)), mass=1.0, com=(0, 0.5, 0), inertia=moments)
        mech.add_frame(f"top{k}", f"rod{k}", Pose(xyz=(0, 1, 0)))
    for k in range(windows):
        lying = (0.0, 1 / 12, 1 / 12)
        mech.add_body(f"bar{k}", f"rod{k}", Revolute(axis=_Z), Pose(xyz=(0, 1, 0)), mass=1.0, com=(0.5, 0, 0), inertia=lying)
        mech.add_frame(f"end{k}", f"bar{k}", Pose(xyz=(1, 0, 0)))
        mech.add_constraint(Coincident(f"top{k + 1}", f"end{k}", directions=(_X, _Y)))
    return mech


def bricard() -> Mechanism:
    """Bricard's linkage in its orthogonal form: five rods of 1 m and 1 kg and the ground on six hinges, each at right angles to the next.

    A count of its freedoms gives none, yet it moves (IFToMM library A04): every second angle is the same, and
    cos a cos b + cos a + cos b = 0.  In the zero position, where it is closed, the rods are six edges of a cube: a = b = 90 degrees.
    """
    mech = Mechanism(gravity=(0, 0, -9.81), name="Bricard linkage")
    thick = 0.1**2 / 12
    parent, at = "world", Pose()
    for k in range(5):
        quarter = Pose(rpy=(0, 0, np.pi / 2))
        mech.add_body(
            f"rod{k + 1}", parent, Revolute(axis=_Z), at @ quarter, mass=1.0, com=(0.5, 0, 0),
            inertia=(2 * thick, thick + 1 / 12, thick + 1 / 12),
        )  # fmt: skip
        parent, at = f"rod{k + 1}", Pose(xyz=(1, 0, 0), rpy=(np.pi / 2 if k % 2 == 0 else -np.pi / 2, 0, 0))
    mech.add_frame("tip", parent, at)
    # the ground is the sixth rod, which leads from the last hinge back to the first
    mech.add_frame("ground", "world", Pose(xyz=(1, 0, 0), rpy=(-np.pi / 2, 0, 0)).inverse())
    mech.add_constraint(Close(Revolute(axis=_Z), "ground", "tip"), name="last hinge")
    return mech


GOVERNOR_SPEED = 2 * np.pi  #: of the shaft at the start, rad/s


def flyball_governor(stiffness: float = 8e5, damping: float = 4e4) -> Mechanism:
    """Watt's governor with spring-dampers in the place of its coupler rods: the stiff problem of the IFToMM library (A05).

    A shaft turns about z, two rods of 1 m with 5 kg at their ends hang on it, 30 degrees below the horizontal at zero coordinates, and a
    slider of 3 kg moves along the shaft, 0.5 m high.  The struts (N/m, N s/m) lead from the middle of each rod to the slider and are
    relaxed there.  It starts with v = {"shaft": GOVERNOR_SPEED}; 10 s.
    """
    mech = Mechanism(gravity=(0, 0, -9.81), name="flyball governor")
    thin, rod, ball, slider = 0.01, 0.3, 5.0, 3.0  # m, kg
    across, along = rod * (1 + thin**2) / 12, rod * 2 * thin**2 / 12
    mech.add_body("shaft", joint=Revolute(axis=_Z), mass=rod, com=(0, 0, 0.5), inertia=(across, across, along))
    moment = slider * 2 * 0.1**2 / 12
    mech.add_body("slider", "shaft", Prismatic(axis=_Z), Pose(xyz=(0, 0, 0.5)), mass=slider, inertia=(moment, moment, moment))
    total = rod + ball
    com = (0.5 * rod + ball) / total
    both = across + rod * (com - 0.5) ** 2 + ball * (1 - com) ** 2
    for name, side, turn in (("right", 1.0, 0.0), ("left", -1.0, np.pi)):
        hinge = Pose(xyz=(0.05 * side, 0, 1.0), rpy=(0, 0, turn)) @ Pose(rpy=(0, np.pi / 6, 0))
        mech.add_body(name, "shaft", Revolute(axis=_Y), hinge, mass=total, com=(com, 0, 0), inertia=(along, both, both))
        mech.add_frame(f"middle of {name}", name, Pose(xyz=(0.5, 0, 0)))
        mech.add_frame(f"{name} of slider", "slider", Pose(xyz=(0.05 * side, 0, 0)))
        mech.add_force(LinearSpring(f"middle of {name}", f"{name} of slider", stiffness, 0.5))
        mech.add_force(PointDamper(f"middle of {name}", f"{name} of slider", damping))
    return mech


FOLDING_START = {"crank": np.pi / 4, "rod": -np.pi / 2}  #: where the folding slider-crank starts
FOLDING_SPEED = {"crank": 2 * np.sqrt(2.0), "rod": -4 * np.sqrt(2.0)}  #: rad/s: its slider moves with 4 m/s towards the crank


def folding_slider_crank() -> Mechanism:
    """Slider-crank in the x-y plane with crank and rod of 1 m and 1 kg and a slider without mass on the x axis (Bayo and Avello 1994).

    Crank and rod are equally long: twice per turn they lie on each other, upright, the slider in the crank's axis.  There the rod could as
    well turn with the crank: it has two freedoms in this position.
    """
    mech = Mechanism(gravity=(0, -9.81, 0), name="folding slider-crank")
    moments = (0.0, 1 / 12, 1 / 12)
    mech.add_body("crank", joint=Revolute(axis=_Z), mass=1.0, com=(0.5, 0, 0), inertia=moments)
    mech.add_body("rod", "crank", Revolute(axis=_Z), Pose(xyz=(1, 0, 0)), mass=1.0, com=(0.5, 0, 0), inertia=moments)
    mech.add_frame("slider", "rod", Pose(xyz=(1, 0, 0)))
    mech.add_constraint(Coincident("world", "slider", directions=(_Y,)), name="guide")
    return mech


def planar_slider_crank() -> Mechanism:
    """The slider-crank of the flexible-multibody literature (Simeon 1996, test set for IVP solvers) with a rigid rod.

    Crank of 0.15 m about z, rod of 0.3 m, slider on the x axis; all stretched out at zero coordinates; no gravity.  In the literature the
    crank turns with 150 rad/s.
    """
    mech = Mechanism(gravity=(0, 0, 0), name="planar slider-crank")
    crank, rod = 0.002727 - 0.36 * 0.075**2, 0.0045339259 - 0.151104 * 0.15**2  # given about the pins, kg m^2
    mech.add_body("crank", joint=Revolute(axis=_Z), mass=0.36, com=(0.075, 0, 0), inertia=(crank / 2, crank / 2, crank))
    middle = (0.15, 0, 0)
    mech.add_body("rod", "crank", Revolute(axis=_Z), Pose(xyz=middle), mass=0.151104, com=middle, inertia=(rod / 2, rod / 2, rod))
    mech.add_frame("pin", "rod", Pose(xyz=(0.3, 0, 0)))
    mech.add_body("slider", joint=Prismatic(axis=_X), placement=Pose(xyz=(0.45, 0, 0)), mass=0.075552)
    mech.add_constraint(Coincident("slider", "pin", directions=(_X, _Y)))
    return mech


def spatial_slider_crank() -> Mechanism:
    """The spatial slider-crank of the IFToMM library (Haug 1989, section 12.2).

    Crank of 0.08 m about x at (0, 0.1, 0.12), upright at zero coordinates; slider of 2 kg on the x axis; a rod of 0.3 m from one to the
    other, on the slider by a universal joint whose first axis is x, on the crank by a ball joint.  It starts with 6 rad/s of the crank.
    """
    mech = Mechanism(gravity=(0, 0, -9.81), name="IFToMM spatial slider-crank")
    y, z, rod = 0.1, 0.12 + 0.08, 0.3
    x = np.sqrt(rod**2 - y**2 - z**2)
    # the rod's x axis leads from the crank to the slider: Rx(a) Ry(b) x = (x, -y, -z) / rod
    a, b = np.arctan2(-y, z), np.arccos(x / rod)
    mech.add_body("crank", joint=Revolute(axis=_X), placement=Pose(xyz=(0, y, 0.12)), mass=0.12, inertia=(1e-4, 1e-5, 1e-4))
    mech.add_frame("crank pin", "crank", Pose(xyz=(0, 0, 0.08)))
    mech.add_body("slider", joint=Prismatic(axis=_X), placement=Pose(xyz=(x, 0, 0)), mass=2.0, inertia=(1e-4, 1e-4, 1e-4))
    turned = Pose(rpy=(a, 0, 0)) @ Pose(rpy=(0, b, 0))
    mech.add_body(
        "rod", "slider", Universal(axis1=turned.R.T @ _X, axis2=_Y), turned, mass=0.5, com=(-rod / 2, 0, 0), inertia=(4e-4, 4e-3, 4e-3)
    )
    mech.add_frame("rod end", "rod", Pose(xyz=(-rod, 0, 0)))
    mech.add_constraint(Close(Spherical(), "crank pin", "rod end"))
    return mech
