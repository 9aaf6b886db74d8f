"""What specialising is worth, without trying it: from what `python -m benchmarks.specialise` measures (docs/specialise.md)."""

from __future__ import annotations

import numpy as np

from ..joints import ALL, Fixed, Revolute
from ..kernels.tree.layout import KIND, PARENT, PLACE_R, Tree

PLANAR, SPATIAL = 0.51, 0.9  #: time of a step over that with the general kernels, the less favourable ones of each kind
MAKING = 15.0  #: s until the code is there the first time
_WORTH_SAYING = 5.0  # s


def is_planar(tree: Tree) -> bool:
    """Are all joints hinges with parallel axes?"""
    hinges = np.isin(tree.link[1:, KIND], (ALL.index(Revolute), ALL.index(Fixed)))
    on_others = tree.link[1:, PARENT] > 0
    upright = np.abs(tree.body[1:, PLACE_R + 8]) > 1.0 - 1e-12  # z of the body along z of its parent
    return bool(hinges.all() and upright[on_others].all())


def seconds_saved(tree: Tree, seconds: float) -> float:
    """Of a run that took so long; 0 where it is not worth a word."""
    saved = seconds * (1.0 - (PLANAR if is_planar(tree) else SPATIAL)) - MAKING
    return saved if saved > _WORTH_SAYING else 0.0
