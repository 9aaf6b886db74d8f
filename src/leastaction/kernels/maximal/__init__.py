"""Mechanisms in maximal coordinates: every body with six degrees of freedom, joints and loops as constraints.

In: `Net` (bodies, constraints, fronts) and `Flow` (layout.py).  Out: residual, Newton matrix and its solution in `Flow`.

step          residual and Newton matrix
rows          values and derivatives of rows between two frames; nonholonomic, symbolic: those of other kinds; constraints: all of them
fronts        sparse block elimination
joints        between bodies and joint coordinates
potentials, laws   forces
evaluate      entry points
"""
