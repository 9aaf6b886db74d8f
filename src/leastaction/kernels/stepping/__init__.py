"""From step to step.

In: the memory of an integrator, joint forces, a `Record` (record.py).  Out: nodes in the record, how many steps were made and why no more.

loop         the one time loop; what differs is a record of kernels, `Method`
record       what a run keeps
evaluation   velocities, momenta and energies of recorded nodes
variational, composition, adaptive, midpoint, trapezoid, maximal, explicit   one file for each integrator: its equations and one step
"""
