"""Loop closure by a joint."""

from __future__ import annotations

from ..checks import names, shown
from ..errors import MechanismError
from ..joints import Joint, SymbolicJoint
from .base import Constraint


class Close(Constraint):
    """A second joint between two bodies, which closes a loop: frame b moves against frame a as `joint` allows.

    joint   any joint but Free; its axes are given in the frames, which coincide when it is in its zero position
    a, b    names of frames or bodies; one of them may be "world"

    Rows that the other joints of a loop imply already (a planar loop closed by a revolute joint has three of them) are left out
    when a simulation starts; `la.Maximal` says which.  Of a `SymbolicJoint` they are directions orthogonal to what it allows; its
    coordinates are found from where the frames stand, from its `start` on.

    >>> import leastaction as la
    >>> mech = la.examples.chain(3)
    >>> _ = mech.add_frame("anchor", placement=la.Pose(xyz=(1.5, 0, 0)))
    >>> _ = mech.add_constraint(la.Close(la.Revolute(axis=(0, 1, 0)), "tip", "anchor"))  # a pin: now it is a four-bar linkage
    """

    def __init__(self, joint: Joint, a: str, b: str):
        names(type(self).__name__, a, b)
        if isinstance(joint, type) or not isinstance(joint, Joint) or joint.nv == 6:
            raise MechanismError(f"Close({a!r}, {b!r}): joint = {shown(joint)}; give a joint that holds something, for example Revolute()")
        self.joint, self.a, self.b = joint, a, b

    def apply(self, builder) -> None:
        name = f"Close({type(self.joint).__name__}, {self.a!r}, {self.b!r})"
        if isinstance(self.joint, SymbolicJoint):
            builder.add_joint(name, self.a, self.b, self.joint)
            return
        builder.add_rows(name, self.a, self.b, self.joint.constraint_rows(), self.joint.frame())
