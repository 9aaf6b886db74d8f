"""For whoever waits: a progress bar and a word while kernels compile, both silent in pipes, and Ctrl-C that loses nothing."""

from __future__ import annotations

import signal
import sys
import threading
import time
from types import FrameType
from typing import Any

_SHOW_AFTER = 1.0  # seconds
_WIDTH = 30
_REDRAW = 0.3  # s between two drawings of a bar
_FUNCTIONS = 250  # that a time loop is made of


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
        if not self.enabled:
            return
        elapsed = time.perf_counter() - self.began
        if elapsed < _SHOW_AFTER or done == 0:
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


def announce_compilation(what: str, seconds: float | None = None, *, quick: bool = False) -> None:
    """Said when an entry point is not in the cache on disk, before it is compiled; and afterwards, how long it took.

    quick: the wheel has brought it half made
    """
    words = f"once after installation; {'some seconds' if quick else 'seconds to a minute'} ..." if seconds is None else f"{seconds:.0f} s"
    print(f"leastaction: compiling kernels, {what}: {words}", file=sys.stderr, flush=True)


class Compilation:
    """`told = Compilation(what)`, then `told.add(n)` for n functions of it that are done: a bar on a terminal, nothing elsewhere.

    How many there will be is not known before: most entry points are time loops, which have about as many.
    """

    def __init__(self, what: str):
        self.what, self.done = what, 0
        self.began = self.seen = time.perf_counter()

    def add(self, functions: int = 1) -> None:
        self.done += functions
        now = time.perf_counter()
        if now - self.seen > _REDRAW and sys.stderr.isatty():
            self.seen = now
            filled = min(int(_WIDTH * self.done / _FUNCTIONS), _WIDTH - 1)
            words = f"{self.done} of about {max(_FUNCTIONS, self.done + 1)} functions, {now - self.began:.0f} s"
            print(f"\r[{'#' * filled}{'.' * (_WIDTH - filled)}] {words} ", end="", file=sys.stderr, flush=True)

    def end(self) -> None:
        if self.seen != self.began and sys.stderr.isatty():
            print("\r" + " " * (_WIDTH + 50) + "\r", end="", file=sys.stderr)
        announce_compilation(self.what, time.perf_counter() - self.began)


class Interrupts:
    """`with Interrupts() as ctrl_c:` between `ctrl_c.hold()` and `ctrl_c.release()` Ctrl-C waits, so that the steps made are counted.

    Only the main thread ever gets one.
    """

    def __init__(self) -> None:
        self._held = False
        self._pressed: list[tuple[int, FrameType | None]] = []
        self._handler: Any = None  #: of the program, while ours is in its place

    def __enter__(self) -> Interrupts:
        if threading.current_thread() is threading.main_thread():
            before = signal.signal(signal.SIGINT, self._press)
            if callable(before):
                self._handler = before
            else:  # it is ignored, or ends the program
                signal.signal(signal.SIGINT, before)
        return self

    def _press(self, number: int, frame: FrameType | None) -> None:
        if self._held or self._handler is None:
            self._pressed.append((number, frame))
        else:
            self._handler(number, frame)

    def hold(self) -> None:
        self._held = True

    def release(self) -> None:
        """What was pressed meanwhile is seen now."""
        self._held = False
        if self._pressed:
            self._handler(*self._pressed.pop())

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        handler, self._handler = self._handler, None
        if handler is None:
            return
        signal.signal(signal.SIGINT, handler)
        if self._pressed and kind is None:
            handler(*self._pressed[0])
