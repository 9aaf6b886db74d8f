"""A simulation that keeps up with the clock, and what people do to it.  It knows nothing of browsers."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..checks import listed, number, numbers, shown
from ..errors import LeastActionError, StateError
from ..integrators import RK4, Integrator, Maximal, Midpoint, SemiImplicitEuler, Variational
from ..model import Model
from ..page.keyframes import Kinematics, quaternions
from ..simulator import Simulator
from ..state import State
from ..trajectory import Trajectory
from .pull import Pull

Array = NDArray[np.float64]
Control = Callable[[float, State], Any]

#: what a viewer offers; the one it was started with comes first
INTEGRATORS: dict[str, Callable[[], Integrator]] = {
    "variational": Variational, "variational, midpoint": lambda: Variational(quadrature="midpoint"), "midpoint": Midpoint,
    "maximal": Maximal, "semi-implicit Euler": SemiImplicitEuler, "Runge-Kutta 4": RK4,
}  # fmt: skip
SLOWEST, FASTEST = 0.01, 100.0
MOST_NODES = 1_000_000  # that are kept; older ones are forgotten
_MOST_STEPS = 20_000  # at once, before people are served again


class Session:
    """Make steps with `advance`, change things with `command`, look with `frame` and `status`.

    `record` is what happened since the start, the last reset or the last change of the integrator, the step or a joint.
    """

    def __init__(
        self, model: Model, state: State, dt: float, integrator: Integrator | None = None, *,
        limits: str = "stop", control: Control | None = None,
    ):  # fmt: skip
        self.model, self.start, self.control = model, state, control
        self.limits = limits
        self.dt = dt
        chosen = Variational() if integrator is None else integrator
        self.integrators = {"as started": chosen, **{name: make() for name, make in INTEGRATORS.items()}}
        self.integrator = "as started"
        self.speed, self.paused, self.message, self.behind = 1.0, False, "", False
        self.pull: Pull | None = None
        self._kinematics = Kinematics(model)
        self._due = 0.0  # s of simulated time that are owed
        self._restart(state)

    # ------------------------------------------------------------------------------------------------ time

    def advance(self, seconds: float) -> int:
        """Simulate what belongs to this many seconds of the clock; returns the number of steps."""
        if self.paused:
            return 0
        self._due += self.speed * seconds
        wanted = self._due / self.dt + 1e-9
        self.behind = wanted >= _MOST_STEPS + 1
        steps = math.floor(min(wanted, _MOST_STEPS))
        self._due = 0.0 if self.behind else self._due - steps * self.dt
        if steps:
            self.make_steps(steps)
        return steps

    def make_steps(self, steps: int) -> None:
        """Whether paused or not.  Trouble pauses, and says why in `message`."""
        try:
            now = self._simulator.state
            tau = None if self.pull is None else self.pull.tau(now.q, now.v)
            if self.control is None:
                self._keep(self._simulator.run(steps, tau=tau, progress=False))
            else:
                self._keep(self._simulator.run(steps, control=self._with_hand(tau), progress=False))
            stopped = self._parts[-1].message if self._parts[-1].steps < steps else ""
        except Exception as error:  # of the control law too: nothing that was recorded is lost
            if (made := getattr(error, "trajectory", None)) is not None:
                self._keep(made)
            stopped = str(error) if isinstance(error, LeastActionError) else f"{type(error).__name__}: {error}"
        if stopped:
            self.paused, self.message, self.pull = True, stopped, None

    def _with_hand(self, tau: Array | None) -> Control:
        """The control law, and the hand."""
        law, model = self.control, self.model
        assert law is not None
        hand = 0.0 if tau is None else np.pad(tau, (0, model.inputs_per_step - model.nv))
        return lambda t, state: model.inputs(law(t, state)) + hand

    def _keep(self, part: Trajectory) -> None:
        self._parts.append(part)
        self._nodes += len(part)
        while self._nodes > MOST_NODES and len(self._parts) > 1:
            self._nodes -= len(self._parts.pop(0))

    def _restart(self, state: State) -> None:
        simulator = Simulator(self.model, state, dt=self.dt, integrator=self.integrators[self.integrator], limits=self.limits)
        self._simulator = simulator
        self._parts, self._nodes = [simulator.run(0, progress=False)], 1
        self._due = 0.0

    @property
    def state(self) -> State:
        return self._simulator.state

    @property
    def record(self) -> Trajectory:
        parts = [part for part in self._parts if part.steps] or self._parts[:1]
        tau = np.concatenate([_rows(part, self.model) for part in parts])
        return replace(Trajectory.joined(parts), tau=tau)

    # ------------------------------------------------------------------------------------------------ commands

    def command(self, given: Any) -> None:
        """One of {"do": "pause"}, "resume", "step", "reset", {"do": "speed", "value": 2}, "dt", {"do": "integrator", "name": ...},
        {"do": "joint", "name": ..., "value": ...}, {"do": "pull", "row": ..., "point": [...], "target": [...]}, "release"."""
        if not isinstance(given, dict) or not isinstance(given.get("do"), str) or given["do"] not in self._COMMANDS:
            raise StateError(f"the command {shown(given)} is not known; there are {listed(self._COMMANDS)}")
        self._COMMANDS[given["do"]](self, given)

    def _pause(self, _: dict[str, Any]) -> None:
        self.paused = True

    def _resume(self, _: dict[str, Any]) -> None:
        self.paused, self.message = False, ""

    def _step(self, _: dict[str, Any]) -> None:
        self.paused, self.message = True, ""
        self.make_steps(1)

    def _reset(self, _: dict[str, Any]) -> None:
        self.message, self.pull = "", None
        self._restart(self.start)

    def _set_speed(self, given: dict[str, Any]) -> None:
        speed = number(given.get("value", "missing"), "speed", StateError)
        if not SLOWEST <= speed <= FASTEST:
            raise StateError(f"speed = {speed:g}; it is between {SLOWEST:g} and {FASTEST:g}")
        self.speed = speed

    def _set_dt(self, given: dict[str, Any]) -> None:
        dt = number(given.get("value", "missing"), "dt", StateError)
        if not 1e-7 <= dt <= 1.0:
            raise StateError(f"dt = {dt:g} s; it is between 1e-7 and 1")
        self._try(dt=dt)

    def _set_integrator(self, given: dict[str, Any]) -> None:
        name = given.get("name")
        if not isinstance(name, str) or name not in self.integrators:
            raise StateError(f"integrator = {shown(name)}; there are {listed(self.integrators)}")
        self._try(integrator=name)

    def _try(self, **changed: Any) -> None:
        """Go on from where it is with another step or integrator; if that is refused, as before."""
        before = {name: getattr(self, name) for name in changed}
        vars(self).update(changed)
        try:
            self._restart(self.state)
        except LeastActionError:
            vars(self).update(before)
            raise
        self.message = ""

    def _set_joint(self, given: dict[str, Any]) -> None:
        name, value = given.get("name"), number(given.get("value", "missing"), "value of the joint", StateError)
        movable = [body.joint_name for body in self.model.bodies if body.joint.nq == 1]
        if name not in movable:
            raise StateError(f"joint = {shown(name)}; those with one coordinate are {listed(movable)}")
        q = self.state.q
        q[self.model.q_slice(name)] = value
        if self.model.closures:
            q = self.model.assemble(q, hold=(name,))
        self.paused, self.message = True, ""
        self._restart(self.model.state(q))

    def _pull(self, given: dict[str, Any]) -> None:
        row = given.get("row")
        if not isinstance(row, int) or isinstance(row, bool) or not 1 <= row <= len(self.model.bodies):
            raise StateError(f"row = {shown(row)}; bodies have the rows 1 to {len(self.model.bodies)}")
        point, target = (numbers(given.get(name, "missing"), name, StateError, (3,)) for name in ("point", "target"))
        self.pull = Pull(self.model, row, point, target)

    def _release(self, _: dict[str, Any]) -> None:
        self.pull = None

    _COMMANDS = {
        "pause": _pause, "resume": _resume, "step": _step, "reset": _reset, "speed": _set_speed, "dt": _set_dt,
        "integrator": _set_integrator, "joint": _set_joint, "pull": _pull, "release": _release,
    }  # fmt: skip

    # ------------------------------------------------------------------------------------------------ what is seen

    def status(self) -> dict[str, Any]:
        """What buttons show; JSON."""
        return {
            "paused": self.paused, "speed": self.speed, "dt": self.dt, "integrator": self.integrator,
            "integrators": list(self.integrators), "message": self.message, "behind": self.behind, "pulled": self.pull is not None,
        }  # fmt: skip

    def frame(self) -> bytes:
        """float64: t, kinetic and potential energy, momentum (6), constraint error, q, v; then float32: quaternion (x, y, z, w) and
        position (x, y, z, 0) of the world and of every body."""
        node = _last(self._parts[-1])
        R, p = self._kinematics.world(node.q)
        poses = np.zeros((len(self.model.bodies) + 1, 8), dtype="<f4")
        poses[0, 3] = 1.0
        found = quaternions(R)[0]
        poses[1:, :3], poses[1:, 3], poses[1:, 4:7] = found[:, 1:], found[:, 0], p[0]
        head = np.concatenate([
            [node.t[0], node.kinetic[0], node.potential[0]], node.momentum[0], [np.abs(node.constraint_error[0])], node.q[0], node.v[0],
        ])  # fmt: skip
        return head.astype("<f8").tobytes() + poses.tobytes()


def _last(run: Trajectory) -> Trajectory:
    """The last node of a run, alone."""
    arrays = {name: getattr(run, name) for name in ("t", "q", "recorded", "errors", "multipliers")}
    cut: dict[str, Any] = {name: None if array is None else array[-1:] for name, array in arrays.items()}
    return replace(run, **cut, iterations=run.iterations[:0], tau=None)


def _rows(run: Trajectory, model: Model) -> Array:
    """Inputs of every step (steps, nv), with targets where there are servos."""
    tau = model.inputs()[None] if run.tau is None else run.tau
    return np.broadcast_to(tau, (run.steps, tau.shape[1])) if len(tau) == 1 else tau
