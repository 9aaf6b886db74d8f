"""A run that is written while it is made: little memory however long it is, and nothing is lost whatever happens to its process.

A .h5 file that is being written cannot be opened after its process was killed.  So the numbers go to a folder `run.h5.writing` first:

    header.json        model, integrator, dt, versions
    t, q, recorded ... one file per data set, numbers only, which grow
    index.npz          how many nodes and steps of them count, and what the integrator remembers there; replaced as a whole

What stands behind the index does not count, so the folder is good at any moment: `la.open("run.h5")` reads it meanwhile, and a run that was
killed goes on from the index, bit for bit.  When the run is finished the folder becomes the file.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from io import FileIO
from os import PathLike
from pathlib import Path
from typing import IO, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..checks import progress as checked_progress
from ..errors import ConvergenceError, FormatError, StateError
from ..events import Occurrence
from ..progress import Progress
from ..state import State
from ..trajectory import Trajectory
from .content import ROWS, STEPS, Arrays, Header, event_arrays, header_of, memory_arrays, outcome_of, read_header, recorded_arrays, run_of
from .files import as_bytes, checked_path, hdf5, mapped, read_h5, write_h5, write_whole

_SECONDS = 0.5  # between two times that what was made is safe
_MOST_BYTES = 1.6e7  # of a part that is kept in memory
_INDEX = "index.npz"


def unfinished(path: Path) -> Path:
    """Folder of a run that is not finished."""
    return path.with_name(path.name + ".writing")


class Parts(Protocol):
    """What makes the run: a Simulator with what is asked of it."""

    start: Trajectory  #: the run of no steps: model, integrator, first node
    steps: int  #: to be made
    end: float  #: time from which on no step is made
    every: int  #: after how many steps a node is recorded
    forces_of_every_step: bool  #: does `tau` differ from step to step?

    @property
    def t(self) -> float: ...

    def make(self, steps: int, done: int) -> Trajectory:
        """The next steps, after so many that were made."""
        ...

    def go_on(self, state: State, run: Trajectory) -> None:
        """From a state that a file holds, the last of this run."""
        ...

    def remarks(self, run: Trajectory) -> tuple[str, ...]: ...


def record(path: str | PathLike[str], parts: Parts, resume: bool, progress: bool | None) -> Trajectory:
    """Make the steps and write them; returns the run as it stands in the file."""
    where, start, every = checked_path(path, (".h5",)), parts.start, parts.every
    hdf5(where)  # before a long run, not after it
    header = header_of(start.model, start.integrator, start.dt, every)
    made = _resumed(where, header, parts) if resume else None
    if isinstance(made, Trajectory):
        return made
    with made or Writer.new(where, header, start, parts.forces_of_every_step) as writer:
        most = max(1, int(_MOST_BYTES / (8 * (2 + start.q.shape[1] + 2 * start.model.nv + every))))
        nodes, began = min(16, most), writer.steps
        with Progress(max(parts.steps - began, 0), start.dt, checked_progress(progress) if np.isinf(parts.end) else False) as bar:
            while writer.steps < parts.steps and parts.t < parts.end and writer.message == start.message:
                tick = time.perf_counter()
                try:
                    part = parts.make(min(nodes * every, parts.steps - writer.steps), writer.steps)
                except ConvergenceError as error:
                    if error.trajectory is not None:
                        writer.append(error.trajectory)
                        error.trajectory = writer.finish(parts.remarks)
                    raise
                except BaseException as error:
                    error.add_note(f"{str(where)!r} holds {writer.steps} steps: la.open reads them, simulate(..., resume=True) goes on")
                    raise
                safe = writer.steps
                try:
                    writer.append(part)
                except OSError as error:
                    kept = f"the {safe} steps before are kept: make room, and go on with resume=True"
                    raise StateError(f"{str(where)!r} cannot be written any more: {error.strerror}; {kept}") from error
                bar.update(writer.steps - began)
                if time.perf_counter() - tick < 0.5 * _SECONDS:
                    nodes = min(2 * nodes, most)
        return writer.finish(parts.remarks)


class Writer:
    """A folder that grows."""

    def __init__(self, path: Path, run: Trajectory, forces_of_every_step: bool):
        self.path, self.folder = path, unfinished(path)
        self.model, self.integrator = run.model, run.integrator
        self.rows, self.steps, self.elapsed, self.message = 0, 0, 0.0, run.message
        self.events: tuple[Occurrence, ...] = ()
        self._growing = [name for name in (*ROWS, *STEPS) if name != "tau" or forces_of_every_step]
        self._constants = {} if forces_of_every_step or run.tau is None else {"constant.tau": run.tau}
        self._files: dict[str, IO[bytes]] = {}
        self._lock = locked(self.folder / "lock")

    @classmethod
    def new(cls, path: Path, header: Header, start: Trajectory, forces_of_every_step: bool) -> Writer:
        """A run begins, with the nodes and steps it has already; an earlier one that was not finished is forgotten."""
        folder = unfinished(path)
        try:
            folder.mkdir(exist_ok=True)
        except OSError as error:
            raise FormatError(f"{str(path)!r} cannot be written: {error.strerror}; give another path") from error
        writer = cls(path, start, forces_of_every_step)
        (folder / _INDEX).unlink(missing_ok=True)
        for file in folder.iterdir():
            if file.name != "lock":
                file.unlink()
        _replace(folder / "header.json", lambda file: file.write(json.dumps(header, allow_nan=False).encode()))
        writer.append(start, first=True)
        return writer

    @classmethod
    def again(cls, path: Path, run: Trajectory, forces_of_every_step: bool) -> Writer:
        """A run goes on; what stands behind the index is cut off."""
        writer = cls(path, run, forces_of_every_step)
        writer.rows, writer.steps, writer.elapsed, writer.events = len(run), run.steps, run.elapsed, run.events
        for name, array in recorded_arrays(run).items():
            if name in writer._growing and (writer.folder / name).exists():
                os.truncate(writer.folder / name, array.nbytes)
        return writer

    def __enter__(self) -> Writer:
        return self

    def __exit__(self, *reason: object) -> None:
        for file in self._files.values():
            with suppress(OSError):  # of a full disk, where what could not be written does not count
                file.close()
        self._lock.close()

    def append(self, part: Trajectory, first: bool = False) -> None:
        """Add a part whose first node is the last one written, and make it safe."""
        arrays, shapes = recorded_arrays(part), {}
        self.rows, self.steps = self.rows + len(part) - (not first), self.steps + part.steps
        self.elapsed, self.message, self.events = self.elapsed + part.elapsed, part.message, self.events + part.events
        for name in self._growing:
            if name in arrays:
                array = arrays[name][: part.steps] if name in STEPS else arrays[name] if first else arrays[name][1:]
                self._write(name, array)
                shapes[name] = [array.dtype.str, [self.steps if name in STEPS else self.rows, *array.shape[1:]]]
        for file in self._files.values():
            file.flush()
            os.fsync(file.fileno())
        outcome = outcome_of(part) | {"elapsed": self.elapsed}
        memory = memory_arrays(part.continuation) | event_arrays(self.events)
        index = {"outcome": as_bytes(outcome), "shapes": as_bytes(shapes), **self._constants, **memory}
        _replace(self.folder / _INDEX, lambda file: np.savez(file, allow_pickle=False, **index))  # type: ignore[arg-type]

    def _write(self, name: str, array: NDArray[Any]) -> None:
        if name not in self._files:
            self._files[name] = open(self.folder / name, "ab")  # noqa: SIM115 - closed in __exit__
        self._files[name].write(np.ascontiguousarray(array).data.cast("B") if array.size else b"")

    def finish(self, remarks: Callable[[Trajectory], tuple[str, ...]]) -> Trajectory:
        """The folder becomes the file."""
        header, arrays = read_unfinished(self.path)
        run = run_of(header, arrays, str(self.path), self.model, self.integrator)
        header["remarks"] = list(remarks(run))
        write_whole(self.path, lambda part: write_h5(part, header, arrays, run))
        self.__exit__()
        shutil.rmtree(self.folder)
        return run_of(*read_h5(self.path), str(self.path), self.model, self.integrator)


def _resumed(path: Path, header: Header, parts: Parts) -> Writer | Trajectory | None:
    """The writer of a run that was interrupted, with `parts` where it was; the run if all of it was made; None if there is none."""
    start, folder = parts.start, unfinished(path)
    interrupted = (folder / _INDEX).exists()
    if not interrupted and not path.is_file():
        return None
    known, arrays = read_unfinished(path) if interrupted else read_h5(path)
    _check_same(path, known, header, arrays, start)
    run = run_of(known, arrays, str(path), start.model, start.integrator)
    if run.steps > parts.steps:
        more = f"{str(path)!r} has {run.steps} steps already, more than the {parts.steps} asked for"
        raise StateError(f"{more}; give a longer duration, or leave resume out to begin again")
    over = run.steps == parts.steps or run.t[-1] >= parts.end or run.message != start.message
    if over and not interrupted:
        return run
    if run.continuation is None:
        lost = f"{str(path)!r} does not say what {start.integrator!r} remembered"
        raise StateError(f"{lost}, so it cannot go on; leave resume out to begin again")
    if not interrupted and run.steps % run.every:
        raise StateError(
            f"{str(path)!r} ended after {run.steps} steps, which record_every = {run.every} does not divide: the node there would stay in "
            "a longer run; leave resume out to begin again"
        )
    per_step = parts.forces_of_every_step
    writer = Writer.again(path, run, per_step) if interrupted else Writer.new(path, known, run, per_step)
    last = replace(run, t=run.t[-1:].copy(), q=run.q[-1:].copy(), recorded=run.recorded[-1:].copy())  # without a look at all the others
    parts.go_on(last.state(), run)
    return writer


def _check_same(path: Path, known: Header, asked: Header, arrays: Arrays, start: Trajectory) -> None:
    """Is it the same run that is asked for?"""
    named = {"model": "model", "specialised": "model", "integrator": "integrator", "guard": "guard", "dt": "dt", "every": "record_every"}
    for key, name in named.items():
        if known[key] != asked[key]:
            shown = "" if isinstance(asked[key], dict) else f": {known[key]!r} there, {asked[key]!r} here"
            raise StateError(f"{str(path)!r} was recorded with another {name}{shown}; give the same, or leave resume out to begin again")
    for name in ("t", "q", "recorded"):
        if not np.array_equal(arrays[name][:1], getattr(start, name)[:1]):
            raise StateError(f"{str(path)!r} began with another {name}; give the same start, or leave resume out to begin again")


# ------------------------------------------------------------------------------------------------------------- reading


def read_index(folder: Path, path: str) -> tuple[Header, dict[str, Any], Arrays]:
    """Outcome so far, dtypes and shapes of the data sets, other arrays."""
    try:
        with open(folder / _INDEX, "rb") as opened, np.load(opened, allow_pickle=False) as file:
            outcome, shapes = json.loads(file["outcome"].tobytes()), json.loads(file["shapes"].tobytes())
            return outcome, shapes, {name: file[name] for name in file.files if name not in ("outcome", "shapes")}
    except FileNotFoundError:
        raise FormatError("its recording has just begun, there is nothing to read yet", path=path) from None
    except (OSError, ValueError, KeyError) as error:
        raise FormatError(f"the index of its recording cannot be read: {error}", path=path) from error


def read_unfinished(path: Path) -> tuple[Header, Arrays]:
    """A run that is being written, or was interrupted, as far as it is safe."""
    folder = unfinished(path)
    outcome, shapes, arrays = read_index(folder, str(path))
    try:
        header = read_header((folder / "header.json").read_bytes(), str(path))
        for name, (dtype, shape) in shapes.items():
            if name not in (*ROWS, *STEPS) or dtype not in ("<f8", "<i8"):
                raise FormatError(f"its recording has a data set {name!r} of {dtype}", path=str(path))
            arrays[name] = mapped(folder / name, dtype, tuple(shape))
    except (OSError, ValueError, TypeError) as error:
        raise FormatError(f"its recording cannot be read: {error}", path=str(path)) from error
    arrays = {name.removeprefix("constant."): array for name, array in arrays.items()}
    return header | outcome, arrays


def _replace(path: Path, write: Callable[[IO[bytes]], Any]) -> None:
    """A small file, whole at any moment."""
    part = path.with_name(path.name + ".part")
    with open(part, "wb") as file:
        write(file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(part, path)


def locked(path: Path) -> FileIO:
    """A file to append to, held as long as the process lives, so that no two write to it."""
    file = open(path, "ab", buffering=0)  # noqa: SIM115 - held
    try:
        import fcntl
    except ImportError:  # not on this system
        return file
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        raise StateError(f"{str(path)!r} is being written by another process; wait for it, or give another path") from None
    return file
