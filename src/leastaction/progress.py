"""For whoever waits: a progress bar and a word while kernels compile, both silent in pipes, and Ctrl-C that loses nothing."""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

_SHOW_AFTER = 1.0  # seconds
_WIDTH = 30


class Progress:
    """`with Progress(total, dt, wanted) as bar: bar.update(done)`; draws only on a terminal unless `wanted` is True.

    dt   length of a step, s; None if something else than steps is counted
    """

    def __init__(self, total: int, dt: float | None, wanted: bool | None):
        self.total, self.dt = total, dt
        self.enabled = sys.stderr.isatty() if wanted is None else wanted
        self.began = time.perf_counter()
        self.drawn = False

    def __enter__(self) -> Progress:
        return self

    def update(self, done: int) -> None:
        elapsed = time.perf_counter() - self.began
        if not self.enabled or elapsed < _SHOW_AFTER or done == 0:
            return
        fraction = done / self.total
        filled = int(_WIDTH * fraction)
        left = elapsed / fraction - elapsed
        where = f"{done} of {self.total}" if self.dt is None else f"t = {done * self.dt:.4g} s"
        print(
            f"\r[{'#' * filled}{'.' * (_WIDTH - filled)}] {100 * fraction:5.1f} %  {where}  {left:.0f} s left ",
            end="", file=sys.stderr, flush=True,
        )  # fmt: skip
        self.drawn = True

    def __exit__(self, *_) -> None:
        if self.drawn:
            print("\r" + " " * (_WIDTH + 50) + "\r", end="", file=sys.stderr, flush=True)


def announce_compilation() -> None:
    """Said once per process, when a kernel is not in the cache on disk."""
    print("leastaction: compiling kernels, once after installation; this takes twenty to fifty seconds ...", file=sys.stderr, flush=True)


@contextmanager
def interrupt_later() -> Iterator[None]:
    """Ctrl-C inside is seen at the end, so that the steps made are counted.  Only the main thread ever gets one."""
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(handler):
        yield
        return
    pressed: list[tuple] = []
    signal.signal(signal.SIGINT, lambda *what: pressed.append(what))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
    if pressed:
        handler(*pressed[0])
