"""A sweep in a file.  What a call returned is safe as soon as it came back.

While the sweep runs, `sweep.h5.writing` stands beside its file.  It only grows: the points first, then the result of one call after the
other, each with its length and a checksum.  A process that is killed leaves at most one unfinished piece at its end, which is cut off when
the sweep goes on.  When all is done the pieces become the .h5 file, a data set for every name:

    points     the arguments of every call, as JSON text
    errors     what was raised, as JSON text {number of the point: message}
    result     (points, ...) what the calls returned, or result.NAME where they return {NAME: ...}; zero where a call failed
"""

from __future__ import annotations

import io
import json
import os
import struct
import zlib
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..checks import shown
from ..errors import FormatError, StateError
from ..records.files import checked_path, hdf5, write_whole
from ..records.stream import locked, unfinished

_FRAME = struct.Struct("<QI")  # length, checksum
_RESULT = "result"
_NUMBERS = "biufcU"  # kinds of arrays that are kept: numbers and text

Result = dict[str, NDArray[Any]]


class Store:
    """The file that a sweep writes to; what it held already is `results` and `errors`."""

    def __init__(self, path: str | PathLike[str], points: list[dict[str, Any]], resume: bool):
        self.path = checked_path(path, (".h5",))
        hdf5(self.path)  # before a long sweep, not after it
        self.results: dict[int, Any] = {}
        self.errors: dict[int, str] = {}
        self._points, self._count = _as_text(points), len(points)
        self._log = unfinished(self.path)
        if not resume:
            for there in (self.path, self._log):
                if there.exists():
                    raise StateError(f"store = {str(there)!r} is there already; go on with it by resume=True, or give another path")
        try:
            self._file = locked(self._log)
        except OSError as error:
            raise StateError(f"store = {str(self.path)!r} cannot be written: {error.strerror}; give another path") from None
        self._take_up()

    def _take_up(self) -> None:
        """What an interrupted sweep left, or one that is finished but for calls that failed."""
        good, pieces = _pieces(self._log.read_bytes())
        os.truncate(self._log, good)
        if pieces:
            self._demand_same(pieces[0], self._log)
            for k, result, error in map(_unpacked, pieces[1:]):
                self._note(k, result, error)
            return
        self._write(self._points)
        if self.path.exists():
            points, results, errors = read_h5(self.path)
            self._demand_same(_as_text(points), self.path)
            for k, result in enumerate(results):
                if k not in errors:
                    self.keep(k, result)

    def _demand_same(self, points: bytes, where: Path) -> None:
        if points != self._points:
            self.close()
            if where == self.path:
                self._log.unlink()
            raise StateError(f"{str(where)!r} holds a sweep of other points; give the same parameters, or another path")

    def _note(self, k: int, result: Any, error: str) -> None:
        if error:
            self.errors[k] = error
        else:
            self.results[k] = result
            self.errors.pop(k, None)

    def keep(self, k: int, result: Any = None, error: str = "") -> None:
        """The result of a call, or what it raised."""
        self._write(_packed(k, result, error))
        self._note(k, result, error)

    def flush(self) -> None:
        """What was kept so far is safe."""
        os.fsync(self._file.fileno())

    def _write(self, piece: bytes) -> None:
        before = os.fstat(self._file.fileno()).st_size
        left = memoryview(_FRAME.pack(len(piece), zlib.crc32(piece)) + piece)
        try:
            while left:
                left = left[self._file.write(left) :]
        except OSError as error:
            os.ftruncate(self._file.fileno(), before)
            raise StateError(
                f"{str(self._log)!r} cannot be written: {error.strerror}; nothing before is lost, make room and go on with resume=True"
            ) from error

    def finish(self) -> None:
        """The pieces become the file."""
        self.flush()
        write_whole(self.path, lambda part: _write_h5(part, self._points, self._count, self.results, self.errors))
        self.close()
        self._log.unlink()

    def close(self) -> None:
        self._file.close()


def read(path: str | PathLike[str]) -> tuple[list[dict[str, Any]], list[Any], dict[int, str]]:
    """(points, results, errors) of a store, also of one that is being written."""
    where = checked_path(path, (".h5",))
    log = unfinished(where)
    if log.is_file():
        _, pieces = _pieces(log.read_bytes())
        if not pieces:
            raise FormatError("it has just begun, there is nothing to read yet", path=str(where))
        points = json.loads(pieces[0])
        results: list[Any] = [None] * len(points)
        errors = dict.fromkeys(range(len(points)), "was not run")
        for k, result, error in map(_unpacked, pieces[1:]):
            results[k] = result
            errors.pop(k, None)
            if error:
                errors[k] = error
        return points, results, errors
    if not where.is_file():
        raise FormatError(f"there is no file {str(where)!r}; give the path of a sweep that was stored")
    return read_h5(where)


def read_h5(where: Path) -> tuple[list[dict[str, Any]], list[Any], dict[int, str]]:
    """The same of one that is finished."""
    with hdf5(where).File(where, "r") as file:
        if "points" not in file or "errors" not in file:
            raise FormatError("it holds no sweep; runs are opened by la.open", path=str(where))
        points = json.loads(file["points"][()])
        errors = {int(k): text for k, text in json.loads(file["errors"][()]).items()}
        columns = {name: _rows(file[name], len(points)) for name in file if name.split(".")[0] == _RESULT}
    named: list[Result] = [{name: column[k] for name, column in columns.items() if k in column} for k in range(len(points))]
    return points, [None if k in errors else _from_columns(arrays) for k, arrays in enumerate(named)], errors


# --------------------------------------------------------------------------------------------------------------- pieces


def _pieces(content: bytes) -> tuple[int, list[bytes]]:
    """(length of what is whole, its pieces)"""
    at, found = 0, []
    while at + _FRAME.size <= len(content):
        length, checksum = _FRAME.unpack_from(content, at)
        piece = content[at + _FRAME.size : at + _FRAME.size + length]
        if len(piece) < length or zlib.crc32(piece) != checksum:
            break
        found.append(piece)
        at += _FRAME.size + length
    return at, found


def _packed(k: int, result: Any, error: str) -> bytes:
    text = json.dumps({"point": k, "error": error}).encode()
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, about=np.frombuffer(text, dtype=np.uint8), **({} if error else _columns(result)))
    return buffer.getvalue()


def _unpacked(piece: bytes) -> tuple[int, Any, str]:
    with np.load(io.BytesIO(piece), allow_pickle=False) as file:
        about = json.loads(file["about"].tobytes())
        columns = {name: file[name] for name in file.files if name != "about"}
    return about["point"], None if about["error"] else _from_columns(columns), about["error"]


def _as_text(points: list[dict[str, Any]]) -> bytes:
    """Points as JSON; numbers are written so that reading gives the same bits."""

    def plain(value: Any) -> Any:
        if isinstance(value, (np.generic, np.ndarray)):
            return value.tolist()
        raise TypeError

    for k, point in enumerate(points):
        try:
            json.dumps(point, default=plain)
        except (TypeError, ValueError):
            raise StateError(f"parameters[{k}] = {shown(point)}: a store keeps points of numbers, text and lists of them") from None
    return json.dumps(points, default=plain).encode()


def _columns(result: Any) -> Result:
    """What a call returned as arrays with names."""
    named = {f"{_RESULT}.{k}": v for k, v in result.items()} if isinstance(result, Mapping) and result else {_RESULT: result}
    found = {}
    for name, value in named.items():
        try:
            array = np.asarray(value)
        except ValueError:
            array = np.asarray(None)
        if array.dtype.kind not in _NUMBERS or "/" in name:
            raise StateError(f"the call returned {shown(result)}; a store keeps numbers, text, arrays, and {{name: one of these}}")
        found[name] = array
    return found


def _from_columns(columns: Result) -> Any:
    """The other way round; a number comes back as a number."""
    plain = {name.partition(".")[2]: array.item() if array.ndim == 0 else array for name, array in columns.items()}
    return plain[""] if list(plain) == [""] else plain


# ------------------------------------------------------------------------------------------------------------------ .h5


def _write_h5(path: Path, points: bytes, count: int, results: dict[int, Any], errors: dict[int, str]) -> None:
    columns: dict[str, dict[int, NDArray[Any]]] = {}
    for k, result in results.items():
        for name, array in _columns(result).items():
            columns.setdefault(name, {})[k] = array
    with hdf5(path).File(path, "w", libver="latest") as file:
        file.create_dataset("points", data=np.bytes_(points))
        file.create_dataset("errors", data=np.bytes_(json.dumps(errors).encode()))
        for name, arrays in columns.items():
            kinds = {(array.shape, array.dtype) for array in arrays.values()}
            shape, dtype = next(iter(kinds))
            if len(arrays) == len(results) and len(kinds) == 1 and dtype.kind != "U":
                whole = np.zeros((count, *shape), dtype=dtype)
                for k, array in arrays.items():
                    whole[k] = array
                file.create_dataset(name, data=whole)
            else:  # of different sizes, or text: a data set of its own for every point
                for k, array in arrays.items():
                    kept = np.char.encode(array, "utf-8") if array.dtype.kind == "U" else array
                    file.create_dataset(f"{name}/{k}", data=kept).attrs["text"] = array.dtype.kind == "U"


def _rows(data: Any, count: int) -> dict[int, NDArray[Any]]:
    if hasattr(data, "shape"):
        return dict(enumerate(map(np.asarray, data[...])))
    return {k: _one(data[str(k)]) for k in range(count) if str(k) in data}


def _one(data: Any) -> NDArray[Any]:
    found = np.asarray(data[()])
    return np.char.decode(found, "utf-8") if data.attrs["text"] else found

