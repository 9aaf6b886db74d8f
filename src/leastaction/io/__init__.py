"""Files.  A new format is a new file with `read(path)` and `write(mechanism)`, and a line in `registry.FORMATS`; one that lives outside the
package is registered with `register(suffix, module)`."""

from .registry import FORMATS, Format, load, register, save

__all__ = ["FORMATS", "Format", "load", "register", "save"]
