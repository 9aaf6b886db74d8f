"""Trajectory: what a simulation recorded, and what follows from it."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, fields, replace
from functools import cached_property
from os import PathLike
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from . import dynamics
from .assembly import doubts, ledger
from .assembly.closing import ClosedEvaluator
from .checks import instance, same, shown, whole_number
from .dynamics.kinematics import Configurations, about, centres
from .errors import LeastActionError, StateError
from .events import Occurrence
from .integrators.base import KICKED_MOMENTUM, Integrator, Stepper
from .integrators.memory import Continuation
from .kernels.stepping.record import EVERY, ROWS, STEPS, Record
from .model import Model
from .reactions import Nodes, Reactions
from .solvability.stepping import CertifiedStepper
from .specialise.cost import seconds_saved
from .state import State

if TYPE_CHECKING:
    import pandas
    import xarray

    from .page import Page

Array = NDArray[np.float64]


@dataclass(repr=False, eq=False)
class Trajectory:
    """Recorded nodes of a simulation, time first.  v, p, energy and momentum are computed when first asked for.

    >>> import leastaction as la
    >>> run = la.simulate(la.examples.double_pendulum().compile(), dt=1e-2, duration=1.0, q={"upper": 1.0})
    >>> run.t.shape, run.q.shape, run["lower"].shape
    ((101,), (101, 2), (101, 1))
    """

    model: Model
    integrator: Integrator
    dt: float  #: step, s; of AdaptiveStep that at density 1, of CertifiedStep the longest one
    t: Array  #: (T,) times, s
    q: Array  #: (T, nq) coordinates
    recorded: Array  #: (T, nv) what the integrator keeps beside q; see `Integrator.recording`
    iterations: NDArray[np.int64]  #: (steps,) residual evaluations (or force evaluations) of every step
    elapsed: float = 0.0  #: wall time of the simulation without compilation, s
    converged: bool = True  #: False if a step was not solved
    message: str = "finished"  #: or why it stopped early: a step that was not solved, a joint beyond its limit
    errors: Array | None = None  #: (T,) largest violation of a constraint, if the integrator kept any
    multipliers: Array | None = None  #: (T, m) impulses of the constraint rows over the step that ends in the node
    redundant: tuple[str, ...] = ()  #: constraint rows that others imply, and which were therefore left out
    tau: Array | None = None  #: (1, nv) or (steps, nv) joint forces that were given, constant or of every step; then targets of servos
    every: int = 1  #: after how many steps a node was recorded
    remarks: tuple[str, ...] = ()  #: what was not simulated, and joints that passed their limits, one sentence each
    events: tuple[Occurrence, ...] = ()  #: what was found of the events given as when=, in the order of time: name, t, state
    ledger: Array | None = None  #: (T, ...) work and heat, J, summed on the way; None: all nodes tell it, or nothing acts
    certified_dt: Array | None = None  #: (steps,) certified length of every step, s, of CertifiedStep; None: nothing is certified
    specialised_from: int | None = None  #: step at which it went over to code made for its mechanism: simulate(specialise=...)
    continuation: Continuation | None = None  #: what the integrator remembered at the last node; `state()` carries it on

    @classmethod
    def from_record(cls, record: Record, stepper: Stepper, integrator: Integrator, elapsed: float, tau: Array) -> Trajectory:
        """What a record holds so far; tau: as in the field of this name."""
        steps, rows = int(record.cursor[STEPS]), int(record.cursor[ROWS])
        return cls(
            stepper.model, integrator, stepper.dt, record.t[:rows], record.q[:rows], record.p[:rows], record.evaluations[:steps],
            elapsed=elapsed, errors=record.error[:rows] if stepper.keeps_constraints else None, multipliers=record.multipliers[:rows],
            redundant=stepper.redundant, tau=tau if len(tau) == 1 else tau[:steps], every=int(record.cursor[EVERY]),
            certified_dt=stepper.certified(steps) if isinstance(stepper, CertifiedStepper) else None,
        )  # fmt: skip

    @classmethod
    def joined(cls, parts: list[Trajectory]) -> Trajectory:
        """One run that was made in parts, each of them starting with the last node of the one before."""
        first, last = parts[0], parts[-1]

        def whole(name: str) -> Array | None:
            arrays = [getattr(p, name) for p in parts]
            return None if arrays[0] is None else np.concatenate([arrays[0], *(a[1:] for a in arrays[1:])])

        arrays: dict[str, Any] = {name: whole(name) for name in ("t", "q", "recorded", "errors", "multipliers", "ledger")}
        made = [p.tau for p in parts if p.steps and p.tau is not None]
        if any(len(tau) > 1 for tau in made):
            arrays["tau"] = np.concatenate(made)
        if first.certified_dt is not None:
            arrays["certified_dt"] = np.concatenate([p.certified_dt for p in parts if p.certified_dt is not None])
        return replace(
            last, **arrays,
            iterations=np.concatenate([p.iterations for p in parts]), elapsed=sum(p.elapsed for p in parts), redundant=first.redundant,
            events=sum((p.events for p in parts), ()),
        )  # fmt: skip

    def until(self, nodes: int) -> Trajectory:
        """The same run as if it had ended with its first recorded nodes, at least one."""
        nodes = whole_number(nodes, 1, "nodes")
        steps = min((nodes - 1) * self.every, self.steps) if nodes < len(self) else self.steps
        cut: dict[str, Any] = {name: getattr(self, name) for name in ("t", "q", "recorded", "errors", "multipliers", "ledger")}
        cut = {name: None if array is None else array[:nodes] for name, array in cut.items()}
        return replace(
            self, **cut, iterations=self.iterations[:steps], continuation=self.continuation if nodes >= len(self) else None,
            tau=self.tau if self.tau is None or len(self.tau) == 1 else self.tau[:steps],
            events=tuple(event for event in self.events if event.t <= self.t[nodes - 1]),
            certified_dt=None if self.certified_dt is None else self.certified_dt[:steps],
        )  # fmt: skip

    @cached_property
    def _evaluated(self) -> dynamics.Evaluation:
        what, half_step = self.integrator.recording(self.dt)
        return ClosedEvaluator(self.model)(what, half_step, self.q, self.recorded, self.t)

    @property
    def v(self) -> Array:
        """(T, nv) velocities M(q)^-1 p."""
        return self._evaluated.v

    @property
    def p(self) -> Array:
        """(T, nv) momenta."""
        return self._evaluated.p

    @property
    def kinetic(self) -> Array:
        """(T,) kinetic energy, J."""
        return self._evaluated.energy[:, 0]

    @property
    def potential(self) -> Array:
        """(T,) gravitational and spring energy, J."""
        return self._evaluated.energy[:, 1] + self._evaluated.energy[:, 2] + self.model.fixed_potential

    @property
    def energy(self) -> Array:
        """(T,) total energy H(q, p), J.  Work of wrenches, dampers and inputs is not subtracted."""
        return self.kinetic + self.potential

    @property
    def work(self) -> Array:
        """(T,) work since the first node, J: of joint forces, control laws, servos, wrenches, functions of yours, prescribed motions."""
        return self._work_and_heat("work")[:, ledger.WORK]

    @property
    def dissipated(self) -> Array:
        """(T,) energy that dampers and dry friction have turned into heat since the first node, J."""
        return self._work_and_heat("dissipated")[:, ledger.HEAT]

    def _work_and_heat(self, what: str) -> Array:
        """(T, 2 + servos); what: asked for."""
        known = self._summed
        if known is None:
            raise ledger.not_kept(what)
        return known

    @cached_property
    def _summed(self) -> Array | None:
        if self.ledger is not None:
            return self.ledger - self.ledger[0]
        inputs = self.model.inputs()[None] if self.tau is None or not len(self.tau) else self.tau
        if not self.steps or not ledger.may_change(self.model, inputs):
            return np.zeros((len(self), 2 + len(self.model.servos)))
        if len(self) != self.steps + 1:
            return None
        implicit = self.integrator.recording(self.dt)[0] == KICKED_MOMENTUM
        return ledger.work_and_heat(self.model, self.t, self.q, self.v, self.multipliers, inputs, implicit)

    @property
    def targets(self) -> Array:
        """(1, 2 n) or (steps, 2 n) targets of the n servos, constant or of every step: coordinates, then velocities."""
        inputs = self.model.inputs()[None] if self.tau is None else self.tau
        return inputs[:, self.model.nv :]

    @property
    def energy_balance(self) -> Array:
        """(T,) energy since the first node that nothing explains: E(t) - E(0) - work + dissipated, J.  What is left is the integrator's."""
        return self.energy - self.energy[0] - self.work + self.dissipated

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """What to know before this run is trusted, one sentence each: what was not simulated, energy that nothing explains."""
        return (*self.remarks, *filter(None, [*self._doubts, self.unexplained_in_words]))

    @property
    def _doubts(self) -> list[str]:
        integrator, ends = self.integrator.innermost, self.q[[0, -1]]
        found = [doubts.too_light(self.model, integrator.shared_tolerance)]
        with suppress(LeastActionError):  # velocities that are not finite, about which there is a warning anyhow
            found.append(doubts.too_far(self.model, ends, integrator.in_the_world) if np.isfinite(ends).all() else "")
            found.append(doubts.too_fast(self.model, self.q, self.v, self.t, self.dt, integrator.longest_turn(self.model)))
        return found

    @cached_property
    def unexplained_in_words(self) -> str:
        """A sentence on the first node whose energy nothing explains; empty if there is none."""
        k = self.first_unexplained
        if k is None:
            return ""
        energy, extra = self.energy, self.energy_balance[k]
        return ledger.in_words(float(self.t[k]), float(extra), float(energy[k]), float(energy[0]), self.dt, ledger.calmer(self.integrator))

    @property
    def first_unexplained(self) -> int | None:
        """The first node whose energy nothing explains; None if there is none, or where the nodes that are recorded do not tell."""
        try:
            with np.errstate(all="ignore"):
                return ledger.first_unexplained(self.energy_balance, self.kinetic, self.potential)
        except StateError:  # not all nodes, or not all impulses are recorded
            return None

    @property
    def momentum(self) -> Array:
        """(T, 6) momentum of everything about the world origin: angular (kg m^2/s), linear (kg m/s), world axes."""
        return self._evaluated.momentum

    def frame(self, name: str) -> dynamics.FrameMotion:
        """Position, rotation, velocity, acceleration and Jacobian of a body or frame at the recorded nodes, world axes.

        Accelerations are those of the equations of motion at the node, under the joint forces of the step that starts there.
        """
        return dynamics.FrameMotion(self._configurations, name, lambda: self.v, lambda: self.acceleration)

    @cached_property
    def _configurations(self) -> Configurations:
        return Configurations(self.model, self.q)

    @cached_property
    def acceleration(self) -> Array:
        """(T, nv) accelerations of the joints by the equations of motion, under the joint forces of the step that starts in the node."""
        rows = zip(self.q, self.v, self._tau_around()[:, 1], self.t, strict=True)
        return np.array([dynamics.forward(self.model, q, v, tau, t) for q, v, tau, t in rows])

    @cached_property
    def centre_of_mass(self) -> Array:
        """(T, 3) of all moving bodies together, m."""
        return centres(self._configurations)

    @property
    def centroidal_momentum(self) -> Array:
        """(T, 6) momentum of everything, angular about the centre of mass, and linear; world axes."""
        return about(self.momentum, self.centre_of_mass)

    @property
    def constraint_error(self) -> Array:
        """(T,) largest violation of a constraint, m or rad; a tree in joint coordinates has none."""
        return np.zeros(len(self.t)) if self.errors is None else self.errors

    @cached_property
    def reactions(self) -> Reactions:
        """Force and moment of every constraint and of every joint at the recorded nodes, by name: docs/reactions.md.

        >>> import leastaction as la
        >>> run = la.simulate(la.examples.chain(2).compile(), dt=1e-2, steps=10)  # two rods of 1 kg hang at rest
        >>> run.reactions["link1"].force[-1].round(6) + 0.0
        array([ 0.  ,  0.  , 19.62])
        """
        nodes = Nodes(self.model, self.t, self.q, self.v, self.p, self._tau_around(), failed=not self.converged)
        return Reactions(self.integrator, nodes, self.dt)

    def _tau_around(self) -> Array:
        """(T, 2, nv) joint forces of the step that ends in each recorded node, and of the one that starts there."""
        around = (len(self), 2, self.model.inputs_per_step)
        if self.tau is None or len(self.tau) == 0:
            return np.broadcast_to(self.model.inputs(), around)
        if len(self.tau) == 1:
            return np.broadcast_to(self.tau, around)
        start = np.minimum(self.every * np.arange(len(self)), self.steps)  # the last node is recorded whatever `every` is
        return self.tau[np.clip(np.stack([start - 1, start], axis=1), 0, len(self.tau) - 1)]

    @property
    def steps(self) -> int:
        return len(self.iterations)

    def state(self, k: int = -1) -> State:
        """State at recorded node k, the last one by default.

        The last one carries what the integrator remembered: `simulate` from it with the same integrator and dt goes on bit for bit as if
        the run had never stopped.
        """
        if isinstance(k, (bool, np.bool_)) or not isinstance(k, (int, np.integer)) or not -len(self) <= k < len(self):
            raise StateError(f"node {shown(k)} does not exist; {len(self)} were recorded, the first is 0, the last {len(self) - 1} or -1")
        state = State.with_velocity(self.model, float(self.t[k]), self.q[k], self.p[k], self.v[k])
        return state.continuing(self.continuation) if k in (-1, len(self) - 1) else state

    def to_html(self, path: str | PathLike[str], **options: Any) -> Page:
        """Write the run as a page of its own: 3-D playback and plots in one HTML file that needs no network.

        options: title, traces=("tip",), accuracy (m), triangles, max_mb; see `leastaction.page.make`.  Several runs: `la.page.write`.
        """
        from . import page

        return page.write(self, path, **options)

    def to_video(self, path: str | PathLike[str], **options: Any) -> FilePath:
        """Write the run as a film, .mp4 (extra `video`), .gif or .webp: the scene of its page, drawn by a Chromium if there is one.

        options: fps, speed, size=(1280, 720), dark, renderer, and title, traces, ... as of `to_html`; see `leastaction.film.write`.
        """
        from . import film

        return film.write(self, path, **options)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the run to a file that `la.open` reads, complete with model and integrator: .npz or .h5 (extra hdf5).

        A .csv file holds numbers only.
        """
        from .records import save

        save(self, path)

    def to_pandas(self) -> pandas.DataFrame:
        """The run as a DataFrame indexed by time (extra tables)."""
        from .records import tables

        return tables.to_pandas(self)

    def to_xarray(self) -> xarray.Dataset:
        """The run as a Dataset with names and units (extra tables)."""
        from .records import tables

        return tables.to_xarray(self)

    def __eq__(self, other: object) -> bool:
        """Everything that was recorded; not the wall time, nor what the integrator remembered."""
        if not isinstance(other, Trajectory):
            return NotImplemented
        return all(same(getattr(self, f.name), getattr(other, f.name)) for f in fields(self) if f.name not in ("elapsed", "continuation"))

    def __hash__(self) -> int:
        return hash((self.model, self.dt, self.steps, len(self)))

    def __getstate__(self) -> dict[str, Any]:
        """What was recorded; what follows from it is computed again where it is wanted."""
        return {f.name: getattr(self, f.name) for f in fields(self)}

    def __getitem__(self, joint_name: str) -> Array:
        """(T, ...) coordinates of one joint."""
        return self.q[:, self.model.q_slice(joint_name)]

    def __len__(self) -> int:
        return len(self.t)

    def __repr__(self) -> str:
        return f"<Trajectory of {self.model.name!r}: {self.steps} steps of {self.dt:g} s, {len(self)} recorded, {self.message}>"

    def _repr_html_(self) -> str:
        from .page import tables

        return tables.of_run(self)

    def __str__(self) -> str:
        rows = self.facts()
        width = max(len(name) for name, _ in rows)
        return "\n".join(f"{name:<{width}}  {text}" for name, text in rows)

    @property
    def _seconds_to_save(self) -> float:
        """What specialising would have saved of the wall time; 0 if nothing worth while."""
        if self.model.specialised is not None or self.integrator.why_general(self.model):
            return 0.0
        return seconds_saved(self.model.tree, self.elapsed)

    def facts(self) -> list[tuple[str, str]]:
        """What `print(run)` says: names and texts."""
        energy = self.energy
        most = "" if self.integrator.uniform else " at most"
        rows = [
            ("model", f"{self.model.name}, {len(self.model.bodies)} moving bodies, {self.model.nv} degrees of freedom"),
            ("integrator", repr(self.integrator)),
            ("time", f"{self.t[0]:g} s to {self.t[-1]:g} s, {self.steps} steps of {self.dt:g} s{most}"),
            ("result", self.message),
        ]
        if self.steps:
            rows.append(("evaluations", f"{self.iterations.mean():.2f} per step, at most {self.iterations.max()}"))
            rows.append(("wall time", f"{self.elapsed:.3g} s, {1e6 * self.elapsed / self.steps:.3g} us per step"))
        if self.specialised_from is not None:
            rows.append(("specialised", f"from step {self.specialised_from} on"))
        elif (saved := self._seconds_to_save) > 0.0:
            remedy = 'model.specialise(), or specialise="background"'
            rows.append(("advice", f"code made for this mechanism would have saved about {saved:.2g} s: {remedy}"))
        low, high = energy.min() - energy[0], energy.max() - energy[0]
        rows.append(("energy", f"{energy[0]:.6g} J at the start, within {low:+.3g} / {high:+.3g} J of it"))
        if self.errors is not None:
            rows.append(("constraints", f"violated by at most {self.constraint_error.max():.2g}"))
        rows += [("warning", sentence) for sentence in self.warnings]
        if self.redundant:
            rows.append(("redundant", "; ".join(self.redundant)))
        return rows


def checked_run(value: Any) -> Trajectory:
    """The run, or an error for whatever else was given in its place."""
    run: Trajectory = instance(value, Trajectory, "run", "give what simulate() returned")
    return run
