"""simulate(specialise=...): a run that goes over to code made for its mechanism while it is under way.

"background": another process makes the code (docs/specialise.md) and measures whether it is faster here; the run takes it over between two
chunks of steps.  A number: the run goes over at that step, which repeats a run that did so by itself.  What is remembered for a
continuation says whose code runs, so what goes on from there runs the same.
"""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
import tempfile
import time
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from ..checks import shown
from ..compiling import cache
from ..compiling.cache import PACKAGE
from ..errors import LeastActionError, StateError
from ..model import Model
from ..specialise import Specialised
from .base import Integrator, Stepper
from .memory import Continuation
from .variational import VariationalStepper

_FIRST_LOOK = 1.0  # s after which the length of a run is estimated
_WORTH = 15.0  # s that must then be left: taking the code over costs some tenths of a second, making it the time of another core
_FASTER = 0.97  # of the time for a step: code that is hardly faster is left alone
_SAMPLE = 0.1  # s that one measurement lasts


class Switch:
    """Goes over to own code at a given step."""

    remark = ""  #: why it did not, in a sentence

    def __init__(self, at: int):
        self.at = at

    def steps_left(self, made: int, most: int) -> int:
        """Steps after which it wants to be asked again, at most so many."""
        return min(most, self.at - made) if made < self.at else most

    def look(self, stepper: Stepper, made: int, continuation: Any, tau: NDArray[np.float64]) -> bool:
        """To be asked between steps: has the stepper just gone over?

        made            steps so far
        continuation    function that gives the present Continuation
        tau             (inputs,) of the last step
        """
        if made != self.at or not isinstance(stepper, VariationalStepper) or stepper.switched:
            return False
        return stepper.switch_to(Specialised(stepper.model.tree, stepper.model.make_work()))

    def close(self) -> None:
        """The run is over."""


class Background(Switch):
    """Goes over when another process has made the code."""

    def __init__(self, steps: int):
        """steps: of the whole run"""
        self.steps, self._began, self._first = steps, time.perf_counter(), 0
        self._process: subprocess.Popen | None = None
        self._over = len(os.sched_getaffinity(0)) < 2 if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1) < 2
        self._answer: IO[bytes] | None = None
        self._said: IO[bytes] | None = None

    def steps_left(self, made: int, most: int) -> int:
        return most

    def look(self, stepper: Stepper, made: int, continuation: Any, tau: NDArray[np.float64]) -> bool:
        if self._over or not isinstance(stepper, VariationalStepper) or stepper.switched:
            return False
        if self._process is not None:
            return self._process.poll() is not None and self._take(stepper)
        elapsed = time.perf_counter() - self._began
        if self._first == 0:  # the first chunk may have compiled
            self._began, self._first = time.perf_counter(), max(made, 1)
        elif elapsed > _FIRST_LOOK:
            if elapsed * (self.steps - made) > _WORTH * max(made - self._first, 1):
                self._start(continuation(), tau)
            else:
                self._over = True
        return False

    def _start(self, now: Continuation, tau: NDArray[np.float64]) -> None:
        """Let another process make the code."""
        try:
            content = pickle.dumps((now, tau))
        except (LeastActionError, pickle.PicklingError, TypeError, AttributeError) as error:
            return self._give_up(f"the mechanism cannot be sent to another process: {error}")
        asked, self._answer, self._said = (tempfile.TemporaryFile() for _ in range(3))  # noqa: SIM115 - closed in close()
        asked.write(content)
        asked.seek(0)
        path = os.pathsep.join([str(PACKAGE.parent), *(p for p in sys.path if p)])
        environment = {**os.environ, "PYTHONPATH": path, "LEASTACTION_CACHE_DIR": str(cache.folder())}
        command = [sys.executable, "-c", f"from {__name__} import main; main()"]
        self._process = subprocess.Popen(command, stdin=asked, stdout=self._answer, stderr=self._said, env=environment)
        asked.close()
        return None

    def _take(self, stepper: VariationalStepper) -> bool:
        """Use what the other process has made."""
        assert self._process is not None and self._answer is not None and self._said is not None
        self._over = True
        with self._answer as answer, self._said as said:
            answer.seek(0)
            said.seek(0)
            if self._process.returncode:
                last = said.read().decode(errors="replace").strip().splitlines()[-1:]
                self._give_up(last[0] if last else f"the other process ended with {self._process.returncode}")
                return False
            made = json.loads(answer.read())
        if made["ratio"] > _FASTER:
            self._give_up(f"steps of the code for this mechanism take {made['ratio']:.2f} of the time")
            return False
        return stepper.switch_to(Specialised(stepper.model.tree, stepper.model.make_work(), made["sources"]))

    def _give_up(self, why: str) -> None:
        self._over, self.remark = True, f'specialise="background" came to nothing: {why}'

    def close(self) -> None:
        self._over = True
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        for file in (self._answer, self._said):
            if file is not None:
                file.close()


def switch_for(specialise: Any, model: Model, integrator: Integrator, steps: int) -> Switch | None:
    """What `simulate(specialise=...)` asks for; steps: of the run."""
    if specialise is None:
        return None
    number = isinstance(specialise, (int, np.integer)) and not isinstance(specialise, bool) and specialise >= 0
    if not number and not (isinstance(specialise, str) and specialise == "background"):
        words = '"background", or the number of a step, as run.specialised_from says'
        raise StateError(f"specialise = {shown(specialise)}; it is None, {words}")
    if model.specialised is not None:
        return None
    if why := integrator.why_general(model):
        raise StateError(f"specialise = {shown(specialise)}: there is no code for one mechanism here, {why}; leave it out")
    if number:
        return Switch(int(specialise))
    if not cache.enabled():
        raise StateError(
            'specialise="background" hands the code over on disk, which LEASTACTION_CACHE=0 switches off; give model.specialise() instead'
        )
    return Background(steps)


# ------------------------------------------------------------------------------------------------- in the other process


def main() -> None:
    """Make the code of what stands at the standard input, measure it, and write both to the standard output."""
    if hasattr(os, "nice"):
        os.nice(5)  # the run comes first
    now, tau = pickle.load(sys.stdin.buffer)
    sources: dict[str, str] = {}
    model = now.begun.model
    special = Specialised(model.tree, model.make_work(), sources)
    general, _ = now.start(model)
    own, _ = now.start(model)
    assert isinstance(own, VariationalStepper)
    ratio = np.inf
    if own.switch_to(special):
        steps = max(1, int(_SAMPLE / max(_seconds(general, now, tau, 16) / 16, 1e-7)))
        _seconds(own, now, tau, 16)
        pairs = [(_seconds(general, now, tau, steps), _seconds(own, now, tau, steps)) for _ in range(4)]
        ratio = min(b for _, b in pairs) / min(a for a, _ in pairs)
    json.dump({"ratio": min(ratio, 9.0), "sources": sources}, sys.stdout)


def _seconds(stepper: Stepper, now: Continuation, tau: NDArray[np.float64], steps: int) -> float:
    """Processor time of so many steps from the present node; of 16 with what has to be compiled or loaded before them."""
    switched = isinstance(stepper, VariationalStepper) and stepper.switched
    assert now.memory is not None
    stepper.recall(now.memory | ({"specialised": np.ones(1)} if switched else {}))
    record = stepper.make_record(1, steps, steps)
    stepper.advance(0, tau[None], record)
    began = time.process_time()
    stepper.advance(steps, tau[None], stepper.make_record(1, steps, steps))
    return time.process_time() - began
