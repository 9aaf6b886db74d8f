"""How large a residual is."""

from ...compiling.decorators import inlined

UNBOUNDED = 1e300  # a residual that is infinite or NaN is counted as larger
NOTHING = 1e-290  # a residual below it is zero: where everything comes to rest, fractions of the last momenta cannot be told apart


@inlined
def relative_size(value, unit):
    """value / unit, for a residual that may be zero or NaN and a unit that may be zero."""
    if value != value:
        return 10.0 * UNBOUNDED
    return value / max(unit, NOTHING) if value > 0.0 else 0.0


@inlined
def judged_apart(felt, w, con, pushes, factor, size, tol):
    """The size of a residual if every degree of freedom is judged by itself too; felt: Tree.felt, the same size where it is empty.

    What is allowed is tol times what a joint has itself: if it feels the inertia i_j, the largest of i_j V, V = max |target_k| / i_k being
    the velocity of the fastest, and of what meets in the joint: impulses factor * pushes_j and those of constraints.
    """
    if felt is None:
        return size
    if felt.shape[0] > 0:
        speed = 0.0
        for j in range(felt.shape[0]):
            speed = max(speed, abs(w.target[j]) / felt[j])
        for j in range(felt.shape[0]):
            own = max(felt[j] * speed, abs(factor * pushes[j]))
            if con is not None:
                for a in range(con.lam.shape[0]):
                    own = max(own, abs(con.lam[a] * con.J0[a, j]))
            if own > 0.0:
                size = max(size, abs(w.r[j]) / max(tol * own, NOTHING))
    return size


@inlined
def largest(a):
    """Largest entry; a NaN stays."""
    return largest_between(a, 0, a.shape[0])


@inlined
def largest_between(a, first, last):
    """Of a[first:last]; four at a time, for each comparison waits for the one before."""
    whole = last - ((last - first) & 3)
    x, y, z, u = 0.0, 0.0, 0.0, 0.0
    for j in range(first, whole, 4):
        x, y = larger(abs(a[j]), x), larger(abs(a[j + 1]), y)
        z, u = larger(abs(a[j + 2]), z), larger(abs(a[j + 3]), u)
    x = larger(larger(x, y), larger(z, u))
    for j in range(whole, last):
        x = larger(abs(a[j]), x)
    return x


@inlined
def larger(x, y):
    """The larger number; a NaN stays."""
    return x if x > y or x != x else y
