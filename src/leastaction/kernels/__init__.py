"""Compiled code: sweeps over bodies on plain arrays.  Nothing here knows names, units or files.

forces/       what acts on a body or between points, evaluated once for every system
solving/      one Newton driver, one guess, one choice of factorisation; knows no mechanics
tree/         bodies in joint coordinates: residual, Newton matrix, articulated sweeps, continuous dynamics
constraints/  rows of constraints on a tree: bordered systems, velocities and accelerations they allow
lagrangian/   derivatives of the Lagrangian in generalised coordinates
maximal/      every body for itself: rows between bodies, fronts of the sparse elimination
stepping/     one time loop, one record; a file for every integrator

In: records of arrays (compiling/records.py), made above.  Out: the same arrays.  No kernel allocates.
"""
