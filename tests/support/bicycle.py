"""The linear equations of the benchmark bicycle as Meijaard, Papadopoulos, Ruina and Schwab (2007) print them, and states to compare with.

    M q'' + v C1 q' + (g K0 + v^2 K2) q = 0,    q = (lean, steering angle)
"""

import numpy as np

from leastaction.assembly.equations import TreeClosing
from leastaction.kernels.maximal.evaluate import advance

REAR_RADIUS = 0.3
_M = np.array([[80.81722, 2.31941332208709], [2.31941332208709, 0.29784188199686]])
_C1 = np.array([[0.0, 33.86641391492494], [-0.85035641456978, 1.68540397397560]])
_K0 = np.array([[-80.95, -2.59951685249872], [-2.59951685249872, -0.80329488458618]])
_K2 = np.array([[0.0, 76.59734589573222], [0.0, 2.65431523794604]])


def published_eigenvalues(speed, gravity=9.81):
    """(4,) 1/s, sorted."""
    stiffness, damping = np.linalg.solve(_M, gravity * _K0 + speed**2 * _K2), np.linalg.solve(_M, speed * _C1)
    return eigenvalues_of(np.block([[np.zeros((2, 2)), np.eye(2)], [-stiffness, -damping]]))


def eigenvalues_of(matrix):
    return np.sort_complex(np.linalg.eigvals(matrix))


def lateral_eigenvalues(A, fork, dt, steps=60):
    """(4,) 1/s, of lean and steering angle under the linearised step A of length dt; fork: the degree of freedom of the steering.

    Those of all of A would not do: a bicycle stands as well elsewhere, and runs as well in another direction and at another speed, and
    such eigenvalues of one, of which some belong together, come out to half of the digits only, beside that of the capsize, which
    passes through zero.  What lean and steering angle do tells nothing of them: (y_k, y_k+steps) leads to (y_k+steps, y_k+2 steps) by a
    matrix of four rows.
    """
    first, long = A[[0, fork]] @ A, np.linalg.matrix_power(A, steps)
    seen = np.vstack([first, first @ long, first @ long @ long])
    return np.sort_complex(np.log(np.linalg.eigvals(seen[2:] @ np.linalg.pinv(seen[:4])).astype(complex)) / (steps * dt))


def state_of(model, speed, x):
    """q and v of the bicycle that runs straight on but for x = (lean, steering angle, their rates): heights found by pitch and height."""
    lean, steer, lean_rate, steer_rate = x
    q = model.neutral()
    q[model.q_slice("frame")][3:] = np.cos(lean / 2), np.sin(lean / 2), 0.0, 0.0
    q[model.q_slice("fork")] = steer
    closing, moves = TreeClosing(model), [1, 5]
    heights = closing.holonomic()
    for _ in range(8):
        d = np.zeros(model.nv)
        d[moves] = np.linalg.solve(closing.jacobian(q)[heights][:, moves], -closing.errors(q)[heights])
        advance(model.tree, q, d)
    given = np.zeros((3, model.nv))
    given[[0, 1, 2], [0, model.v_slice("fork").start, model.v_slice("rear").start]] = 1.0
    rows = np.vstack([closing.jacobian(q), given])
    return q, np.linalg.solve(rows, np.array([0.0] * len(heights) + [lean_rate, steer_rate, -speed / REAR_RADIUS]))
