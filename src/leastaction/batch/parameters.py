"""Parameters of their own for every member: masses, lengths, stiffnesses.  A function makes the mechanism from them."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..checks import numbers, shown
from ..errors import LeastActionError, StateError
from ..integrators.base import CompiledStepper
from ..kernels.stepping.members import MADE, STATUS, Nodes
from ..mechanism import Mechanism
from ..model import Model
from .asked import Asked, agreed
from .compiled import Group, Piece, Worker, failure_in_words

_HOW = "give a function that makes the mechanism: la.rollout(make, parameters={'mass': [1.0, 2.0]}, ...) with make(mass) -> Mechanism"


def make_models(make: Any, parameters: Mapping[str, ArrayLike]) -> tuple[Model, ...]:
    """A model for every member, all of one structure; an error names the member and its parameters."""
    if isinstance(make, (Model, Mechanism)) or not callable(make):
        raise StateError(f"parameters belong to a function, not to {shown(make)}; {_HOW}")
    if not isinstance(parameters, Mapping) or not parameters or not all(isinstance(name, str) for name in parameters):
        raise StateError(f"parameters = {shown(parameters)}; give numbers by name: {{'mass': [1.0, 2.0]}}")
    try:
        signature = inspect.signature(make)
    except (TypeError, ValueError):  # some builtins do not say what they take
        signature = inspect.signature(lambda **anything: None)
    try:
        signature.bind(**parameters)
    except TypeError as error:
        raise StateError(f"parameters = {shown(dict(parameters))}: {shown(make)} does not take them, {error}; {_HOW}") from None
    columns = {name: _column(name, values) for name, values in parameters.items()}
    count = agreed({f"parameters[{name!r}]": len(column) for name, column in columns.items()})
    rows = [{name: float(column[min(k, len(column) - 1)]) for name, column in columns.items()} for k in range(count)]
    models = tuple(_made(make, k, row) for k, row in enumerate(rows))
    for k, model in enumerate(models):
        if _structure(model) != _structure(models[0]):
            raise StateError(f"member {k} ({_words(rows[k])}) has other bodies, joints, constraints or limits than member 0; {_ONE}")
    return models


_ONE = "parameters change numbers of one mechanism: make a batch for each structure"


def _column(name: str, values: ArrayLike) -> NDArray[np.float64]:
    column = np.atleast_1d(numbers(values, f"parameters[{name!r}]", StateError, finite=False))
    if column.ndim != 1 or not len(column):
        raise StateError(f"parameters[{name!r}] has shape {column.shape}; it needs a number, or one for every member")
    for k in np.flatnonzero(~np.isfinite(column)):
        raise StateError(f"parameters[{name!r}]: member {k} has {column[k]}, which is not finite")
    return column


def _words(row: Mapping[str, float]) -> str:
    return ", ".join(f"{name} = {value:g}" for name, value in row.items())


def _made(make: Callable[..., Any], k: int, row: Mapping[str, float]) -> Model:
    try:
        found = make(**row)
        model = found.compile() if isinstance(found, Mechanism) else found
    except LeastActionError as error:
        raise type(error)(f"member {k} ({_words(row)}): {error}") from error
    if not isinstance(model, Model):
        raise StateError(f"member {k} ({_words(row)}): the function returned {shown(model)}, not a Mechanism or a Model")
    if model.specialised is not None:
        raise StateError("a specialised model has its parameters in its code; return the mechanism, or the model before specialise()")
    return model


def _structure(model: Model) -> tuple:
    bodies = tuple((body.name, body.joint_name, type(body.joint)) for body in model.bodies)
    limits = tuple((limit.joint, limit.lower, limit.upper) for limit in model.limits)
    return bodies, model.tree.link.tolist(), limits, tuple(closure.name for closure in model.closures)


class OwnGroup(Group):
    """Members whose steps have one length, each with all arrays of a stepper of its own, those of the model too."""

    def __init__(self, asked: Asked, which: NDArray[np.int64], nodes: Nodes, stop: NDArray[np.int64]):
        super().__init__(asked, which, nodes, stop)
        pieces = [Piece(self.stepper_of(int(k)), shared=False) for k in which]
        for k, piece in zip(which, pieces, strict=True):
            if piece.kind != pieces[0].kind:
                fields = ", ".join(sorted({f"{a}" for a, b in itertools.zip_longest(piece.kind, pieces[0].kind) if a != b}))
                raise StateError(f"member {k} differs from member {which[0]} in more than numbers ({fields}); {_ONE}")
        self.members = self.members._replace(start=np.array([piece.all for piece in pieces]))

    def stepper_of(self, k: int) -> CompiledStepper:
        stepper = self.asked.integrator.start(self.asked.model_of(k), self.asked.start(k), self.dt)
        assert isinstance(stepper, CompiledStepper)
        return stepper

    def worker(self) -> Worker:
        return OwnWorker(self)


class OwnWorker(Worker):
    group: OwnGroup

    def _piece(self, group: Group) -> tuple[Piece, NDArray[np.int64]]:
        piece = Piece(self.stepper, shared=False)
        return piece, np.arange(piece.size)

    def _explain(self, k: int) -> str:
        assert isinstance(self.group, OwnGroup)
        stepper = self.group.stepper_of(k)
        piece = Piece(stepper, shared=False)
        piece.all[:] = self.piece.all
        piece.copy_out()
        return failure_in_words(stepper, int(self.nodes.end[k, MADE]), int(self.nodes.end[k, STATUS]))
