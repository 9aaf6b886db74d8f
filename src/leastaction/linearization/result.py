"""What `la.linearize` gives back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..state import State

Array = NDArray[np.float64]


@dataclass(repr=False)
class Linearization:
    """x_{k+1} = A x_k + B u_k around one step, x = (dq, dp): small changes of the configuration and the momenta, u of the inputs.

    dq is a difference of coordinates, on ball and free joints left-trivialised (q exp(dq)), so that A is (2 nv, 2 nv) for every
    mechanism.  p is the momentum of the discrete equations, as in `run.p`: with constraints it is the one they allow, and A takes what
    they allow before the step to what they allow after it.

    Inputs are the nv joint forces and, with n servos, their n target coordinates and n target velocities: a row of `Model.inputs`.  A step
    with servos or dry friction is linearised in the mode it was solved in: each servo within its limits, where it is smooth, or at one of
    them, where its force is constant, and each joint with friction sliding as it does or stuck, whatever small changes are made.  Then p
    are the momenta without the half impulse dt/2 f that `run.p` has of the servos and the friction f of the last step, so that A of
    successive steps multiply to the derivative of them all; where a simulation starts both are the same.

    Of `AdaptiveStep` it is the first step of a simulation: how long it is follows from (q, p) and tau, so that the states after it belong
    to different times.

    >>> import leastaction as la
    >>> model = la.examples.chain(1).compile()
    >>> step = la.linearize(model, la.Variational(), model.state(), dt=1e-2)
    >>> import numpy as np
    >>> np.abs(np.linalg.eigvals(step.A)).round(6)  # hanging: it swings and neither grows nor fades
    array([1., 1.])
    """

    A: Array  #: (2 nv, 2 nv) derivative of (q, p) after the step in (q, p) before it
    B: Array  #: (2 nv, nv + 2 n) derivative in the joint forces tau, constant over the step, and the targets of n servos
    multipliers: Array  #: (m,) impulses of the constraints over the step, those at both its ends together; over dt the forces half way
    C: Array  #: (m, 2 nv) derivative of the multipliers in (q, p)
    D: Array  #: (m, nv + 2 n) derivative of the multipliers in the inputs
    next_state: State  #: where the step leads, with the momenta of `run.p`

    def __repr__(self) -> str:
        return f"<Linearization of {self.next_state.model.name!r}: A {self.A.shape}, B {self.B.shape}, {len(self.multipliers)} multipliers>"


@dataclass(repr=False)
class Linearizations:
    """The linearised steps of a run, arrays with one more axis than those of `Linearization`: A[k] belongs to the step from node nodes[k].

    `steps[k]` is the `Linearization` of one of them.

    >>> import leastaction as la
    >>> steps = la.linearize(la.simulate(la.examples.cart_pole().compile(), dt=1e-2, steps=3, q={"pole": 0.1}))
    >>> steps.A.shape, steps[0].A.shape
    ((3, 4, 4), (4, 4))
    """

    A: Array  #: (N, 2 nv, 2 nv)
    B: Array  #: (N, 2 nv, nv + 2 n)
    multipliers: Array  #: (N, m)
    C: Array  #: (N, m, 2 nv)
    D: Array  #: (N, m, nv + 2 n)
    nodes: NDArray[np.int64]  #: (N,) nodes of the run that the steps start from
    next_states: Sequence[State]  #: where they lead

    def __len__(self) -> int:
        return len(self.A)

    def __getitem__(self, k: int) -> Linearization:
        return Linearization(self.A[k], self.B[k], self.multipliers[k], self.C[k], self.D[k], self.next_states[k])

    def __repr__(self) -> str:
        return f"<Linearizations of {len(self)} steps: A {self.A.shape}, B {self.B.shape}, {self.C.shape[1]} multipliers>"
