"""Measurements of leastaction against other simulators and against itself.  `python -m benchmarks` runs the comparison."""
