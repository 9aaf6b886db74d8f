"""How the equations of a step are solved, whatever they are.

In: a record of kernels, `Equations` (newton.py), and the memory of the solver (memory.py).  Out: solved unknowns, the number of
evaluations and the size of the residual.

newton   the one driver; sizes: how large a residual is
choice   which factorisation the next correction is made with
guess    where it starts
dense    small dense systems; couplings: few rows beside a matrix that is factorised already
"""
