"""Mechanisms to play with: `la.examples.chain(10)` and friends.  Each function returns a Mechanism.

>>> import leastaction as la
>>> la.examples.chain(10).compile().nv
10
"""

from ..checks import numbers_only
from .crossed_linkages import bennett, jansen_walker
from .frame_trees import (
    LISTING_1_START,
    driven_pendulum,
    hanging_scissor_lift,
    hanging_scissor_start,
    listing_1,
    marionette,
    planar_human,
    screw,
)
from .linkages import (
    chaplygin_sleigh,
    closed_chain,
    closed_chain_device,
    four_bar,
    four_bar_chain,
    quadruped,
    radial_engine,
    rolling_disc,
    scissor_lift,
    slider_crank,
)
from .published import (
    FOLDING_SPEED,
    FOLDING_START,
    GOVERNOR_SPEED,
    SQUEEZER_START,
    SQUEEZER_TORQUE,
    bricard,
    flyball_governor,
    folding_slider_crank,
    n_four_bar,
    planar_slider_crank,
    spatial_slider_crank,
    squeezer,
)
from .spinning import furuta_pendulum, gyroscope, satellite, t_handle
from .surfaces import (
    board_on_surface,
    knee_leg,
    spline_chain,
    torus_chain,
    windmill,
)
from .trees import (
    ball_chain,
    cart_pole,
    chain,
    double_pendulum,
    heavy_top,
    humanoid,
    random_inertia,
    random_joint,
    random_tree,
    robot_arm,
    tumbling_body,
)
from .vehicles import ball_on_turntable, bicycle, car, differential_drive, rattleback, snakeboard

__all__ = [
    "ball_chain", "ball_on_turntable", "bennett", "bicycle", "board_on_surface", "bricard", "car", "cart_pole", "chain",
    "chaplygin_sleigh", "closed_chain", "closed_chain_device", "differential_drive", "double_pendulum", "driven_pendulum",
    "flyball_governor", "folding_slider_crank", "FOLDING_SPEED", "FOLDING_START", "four_bar", "four_bar_chain", "furuta_pendulum",
    "GOVERNOR_SPEED", "gyroscope", "hanging_scissor_lift", "hanging_scissor_start", "heavy_top", "humanoid", "jansen_walker", "knee_leg",
    "listing_1", "LISTING_1_START", "marionette", "n_four_bar", "planar_human", "planar_slider_crank", "quadruped", "radial_engine",
    "random_inertia", "random_joint", "random_tree", "rattleback", "robot_arm", "rolling_disc", "satellite", "scissor_lift", "screw",
    "slider_crank", "snakeboard", "spatial_slider_crank", "spline_chain", "squeezer", "SQUEEZER_START", "SQUEEZER_TORQUE", "t_handle",
    "torus_chain", "tumbling_body", "windmill",
]  # fmt: skip

for _name in __all__:  # whatever is not a number is an error that says so
    if callable(globals()[_name]):
        globals()[_name] = numbers_only(globals()[_name])
