"""Fixed joint: the compiler merges the body into its parent, so it has no kernels."""

import numpy as np

from .base import Joint
from .rows import NO_ROTATION, SAME_POINT


class Fixed(Joint):
    """No motion.  The body becomes part of its parent; its name stays usable as a frame.

    >>> import leastaction as la
    >>> mech = la.examples.double_pendulum()
    >>> _ = mech.add_body("hat", parent="lower", joint=la.Fixed(), mass=0.2, inertia=(1e-4, 1e-4, 1e-4))
    >>> mech.compile().nq  # a body more, no coordinate more
    2
    """

    nq = nv = 0
    coordinates = ()
    angular = ()
    orthonormal = True

    def columns_at_zero(self):
        return np.zeros((0, 6))

    def constraint_rows(self):
        return (*SAME_POINT, *NO_ROTATION)

    def primitives(self):
        return ()

    def reference_pose(self, q):
        return np.broadcast_to(np.eye(4), (*q.shape[:-1], 4, 4))

    def reference_coordinates(self, R, p):
        return p[..., :0]
