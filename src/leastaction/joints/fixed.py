"""Fixed joint: the compiler merges the body into its parent, so it has no kernels."""

import numpy as np

from .base import Joint


class Fixed(Joint):
    """No motion.  The body becomes part of its parent; its name stays usable as a frame."""

    kind = -1
    nq = nv = 0
    coordinates = ()
    angular = ()

    def columns_at_zero(self):
        return np.zeros((0, 6))
