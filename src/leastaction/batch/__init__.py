"""Many simulations in one call: `rollout` runs members of one mechanism on all cores of this machine.

`rollout.py` checks what is asked before anything runs, `compiled.py` and `singly.py` run the members, `threads.py` gives them to threads,
`result.py` is what comes out.
"""

from .result import Rollout
from .rollout import rollout

__all__ = ["Rollout", "rollout"]
