"""What a run consists of: a header of text, and arrays with names.  The same whatever the file."""

from __future__ import annotations

import json
import platform
import sys
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from ..checks import listed, shown
from ..errors import FormatError, LeastActionError, StateError
from ..events import Occurrence
from ..integrators import Integrator
from ..integrators.guard import Guarded
from ..integrators.memory import Continuation, below_prefix, packed, unpacked, with_prefix
from ..model import Model, checked_model
from ..solvability import bound_in_words
from ..trajectory import Trajectory
from .description import CannotStore, decode, decode_mechanism, encode, encode_mechanism

Arrays = dict[str, NDArray[Any]]
Header = dict[str, Any]

FORMAT, VERSION = "leastaction run", 1
ROWS = ("t", "q", "recorded", "errors", "multipliers", "ledger")  #: one row per recorded node
STEPS = ("iterations", "tau", "certified_dt")  #: one row per step; tau may be one row for all
DERIVED = ("v", "p", "energy", "momentum")  #: follow from the others; for whoever reads a file without this package
MEMORY = "memory."  #: before the names of what the integrator remembered
EVENTS = ("events.states", "events.about")  #: states where events happened, one row each; JSON of name, rising, terminal


def version() -> str:
    return str(vars(sys.modules[__name__.partition(".")[0]])["__version__"])


def header_of(model: Model, integrator: Integrator, dt: float, every: int) -> Header:
    """What a file says before there are numbers."""
    guarded = isinstance(integrator, Guarded)
    not_stored: list[str] = []
    try:
        method = encode(integrator.base if guarded else integrator)  # type: ignore[attr-defined]
    except CannotStore as reason:
        method = None
        not_stored.append(f"integrator: {reason}")
    if model.description is None:
        description, missing = None, [f"{model!r}, which was not made by Mechanism.compile()"]
    else:
        description, missing = encode_mechanism(model.description)
    not_stored += [f"model: {what}" for what in missing]
    return {
        "format": FORMAT, "version": VERSION, "leastaction": version(), "python": platform.python_version(), "numpy": np.__version__,
        "numba": numba.__version__, "machine": f"{sys.platform} {platform.machine()}", "dt": dt, "every": every,
        "integrator": method, "integrator_in_words": repr(integrator), "guard": guarded, "model": description, "model_name": model.name,
        "specialised": model.specialised is not None, "not_stored": not_stored,
        "joint_names": list(model.joint_names), "coordinate_names": model.coordinate_names, "nq": model.nq, "nv": model.nv,
    }  # fmt: skip


def outcome_of(run: Trajectory) -> Header:
    """What a file says at the end."""
    return {
        "message": run.message, "converged": run.converged, "elapsed": run.elapsed, "redundant": list(run.redundant),
        "remarks": list(run.remarks), "specialised_from": run.specialised_from,
    }  # fmt: skip


def recorded_arrays(run: Trajectory) -> Arrays:
    arrays = {name: getattr(run, name) for name in (*ROWS, *STEPS)}
    return {name: array for name, array in arrays.items() if array is not None}


def memory_arrays(continuation: Continuation | None) -> Arrays:
    """What the integrator remembered at the last node."""
    if continuation is None or continuation.memory is None:
        return {}
    return {"begun": packed(continuation.begun), **with_prefix(MEMORY, continuation.memory)}


def event_arrays(events: tuple[Occurrence, ...]) -> Arrays:
    """What was found on the way."""
    if not events:
        return {}
    about = json.dumps([[event.name, event.rising, event.terminal] for event in events]).encode()
    return {EVENTS[0]: np.array([packed(event.state) for event in events]), EVENTS[1]: np.frombuffer(about, dtype=np.uint8)}


def _events_of(arrays: Arrays, model: Model) -> tuple[Occurrence, ...]:
    if EVENTS[0] not in arrays:
        return ()
    states = [unpacked(model, numbers) for numbers in arrays[EVENTS[0]]]
    about = json.loads(arrays[EVENTS[1]].tobytes())
    return tuple(
        Occurrence(str(name), state.t, state, bool(rising), bool(terminal))
        for (name, rising, terminal), state in zip(about, states, strict=True)
    )


def rebuilt(header: Header, path: str, model: Model | None, integrator: Integrator | None) -> tuple[Model, Integrator]:
    """Model and integrator of a file, or those given instead, which have to fit."""
    if model is None:
        if header["model"] is None:
            raise FormatError(_missing(header, "model", "la.open(path, model=...) with the model it was made with"), path=path)
        mechanism = decode_mechanism(header["model"], path)
        try:
            model = mechanism.compile()
        except LeastActionError as error:
            raise FormatError(f"the mechanism in it cannot be simulated: {error}", path=path) from error
        model = model.specialise() if header["specialised"] else model
    else:
        checked_model(model)
        for what in ("joint_names", "coordinate_names"):
            if list(getattr(model, what)) != header[what]:
                raise StateError(
                    f"model = {model!r} does not fit {path!r}: its {what.replace('_', ' ')} are {listed(getattr(model, what))}, those "
                    f"of the file {listed(header[what])}; give the model the run was made with"
                )
    if integrator is None:
        if header["integrator"] is None:
            raise FormatError(_missing(header, "integrator", "la.open(path, integrator=...) with the one it was made with"), path=path)
        integrator = decode(header["integrator"])
        if not isinstance(integrator, Integrator):
            raise FormatError(f"integrator {shown(header['integrator'], 80)} is none", path=path)
        integrator = Guarded(integrator, bound_in_words) if header["guard"] else integrator
    return model, integrator


def _missing(header: Header, what: str, remedy: str) -> str:
    named = [text.removeprefix(f"{what}: ") for text in header["not_stored"] if text.startswith(f"{what}: ")]
    return f"the {what} could not be stored because of {'; '.join(named)}: functions have no place in a file; call {remedy}"


def run_of(header: Header, arrays: Arrays, path: str, model: Model | None, integrator: Integrator | None) -> Trajectory:
    """The run in a file."""
    model, integrator = rebuilt(header, path, model, integrator)
    _check_shapes(arrays, model, path)
    try:
        run = Trajectory(
            model, integrator, float(header["dt"]), arrays["t"], arrays["q"], arrays["recorded"], arrays["iterations"],
            elapsed=float(header["elapsed"]), converged=bool(header["converged"]), message=str(header["message"]),
            errors=arrays.get("errors"), multipliers=arrays.get("multipliers"), redundant=tuple(map(str, header["redundant"])),
            tau=arrays.get("tau"), every=int(header["every"]), certified_dt=arrays.get("certified_dt"),
            remarks=tuple(map(str, header["remarks"])), events=_events_of(arrays, model), specialised_from=header.get("specialised_from"),
            ledger=arrays.get("ledger"),
        )  # fmt: skip
    except (KeyError, TypeError, ValueError) as error:
        raise FormatError(f"its header is incomplete: {type(error).__name__}: {error}", path=path) from error
    memory = below_prefix(MEMORY, arrays)
    if memory and arrays["begun"].shape == (1 + model.nq + 2 * model.nv,):
        begun = unpacked(model, arrays["begun"])
        run.continuation = Continuation(integrator, run.dt, begun, float(run.t[-1]), run.q[-1].copy(), memory)
    return run


def _check_shapes(arrays: Arrays, model: Model, path: str) -> None:
    missing = [name for name in ("t", "q", "recorded", "iterations") if name not in arrays]
    if missing:
        raise FormatError(f"it has no {listed(missing)}, so it is not a run", path=path)
    rows = len(arrays["t"])
    wanted = {"t": (rows,), "q": (rows, model.nq), "recorded": (rows, model.nv), "errors": (rows,)}
    wanted["ledger"] = (rows, 2 + len(model.servos))
    for name, shape in wanted.items():
        if name in arrays and arrays[name].shape != shape:
            raise FormatError(f"{name} has shape {arrays[name].shape}; {model!r} needs {shape}", path=path)
    if rows == 0:
        raise FormatError("it holds no node", path=path)


def read_header(text: str | bytes, path: str) -> Header:
    """The header, checked."""
    try:
        header = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise FormatError(f"its header cannot be read: {error}", path=path) from None
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise FormatError("it is not a run that leastaction wrote", path=path)
    if not isinstance(header.get("version"), int) or header["version"] > VERSION:
        raise FormatError(
            f"it was written by leastaction {shown(header.get('leastaction'), 20)} in version {shown(header.get('version'), 20)} of the "
            f"format; this is {version()}, which reads up to version {VERSION}: install a newer leastaction",
            path=path,
        )
    return header
