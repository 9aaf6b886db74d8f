"""The numbers of a page as one compressed block: a header in JSON and arrays, each referred to by its number.

Whole numbers are written as second differences along time, which are small for smooth motions, and byte by byte: all lowest bytes, then
all second ones, and so on.  That compresses two to four times better than floats.  `web/data.js` reads it.
"""

from __future__ import annotations

import base64
import json
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import StateError

_ALIGNED = 8
_LARGEST = 2**30  # a second difference of such numbers still fits into 32 bits
_LEVELS = 65534  # of curves


class Pack:
    """Arrays on their way into a page."""

    def __init__(self) -> None:
        self._entries: list[dict[str, Any]] = []
        self._parts: list[bytes] = []
        self._size = 0
        self._times: dict[Any, int] = {}

    def floats(self, values: NDArray[np.float64]) -> int:
        """The number of an array kept as it is, float64."""
        return self._add(np.ascontiguousarray(values, dtype="<f8").tobytes(), kind="f64", count=int(values.size))

    def times(self, t: NDArray[np.float64]) -> dict[str, Any]:
        """Times (T,): start and step if they are even, otherwise the number of their array; the same times are kept once."""
        steps = np.diff(t)
        if len(t) > 1 and np.ptp(steps) < 1e-6 * abs(steps[0]):
            return {"start": float(t[0]), "step": float((t[-1] - t[0]) / (len(t) - 1)), "count": len(t)}
        known = self._times.setdefault(t.tobytes(), len(self._entries))
        return {"array": known if known < len(self._entries) else self.floats(t)}

    def raw(self, values: NDArray[Any]) -> int:
        """The number of an array of small whole numbers, kept as it is; the page knows their type."""
        return self._add(np.ascontiguousarray(values).tobytes(), kind="raw", count=int(values.nbytes))

    def integers(self, values: NDArray[np.int64]) -> int:
        """The number of an array (T, series) of whole numbers."""
        if values.size and np.abs(values).max() >= _LARGEST:
            raise StateError("positions of this run need more than 30 bits at the asked accuracy; give a larger accuracy=, in metres")
        rows = values.T.astype(np.int64)
        planes = byte_planes(second_differences(rows))
        return self._add(b"".join(p.tobytes() for p in planes), kind="ints", series=rows.shape[0], count=rows.shape[1], planes=len(planes))

    def curve(self, values: NDArray[np.float64]) -> dict[str, Any]:
        """A curve (T,) in 65535 levels between its smallest and its largest value: finer than any screen."""
        finite = np.isfinite(values)
        low, high = (float(values[finite].min()), float(values[finite].max())) if finite.any() else (0.0, 0.0)
        step = (high - low) / _LEVELS or 1.0
        levels = np.where(finite, np.rint((np.where(finite, values, low) - low) / step), -1.0)  # -1: a gap
        return {"values": self.integers(levels.astype(np.int64)[:, None]), "low": low, "step": step}

    def encoded(self, header: dict[str, Any]) -> str:
        """The header and all arrays, compressed, as base64 text."""
        text = json.dumps({**header, "arrays": self._entries}, separators=(",", ":"), allow_nan=False).encode()
        start = np.array([len(text)], dtype="<u4").tobytes()
        head = start + text
        whole = head + b"\0" * (-len(head) % _ALIGNED) + b"".join(self._parts)
        return base64.b64encode(zlib.compress(whole, 9)).decode("ascii")

    def _add(self, data: bytes, **entry: Any) -> int:
        self._entries.append({**entry, "offset": self._size})
        padded = data + b"\0" * (-len(data) % _ALIGNED)
        self._parts.append(padded)
        self._size += len(padded)
        return len(self._entries) - 1


def second_differences(rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """(series, T): what a straight line through the two numbers before does not foresee."""
    if rows.shape[1] < 2:
        return rows
    return np.concatenate([rows[:, :1], rows[:, 1:2] - rows[:, :1], np.diff(rows, 2, axis=1)], axis=1)


def byte_planes(values: NDArray[np.int64]) -> list[NDArray[np.uint8]]:
    """The lowest bytes of all numbers, the second ones, ..., as many as are needed; the sign is the lowest bit."""
    unsigned = np.where(values < 0, -2 * values - 1, 2 * values).ravel()
    needed = max(1, (int(unsigned.max(initial=0)).bit_length() + 7) // 8)
    return [((unsigned >> (8 * k)) & 255).astype(np.uint8) for k in range(needed)]


def short(values: Any) -> list[float]:
    """Numbers with seven digits, for JSON."""
    return [float(f"{x:.7g}") for x in np.asarray(values, dtype=float).ravel()]
