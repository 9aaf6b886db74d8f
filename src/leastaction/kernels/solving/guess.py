"""The guess Newton's method starts from: the last values continued by a polynomial."""

from ...compiling.decorators import inlined

# by which the error of the guess has to fall with its degree: where steps are long and the motion wild, a high one misleads Newton
GAIN = 0.5

ORDERS = 6  # backward differences that are kept


@inlined
def continue_polynomial(x, differences, known, first, last, cautious, from_zero):
    """Guess of x[first:last]: the last values continued by a polynomial of degree 0 to 5, or not at all (from_zero: degree -1, zero).

    A degree is taken if it would have guessed the last value much better than the lower ones; if `cautious`, only as long as each
    one is much better than the one before.  The former is for bodies near singular positions (rods that overlap), where several
    solutions are close and only the best guess leads to the right one; the latter for joint coordinates, where in a long step of a wild
    motion one lucky difference would be taken for smoothness.

    x              (n,) the last values; becomes the guess
    differences    (ORDERS, n) backward differences of the values before x; become those of x.  Their sum up to order k continues a
                   polynomial of degree k, and the difference of order k + 1 is by how much that missed the last value.
    known          values seen so far
    from_zero      for what is small by itself: begin with the guess zero, which missed the last value by that value
    """
    e, e0, e1, e2, e3, e4, e5 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for j in range(first, last):
        x0 = x[j]
        x1 = x0 - differences[0, j]
        x2 = x1 - differences[1, j]
        x3 = x2 - differences[2, j]
        x4 = x3 - differences[3, j]
        x5 = x4 - differences[4, j]
        x6 = x5 - differences[5, j]
        differences[0, j], differences[1, j], differences[2, j] = x0, x1, x2
        differences[3, j], differences[4, j], differences[5, j] = x3, x4, x5
        e, e0, e1, e2 = max(e, abs(x0)), max(e0, abs(x1)), max(e1, abs(x2)), max(e2, abs(x3))
        e3, e4, e5 = max(e3, abs(x4)), max(e4, abs(x5)), max(e5, abs(x6))
    degree, best = 0, e0
    if from_zero:
        degree, best = -1, e
        if known >= 3 and e0 < GAIN * best:
            degree, best = 0, e0
    if (degree == 0 or not cautious) and known >= 3 and e1 < GAIN * best:
        degree, best = 1, e1
    if (degree == 1 or not cautious) and known >= 4 and e2 < GAIN * best:
        degree, best = 2, e2
    if (degree == 2 or not cautious) and known >= 5 and e3 < GAIN * best:
        degree, best = 3, e3
    if (degree == 3 or not cautious) and known >= 6 and e4 < GAIN * best:
        degree, best = 4, e4
    if (degree == 4 or not cautious) and known >= 7 and e5 < GAIN * best:
        degree, best = 5, e5
    if degree < 0:
        for j in range(first, last):
            x[j] = 0.0
    for order in range(1, degree + 1):
        for j in range(first, last):
            x[j] += differences[order, j]
