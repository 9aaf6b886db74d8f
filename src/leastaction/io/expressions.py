"""S-expressions as text: lists in parentheses, "strings", numbers, words; every piece knows its line and column.

No recursion anywhere: files may be nested deeper than Python's stack.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from math import isfinite
from typing import NoReturn

from ..errors import FormatError

_TOKEN = re.compile(r"""(?P<space>[^\S\n]+|;[^\n]*)|(?P<newline>\n)|(?P<open>\()|(?P<close>\))
                        |(?P<string>"(?:[^"\\\n]|\\.)*")|(?P<broken>")|(?P<word>[^\s()";]+)""", re.VERBOSE)  # fmt: skip

_SHOWN = 40  # characters of a piece that messages repeat


@dataclass(eq=False, repr=False, slots=True)
class Expression:
    """A word, a string, a number or a list, and where it stands in its file."""

    line: int
    column: int
    path: str
    items: list[Expression] | None = None  #: of a list
    text: str = ""  #: of anything else
    quoted: bool = False  #: a string
    value: float | None = field(default=None)  #: of a number

    @property
    def is_list(self) -> bool:
        return self.items is not None

    @property
    def is_number(self) -> bool:
        return self.value is not None

    @property
    def word(self) -> str:
        """The word in small letters; empty if it is something else."""
        return "" if self.is_list or self.quoted or self.is_number else self.text.lower()

    @property
    def head(self) -> str:
        """The word a list starts with, in small letters; empty if there is none."""
        return self.items[0].word if self.items else ""

    def __str__(self) -> str:
        if self.items is not None:
            return f"({self.items[0]} ...)" if self.items and not self.items[0].is_list else "(...)"
        shown = self.text if len(self.text) <= _SHOWN else self.text[:_SHOWN] + "..."
        return f'"{shown}"' if self.quoted else shown

    def error(self, message: str) -> FormatError:
        return FormatError(message, path=self.path, line=self.line, column=self.column)

    def fail(self, message: str) -> NoReturn:
        raise self.error(message)


def parse(text: str, path: str = "") -> list[Expression]:
    """All expressions of a text, in order."""
    root = Expression(1, 1, path, items=[])
    open_lists = [root]
    line, line_start, at = 1, 0, 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        assert match is not None  # the alternatives cover every character
        kind, piece, column = match.lastgroup, match.group(), at - line_start + 1
        at = match.end()
        here = open_lists[-1].items
        assert here is not None
        if kind == "newline":
            line, line_start = line + 1, at
        elif kind == "open":
            inner = Expression(line, column, path, items=[])
            here.append(inner)
            open_lists.append(inner)
        elif kind == "close":
            if len(open_lists) == 1:
                raise FormatError("this ) closes nothing; remove it, or open a list before", path=path, line=line, column=column)
            open_lists.pop()
        elif kind == "broken":
            raise FormatError('this string has no closing " on its line', path=path, line=line, column=column)
        elif kind == "string":
            here.append(Expression(line, column, path, text=re.sub(r"\\(.)", r"\1", piece[1:-1]), quoted=True))
        elif kind == "word":
            here.append(Expression(line, column, path, text=piece, value=_number(piece)))
    if len(open_lists) > 1:
        missing = len(open_lists) - 1
        outermost, innermost = open_lists[1], open_lists[-1]
        innermost.fail(
            f"{innermost} is never closed; {missing} ) missing at the end of the file"
            + (f" (the outermost open list starts in line {outermost.line})" if missing > 1 else "")
        )
    assert root.items is not None
    return root.items


def _number(piece: str) -> float | None:
    """The number a word spells; None for words, also for nan and inf, which no mechanism needs."""
    try:
        value = float(piece) if "_" not in piece else None
    except ValueError:
        return None
    return value if value is not None and isfinite(value) else None


def quote(text: str) -> str:
    """A string as it stands in a file."""
    if "\n" in text:
        raise FormatError(f"the name {text!r} contains a line break, which a .sexp file cannot hold; rename it")
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
