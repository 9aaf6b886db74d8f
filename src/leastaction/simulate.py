"""`simulate`: from a model and a state to a trajectory."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing, nullcontext
from os import PathLike

from numpy.typing import ArrayLike

from .checks import whole_number, yes_or_no
from .errors import StateError
from .events import Every
from .integrators import Integrator
from .integrators.background import switch_for
from .model import Coordinates, Model
from .records import stream
from .run_input import Control, count_steps, with_targets
from .run_parts import Parts, run_for
from .simulator import Simulator, When
from .state import State
from .trajectory import Trajectory


def simulate(
    model: Model,
    state: State | None = None,
    *,
    dt: float | str,
    duration: float | None = None,
    steps: int | None = None,
    integrator: Integrator | None = None,
    tau: ArrayLike | None = None,
    targets: Coordinates = None,
    control: Control | None = None,
    q: Coordinates = None,
    v: Coordinates = None,
    record_every: int = 1,
    progress: bool | None = None,
    guard: bool = False,
    limits: str = "stop",
    assembly: str = "stop",
    strict: bool = False,
    when: When = None,
    every: Every | Sequence[Every] | None = None,
    record_to: str | PathLike[str] | None = None,
    resume: bool = False,
    specialise: str | int | None = None,
) -> Trajectory:
    """Simulate `model` from `state` (or from q and v) over `duration` seconds or a number of `steps`.

    dt            step, s; or "certified": steps of la.CertifiedStep(), each of them certified to be solvable (docs/step-size.md)
    duration      rounded to whole steps; with an integrator that chooses its steps, until the first node at or after it
    tau           joint forces: (nv,) constant, or (steps, nv) held constant over each step
    targets       of the servos: {servo: coordinate or (coordinate, velocity)}, or an array as in `Model.inputs`, or (steps, ...) such rows
    control       instead of tau, a function (t, state) -> tau (or model.inputs(tau, targets)) called before every step
    record_every  keep every n-th node, and always the last one
    progress      show a progress bar; by default on a terminal when the run is long
    guard         subdivide steps that cannot be solved, or whose solution is not the one that continues the motion (integrators/guard.py)
    limits        "stop": the run ends with the first node where a joint is beyond its limit, and `message` names it, because stops of
                  joints are not simulated: what follows is not what the mechanism does; "ignore": joints pass, and `warnings` names them
    assembly      where loops pass a singular position (links in line), from which they can go on in more than one way, and a step does not
                  continue the motion: "stop" ends the run with an error that names the time and the constraints, "continue" steps over
                  the position and follows the motion, "ignore" goes on with whatever was solved.  docs/constraints.md
    strict        an energy that cannot be explained (run.warnings) ends the run with an error, whose trajectory ends at the node before;
                  every node is looked at, recorded or not
    when          events to watch for: la.passes(...), la.crosses(...), la.Event(...), a function (t, state) -> number that passes zero,
                  or a list; what is found, located within its step, is `run.events`; a terminal event ends the run.  docs/events.md
    every         la.Every(function, steps=100) or la.Every(function, seconds=0.1), or a list: functions called with (t, state) meanwhile
    record_to     path of an .h5 file (extra hdf5) that the run is written to while it is made, with little memory however long it is;
                  la.open reads it meanwhile, and after whatever happened to the process.  docs/records.md
    resume        go on with what stands in that file, bit for bit as if the run had never stopped; begin if there is none
    specialise    "background": another process makes code for this mechanism while a long run is under way, which then goes over to it;
                  `run.specialised_from` says at which step, and given in place of "background" that number repeats the run.
                  docs/specialise.md

    >>> import leastaction as la
    >>> model = la.examples.double_pendulum().compile()
    >>> run = la.simulate(model, dt=1e-3, duration=2.0, q={"upper": 1.0}, v={"lower": -0.5})
    >>> run.converged, len(run)
    (True, 2001)
    """
    simulator = Simulator(model, state, dt=dt, integrator=integrator, q=q, v=v, guard=guard, limits=limits, assembly=assembly, when=when)
    simulator._schedule, simulator._strict = simulator._scheduled(every), yes_or_no(strict, "strict")
    tau = with_targets(model, tau, targets, control)
    if yes_or_no(resume, "resume") and record_to is None:
        raise StateError("resume=True goes on with a file; give its path as record_to='run.h5'")
    if specialise is not None:
        count = count_steps(simulator.dt, duration, steps) if simulator.integrator.uniform else 0
        simulator._switch = switch_for(specialise, model, simulator.integrator, count)
    with closing(simulator._switch) if simulator._switch is not None else nullcontext():
        if record_to is not None:
            parts = Parts(simulator, duration, steps, tau, control, whole_number(record_every, 1, "record_every"))
            return stream.record(record_to, parts, resume, progress)
        if not simulator.integrator.uniform and duration is not None:
            return run_for(simulator, duration, steps, tau, control, record_every)
        count = count_steps(simulator.dt, duration, steps)
        return simulator.run(count, tau=tau, control=control, record_every=record_every, progress=progress, every=every)
