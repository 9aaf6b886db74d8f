"""Mutants: one token of a function is changed, a sign, a comparison, a number.  What tests cannot tell apart is a hole in them."""

from __future__ import annotations

import ast
import io
import random
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SWAPS = {
    "+": "-", "-": "+", "*": "/", "/": "*", "<": ">=", ">": "<=", "<=": ">", ">=": "<", "==": "!=", "!=": "==", "+=": "-=", "-=": "+=",
    "and": "or", "or": "and", "True": "False", "False": "True", "min": "max", "max": "min", "sin": "cos", "cos": "sin", "break": "continue",
}  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    path: str  #: of the file below the package
    line: int
    column: int
    before: str
    after: str
    code: str  #: the line as it was

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.before} -> {self.after}    {self.code.strip()}"

    def applied(self, text: str) -> str:
        """The source with the token changed."""
        lines = text.splitlines(keepends=True)
        line = lines[self.line - 1]
        assert line[self.column :].startswith(self.before), self
        lines[self.line - 1] = line[: self.column] + self.after + line[self.column + len(self.before) :]
        return "".join(lines)


def mutants(path: Path, package: Path) -> list[Mutant]:
    """Every mutant of a file; some are not Python any more."""
    text = path.read_text(encoding="utf-8")
    allowed, lines = _places(ast.parse(text)), text.splitlines()
    found = []
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        after = _changed(token)
        line, column = token.start
        if after is None or not any(start <= (line, column) < end for start, end in allowed.inside):
            continue
        if any(start <= (line, column) < end for start, end in allowed.outside):
            continue
        found.append(Mutant(path.relative_to(package).as_posix(), line, column, token.string, after, lines[line - 1]))
    return found


def chosen(room: str, package: Path, count: int, seed: int) -> list[Mutant]:
    """A random sample of a room, or of the files whose paths begin so ("io/urdf"), the same for the same seed."""
    files = (package / room).rglob("*.py") if (package / room).is_dir() else package.glob(f"{room}*.py")
    every = [m for path in sorted(files) for m in mutants(path, package)]
    random.Random(f"{room} {seed}").shuffle(every)
    found: list[Mutant] = []
    for mutant in every:
        if len(found) < count and _is_python(mutant.applied((package / mutant.path).read_text(encoding="utf-8"))):
            found.append(mutant)
    return found


def _is_python(text: str) -> bool:
    try:
        compile(text, "mutant", "exec")
    except (SyntaxError, ValueError):
        return False
    return True


def _changed(token: tokenize.TokenInfo) -> str | None:
    if token.type == tokenize.NUMBER:
        if token.string.isdigit():
            return str(int(token.string) + 1)
        return f"(1.5 * {token.string})" if token.string not in ("0.0", "0.") and token.string[-1] not in "jJ" else "1.0"
    if token.type in (tokenize.OP, tokenize.NAME):
        return SWAPS.get(token.string)
    return None


@dataclass(frozen=True)
class _Places:
    inside: list[tuple[tuple[int, int], tuple[int, int]]]  #: bodies of functions
    outside: list[tuple[tuple[int, int], tuple[int, int]]]  #: annotations, strings in pieces, what is raised


def _places(tree: ast.Module) -> _Places:
    inside, outside = [], []
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            inside.append((_start(node.body[0]), _end(node.body[-1])))
            outside += [_span(a) for a in _annotations(node)]
        elif isinstance(node, (ast.Raise, ast.JoinedStr, ast.Import, ast.ImportFrom)):
            outside.append(_span(node))
        elif isinstance(node, ast.AnnAssign):
            outside.append(_span(node.annotation))
    return _Places(inside, outside)


def _annotations(node: ast.FunctionDef) -> Iterator[ast.expr]:
    arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs, node.args.vararg, node.args.kwarg]
    yield from (a.annotation for a in arguments if a is not None and a.annotation is not None)
    if node.returns is not None:
        yield node.returns


def _span(node: ast.AST) -> tuple[tuple[int, int], tuple[int, int]]:
    return _start(node), _end(node)


def _start(node: ast.AST) -> tuple[int, int]:
    return node.lineno, node.col_offset  # type: ignore[attr-defined]


def _end(node: ast.AST) -> tuple[int, int]:
    return node.end_lineno, node.end_col_offset  # type: ignore[attr-defined]
