"""Record: what a run keeps, a row for every recorded node and a number for every step.

It is made once, with room for the whole run, and handed from the simulation through the integrator to the time loop, which goes on
writing where the record stands.  A run that needs another column adds a field here.
"""

from typing import NamedTuple

from ...compiling.decorators import inlined, kernel
from ...compiling.records import allocate, floats, integers

# entries of Record.cursor
STEPS, ROWS, EVERY = 0, 1, 2


class Record(NamedTuple):
    """Recorded nodes of a run."""

    cursor: integers(3)  # steps made, rows written, and after how many steps a node is recorded
    t: floats("rows")  # times, s
    q: floats("rows", "nq")  # coordinates
    p: floats("rows", "nv")  # momenta with the kick of the next step, momenta or velocities: what the integrator says in `recording`
    error: floats("rows")  # largest constraint error, m or rad
    multipliers: floats("rows", "m")  # impulses of the constraint rows over the step that ends in the node
    evaluations: integers("steps")  # residual (or force) evaluations of every step


def make_record(rows: int, steps: int, nq: int, nv: int, m: int, every: int = 1) -> Record:
    """An empty record with room for so many nodes and steps; m: rows of the constraints."""
    record = allocate(Record, {"rows": rows, "steps": steps, "nq": nq, "nv": nv, "m": m})
    record.cursor[EVERY] = every
    return record


def rewind(record: Record) -> None:
    """Forget what is written."""
    record.cursor[STEPS] = record.cursor[ROWS] = 0


def put_node(record: Record, t: float, q, p, error: float = 0.0, multipliers=None) -> None:
    """Write a node as the next row."""
    k = int(record.cursor[ROWS])
    record.t[k], record.q[k], record.p[k], record.error[k] = t, q, p, error
    if multipliers is not None:
        record.multipliers[k] = multipliers
    record.cursor[ROWS] = k + 1


def copy_row(source: Record, row: int, target: Record) -> None:
    """Write row `row` of one record as the next row of another one."""
    put_node(target, source.t[row], source.q[row], source.p[row], source.error[row], source.multipliers[row])


def add_step(record: Record, evaluations: int) -> bool:
    """Count one step; is its end to be recorded?"""
    k = int(record.cursor[STEPS])
    record.evaluations[k] = evaluations
    record.cursor[STEPS] = k + 1
    return (k + 1) % int(record.cursor[EVERY]) == 0


@inlined
def has_room(record, steps):
    """Does the record take so many steps more?"""
    made, every = record.cursor[STEPS], record.cursor[EVERY]
    rows = (made + steps) // every - made // every
    return made + steps <= record.evaluations.shape[0] and record.cursor[ROWS] + rows <= record.t.shape[0]


@kernel
def write_node(record, t, q, p, error):
    """The next row, multipliers apart; returns its number."""
    k = record.cursor[ROWS]
    record.t[k] = t
    record.error[k] = error
    for j in range(q.shape[0]):
        record.q[k, j] = q[j]
    for j in range(p.shape[0]):
        record.p[k, j] = p[j]
    record.cursor[ROWS] = k + 1
    return k
