"""What constraints and joints carry: from recorded nodes to forces and moments.

In: nodes of a run (`Nodes`), the integrator that made them.  Out: `Reactions`, a mapping from names to `Reaction`s.

replay       the steps an integrator makes from a node, ahead and back, and the multipliers of its constraints
balance      what passes through the joints, by the balance of the bodies beyond them
sticking     what dry friction does at a node: which joints it holds, and with what
redundant    multipliers that are not determined: the smallest ones, and which parts of which reactions that concerns
report       what users see
"""

from .replay import Nodes
from .report import Reaction, Reactions

__all__ = ["Nodes", "Reaction", "Reactions"]
