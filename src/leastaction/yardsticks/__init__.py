"""What only the papers and the benchmarks compare with.  Nothing else in the package imports it.

Lee2016        Variational with the solvers and guesses of Lee et al. (RIQN, Broyden, dense Newton; IG1 to IG3)
Svi            the step with the residual of Johnson and Murphey, in the evaluation Lee et al. compare theirs with
Johnson2009    Midpoint with the derivatives of the Lagrangian by the recursions of its paper, cached or not
"""

from .johnson2009 import Johnson2009
from .lee2016 import Lee2016, Svi
from .scalable import ScalableVariational, svi_residual

__all__ = ["Johnson2009", "Lee2016", "ScalableVariational", "Svi", "svi_residual"]
