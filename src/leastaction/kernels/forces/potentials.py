"""Potentials besides gravity and joint springs: springs between two points, and energies of coordinates written by the user.

Generated energies are called like generated joints (joints/generated.py): at `address`, with the numbers x they depend on, they write
U, the gradient and the Hessian one after the other into a row of scratch, the jet.
"""

from ...compiling.address import call_joint
from ...compiling.decorators import inlined, kernel
from ...lie.algebra import add, cross, load3, load9, matvec, scale, sub, tmatvec
from ..tree.layout import PAIR_A, PAIR_B, PAIR_LENGTH, PAIR_STIFFNESS, UP, UQ, UV


@inlined
def evaluate_energy(m, address, row, x, jet):
    """jet[0] = U, gradient, Hessian of generated energy number `row` at x."""
    call_joint(address, 0, m.energy_param, row, x, 0, x, 0, 0.0, jet)


@inlined
def pair_vector(m, world, e):
    """Vector from point b to point a of spring e, world axes; world: (n+1, 12) rotation and position."""
    a, b = m.pair_on[e, 0], m.pair_on[e, 1]
    at_a = add(load3(world, a, 9), matvec(load9(world, a, 0), load3(m.pair, e, PAIR_A)))
    at_b = add(load3(world, b, 9), matvec(load9(world, b, 0), load3(m.pair, e, PAIR_B)))
    return sub(at_a, at_b)


@inlined
def pair_energy(m, world, e, x, jet):
    """(U, U'/r, U'', vector r) of spring e; world as in `pair_vector`."""
    v = pair_vector(m, world, e)
    energy, over, curvature = energy_of_distance(m, e, v, x, jet)
    return energy, over, curvature, v


@inlined
def pair_stiffness(m, world, e, x, jet):
    """(k, c, vector r) of spring e: its force on point a is -k r and changes by -(k + c r r') dr."""
    _, over, curvature, r = pair_energy(m, world, e, x, jet)
    square = r[0] * r[0] + r[1] * r[1] + r[2] * r[2]
    return over, ((curvature - over) / square if square > 0.0 else 0.0), r


@inlined
def energy_of_distance(m, e, v, x, jet):
    """(U, U'/r, U'') of spring e with the vector v between its points; U'/r is finite at r = 0 for a linear spring of length 0."""
    r = (v[0] * v[0] + v[1] * v[1] + v[2] * v[2]) ** 0.5
    if m.pair_on[e, 2] == 0:
        k, length = m.pair[e, PAIR_STIFFNESS], m.pair[e, PAIR_LENGTH]
        over = k if length == 0.0 else k - k * length / r
        return 0.5 * k * (r - length) * (r - length), over, k
    x[0] = r
    evaluate_energy(m, m.pair_on[e, 2], e, x, jet)
    return jet[0, 0], jet[0, 1] / r, jet[0, 2]


@inlined
def push(row, column, world, i, point, force, impulse):
    """row[i] += impulse * wrench of a force (world axes) at a point of body i."""
    f = scale(impulse, tmatvec(load9(world, i, 0), force))
    moment = cross(point, f)
    for c in range(3):
        row[i, column + c] += moment[c]
        row[i, column + 3 + c] += f[c]


@kernel
def add_pair_springs(m, w, world, impulse, out, column):
    """out[i, column:] += impulse * wrench of the springs between points on body i.  w: scratch with x and jet."""
    for e in range(m.pair_on.shape[0]):
        _, over, _, v = pair_energy(m, world, e, w.x, w.jet)
        push(out, column, world, m.pair_on[e, 0], load3(m.pair, e, PAIR_A), v, -impulse * over)
        push(out, column, world, m.pair_on[e, 1], load3(m.pair, e, PAIR_B), v, impulse * over)


@kernel
def pair_springs_energy(m, w):
    """Energy of all springs between points.  Reads Work.world."""
    total = 0.0
    for e in range(m.pair_on.shape[0]):
        total += pair_energy(m, w.world, e, w.x, w.jet)[0]
    return total


@inlined
def evaluate_potential(m, w, q, c):
    """Jet of user potential number c at coordinates q."""
    for k in range(m.energy_on[c, UP], m.energy_on[c + 1, UP]):
        w.x[k - m.energy_on[c, UP]] = q[m.energy_at[k, UQ]]
    evaluate_energy(m, m.energy_on[c, 0], m.pair_on.shape[0] + c, w.x, w.jet)


@kernel
def add_potentials(m, w, q, factor, g):
    """g += factor * gradient of the user potentials at q; returns their energy."""
    total = 0.0
    for c in range(m.energy_on.shape[0] - 1):
        evaluate_potential(m, w, q, c)
        total += w.jet[0, 0]
        first = m.energy_on[c, UP]
        for k in range(first, m.energy_on[c + 1, UP]):
            g[m.energy_at[k, UV]] += factor * w.jet[0, 1 + k - first]
    return total


@kernel
def potential_curvatures(m, w, q, qq):
    """qq -= second derivatives of the potentials of coordinates at q."""
    for c in range(m.energy_on.shape[0] - 1):
        evaluate_potential(m, w, q, c)
        first = m.energy_on[c, UP]
        size = m.energy_on[c + 1, UP] - first
        for a in range(size):
            for b in range(size):
                qq[m.energy_at[first + a, UV], m.energy_at[first + b, UV]] -= w.jet[0, 1 + size + a * size + b]
