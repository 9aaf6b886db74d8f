"""Generalised coordinates: first and second derivatives of the Lagrangian of a tree of frames.   Johnson and Murphey 2009

In: `Frames` (frames.py), coordinates and velocities.  Out: `Lagrangian` (layout.py): dL/dq, dL/dqd and the three second derivatives.
"""
