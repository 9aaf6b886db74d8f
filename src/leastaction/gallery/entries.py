"""The one list of what is in the gallery.  Everything about an entry is here: its story, its builder, how it starts and how it is run."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .. import examples
from ..checks import shown, whole_number
from ..errors import StateError
from ..mechanism import Mechanism
from ..model import Model
from ..simulate import simulate
from ..state import State
from ..trajectory import Trajectory

_QUARTER = 1.5707963267948966


@dataclass(frozen=True)
class Entry:
    """A mechanism of the gallery.

    >>> import leastaction as la
    >>> top = la.gallery.entry("heavy-top")
    >>> top.dt, top.traces
    (0.001, ('end',))
    """

    name: str  #: of its page: <name>.html
    title: str
    story: str  #: one sentence
    example: str  #: function of `la.examples`
    dt: float  #: s
    duration: float  #: s
    arguments: Mapping[str, Any] = field(default_factory=dict)  #: of that function
    q: Mapping[str, Any] = field(default_factory=dict)  #: start, by joint; the others are neutral
    v: Mapping[str, Any] = field(default_factory=dict)
    loops: bool = False  #: does the start have to be closed (and its velocity made to fit)?
    every: int = 1  #: record every n-th step
    traces: tuple[str, ...] = ()
    reactions: tuple[str, ...] = ()
    loses_energy: bool = False  #: has it dampers?
    moment: float = 0.3  #: part of the run at which its picture is taken
    near: bool = False  #: is the picture of the mechanism alone, without the room that its motion needs?

    def build(self) -> Mechanism:
        return getattr(examples, self.example)(**self.arguments)

    def start(self, model: Model) -> State:
        """Coordinates and velocities at the start, closed if the mechanism has loops."""
        if not self.loops:
            return model.state(dict(self.q), dict(self.v))
        q = model.assemble(dict(self.q))
        return model.state(q, model.project_velocity(q, dict(self.v)))

    def run(self, steps: int | None = None) -> Trajectory:
        """Simulate it: all of it, or `steps` steps."""
        steps = None if steps is None else whole_number(steps, 1, "steps")
        model = self.build().compile()
        state = self.start(model)
        if steps is None:
            return simulate(model, state, dt=self.dt, duration=self.duration, record_every=self.every)
        return simulate(model, state, dt=self.dt, steps=steps, record_every=min(self.every, steps))

    @property
    def source(self) -> str:
        """The builder, as it stands in `la.examples`."""
        return inspect.getsource(inspect.unwrap(getattr(examples, self.example)))

    @property
    def code(self) -> str:
        """A program that simulates it and writes its page."""
        given = ", ".join(f"{k}={v!r}" for k, v in self.arguments.items())
        lines = ["import leastaction as la", "", f"model = la.examples.{self.example}({given}).compile()"]
        q, v = dict(self.q), dict(self.v)
        if self.loops:
            lines.append(f"q = model.assemble({q if q else ''})")
            start = ["q=q"]
            if v:
                lines.append(f"v = model.project_velocity(q, {v})")
                start.append("v=v")
        else:
            start = [f"{k}={x}" for k, x in (("q", q), ("v", v)) if x]
        options = [f"dt={self.dt:g}", f"duration={self.duration:g}", *start]
        if self.every > 1:
            options.append(f"record_every={self.every}")
        lines.append(f"run = la.simulate(model, {', '.join(options)})")
        shown = [f"{k}={list(x)}" for k, x in (("traces", self.traces), ("reactions", self.reactions)) if x]
        lines.append(f"run.to_html({', '.join([repr(self.name + '.html'), *shown])})")
        return "\n".join(lines) + "\n"


ENTRIES = (
    Entry(
        "robot-arm", "Robot arm",
        "A six-axis arm read from a URDF file is let go without brakes, and the hand writes in the air.",
        "robot_arm", 1e-3, 8.0, q={"lift": 2.2, "elbow": 0.6, "roll": 0.2, "bend": 0.4}, every=4, traces=("hand",), moment=0.1,
    ),
    Entry(
        "heavy-top", "Heavy top",
        "A spinning top leans over and does not fall: it precesses, and nods while it does.",
        "heavy_top", 1e-3, 6.0, q={"top": (0.96, 0.0, 0.28, 0.0)}, v={"top": (0.0, 0.0, 100.0)}, every=4, traces=("end",), moment=0.0,
    ),
    Entry(
        "dzhanibekov", "Dzhanibekov's T-handle",
        "A T-handle that spins about its middle axis turns over, again and again, with nothing to push it: no momentum changes.",
        "t_handle", 1e-3, 12.0, v={"handle": (12.0, 0.02, 0.0, 0.0, 0.0, 0.0)}, every=4, traces=("end of stem",), moment=0.21,
    ),
    Entry(
        "gyroscope", "Gyroscope in gimbals",
        "A weight on its axis should tip the rotor; instead the whole gyroscope walks around the vertical.",
        "gyroscope", 1e-3, 8.0, q={"inner": 0.25}, v={"rotor": 120.0}, every=4, traces=("end of axis",),
    ),
    Entry(
        "double-pendulum", "Double pendulum",
        "Two masses on two rods: the smallest mechanism that nobody can predict for long.",
        "double_pendulum", 2e-3, 20.0, q={"upper": 2.2, "lower": 0.4}, every=5, traces=("tip",), moment=0.2,
    ),
    Entry(
        "furuta", "Furuta pendulum",
        "A pole on a turning arm, let go a little beside the top: each steals the other's momentum.",
        "furuta_pendulum", 1e-3, 8.0, q={"pole": 3.0}, v={"arm": 2.0}, every=5, traces=("tip",), moment=0.12,
    ),
    Entry(
        "chain", "Chain of a thousand links",
        "A step costs O(n), so a thousand links swing while you watch.",
        "chain", 2e-3, 24.0, {"n": 1000}, q={"link1": 1.3}, every=40, moment=0.75,
    ),
    Entry(
        "humanoid", "Weightless humanoid",
        "Thirty-five degrees of freedom tumble in space; what the arms gain, the legs and the trunk lose.",
        "humanoid", 1e-3, 8.0, {"gravity": (0.0, 0.0, 0.0)},
        v={"pelvis": (0.6, 0.2, 1.0, 0.0, 0.0, 0.0), "left_thigh": 1.5, "right_thigh": -1.5, "left_shoulder_pitch": -2.0,
           "right_shoulder_pitch": 2.0}, every=5, moment=0.06, near=True,
    ),
    Entry(
        "satellite", "Satellite that unfolds",
        "Springs open two wings of three panels; the body answers, because nothing acts from outside.",
        "satellite", 5e-3, 30.0,
        q={"left1": -_QUARTER, "left2": 3.05, "left3": -3.05, "right1": _QUARTER, "right2": -3.05, "right3": 3.05},
        v={"bus": (0.0, 0.05, 0.12, 0.0, 0.0, 0.0)}, every=4, traces=("left tip", "right tip"), loses_energy=True, moment=0.16,
    ),
    Entry(
        "four-bar", "Four-bar linkage",
        "Three rods and the ground close a loop; it stays closed, and the arrow is the force in its last pin.",
        "four_bar", 2e-3, 12.0, q={"rod1": 0.8, "rod2": -2.0, "rod3": -1.3}, loops=True, every=4,
        traces=("rod3",), reactions=("Coincident('anchor', 'tip')",), moment=0.05,
    ),
    Entry(
        "slider-crank", "Slider-crank",
        "A crank drives a slider in space through a rod on a cross; arrows are the forces that the joints carry.",
        "slider_crank", 1e-3, 6.0, v={"crank": 9.0}, loops=True, every=4, reactions=("crank", "rod", "slider"), moment=0.31,
    ),
    Entry(
        "radial-engine", "Radial engine",
        "Five pistons around one crank pin: ten constraint rows, eleven coordinates, one degree of freedom.",
        "radial_engine", 1e-3, 5.0, v={"crank": 14.0}, loops=True, every=4, moment=0.43,
    ),
    Entry(
        "bennett", "Bennett linkage",
        "Four links on four skew hinges: a count of freedoms says it is stuck twice over, and yet it turns.",
        "bennett", 2e-3, 12.0, v={"first": 4.0}, loops=True, every=4, traces=("third",),
    ),
    Entry(
        "jansen-walker", "Jansen walker",
        "Theo Jansen's legs turn the circle of a crank into steps: twelve loops, one degree of freedom.",
        "jansen_walker", 1e-3, 6.0, v={"crank": 80.0}, loops=True, every=4, traces=("left1 toe", "right1 toe"), moment=0.5,
    ),
    Entry(
        "scissor-lift", "Scissor lift",
        "Crossed rods on a slider collapse and rise again: one degree of freedom through many loops.",
        "scissor_lift", 1e-3, 5.0, {"angle": 0.9}, loops=True, every=4, moment=0.0, near=True,
    ),
    Entry(
        "marionette", "Marionette",
        "A puppet hangs on five strings, which are distances that are kept; a kick makes it dance.",
        "marionette", 2e-3, 10.0, v={"left thigh": 3.0, "right thigh": -3.0, "right arm": 2.0}, loops=True, every=5, moment=0.06, near=True,
    ),
    Entry(
        "quadruped", "Quadruped with closed legs",
        "A robot with four five-bar legs floats in the void and kicks: every foot is two chains that meet.",
        "quadruped", 1e-3, 6.0, {"gravity": (0.0, 0.0, 0.0)},
        v={"body": (0.5, 0.0, 0.8, 0.0, 0.0, 0.0), "front_left_fore_thigh": 5.0, "back_right_hind_thigh": -5.0}, loops=True, every=4,
        moment=0.05, near=True,
    ),
    Entry(
        "rolling-disc", "Rolling disc",
        "A coin rolls without slipping, leans and comes round: a constraint on velocities that no coordinates can replace.",
        "rolling_disc", 2e-3, 10.0, v={"disc": (0.5, 6.0, 1.5, 1.8, 0.0, 0.0)}, loops=True, every=4, traces=("disc",),
    ),
    Entry(
        "sleigh", "Chaplygin sleigh",
        "A plate on a knife edge draws cusps on the ice and, with no friction at all, ends up going straight.",
        "chaplygin_sleigh", 5e-3, 6.0, v={"sleigh": (-0.25, 0.0, 3.0)}, loops=True, every=2, traces=("sleigh",),
    ),
    Entry(
        "bicycle", "Bicycle that balances itself",
        "Nobody steers: pushed sideways at five metres per second, the benchmark bicycle steers into its fall and runs straight again.",
        "bicycle", 5e-3, 6.0, v={"frame": (0.3, 0.0, 0.0, 5.0, 0.0, 0.0)}, loops=True, every=2, traces=("rear", "front"),
        moment=0.1, near=True,
    ),
    Entry(
        "car", "Car on ideal wheels",
        "Four wheels that do not slip and an exact steering linkage: two rows say the same, are found and left out.",
        "car", 1e-2, 8.0, q={"knuckle left": 0.35}, v={"chassis": (5.0, 0.0, 0.65)}, loops=True, every=2,
        traces=("front left", "rear right"), moment=0.2, near=True,
    ),
    Entry(
        "rattleback", "Rattleback",
        "Spun the wrong way, the stone begins to rattle, stops and turns back, without friction and without any help.",
        "rattleback", 1e-3, 5.0, v={"stone": (0.02, 0.01, -5.0, 0.0, 0.0, 0.0)}, loops=True, every=4, traces=("end",), near=True,
    ),
    Entry(
        "torus-chain", "Chain of rings",
        "Rings hang in each other and slide tube over tube: a joint with four freedoms, made from its pose alone.",
        "torus_chain", 1e-3, 8.0, {"n": 8}, v={"ring1": (0.0, 1.5)}, every=5, moment=0.2, near=True,
    ),
    Entry(
        "windmill", "Windmill of eggs and rings",
        "Six blades of balls, rings and eggs that roll over each other; springs hold them outwards.",
        "windmill", 5e-4, 5.0, v={"hub": 2.0}, every=10, near=True,
    ),
    Entry(
        "board", "Board in a bowl",
        "A board slides in a bowl that is a Bezier surface, with a pendulum on its mast.",
        "board_on_surface", 1e-3, 10.0, every=5, traces=("board",), moment=0.06,
    ),
    Entry(
        "knee", "Leg with a four-bar knee",
        "The knee of a prosthesis, two crossed links, as one joint whose centre of rotation wanders.",
        "knee_leg", 1e-3, 6.0, q={"thigh": -0.9}, every=5, traces=("foot",), moment=0.3,
    ),
)  # fmt: skip


def names() -> list[str]:
    """The names of all entries.

    >>> import leastaction as la
    >>> "heavy-top" in la.gallery.names()
    True
    """
    return [one.name for one in ENTRIES]


def entry(name: str) -> Entry:
    """The entry of that name.

    >>> import leastaction as la
    >>> print(la.gallery.entry("heavy-top").title)
    Heavy top
    """
    found = next((one for one in ENTRIES if isinstance(name, str) and one.name == name), None)
    if found is None:
        raise StateError(f"the gallery has no {shown(name)}; it has {', '.join(map(repr, names()))}")
    return found
