"""Si and Guenter 2010, Fig. 3: a chain of tori slides along a Bezier curve of 7 control points."""

from __future__ import annotations

import leastaction as la

from .result import Result
from .si2010_motion import circle, moving


def make(quick: bool) -> Result:
    return moving(
        la.examples.spline_chain(5),
        {"ring": circle(0.5)},
        "Five tori on a wire with a valley, from rest on a slope; the wire is ours.",
        "A torus chain slides along a Bezier curve of 7 control points, the first torus with its axis along the curve.",
        1.0 if quick else 5.0,
    )
