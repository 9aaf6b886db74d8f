"""XML as elements that know their line, from a parser that trusts nobody.

No DTD, so no entities of a file's own and nothing fetched from anywhere; depth, number of elements and size of a file are capped.  No
recursion anywhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import isinf, isnan
from pathlib import Path
from typing import NoReturn
from xml.parsers import expat

from ..errors import FormatError

MOST_BYTES = 32 * 1024 * 1024  # of a file; the largest robot known to us has 0.2 MB
MOST_DEPTH = 64
MOST_ELEMENTS = 100_000
LARGEST = 1e30  # number: squares and products of such ones are still finite
MOST_ATTRIBUTES = 64  # of one element

_ENCODINGS = ("utf-8", "us-ascii", "ascii", "iso-8859-1", "latin-1", "utf-16")
_SHOWN = 60  # characters of a value that messages repeat


@dataclass(eq=False, repr=False, slots=True)
class Element:
    """<tag attributes>text, children</tag> and where it stands in its file."""

    tag: str
    attributes: dict[str, str]
    path: str
    line: int
    children: list[Element] = field(default_factory=list)
    text: str = ""  #: all of it, without what the children contain

    def __str__(self) -> str:
        return f"<{shortened(self.tag)}>"

    def error(self, message: str) -> FormatError:
        return FormatError(message, path=self.path, line=self.line)

    def fail(self, message: str) -> NoReturn:
        raise self.error(message)

    def all(self, tag: str) -> list[Element]:
        """Children of this tag."""
        return [child for child in self.children if child.tag == tag]

    def one(self, tag: str) -> Element | None:
        """The child of this tag, if there is one; more than one is an error."""
        found = self.all(tag)
        if len(found) > 1:
            found[1].fail(f"{self} has a second {found[1]}, the first is in line {found[0].line}; remove one")
        return found[0] if found else None

    def need(self, tag: str) -> Element:
        found = self.one(tag)
        if found is None:
            self.fail(f"{self} has no <{tag}>")
        return found

    def descendants(self) -> Iterator[Element]:
        """Itself and everything in it, in the order of the file."""
        stack = [self]
        while stack:
            element = stack.pop()
            yield element
            stack.extend(reversed(element.children))

    def word(self, name: str) -> str:
        """An attribute that must be there and not be empty."""
        value = self.attributes.get(name, "")
        if not value.strip():
            self.fail(f'{self} has no {name}="..."')
        return value

    def number(self, name: str, default: float | None = None, *, infinite: bool = False) -> float:
        """An attribute as a number; required if there is no default."""
        if name not in self.attributes and default is not None:
            return default
        return self._number(self.word(name), f"{name} of {self}", infinite)

    def numbers(self, name: str, count: int, default: tuple[float, ...] | None = None) -> tuple[float, ...]:
        """An attribute as `count` numbers separated by blanks; required if there is no default."""
        if name not in self.attributes and default is not None:
            return default
        return self._numbers(self.word(name), f"{name} of {self}", count)

    def text_number(self, default: float) -> float:
        """The text as a number, or its attribute `value`, as extensions write them; `default` if there is neither."""
        given = self.text.strip() or self.attributes.get("value", "").strip()
        return self._number(given, str(self), True) if given else default

    def text_numbers(self, count: int) -> tuple[float, ...]:
        """The text as `count` numbers separated by blanks."""
        return self._numbers(self.text, str(self), count)

    def text_word(self) -> str:
        """The text, which must be there."""
        if not self.text.strip():
            self.fail(f"{self} is empty")
        return self.text.strip()

    def _numbers(self, text: str, what: str, count: int) -> tuple[float, ...]:
        parts = text.split()
        if len(parts) != count:
            self.fail(f"{what} is {shortened(text)!r}; it needs {count} numbers separated by blanks")
        return tuple(self._number(part, what, False) for part in parts)

    def _number(self, text: str, what: str, infinite: bool) -> float:
        try:
            value = float("x" if "_" in text else text)
        except ValueError:
            self.fail(f"{what} is {shortened(text)!r}, which is not a number")
        if isnan(value) or (isinf(value) and not infinite):
            self.fail(f"{what} is {shortened(text)!r}, which is not finite")
        if abs(value) > LARGEST and not infinite:
            self.fail(f"{what} is {shortened(text)!r}; numbers up to {LARGEST:g} are read")
        return value


def shortened(text: str) -> str:
    """What messages repeat of a value, which may be megabytes."""
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "..."


def by_name(elements: list[Element]) -> dict[str, Element]:
    """Elements by their attribute `name`, which no two of them share."""
    found: dict[str, Element] = {}
    for element in elements:
        name = element.word("name")
        if name in found:
            element.fail(f"{element} {shortened(name)!r} is there twice, first in line {found[name].line}; rename one")
        found[name] = element
    return found


def parse_file(path: Path) -> Element:
    """The outermost element of a file."""
    size = path.stat().st_size
    if size > MOST_BYTES:
        raise FormatError(f"the file has {size} bytes; at most {MOST_BYTES} are read", path=str(path))
    return parse(path.read_bytes(), str(path))


def parse(data: bytes, path: str = "") -> Element:
    """The outermost element of a text; `path` is what messages start with."""
    if len(data) > MOST_BYTES:
        raise FormatError(f"the file has {len(data)} bytes; at most {MOST_BYTES} are read", path=path)
    return _Parser(path).parse(data)


class _Parser:
    def __init__(self, path: str):
        self.path = path
        self.root: Element | None = None
        self.open: list[Element] = []
        self.texts: list[list[str]] = []
        self.count = 0
        self.expat = expat.ParserCreate()
        self.expat.buffer_text = True
        self.expat.XmlDeclHandler = self._declaration
        self.expat.StartDoctypeDeclHandler = self._doctype
        self.expat.StartElementHandler = self._start
        self.expat.EndElementHandler = self._end
        self.expat.CharacterDataHandler = self._text

    def parse(self, data: bytes) -> Element:
        try:
            self.expat.Parse(data, True)  # at once: older versions of expat take quadratic time for long pieces that come in parts
        except expat.ExpatError as error:
            raise FormatError(
                f"not well-formed XML: {expat.errors.messages.get(error.code, str(error))}",
                path=self.path, line=error.lineno, column=error.offset + 1,
            ) from None  # fmt: skip
        except (UnicodeError, LookupError, ValueError) as error:  # of encodings expat asks Python about
            if isinstance(error, FormatError):
                raise
            self._fail(f"the file cannot be decoded: {error}")
        assert self.root is not None  # expat refuses a file without elements
        return self.root

    def _fail(self, message: str) -> NoReturn:
        raise FormatError(message, path=self.path, line=self.expat.CurrentLineNumber)

    def _declaration(self, version: str, encoding: str | None, standalone: int) -> None:
        if encoding is not None and encoding.lower() not in _ENCODINGS:
            self._fail(f"the file is encoded in {shortened(encoding)!r}; save it in UTF-8")

    def _doctype(self, *_) -> None:
        self._fail("the file has a document type (<!DOCTYPE ...>), which could define entities and name other files; remove it")

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        self.count += 1
        if self.count > MOST_ELEMENTS:
            self._fail(f"the file has more than {MOST_ELEMENTS} elements")
        if len(self.open) >= MOST_DEPTH:
            self._fail(f"elements are nested more than {MOST_DEPTH} deep")
        if len(attributes) > MOST_ATTRIBUTES:
            self._fail(f"<{shortened(tag)}> has {len(attributes)} attributes; at most {MOST_ATTRIBUTES} are read")
        element = Element(tag, attributes, self.path, self.expat.CurrentLineNumber)
        if self.open:
            self.open[-1].children.append(element)
        else:
            self.root = element
        self.open.append(element)
        self.texts.append([])

    def _end(self, tag: str) -> None:
        self.open.pop().text = "".join(self.texts.pop())

    def _text(self, text: str) -> None:
        self.texts[-1].append(text)
