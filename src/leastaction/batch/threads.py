"""Members to threads: chunks of them, so long that Python costs nothing, so short that all threads have work until the end."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

_CHUNKS = 16  # for every thread
_LOOK = 0.1  # s, after which Ctrl-C is seen and the bar moves


Run = Callable[[int, int], dict[int, str]]  # (first, last): runs members and says why those failed that did


class Runs(Protocol):
    """A number of members, and what runs some of them."""

    size: int
    lanes: int  #: members that run at once in a thread

    def worker(self) -> Run: ...


def usable_cores() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on this system
        return os.cpu_count() or 1


def run_all(
    groups: list[Runs], first: Run, threads: int, stop: NDArray[np.int64], show: Callable[[int], None], failed: dict[int, str]
) -> None:
    """Run all members of all groups; show(number of members done) is called now and then; `failed` is filled.

    first   a worker of the first group
    """
    done, lock = [0], threading.Lock()
    chunks = _chunks(groups, threads)

    def work(current: Runs | None, run: Run | None) -> None:
        while not stop[0]:
            with lock:
                chunk = next(chunks, None)
            if chunk is None:
                return
            group, begin, end = chunk
            if run is None or group is not current:
                current, run = group, group.worker()
            found = run(begin, end)
            with lock:
                failed.update(found)
                done[0] += end - begin

    with ThreadPoolExecutor(threads, thread_name_prefix="rollout") as pool:
        try:
            waiting = {pool.submit(work, groups[0], first)} | {pool.submit(work, None, None) for _ in range(threads - 1)}
            while waiting:
                finished, waiting = wait(waiting, timeout=_LOOK, return_when=FIRST_EXCEPTION)
                for future in finished:
                    future.result()
                show(done[0])
        except BaseException:  # Ctrl-C too
            stop[0] = 1
            raise


def _chunks(groups: list[Runs], threads: int) -> Iterator[tuple[Runs, int, int]]:
    size = max(1, -(-sum(group.size for group in groups) // (_CHUNKS * threads)))
    for group in groups:
        whole = group.lanes * -(-size // group.lanes)
        for first in range(0, group.size, whole):
            yield group, first, min(first + whole, group.size)
