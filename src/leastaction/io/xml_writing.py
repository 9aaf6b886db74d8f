"""XML as text: elements with attributes, and numbers of which every digit is kept."""

from __future__ import annotations

from collections.abc import Iterable
from xml.sax.saxutils import quoteattr

Value = str | float | Iterable[float] | None


def number(value: float) -> str:
    """Every digit, so that reading gives the same number; infinity is `inf`."""
    return repr(float(value))


def numbers(values: Iterable[float]) -> str:
    return " ".join(number(value) for value in values)


def tag(indent: int, name: str, ends: str = "/", /, **attributes: Value) -> str:
    """<name ...>, or <name .../>; attributes that are None are left out."""
    words = "".join(f" {key}={quoteattr(_text(value))}" for key, value in attributes.items() if value is not None)
    return f"{' ' * indent}<{name}{words}{ends}>"


def _text(value: Value) -> str:
    if isinstance(value, str):
        return value
    return numbers(value) if isinstance(value, Iterable) else number(value)  # type: ignore[arg-type]
