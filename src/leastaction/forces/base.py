"""What a force is: a description that the compiler turns into arrays."""

from __future__ import annotations


class Force:
    """Base class of everything `Mechanism.add_force` takes.

    A force writes itself into the arrays of the model in `apply(builder)`; see `leastaction.compiler.LoadBuilder`.
    """

    def apply(self, builder) -> None:
        raise TypeError(f"{type(self).__name__} does not say how it acts: override apply(builder)")

    def __repr__(self) -> str:
        inside = ", ".join(f"{k}={v!r}" for k, v in vars(self).items())
        return f"{type(self).__name__}({inside})"
