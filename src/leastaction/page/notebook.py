"""Pages in notebooks and browsers."""

from __future__ import annotations

import html
import sys
import tempfile
from pathlib import Path as FilePath
from typing import Any

from ..drawing.runs import Runs
from .document import Page, make, write

_HEIGHT = 760  # pixels of a page in a notebook


def show(runs: Runs, *, height: int = _HEIGHT, **options: Any) -> None:
    """Show one run, several over each other, or {label: run}: inline in a notebook, otherwise in a browser.

    height    pixels, in a notebook
    options   as of `la.page.make`: title, traces, accuracy, triangles, max_mb

    >>> import leastaction as la
    >>> run = la.simulate(la.examples.chain(2).compile(), dt=1e-2, duration=1.0, q={"link1": 0.5})
    >>> la.show(run, traces=["tip"])  # doctest: +SKIP
    """
    if _in_notebook():
        from IPython.display import HTML, display

        display(HTML(inline(make(runs, **options), height)))
        return
    import webbrowser  # it looks for browsers when it is imported

    path = FilePath(tempfile.mkdtemp(prefix="leastaction-")) / "run.html"
    page = write(runs, path, **options)
    print(f"{path}: {page}")
    webbrowser.open(path.as_uri())


def inline(page: Page, height: int = _HEIGHT) -> str:
    """HTML that holds a page within another."""
    return (
        f'<iframe srcdoc="{html.escape(page.text)}" sandbox="allow-scripts" '
        f'style="width:100%;height:{int(height)}px;border:0;border-radius:10px"></iframe>'
    )


def _in_notebook() -> bool:
    """Is this a kernel that shows what cells return?  IPython in a terminal is not."""
    if "IPython" not in sys.modules:
        return False
    shell = sys.modules["IPython"].get_ipython()
    return shell is not None and hasattr(shell, "kernel")
