"""`sweep`: one function at many points, in processes of this machine or on a cluster."""

from __future__ import annotations

import itertools
import multiprocessing
import pickle
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, ProcessPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass, field
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..checks import progress as checked_progress
from ..checks import same, shown, whole_number
from ..compiling.portable import Carrier
from ..errors import LeastActionError, StateError
from ..progress import Progress
from .store import Store, read
from .threads import usable_cores

_CHUNK_SECONDS = 0.5  # how long a worker is busy with what it is sent
_LOOK = 0.2  # s, after which Ctrl-C is seen and the bar moves
_NOT_RUN = "was not run"


@dataclass(eq=False)
class Sweep:
    """Results of a function at many points, in their order.

    >>> import leastaction as la
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> with ThreadPoolExecutor(1) as pool:
    ...     found = la.sweep(lambda x, y: x * y, {"x": [1, 2], "y": [3, 4]}, executor=pool)
    >>> list(found.results)
    [3, 4, 6, 8]
    """

    points: list[dict[str, Any]]  #: arguments of every call
    results: list[Any]  #: what the calls returned; None where one failed
    errors: dict[int, str] = field(default_factory=dict)  #: by point, the traceback of what it raised, or why it was lost
    elapsed: float = 0.0  #: wall time, s

    @classmethod
    def read(cls, path: str | PathLike[str]) -> Sweep:
        """The sweep that `la.sweep(..., store=path)` wrote, also while it is written."""
        return cls(*read(path))

    @property
    def failed(self) -> NDArray[np.bool_]:
        """(points,) which calls did not return."""
        mask = np.zeros(len(self.points), dtype=bool)
        mask[list(self.errors)] = True
        return mask

    def __len__(self) -> int:
        return len(self.points)

    def __repr__(self) -> str:
        failed = f", {len(self.errors)} failed, the first {shown(self.points[min(self.errors)])}" if self.errors else ""
        return f"<Sweep of {len(self)} points{failed}>"


class _Task(Carrier):
    """The function on its way to a worker: also one of a notebook, which has no name there."""

    def __init__(self, function: Callable[..., Any]):
        self.function = function


def _work(task: _Task, points: list[dict[str, Any]]) -> tuple[list[tuple[bool, Any]], float]:
    """In the worker: results as bytes, or what was raised, and the time it took."""
    began = time.perf_counter()
    found: list[tuple[bool, Any]] = []
    for point in points:
        try:
            found.append((True, pickle.dumps(task.function(**point))))
        except Exception:
            found.append((False, traceback.format_exc()))
    return found, time.perf_counter() - began


def sweep(
    task: Callable[..., Any],
    parameters: Mapping[str, Iterable[Any]] | Iterable[Mapping[str, Any]],
    *,
    executor: Any = None,
    processes: int | None = None,
    retries: int = 2,
    store: str | PathLike[str] | None = None,
    resume: Sweep | bool | None = None,
    progress: bool | None = None,
) -> Sweep:
    """Call task(**point) at many points; results come back in their order, whichever was finished first.

    parameters  {name: values}: all combinations, the last name changes fastest; or a list of points, each {name: value}
    executor    by default processes of this machine; any executor of concurrent.futures; a dask.distributed.Client or the address of its
                scheduler, "tcp://..." (extra `cluster`)
    processes   how many, if there is no executor; by default one for every core
    retries     how often a point is tried again whose worker was lost
    store       a .h5 file (extra `hdf5`) to which results go as they come back: numbers, text, arrays, or {name: one of these}.  A process
                that is killed loses none of them; `Sweep.read` reads the file, meanwhile too
    resume      an earlier sweep of the same points, for example of an exception (`error.sweep`): only what it lacks is run.  True: go on
                with the store; what failed there is tried again

    A call that raises is named in `errors`, the others go on.  Points are sent in chunks that take a worker about half a second.

    >>> import leastaction as la
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> def largest_angle(start):
    ...     run = la.simulate(la.examples.chain(1).compile(), dt=1e-2, duration=2.0, q={"link1": start})
    ...     return float(abs(run.q).max())
    >>> with ThreadPoolExecutor(1) as pool:
    ...     found = la.sweep(largest_angle, {"start": [0.1, 0.2]}, executor=pool)
    >>> [round(x, 3) for x in found.results]
    [0.1, 0.2]
    """
    if not callable(task):
        raise StateError(f"task = {shown(task)} is not a function; give one that takes the parameters by name")
    points = _points(parameters)
    retries = whole_number(retries, 0, "retries")
    count = usable_cores() if processes is None else whole_number(processes, 1, "processes")
    if executor is not None and processes is not None:
        raise StateError("give an executor or a number of processes, not both")
    done = _Run(_Task(task), points, retries)
    pickle.dumps(done.task)  # or it is named now what cannot be sent
    done.take_up(resume, store)
    pool = _OwnPool(count) if executor is None else _Given(*_as_executor(executor))
    began = time.perf_counter()
    try:
        with Progress(max(len(points), 1), None, checked_progress(progress)) as bar:
            done.run(pool, bar)
        if done.store is not None:
            done.store.finish()
    except BaseException as error:  # Ctrl-C too: what was made is not lost
        with suppress(Exception):
            error.sweep = done.finished(time.perf_counter() - began, type(error).__name__)  # type: ignore[attr-defined]
        raise
    finally:
        pool.close()
        done.close()
    return done.finished(time.perf_counter() - began)


def _points(parameters: Any) -> list[dict[str, Any]]:
    if isinstance(parameters, Mapping):
        if not all(isinstance(name, str) for name in parameters):
            raise StateError(f"parameters = {shown(parameters)}: names are text")
        try:
            values = [list(v) for v in parameters.values()]
        except TypeError:
            raise StateError(f"parameters = {shown(parameters)}: give a list of values for every name") from None
        return [dict(zip(parameters, combination, strict=True)) for combination in itertools.product(*values)]
    if isinstance(parameters, (str, bytes)) or not isinstance(parameters, Iterable):
        raise StateError(f"parameters = {shown(parameters)}; give {{name: values}} or a list of points {{name: value}}")
    points = list(parameters)
    for k, point in enumerate(points):
        if not isinstance(point, Mapping) or not all(isinstance(name, str) for name in point):
            raise StateError(f"parameters[{k}] = {shown(point)}; a point is {{name: value}}")
    return [dict(point) for point in points]


class _Run:
    """What is still to be done, and what is there already."""

    def __init__(self, task: _Task, points: list[dict[str, Any]], retries: int):
        self.task, self.points, self.retries = task, points, retries
        self.results: list[Any] = [None] * len(points)
        self.errors: dict[int, str] = dict.fromkeys(range(len(points)), _NOT_RUN)
        self.lost: dict[int, int] = {}  # point -> how often its worker was lost
        self.cost = np.inf  # s per point, measured
        self.store: Store | None = None
        self.open = deque(range(len(points)))
        self.suspects: deque[int] = deque()  # points whose worker was lost: each is tried again alone

    def take_up(self, resume: Sweep | bool | None, path: str | PathLike[str] | None) -> None:
        """What an earlier sweep has made."""
        made: dict[int, Any] = {}
        resume = bool(resume) if isinstance(resume, np.bool_) else resume
        if isinstance(resume, Sweep):
            if not same(resume.points, self.points):
                raise StateError("resume: that sweep is none of these points; give the same parameters, or leave resume out")
            made = {k: resume.results[k] for k in np.flatnonzero(~resume.failed).tolist()}
        elif resume is not None and not isinstance(resume, bool):
            raise StateError(f"resume = {shown(resume)}; give an earlier Sweep, or True with the store to go on with")
        if path is not None:
            self.store = Store(path, self.points, resume is True)
            for k, result in made.items():
                self.store.keep(k, result)
            made = dict(self.store.results)
        elif resume is True:
            raise StateError("resume = True goes on with a store; give it as store='sweep.h5'")
        for k, result in made.items():
            self.results[k] = result
            del self.errors[k]
        self.open = deque(sorted(self.errors))

    def close(self) -> None:
        if self.store is not None:
            self.store.close()

    def run(self, pool: Any, bar: Progress) -> None:
        running: dict[Future, list[int]] = {}
        while self.open or self.suspects or running:
            self._send(pool, running)
            finished, _ = wait(running, timeout=_LOOK, return_when=FIRST_COMPLETED)
            broken = False
            for future in finished:
                broken |= self._take(future, running.pop(future))
            if broken and pool.renew():
                for points in running.values():
                    self.suspects.extend(points)
                running.clear()
            bar.update(sum(1 for k in range(len(self.points)) if self.errors.get(k) != _NOT_RUN))

    def _send(self, pool: Any, running: dict[Future, list[int]]) -> None:
        """Keep every worker busy, with one chunk more to go on with; suspects one at a time."""
        if self.suspects:
            if not running:
                self._submit(pool, running, [self.suspects.popleft()])
            return
        while self.open and len(running) < 2 * pool.workers:
            size = int(np.clip(_CHUNK_SECONDS / max(self.cost, 1e-9), 1, max(1, len(self.open) // (2 * pool.workers))))
            self._submit(pool, running, [self.open.popleft() for _ in range(min(size, len(self.open)))])

    def _submit(self, pool: Any, running: dict[Future, list[int]], chunk: list[int]) -> None:
        try:
            running[pool.submit(_work, self.task, [self.points[k] for k in chunk])] = chunk
        except BrokenExecutor:
            self.suspects.extend(chunk)
            if not pool.renew():
                raise StateError("the executor is broken, all its workers are lost; go on with a new one and resume=error.sweep") from None

    def _take(self, future: Future, chunk: list[int]) -> bool:
        """What came back; is the pool broken?"""
        try:
            found, seconds = future.result()
        except Exception as error:  # not of the task: its worker is lost, or something could not be sent
            self._lose(chunk, error)
            return isinstance(error, BrokenExecutor)
        for k, (returned, value) in zip(chunk, found, strict=True):
            result = pickle.loads(value) if returned else None
            self._keep(k, result, "" if returned else value)
            if returned:
                self.results[k] = result
                del self.errors[k]
            else:
                self.errors[k] = value
        if self.store is not None:
            self.store.flush()
        self.cost = seconds / len(chunk)
        return False

    def _keep(self, k: int, result: Any, error: str) -> None:
        if self.store is not None:
            self.store.keep(k, result, error)

    def _lose(self, chunk: list[int], error: Exception) -> None:
        for k in chunk:
            if len(chunk) == 1:
                self.lost[k] = self.lost.get(k, 0) + 1
            if self.lost.get(k, 0) > self.retries:
                self.errors[k] = (
                    f"its worker was lost {self.lost[k]} times ({type(error).__name__}: {error}). Does the call end the process, or take "
                    "too much memory? A script that calls sweep needs the line: if __name__ == '__main__':"
                )
                self._keep(k, None, self.errors[k])
            else:
                self.suspects.append(k)

    def finished(self, elapsed: float, interrupted: str = "") -> Sweep:
        errors = {k: f"{text}: {interrupted}" if text == _NOT_RUN else text for k, text in sorted(self.errors.items())}
        return Sweep(self.points, self.results, errors, elapsed)


class _OwnPool:
    """Processes of this machine, new ones where they were lost."""

    def __init__(self, workers: int):
        self.workers = workers
        self._pool = self._new()

    def _new(self) -> ProcessPoolExecutor:
        # spawned: what threads of this process hold while it is copied would be held for ever
        return ProcessPoolExecutor(self.workers, mp_context=multiprocessing.get_context("spawn"))

    def submit(self, *call: Any) -> Future:
        return self._pool.submit(*call)

    def renew(self) -> bool:
        self._pool.shutdown(wait=False, cancel_futures=True)
        self._pool = self._new()
        return True

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)


class _Given:
    """An executor that somebody else looks after."""

    def __init__(self, executor: Executor, workers: int, close: Callable[[], None]):
        self._executor, self.workers, self.close = executor, max(workers, 1), close

    def submit(self, *call: Any) -> Future:
        return self._executor.submit(*call)

    def renew(self) -> bool:
        return False


def _as_executor(given: Any) -> tuple[Executor, int, Callable[[], None]]:
    """(executor, how many calls it runs at once, what to do in the end)"""
    if isinstance(given, Executor):
        return given, int(getattr(given, "_max_workers", 0) or usable_cores()), lambda: None
    if isinstance(given, str):
        return _on_cluster(given)
    if type(given).__module__.split(".")[0] == "distributed" and hasattr(given, "get_executor"):
        return given.get_executor(pure=False), sum(given.nthreads().values()), lambda: None
    raise StateError(
        f"executor = {shown(given)}; give an executor of concurrent.futures, a dask.distributed.Client, or the address of its scheduler"
    )


def _on_cluster(address: str) -> tuple[Executor, int, Callable[[], None]]:
    try:
        from distributed import Client
    except ImportError:
        raise LeastActionError(f"executor = {address!r} needs dask.distributed; pip install 'leastaction[cluster]' installs it") from None
    try:
        client = Client(address, timeout="5s")
    except (OSError, ValueError, TypeError) as error:
        raise StateError(f"executor = {address!r}: no scheduler answers there ({type(error).__name__}: {error})") from None
    return client.get_executor(pure=False), sum(client.nthreads().values()), client.close
