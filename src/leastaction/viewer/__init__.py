"""A mechanism that moves while people look at it, pull at it and change it, in their browser.

    la.view(model)                       Ctrl-C ends it and returns what was recorded
    leastaction view robot.urdf

`session` keeps a simulation in step with the clock and takes commands, `pull` turns a hand at a body into joint forces, `server` shows it
to browsers on this machine and to nobody else.  The page is that of `la.show`, with live.js on top.
"""

from .server import view
from .session import Session

__all__ = ["Session", "view"]
