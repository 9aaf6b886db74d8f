"""Group mathematics on tuples of floats: vectors, rotations, retractions.  Knows nothing of mechanisms."""
