"""A stepper around the stepper of a mechanism with loops: looks after their singular positions and after the choice of rows.

In a singular position (links in line) a mechanism can go on in more than one way, and a step that ends too close to it is solved by
standing still there, or on another branch: energy jumps although every equation holds.  Impulses of the constraints that jump, or a step
that is hard to solve, raise a suspicion, which costs nothing to look for (suspicion.py); the energy before and after, with the work of all
forces, confirms it.

"continue" goes back to a node well before the position and makes a few steps with nodes half a step aside, so that none falls on it: of
several such ways the one that keeps the energy best is taken.   docs/constraints.md

Rows that are left out because others imply them are chosen at the start.  Of a Bennett linkage no choice is good on the whole way round:
then another one is made on the way, and the steps go on from there.  So it is where rows that follow only nearly are off by a quarter of
the slack.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..assembly import ledger
from ..assembly.closing import ClosedEvaluator, explain_dependent, on_the_way, project_velocity, reduce
from ..assembly.equations import TreeClosing
from ..assembly.nearly import GOOD, Choice, settle
from ..constraints.base import COORDINATES
from ..errors import LeastActionError, StateError
from ..kernels.stepping.record import EVERY, ROWS, STEPS, Record, add_step, rewind
from ..state import State
from .base import KICKED_MOMENTUM, Advance, Stepper
from .guard import GuardedStepper
from .memory import Memory, below_prefix, packed, unpacked, with_prefix
from .suspicion import CALM, KNOWN, WINDOW, Block, Nodes, Recent
from .watch import BLOCK, thin

Array = NDArray[np.float64]

ASSEMBLY = ("stop", "continue", "ignore")

_LOST = 0.01  # of the kinetic energy: what a motion that continues does not lose
_DEPENDENT = 0.1  # smallest singular value of the rows over the largest: nearly singular
_DOUBTFUL = 0.02  # of the kinetic energy: what is said of a run that loses it where rows are not nearly dependent,
_MUCH = 0.25  # and what ends the run there too
_OFF = 0.1  # of the kinetic energy: nodes that are off by more are too close to a singular position, even if nothing is lost
_SEEN = 4 * WINDOW  # nodes that are not computed twice
_BACK = 7  # nodes before a suspicious one, from which a singular position is stepped over
_WAYS = (0.5, -0.5, 0.25, -0.25, 0.35, -0.35, 0.1, -0.1)  # of a step: by how much nodes are moved aside
_ACROSS = 14  # steps of a way
_SLACK = 0.25  # of the slack: what rows that are left out may be off by before others are taken
_TURN = 0.2  # rad or m, times what the rows are worth: how far joints move before somebody looks at them again
_SEVERAL = 16  # steps after which somebody looks in any case
_REMEMBERED = 8 * WINDOW  # nodes of steps that are made one by one


def watched(stepper: Stepper, begun: State, assembly: str) -> Stepper:
    """The stepper, looked after if it keeps loops; begun: the state it was started from."""
    positions = any(closure.holds_positions[0] for closure in stepper.model.closures)
    if not positions or assembly == "ignore" or not stepper.multipliers or isinstance(stepper, GuardedStepper):
        return stepper
    return LoopStepper(stepper, begun, assembly == "continue")


def inside(stepper: Stepper, begun: State) -> tuple[Stepper, State]:
    """The stepper that is looked after, and the state it was started from; the same if it is not looked after."""
    return (stepper.base, stepper.begun) if isinstance(stepper, LoopStepper) else (stepper, begun)


class LoopStepper(Stepper):
    """A stepper around another one, which it restarts where that is of use."""

    def __init__(self, base: Stepper, begun: State, follow: bool):
        super().__init__(base.integrator, base.model, base.dt)
        self.multipliers, self.keeps_constraints, self.redundant = base.multipliers, base.keeps_constraints, base.redundant
        self.follow = follow
        self.crossed: list[float] = []  #: times of singular positions that were stepped over
        self.doubts: list[tuple[float, float]] = []  #: times, and energy that came or went there without a reason, J
        self._evaluate = ClosedEvaluator(base.model, (begun.q, begun.t))
        self._seen: dict[tuple[object, ...], tuple[Array, Array]] = {}  # energies and velocities at nodes that were looked at
        self._fine: Record | None = None
        self._choice: Choice | None = None
        self._relaxed = False
        self._recent: Recent | None = None  # nodes of steps that are made one by one
        self._use(base, begun)

    def _use(self, base: Stepper, begun: State) -> None:
        self.base, self.begun = base, begun
        # rows in use that have to be looked after; those of driven mechanisms are not exchanged, their impulses do work
        if self.redundant and not any(closure.kind == COORDINATES for closure in self.model.closures):
            reduction = reduce(self.model, begun.q, begun.t)
            self._relaxed = reduction.relaxed
            if self._choice is not None or not reduction.lasts:
                self._choice = reduction.choice

    # ------------------------------------------------------------------------------------------------ as any stepper

    def write(self, record: Record) -> None:
        self.base.write(record)

    def remember(self) -> Memory | None:
        base = self.base.remember()
        return None if base is None else {"begun": packed(self.begun)} | with_prefix("base.", base)

    def recall(self, memory: Memory) -> None:
        begun = unpacked(self.model, memory["begun"])
        if not np.array_equal(packed(begun), packed(self.begun)):
            self._use(self._started(begun), begun)
        self._recent = None
        self.base.recall(below_prefix("base.", memory))

    def take_over(self, before: Stepper, further: int, length: float) -> None:
        self.base.take_over(before.base if isinstance(before, LoopStepper) else before, further, length)

    def advance(self, steps: int, tau: Array, record: Record, end: float = np.inf) -> Advance:
        every, done, self._recent = int(record.cursor[EVERY]), 0, None
        if steps == 0:
            return self.base.advance(0, tau, record, end)
        while done < steps:
            size = min(steps - done, BLOCK if every > 1 else steps, self._patience())
            forces = tau if len(tau) == 1 else tau[done : done + size]
            if every == 1:
                result = self._advance_fine(size, forces, record, end)
            else:
                if self._fine is None:
                    self._fine = self.make_record(BLOCK, BLOCK)
                rewind(self._fine)
                result = self._advance_fine(size, forces, self._fine, end)
                thin(self._fine, record, with_last=False)
            done += result.steps
            if result.failure or result.steps == 0:
                return Advance(done, result.failure, result.residual)
        return Advance(done)

    def single(self, tau: Array, record: Record) -> Advance:
        """One step to the end of an empty record, of steps that are asked for one by one: the last of them are remembered here.

        A jump ends in a failure before the step, as it does in runs that stop; what was made already is not made anew.
        """
        if self._recent is None:
            self._recent = Recent(self.make_record(_REMEMBERED, _REMEMBERED), self.base)
        recent = self._recent
        result = self.base.advance(1, tau, record)
        if result.failure or result.steps == 0:
            return result
        recent.add(record, tau[0])
        jump = self._first_jump(recent, False)
        if jump is None:
            if self._choice is not None and recent.waits():
                before = self.base
                self._choose_rows()
                recent.wait(self._patience(), self.base if self.base is not before else None)
            return result
        row, lost = jump
        reason = self._reason(float(recent.record.t[row]), lost, recent.record.q[row])
        state = self._settled(self._state(recent.record, row - 1, self.dt))
        self._use(self._started(state), state)
        self._recent = None
        rewind(record)
        return Advance(0, reason, result.residual)

    def remark(self) -> str:
        """Sentences on singular positions that were stepped over, and on energy that was lost at others; empty if there are none."""
        found = []
        if self.crossed:
            positions = "a singular position was" if len(self.crossed) == 1 else f"{len(self.crossed)} singular positions were"
            found.append(f"{positions} stepped over, the first about t = {self.crossed[0]:g} s, with nodes aside of the others")
        if self.doubts:
            t, lost = max(self.doubts, key=lambda doubt: abs(doubt[1]))
            found.append(f"about t = {t:g} s the energy changes by {lost:+.3g} J in a few steps, which no force explains; try a smaller dt")
        return "; ".join(found)

    # ------------------------------------------------------------------------------------------------ the choice of rows

    def _patience(self) -> int:
        """Steps after which the rows are looked at."""
        if self._choice is None:
            return 2**62
        now = self._now()
        turns = _TURN * self._choice.worth(now.q) / max(float(np.abs(now.v).max()) * self.dt, 1e-12)
        return max(1, int(min(turns, _SEVERAL)))

    def _now(self) -> State:
        record = self.make_record(1, 1)
        self.base.write(record)
        return self._state(record, 0, self.dt)

    def _state(self, record: Record, row: int, length: float) -> State:
        at = slice(row, row + 1)
        node = self._evaluate(*self.integrator.recording(length), record.q[at], record.p[at], record.t[at])
        return State.with_velocity(self.model, float(record.t[row]), record.q[row].copy(), node.p[0], node.v[0])

    def _started(self, state: State, length: float | None = None) -> Stepper:
        with on_the_way():
            stepper = self.integrator.start(self.model, state, self.dt if length is None else length)
        stepper.advance(0, self.model.inputs()[None], stepper.make_record(0, 0))
        return stepper

    def _choose_rows(self) -> None:
        """Choose other rows where those in use are no good choice any more."""
        if self._choice is None:
            return
        now, most = self._now(), _SLACK * self.model.slack
        if self._choice.worth(now.q) >= GOOD and not (self._relaxed and self._choice.misfit(now.q) > most):
            return
        other = self._settled(now)
        if self._choice.worth(now.q) >= GOOD and self._choice.misfit(other.q) > most:
            return  # no rows would do better
        stepper = self._started(other)
        if stepper.multipliers == self.multipliers:
            self._use(stepper, other)

    def _settled(self, state: State) -> State:
        """Where all rows are satisfied as well as they can be, if some follow only nearly: or every choice would add its own error."""
        if not self._relaxed:
            return state
        model = self.model
        q, _ = settle(TreeClosing(model, state.t), state.q, np.zeros(model.nv, dtype=bool))
        return model.state(q, project_velocity(model, q, state.v, state.t), t=state.t)

    # ------------------------------------------------------------------------------------------------ singular positions

    def _advance_fine(self, steps: int, tau: Array, record: Record, end: float) -> Advance:
        """Steps of which every node is recorded, none of them beyond a jump."""
        block = Block(record, tau)
        result = self.base.advance(steps, tau, record, end)
        jump = self._first_jump(block, bool(result.failure))
        if jump is None:
            self._choose_rows()
            return result
        row, lost = jump
        reason = self._reason(float(record.t[row]), lost, record.q[row])
        back = min(max(row - _BACK, block.earliest), block.written + steps - 3)
        if self.follow and back >= max(block.earliest, 0):
            made = self._step_over(block, back, min(_ACROSS, block.written + steps - 1 - back))
            if made is not None:
                self.crossed.append(float(record.t[row]))
                return Advance(made)
        last = max(row - _BACK, block.written - 1)
        if last >= 0:
            block.cut(last + 1)
            state = self._settled(self._state(record, last, self.dt))
            self._use(self._started(state), state)
        return Advance(int(record.cursor[STEPS]) - block.begun, reason, result.residual)

    def _first_jump(self, block: Block, failed: bool) -> tuple[int, float] | None:
        """The first row whose energy is another one than before and after it, and the difference, J."""
        suspicious = block.suspicious()
        last = block.rows - 1
        if failed and last > block.earliest:
            suspicious.append(last)
        if not suspicious:
            return None
        ahead = self._ahead(block) if suspicious[-1] > last - WINDOW and not failed else None
        seen = -1
        for row in suspicious:
            if row <= seen:
                continue
            lost = self._lost(block, row, ahead)
            if lost != 0.0:
                return row, lost
            seen = row
        return None

    def _ahead(self, block: Block) -> Record | None:
        """The nodes that come next, which are forgotten again."""
        memory = self.base.remember()
        if memory is None:
            return None
        record = self.make_record(WINDOW, WINDOW)
        self.base.advance(WINDOW, block.tau[-1:], record)
        self.base.recall(memory)
        return record

    def _lost(self, block: Block, row: int, ahead: Record | None) -> float:
        """Energy that comes or goes about a row, if it is more than the steps around explain; otherwise 0."""
        nodes = block.around(row, ahead)
        at = nodes.row
        before, after = slice(0, max(at - CALM, 1)), slice(min(at + CALM + 1, len(nodes.t) - 1), None)
        if before.stop < KNOWN:  # what is usual is not known yet
            return 0.0
        try:
            balance, kinetic = self._balance(nodes)
        except StateError:  # the impulses of what drives it are not recorded
            return 0.0
        moving = max(float(kinetic[before].max()), float(kinetic[after].max()))
        lost = float(np.median(balance[after]) - np.median(balance[before]))
        usual = float(np.ptp(balance[before]))
        if not abs(lost) <= max(_LOST * moving, 3.0 * usual):
            if not abs(lost) <= _MUCH * moving or self._is_singular(nodes):
                return lost
            if abs(lost) > _DOUBTFUL * moving and self.integrator.uniform:
                self.doubts.append((float(nodes.t[at]), lost))
        here = balance[at - 1 : at + 2] - np.median(balance[before])
        worst = float(here[np.argmax(np.abs(here))])
        return worst if self.follow and self._recent is None and not abs(worst) <= max(_OFF * moving, 3.0 * usual) else 0.0

    def _is_singular(self, nodes: Nodes) -> bool:
        """Are the rows nearly dependent about the suspicious node?"""
        around = range(max(nodes.row - 1, 0), min(nodes.row + 2, len(nodes.t)))
        return any(explain_dependent(self.model, nodes.q[k], float(nodes.t[k]), limit=_DEPENDENT) for k in around)

    def _balance(self, nodes: Nodes) -> tuple[Array, Array]:
        """Energy that nothing explains, and kinetic energy, at nodes."""
        energies, v = self._energies(nodes)
        energy, implicit = energies.sum(axis=1), self.integrator.recording(self.dt)[0] == KICKED_MOMENTUM
        book = ledger.work_and_heat(self.model, nodes.t, nodes.q, v, nodes.multipliers, nodes.tau, implicit)
        return energy - energy[0] - book[:, ledger.WORK] + book[:, ledger.HEAT], energies[:, 0]

    def _energies(self, nodes: Nodes) -> tuple[Array, Array]:
        """Energies (T, 3) and velocities (T, nv), at each node computed once: suspicious ones often stand close together."""
        t, q, p = nodes.t, nodes.q, nodes.p
        keys = [(time, *map(bytes, node)) for time, *node in zip(t.tolist(), q, p, strict=True)]
        if new := [k for k, key in enumerate(keys) if key not in self._seen]:
            found = self._evaluate(*self.integrator.recording(self.dt), q[new], p[new], t[new])
            self._seen.update(zip([keys[k] for k in new], zip(found.energy, found.v, strict=True), strict=True))
        energies, v = zip(*(self._seen[key] for key in keys), strict=True)
        for old in list(self._seen)[:-_SEEN]:
            del self._seen[old]
        return np.array(energies), np.array(v)

    def _step_over(self, block: Block, row: int, steps: int) -> int | None:
        """From a row on, with nodes aside of those that led astray.  Returns the steps of the block made by then, None if no way helps."""
        if steps < 2:
            return None
        start = self._state(block.record, row, self.dt)
        best: tuple[float, list[tuple[State, Array, int]]] | None = None
        for aside in _WAYS:
            way = self._way(start, block, row, [1.0 + aside, *[1.0] * (steps - 2), 1.0 - aside])
            if way is not None and (best is None or way[0] < best[0]):
                best = way
            if best is not None and best[0] < 0.1 * _LOST:
                break
        if best is None or best[0] > _LOST:
            return None
        block.cut(row + 1)
        for state, impulses, evaluations in best[1]:
            self._use(self._started(state), state)
            add_step(block.record, evaluations)
            self.base.write(block.record)
            block.record.multipliers[int(block.record.cursor[ROWS]) - 1] = impulses
        return int(block.record.cursor[STEPS]) - block.begun

    def _way(self, start: State, block: Block, row: int, lengths: list[float]) -> tuple[float, list[tuple[State, Array, int]]] | None:
        """Steps of such lengths, and which part of the kinetic energy they lose."""
        made, state = [], start
        states = [start]
        for k, part in enumerate(lengths):
            tau = block.tau_after(row + k)
            try:
                stepper = self._started(state, part * self.dt)
                record = stepper.make_record(1, 1)
                result = stepper.advance(1, tau, record)
                if result.failure:
                    return None
                state = self._state(record, 0, part * self.dt)
            except LeastActionError:
                return None
            made.append((state, record.multipliers[0] / part, int(record.evaluations[0])))
            states.append(state)
        t, q, v = (np.array([getattr(s, name) for s in states]) for name in ("t", "q", "v"))
        impulses = np.array([np.zeros(self.multipliers), *(i for _, i, _ in made)])
        tau = np.concatenate([block.tau_after(row + k) for k in range(len(lengths))])
        found = self._evaluate(*_BY_MOMENTUM, q, np.array([s.p for s in states]), t)
        energy = found.energy.sum(axis=1)
        try:
            book = ledger.work_and_heat(self.model, t, q, v, impulses, tau, implicit=True)
        except StateError:
            return None
        balance = energy - energy[0] - book[:, ledger.WORK] + book[:, ledger.HEAT]
        return abs(float(balance[-1])) / max(float(found.energy[:, 0].max()), 1e-300), made

    def _reason(self, t: float, lost: float, q: Array) -> str:
        why = explain_dependent(self.model, q, t, limit=_DEPENDENT)
        return (
            f"about t = {t:g} s the energy jumps by {lost:+.3g} J, which no force explains: the step does not continue the motion"
            + (f", {why}" if why else "; try a smaller dt")
            + (". Runs step over such positions, single steps and control laws do not" if self.follow and self._recent else "")
            + ("" if self.follow else ". assembly='continue' steps over such positions")
        )


_BY_MOMENTUM = (KICKED_MOMENTUM, 0.0)
