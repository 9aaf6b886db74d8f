"""Errors of a description get the place in the file it comes from."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from ..errors import FormatError, MechanismError


class Place(Protocol):
    """A piece of a file that knows where it stands."""

    def error(self, message: str) -> FormatError: ...


@contextmanager
def at(place: Place) -> Iterator[None]:
    try:
        yield
    except FormatError:
        raise
    except MechanismError as error:
        raise place.error(str(error)) from error
