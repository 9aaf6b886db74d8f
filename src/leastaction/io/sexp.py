"""The .sexp format of trep (Johnson and Murphey 2009, Listing 1 and Table II): see docs/sexp.md."""

from .sexp_reader import parse_mechanism, read
from .sexp_writer import write

__all__ = ["parse_mechanism", "read", "write"]
