"""Pictures of trajectories.  Each function returns a matplotlib Figure and, with `save_to`, writes it to a file.

    la.plot.energy(run)                                  one run: kinetic, potential, total, and the energy error
    la.plot.energy({"variational": a, "Euler": b})       several runs compared
    la.plot.momentum(run)
    la.plot.joints(run, "link1", "link2")
    la.plot.reactions(run, "pin")                        what joints and constraints carry
    la.plot.mechanism(model_or_run)                      the mechanism itself, drawn from its tree
    la.plot.animation(run, "run.gif")                    the same as a film

Matplotlib is imported when something is drawn, and only its Figure: no window, no global state.  Notebooks show the
returned figure; `save_to="energy.png"` (or .svg, .pdf) writes it.
"""

from .energy import energy
from .joints import joints
from .mechanism import animation, mechanism
from .momentum import momentum
from .reactions import reactions

__all__ = ["animation", "energy", "joints", "mechanism", "momentum", "reactions"]
