"""What a file says and a simulation would not do: refused with file and line, or left out on request and noted.  Never dropped silently."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from ..errors import FormatError
from ..mechanism import Mechanism
from .xml_tree import Element

LEFT_OUT = "left out, as asked by ignore="  # how notes on them begin

_MOST_LINES = 20  # of an error
_MOST_PLACES = 4  # of a note


class Leftovers:
    """Collects them while a file is read.

    known    what may be named in `ignore` -> what that leaves out
    """

    def __init__(self, known: Mapping[str, str], ignore: Iterable[str]):
        names = (ignore,) if isinstance(ignore, str) else tuple(ignore)
        for name in names:
            if name not in known:
                choices = "; ".join(f"{choice!r}: {meaning}" for choice, meaning in known.items())
                raise FormatError(f"ignore = {name!r} is not known; what can be left out of this format: {choices}")
        self.known, self.ignore = known, frozenset(names)
        self._refused: list[tuple[Element, str, str]] = []
        self._ignored: dict[str, list[tuple[Element, str]]] = {}
        self._asides: dict[str, list[Element]] = {}

    def ignores(self, kind: str, element: Element, sentence: str) -> bool:
        """Is this kind of thing, which could be read, to be left out?"""
        if kind in self.ignore:
            self._ignored.setdefault(kind, []).append((element, sentence))
            return True
        return False

    def refuse(self, kind: str, element: Element, sentence: str) -> None:
        """Something that changes the motion and is not simulated."""
        if not self.ignores(kind, element, sentence):
            self._refused.append((element, kind, sentence))

    def aside(self, element: Element, sentence: str) -> None:
        """Something that does not change the motion and is not kept; `sentence` is the same for all of its kind."""
        self._asides.setdefault(sentence, []).append(element)

    def settle(self, mechanism: Mechanism) -> None:
        """Raise an error that lists what was refused; note the rest."""
        if self._refused:
            raise self._error()
        for kind, things in self._ignored.items():
            named = "; ".join(f"{sentence} (line {element.line})" for element, sentence in things[:_MOST_PLACES])
            more = f"; and {len(things) - _MOST_PLACES} more" if len(things) > _MOST_PLACES else ""
            mechanism.note(f"{LEFT_OUT}{kind!r}: {named}{more}")
        for sentence, elements in self._asides.items():
            lines = ", ".join(str(element.line) for element in elements[:_MOST_PLACES]) + ", ..." * (len(elements) > _MOST_PLACES)
            mechanism.note(f"{sentence} ({len(elements)}, line{'s' * (len(elements) > 1)} {lines})")

    def _error(self) -> FormatError:
        first = self._refused[0][0]
        shown = self._refused[:_MOST_LINES]
        lines = [f"{Path(element.path).name}:{element.line}: {sentence} [{kind}]" for element, kind, sentence in shown]
        if len(self._refused) > _MOST_LINES:
            lines.append(f"and {len(self._refused) - _MOST_LINES} more")
        kinds = list(dict.fromkeys(kind for _, kind, _ in self._refused))
        count = len(self._refused)
        return FormatError(
            f"{count} thing{'s' * (count > 1)} in this file change{'s' * (count == 1)} the motion and "
            f"{'are' if count > 1 else 'is'} not simulated; change the file, or leave "
            f"{'them' if count > 1 else 'it'} out with ignore={kinds}:\n  " + "\n  ".join(lines),
            path=first.path, line=first.line,
        )  # fmt: skip
