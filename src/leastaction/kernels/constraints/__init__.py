"""Constraints of a tree in joint coordinates.

In: `Ties` (ties.py), a node or a step of the tree.  Out: values, Jacobians, multipliers in `Ties`.

ties         values h(q) and Jacobians Dh
bordered     Newton's method with them
velocities   velocities and accelerations they allow
wrenches     what they do to the bodies
"""
