"""Runs as files: `run.save`, `la.open`, and `simulate(..., record_to=...)`.

    description.py   mechanisms and integrators as text, and back; functions have no text
    content.py       what a run consists of: a header of text and arrays with names
    files.py         .npz, .h5, .csv
    stream.py        a run that is written while it is made, and survives whatever happens to its process
    tables.py        pandas and xarray
"""

from .files import open_run as open
from .files import save

__all__ = ["open", "save"]
