"""Mechanisms as environments of Gymnasium (extra `gym`): one to learn in, or many at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .batch.rollout import rollout
from .checks import number, numbers, shown, time_step, whole_number
from .errors import ConvergenceError, LimitError, StateError
from .integrators import Integrator, Variational
from .model import Model, checked_model
from .simulator import Simulator

try:
    import gymnasium
    from gymnasium.spaces import Box
    from gymnasium.utils import seeding
    from gymnasium.vector import AutoresetMode, VectorEnv
    from gymnasium.vector.utils import batch_space
except ImportError:
    raise ImportError("leastaction.gym needs gymnasium, which is not installed; pip install 'leastaction[gym]'") from None

__all__ = ["Environment", "Environments"]

Array = NDArray[np.float64]
Start = Callable[[np.random.Generator], tuple[Any, Any]]

_MOST_STEPS = 1e12  # of an episode


class _Task:
    """What one environment and many have in common.

    reward    function (q, v, u) -> number, after the step: coordinates, velocities, and the input that was given
    torque    {joint: largest force}: these joints are driven directly.  By default the motors of the model are, within their limits
    start     function (random generator) -> (q, v), each as in `model.state`; by default the neutral position, nearly at rest
    ended     function (q, v) -> has the episode ended?  It also ends where a joint is beyond its limit, and where a step cannot be solved
    observe   function (q, v) -> what is seen; by default all of q and v
    dt        time between two inputs, s
    substeps  steps of the integrator in that time
    duration  time after which an episode is cut off, s

    Functions get arrays whose last axis are the coordinates: (nq,) of one environment, (number, nq) of many.
    """

    def __init__(
        self, model: Model, reward: Callable[..., Any], *, torque: Mapping[str, ArrayLike] | None = None, start: Start | None = None,
        ended: Callable[..., Any] | None = None, observe: Callable[..., Any] | None = None, dt: float = 0.02, substeps: int = 1,
        duration: float = 10.0, integrator: Integrator | None = None,
    ):  # fmt: skip
        self.model = checked_model(model)
        for name, function in {"reward": reward, "start": start, "ended": ended, "observe": observe}.items():
            if not callable(function) and (function is not None or name == "reward"):
                raise StateError(f"{name} = {shown(function)} is not a function")
        if start is None and model.closures:
            raise StateError(f"{model.name!r} has constraints: give start, a function that returns a position which satisfies them")
        self.reward, self.start, self.ended = reward, start or self._nearly_at_rest, ended
        self.observe = observe or (lambda q, v: np.concatenate([q, v], axis=-1))
        self.substeps = whole_number(substeps, 1, "substeps")
        self.dt = time_step(dt)
        count = number(duration, "duration", StateError) / self.dt
        if not 0.0 < count < _MOST_STEPS:
            raise StateError(f"duration = {shown(duration)} s in steps of dt = {dt:g} s are {count:.3g} steps; give up to {_MOST_STEPS:g}")
        self.steps = max(1, round(count))
        self.integrator = Variational() if integrator is None else integrator
        self._drive(torque)
        seen = self.seen(*self.first(np.random.default_rng(0)))
        self.observation_space = Box(-np.inf, np.inf, seen.shape, np.float64)

    def _drive(self, torque: Mapping[str, ArrayLike] | None) -> None:
        """Which inputs there are."""
        model = self.model
        if torque is None:
            if not model.motors:
                raise StateError(f"{model.name!r} has no motors: add some with mech.add_motor, or give torque={{joint: largest force}}")
            low, high = np.array([motor.limit for motor in model.motors]).T
            self._rows: NDArray[np.int64] | None = None
        else:
            if not isinstance(torque, Mapping) or not torque:
                raise StateError(f"torque = {shown(torque)}; give {{joint: largest force}}")
            spans = [(model.v_slice(joint), numbers(most, f"torque of {joint!r}", StateError)) for joint, most in torque.items()]
            self._rows = np.concatenate([np.arange(s.start, s.stop) for s, _ in spans])
            high = np.concatenate([np.broadcast_to(most, s.stop - s.start) for s, most in spans])
            low = -high
        if not (np.all(np.isfinite(low)) and np.all(low < high)):
            raise StateError(f"inputs reach from {low.tolist()} to {high.tolist()}; learning needs finite limits: give motors a limit")
        self.action_space = Box(low, high, dtype=np.float64)

    def joint_forces(self, u: Array) -> Array:
        """(..., nv) of the inputs u (..., number of inputs)."""
        if self._rows is None:
            return self.model.torques(u)
        tau = np.zeros((*u.shape[:-1], self.model.nv))
        tau[..., self._rows] = np.clip(u, self.action_space.low, self.action_space.high)
        return tau

    def inputs(self, u: ArrayLike, shape: tuple[int, ...]) -> Array:
        return numbers(u, "action", StateError, shape)

    def first(self, random: np.random.Generator) -> tuple[Array, Array]:
        given = self.start(random)
        if not isinstance(given, Sequence) or len(given) != 2:
            raise StateError(f"start returned {shown(given)}; it returns (q, v)")
        state = self.model.state(*given)
        return state.q, state.v

    def _nearly_at_rest(self, random: np.random.Generator) -> tuple[Array, Array]:
        return self.model.neutral(), random.uniform(-0.05, 0.05, self.model.nv)

    def seen(self, q: Array, v: Array) -> Array:
        return numbers(self.observe(q, v), "what observe returned", StateError, finite=False)

    def over(self, q: Array, v: Array) -> NDArray[np.bool_]:
        if self.ended is None:
            return np.zeros(q.shape[:-1], dtype=bool)
        found = np.asarray(self.ended(q, v))
        if found.dtype.kind not in "biu" or found.shape not in ((), q.shape[:-1]):
            raise StateError(f"ended returned {shown(found)}; it returns True or False, for many environments an array of {len(q)}")
        return found.astype(bool)

    def rewards(self, q: Array, v: Array, u: Array) -> Array:
        found = numbers(self.reward(q, v, u), "what reward returned", StateError, finite=False)
        if found.shape not in ((), q.shape[:-1]):
            raise StateError(f"reward returned an array of shape {found.shape}; it returns one number for each environment, {q.shape[:-1]}")
        return found


class Environment(gymnasium.Env):
    """One mechanism to learn in, an environment of Gymnasium.  Arguments: model, reward, and by name those of the page docs/gym.md.

    >>> import leastaction as la
    >>> model = la.examples.double_pendulum().compile()
    >>> env = la.gym.Environment(model, lambda q, v, u: -float(q @ q), torque={"upper": 5.0})
    >>> seen, info = env.reset(seed=1)
    >>> seen, reward, ended, cut_off, info = env.step([0.5])
    >>> seen.shape
    (4,)
    """

    metadata: dict[str, Any] = {"render_modes": []}

    def __init__(self, model: Model, reward: Callable[..., Any], **options: Any):
        self.task = _Task(model, reward, **options)
        self.action_space, self.observation_space = self.task.action_space, self.task.observation_space
        self.simulator: Simulator | None = None  #: of the present episode
        self._made = 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Array, dict[str, Any]]:
        super().reset(seed=seed)
        task = self.task
        q, v = task.first(self.np_random)
        self.simulator = Simulator(task.model, dt=task.dt / task.substeps, q=q, v=v, integrator=task.integrator)
        self._made = 0
        return task.seen(q, v), {}

    def step(self, action: Any) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        task, simulator = self.task, self.simulator
        if simulator is None:
            raise StateError("there is no episode yet; call reset() first")
        u = task.inputs(action, task.action_space.shape)
        failure = ""
        tau = task.joint_forces(u)
        try:
            for _ in range(task.substeps):
                simulator.step(tau)
        except (ConvergenceError, LimitError) as error:
            failure = str(error)
        self._made += 1
        q, v = np.array(simulator.q), np.array(simulator.v)
        ended = bool(failure) or bool(task.over(q, v))
        told = {"why": failure} if failure else {}
        return task.seen(q, v), float(task.rewards(q, v, u)), ended, self._made >= task.steps, told


class Environments(VectorEnv):
    """Many mechanisms to learn in at once, simulated by `la.rollout` on all cores.  Arguments: model, number, reward, then as Environment.

    An episode that has ended begins anew with the next step, which ignores its action and gives the reward 0.  With the same seed,
    environment k begins as `Environment` does with seed + k.

    >>> import leastaction as la
    >>> model = la.examples.cart_pole().compile()
    >>> many = la.gym.Environments(model, 4, lambda q, v, u: -(q**2).sum(axis=-1), torque={"cart": 5.0})
    >>> seen, info = many.reset(seed=1)
    >>> seen.shape
    (4, 4)
    """

    metadata: dict[str, Any] = {"render_modes": [], "autoreset_mode": AutoresetMode.NEXT_STEP}

    def __init__(self, model: Model, number: int, reward: Callable[..., Any], *, threads: int | None = None, **options: Any):
        self.task = task = _Task(model, reward, **options)
        self.num_envs, self.threads = whole_number(number, 1, "number"), threads
        self.single_action_space, self.single_observation_space = task.action_space, task.observation_space
        self.action_space = batch_space(task.action_space, self.num_envs)
        self.observation_space = batch_space(task.observation_space, self.num_envs)
        self._random: list[np.random.Generator] = []

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Array, dict[str, Any]]:
        if seed is not None or not self._random:
            self._random = [seeding.np_random(None if seed is None else seed + k)[0] for k in range(self.num_envs)]
        firsts = [self.task.first(random) for random in self._random]
        self.q, self.v = np.array([q for q, _ in firsts]), np.array([v for _, v in firsts])
        self._made, self._over = np.zeros(self.num_envs, dtype=np.int64), np.zeros(self.num_envs, dtype=bool)
        return self.task.seen(self.q, self.v), {}

    def step(self, actions: Any) -> tuple[Array, Array, NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]:
        task, count = self.task, self.num_envs
        if not self._random:
            raise StateError("there are no episodes yet; call reset() first")
        u = task.inputs(actions, (count, *(task.action_space.shape or ())))
        anew, going = self._over, np.flatnonzero(~self._over)
        why = np.full(count, "", dtype=object)
        if len(going):
            many = rollout(
                task.model, q=self.q[going], v=self.v[going], dt=task.dt / task.substeps, steps=task.substeps, integrator=task.integrator,
                tau=task.joint_forces(u[going])[:, None], record="last", threads=self.threads, progress=False,
            )  # fmt: skip
            self.q[going], self.v[going] = many.q[:, 0], many.v[:, 0]
            for member, reason in {**many.errors, **many.stopped}.items():
                why[going[member]] = reason
        for k in np.flatnonzero(anew):
            self.q[k], self.v[k] = task.first(self._random[k])
        self._made = np.where(anew, 0, self._made + 1)
        stopped = (why != "") & ~anew
        ended = (stopped | task.over(self.q, self.v)) & ~anew
        cut_off = (self._made >= task.steps) & ~anew
        self._over = ended | cut_off
        reward = np.where(anew, 0.0, task.rewards(self.q, self.v, u))
        return task.seen(self.q, self.v), reward, ended, cut_off, {"why": why, "_why": stopped} if stopped.any() else {}
