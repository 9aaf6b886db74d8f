"""Many at once: `rollout` runs members of one mechanism on all cores, `sweep` calls a function at many points in processes or on a cluster.

`asked.py` checks what is asked before anything runs, `compiled.py` and `singly.py` run the members, `threads.py` gives them to threads,
`result.py` is what comes out.
"""

from .result import Rollout
from .rollout import rollout
from .sweep import Sweep, sweep

__all__ = ["Rollout", "Sweep", "rollout", "sweep"]
