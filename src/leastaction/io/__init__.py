"""Files.  A new format is a new file with `read(path)` and `write(mechanism)`, and a line in `registry.FORMATS`."""

from .registry import FORMATS, load, save

__all__ = ["FORMATS", "load", "save"]
