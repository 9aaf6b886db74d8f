"""Pages to look at and to share: one HTML file with a run in 3-D, its plots and everything that draws them; it needs no network.

    run.to_html("run.html")                              a file
    la.show(run)                                         in a notebook inline, otherwise in a browser
    la.show({"variational": a, "Euler": b})              several runs over each other
    la.page.write([a, b], "both.html")                   the same as a file

`scene` says what is drawn of a model, `keyframes` keeps few poses with a bound on their error, `series` the curves, `pack` compresses,
`document` puts it together with the files of `web/`: the renderer (WebGL 2), player and plots, which are ours and plain JavaScript.
"""

from .document import Page, make, write
from .notebook import show

__all__ = ["Page", "make", "show", "write"]
