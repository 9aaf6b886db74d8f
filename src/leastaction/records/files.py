"""Runs as .npz, .h5 and .csv files."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from os import PathLike
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..checks import shown
from ..errors import FormatError, LeastActionError, StateError
from ..integrators import Integrator
from ..model import Model
from ..trajectory import Trajectory
from .content import DERIVED, Arrays, Header, event_arrays, header_of, memory_arrays, outcome_of, read_header, recorded_arrays, run_of
from .tables import velocity_names

HEADER = "header"  #: name of the data set with the header
_LARGE = 1e9  # bytes: what is larger is not assumed to fit into memory
_BLOCK = 65536  # nodes at a time, where what follows from them is computed


def save(run: Trajectory, path: str | PathLike[str]) -> None:
    """Write a run; the suffix says how: .npz, .h5 (extra hdf5) or .csv, which holds numbers only."""
    where = checked_path(path)
    if where.suffix == ".csv":
        write_whole(where, lambda part: _write_csv(run, part))
        return
    header = header_of(run.model, run.integrator, run.dt, run.every) | outcome_of(run)
    write = write_h5 if where.suffix == ".h5" else _write_npz
    arrays = recorded_arrays(run) | memory_arrays(run.continuation) | event_arrays(run.events)
    write_whole(where, lambda part: write(part, header, arrays, run))


def open_run(path: str | PathLike[str], *, model: Model | None = None, integrator: Integrator | None = None) -> Trajectory:
    """Read a run that `run.save` or `simulate(record_to=...)` wrote, also while it is being written.

    The file holds everything: the model is compiled again from its description, and `la.simulate(run.model, run.state(), ...)` goes on bit
    for bit.  Numbers are read from the file as they are needed.

    model, integrator   in place of those that could not be stored because they contain functions of yours

    >>> import leastaction as la
    >>> from tempfile import TemporaryDirectory
    >>> run = la.simulate(la.examples.chain(2).compile(), dt=1e-2, duration=0.1, q={"link1": 0.5})
    >>> with TemporaryDirectory() as folder:
    ...     run.save(f"{folder}/run.npz")
    ...     again = la.open(f"{folder}/run.npz")
    >>> bool((again.q == run.q).all())
    True
    """
    where = checked_path(path)
    if where.suffix == ".csv":
        raise FormatError("a .csv file holds the numbers of a run, not the model; open the .npz or .h5 file of the run", path=str(where))
    try:
        return run_of(*_read(where), str(where), model, integrator)
    except (LeastActionError, ImportError):
        raise
    except Exception as error:  # damaged files fail in all the ways there are
        raise FormatError(f"it cannot be read: {type(error).__name__}: {error}", path=str(where)) from error


def _read(where: Path) -> tuple[Header, Arrays]:
    from .stream import read_unfinished, unfinished

    if where.suffix == ".h5" and unfinished(where).is_dir():
        header, arrays = read_unfinished(where)
        header["message"] = f"being written, or interrupted ({header['message']} so far); simulate(..., resume=True) goes on"
    elif not where.is_file():
        raise FormatError(f"there is no file {str(where)!r}; give the path of a run that was saved")
    else:
        header, arrays = (read_h5 if where.suffix == ".h5" else _read_npz)(where)
    return header, arrays


def checked_path(given: Any, suffixes: tuple[str, ...] = (".npz", ".h5", ".csv")) -> Path:
    if not isinstance(given, (str, PathLike)) or "\0" in str(given):
        raise FormatError(f"path = {shown(given)}; give the path of a file, for example 'run.h5'")
    path = Path(given)
    if path.suffix not in suffixes:
        raise FormatError(f"{str(path)!r}: the suffix is one of {', '.join(suffixes)}")
    return path


def write_whole(path: Path, write: Callable[[Path], None]) -> None:
    """Write under another name first: nobody ever sees half a file, and a file that was there stays if writing fails."""
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        write(part)
        with open(part, "rb+") as file:
            os.fsync(file.fileno())
        os.replace(part, path)
    except OSError as error:
        raise FormatError(f"{str(path)!r} cannot be written: {error.strerror or error}; give another path") from error
    finally:
        part.unlink(missing_ok=True)


def derived_blocks(run: Trajectory, names: tuple[str, ...] = DERIVED) -> Iterator[tuple[slice, Arrays]]:
    """(rows, {name: array}) of what follows from a run, computed a part at a time so that little memory is needed."""
    for start in range(0, len(run), _BLOCK):
        rows = slice(start, start + _BLOCK)
        part = replace(run, t=run.t[rows].copy(), q=run.q[rows].copy(), recorded=run.recorded[rows].copy(), continuation=None)
        yield rows, {name: getattr(part, name) for name in names}


# ---------------------------------------------------------------------------------------------------------------- .npz


def as_bytes(header: Header) -> NDArray[np.uint8]:
    """A header as an array."""
    return np.frombuffer(json.dumps(header, allow_nan=False).encode(), dtype=np.uint8)


def _write_npz(path: Path, header: Header, arrays: Arrays, run: Trajectory) -> None:
    derived = {name: getattr(run, name) for name in DERIVED}
    names = np.array(run.model.coordinate_names)
    with open(path, "wb") as file:
        np.savez(file, allow_pickle=False, **{HEADER: as_bytes(header), "coordinate_names": names}, **arrays, **derived)


def _read_npz(path: Path) -> tuple[Header, Arrays]:
    with open(path, "rb") as opened, np.load(opened, allow_pickle=False) as file:
        if HEADER not in file:
            raise FormatError("it has no header, so leastaction did not write it as a run", path=str(path))
        header = read_header(file[HEADER].tobytes(), str(path))
        left = {HEADER, "coordinate_names", *DERIVED}
        return header, {name: file[name] for name in file.files if name not in left}


# ----------------------------------------------------------------------------------------------------------------- .h5


def hdf5(path: Path) -> ModuleType:
    try:
        import h5py
    except ImportError:
        raise ImportError(
            f"{str(path)!r}: .h5 files need h5py, which is not installed; pip install 'leastaction[hdf5]', or give a path that ends in .npz"
        ) from None
    return h5py


def write_h5(path: Path, header: Header, arrays: Arrays, run: Trajectory) -> None:
    with hdf5(path).File(path, "w", libver="latest") as file:
        file.create_dataset(HEADER, data=as_bytes(header))
        for name, array in arrays.items():
            file.create_dataset(name, data=array)  # contiguous, so that it can be mapped into memory
        file["q"].attrs["names"] = header["coordinate_names"]
        rows = len(run)
        sizes = {"v": (rows, run.model.nv), "p": (rows, run.model.nv), "energy": (rows,), "momentum": (rows, 6)}
        for name, shape in sizes.items():
            file.create_dataset(name, shape=shape, dtype=float)
        for at, blocks in derived_blocks(run):
            for name, block in blocks.items():
                file[name][at] = block


def read_h5(path: Path) -> tuple[Header, Arrays]:
    with hdf5(path).File(path, "r") as file:
        if HEADER not in file:
            raise FormatError("it has no header, so leastaction did not write it as a run", path=str(path))
        header = read_header(file[HEADER][:].tobytes(), str(path))
        return header, {name: _data_set(path, file[name]) for name in file if name not in (HEADER, *DERIVED)}


def _data_set(path: Path, data: Any) -> NDArray[Any]:
    offset = data.id.get_offset() if data.chunks is None else None
    if offset is None or offset % 8 or data.dtype.byteorder == ">":
        return data[...]
    return mapped(path, data.dtype, data.shape, offset)


def mapped(path: Path, dtype: Any, shape: tuple[int, ...], offset: int = 0) -> NDArray[Any]:
    """An array that is read as it is needed.  What is written to it stays in memory; one that may not fit there is read-only."""
    if 0 in shape:
        return np.zeros(shape, dtype)
    mode: Any = "c" if np.prod(shape, dtype=float) * 8 < _LARGE else "r"
    return np.asarray(np.memmap(path, dtype=dtype, mode=mode, offset=offset, shape=shape))


# ---------------------------------------------------------------------------------------------------------------- .csv


def _write_csv(run: Trajectory, path: Path) -> None:
    """Time, coordinates by name, velocities, energy."""
    names = ["t", *run.model.coordinate_names, *(f"v.{name}" for name in velocity_names(run)), "energy"]
    if len(set(names)) != len(names):
        raise StateError(f"the columns {names} of {str(path)!r} are not unique; rename the joint")
    with open(path, "w", encoding="utf-8") as file:
        file.write(",".join('"' + name.replace('"', '""') + '"' for name in names) + "\n")
        for rows, part in derived_blocks(run, ("v", "energy")):
            np.savetxt(file, np.column_stack([run.t[rows], run.q[rows], part["v"], part["energy"]]), delimiter=",", fmt="%.17g")
