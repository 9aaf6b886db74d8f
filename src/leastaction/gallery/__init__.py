"""Mechanisms to look at: one list of entries, and pages made of them.

    la.gallery.names()                                   what there is
    run = la.gallery.entry("heavy-top").run()            simulate one
    la.gallery.write("gallery")                          index.html with thumbnails, and a page with source and playback for each

A new mechanism is a builder in `la.examples` and an entry in `entries.py`; `make thumbnails` takes its picture.
"""

from .entries import ENTRIES, Entry, entry, names
from .pages import write

__all__ = ["ENTRIES", "Entry", "entry", "names", "write"]
