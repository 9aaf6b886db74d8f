"""Mechanisms in joint coordinates, O(n).

In: `Tree` (what does not change) and `Work` (layout.py).  Out: residuals, Newton directions, momenta, accelerations in `Work`.

layout                                   the records and what stands in their columns
drnea, newton_matrix                     equations (4) and (5) of docs/theory
step                                     what a variational step is made of, by a record of `Sweeps`
midpoint_quadrature, midpoint_potentials potentials half way through the step
continuous, articulated, crba, evaluate  continuous time
loads, laws, charts                      forces at a node; joints that change their coordinates
reactions                                what passes through the joints
discrete, dense_jacobian                 entry points for the equations of a step
slopes, dense_slopes, step_maps          derivatives of a step: how momenta at its ends change, as matrices, as the linearised map
mass_slopes, linearization               derivatives of momenta, constraints and forces of the user
"""
