"""Constraints of a model at work: consistent coordinates and velocities, redundant rows, starts that violate them."""
