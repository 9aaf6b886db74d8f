"""Table 1 of Si and Guenter (2010): forward dynamics of revolute chains (RC), torus chains (TC) and the windmill (WM).

Method I   the whole recursion specialised to one mechanism: `model.specialise()`
Method II  the general recursion with symbolic joints: every joint is only a pose
plain ABA  the general recursion with built-in joints (revolute chains only: there is no built-in torus joint)
"""

from __future__ import annotations

import subprocess
import sys
import time
from dataclasses import dataclass

import numpy as np

import leastaction as la

from . import ours, probe
from .cases import Case
from .report import machine, number, table, versions
from .specialise import OwnAba
from .timing import Interleaved, measure_all, pin_to_one_core

DT = 1e-3
METHOD_1, METHOD_2, PLAIN, PIN = "Method I", "Method II", "plain ABA", "pin.aba"
STEP_1, STEP_2 = "step, Method I", "step, Method II"

# milliseconds of the paper (2.67 GHz Core 2 Quad): Method I, Method II, their implementation of Featherstone's algorithm
PAPER = {
    "RC20": (0.020, 1.0, 0.025), "RC50": (0.050, 2.4, 0.064), "RC100": (0.112, 4.9, 0.127),
    "TC10": (0.055, 1.05, None), "TC20": (0.115, 2.2, None), "WM": (0.108, 2.4, None),
}  # fmt: skip

HINGE = la.SymbolicJoint("hinge as a pose", lambda q, sp: sp.rot_y(q[0]), 1, coordinates=("angle",))


def _case(name: str, mechanism: la.Mechanism) -> Case:
    """A general state near the start: no symmetry, every joint moving."""
    model = mechanism.compile()
    rng = np.random.default_rng(0)
    q = model.neutral() + 0.2 * rng.normal(size=model.nq)
    return Case(name, name[:2], len(model.bodies), mechanism, model, q, 0.3 * rng.normal(size=model.nv))


def symbolic_chain(n: int) -> la.Mechanism:
    """`la.examples.chain(n)` with every joint written as a pose."""
    plain = la.examples.chain(n)
    mech = la.Mechanism(gravity=plain.gravity, name=f"{plain.name}, joints as poses")
    for b in plain.bodies.values():
        mech.add_body(b.name, b.parent, HINGE, b.placement, mass=b.mass, com=b.com, inertia=b.inertia)
    return mech


class Comparison:
    """One row of the table."""

    def __init__(self, name: str, mechanism: la.Mechanism, written: la.Mechanism | None = None, *, steps: bool = True):
        """steps: whole variational steps too, which the paper does not have and which take long to compile."""
        self.case = _case(name, mechanism)
        general = self.case if written is None else _case(name, written)
        own = self.case.model.specialise()
        wanted = la.dynamics.forward(self.case.model, self.case.q, self.case.v)
        began = time.perf_counter()
        got = la.dynamics.forward(own, self.case.q, self.case.v)
        self.preparation = time.perf_counter() - began
        for a in (got, la.dynamics.forward(general.model, self.case.q, self.case.v)):
            assert np.abs(a - wanted).max() <= 1e-9 * np.abs(wanted).max(), f"{name}: the methods disagree"
        candidates = {METHOD_1: OwnAba(own), METHOD_2: ours.Kernel(general.model, DT, probe.ABA)}
        if written is not None:
            candidates[PLAIN] = ours.Kernel(self.case.model, DT, probe.ABA)
            candidates |= _pinocchio(mechanism)
        if steps:
            candidates |= {STEP_1: ours.Step(own, DT), STEP_2: ours.Step(general.model, DT)}
        self.times = Interleaved(candidates, self.case.q, self.case.v, fixed_reps=dict.fromkeys({STEP_1, STEP_2} & candidates.keys(), 200))

    def row(self) -> Row:
        return Row(self.case.name, self.case.model.nv, self.times.best, self.preparation, self.times.confirmed)


@dataclass
class Row:
    name: str
    dofs: int
    seconds: dict[str, float]
    preparation: float  #: of Method I for forward dynamics, s
    confirmed: bool

    def ratio(self, above: str, below: str) -> float | None:
        return self.seconds[above] / self.seconds[below] if {above, below} <= self.seconds.keys() else None


def _pinocchio(mechanism: la.Mechanism) -> dict:
    try:
        from .peers.pinocchio import Aba

        return {PIN: Aba(mechanism, DT)}
    except ImportError:
        return {}


def run(quick: bool = False, passes: int = 4) -> list[Row]:
    pin_to_one_core()
    chains = (20, 50, 78, 100) if not quick else (20,)
    tori = (10, 20, 40, 80) if not quick else (10,)
    comparisons = []
    for n in chains:
        print(f"  RC{n}", file=sys.stderr, flush=True)
        comparisons.append(Comparison(f"RC{n}", la.examples.chain(n), symbolic_chain(n)))
    for n in tori:
        print(f"  TC{n}", file=sys.stderr, flush=True)
        comparisons.append(Comparison(f"TC{n}", la.examples.torus_chain(n)))
    if not quick:
        comparisons.append(Comparison("WM", la.examples.windmill()))
    measure_all([c.times for c in comparisons], passes)
    return [c.row() for c in comparisons]


_START = """
import time, {imports}
began = time.perf_counter()
{work}
print(time.perf_counter() - began)
"""

_TORUS = """
ring = la.library.torus(1.0, 0.3)
joint = la.library.surface_surface(ring, ring)
joint.compiled(joint.neutral())
"""


def start_times() -> dict[str, float]:
    """Seconds from a pose to its first compiled evaluation in a new process, with and without code on disk."""
    import os
    import tempfile

    result = {}
    with tempfile.TemporaryDirectory() as place:
        environment = os.environ | {"NUMBA_CACHE_DIR": place}
        numba_awake = "import numba; numba.cfunc('float64(float64)')(lambda x: x)\n"
        for what, imports, before in (
            ("without code on disk", "sympy, leastaction as la", ""),
            ("with code on disk", "sympy, leastaction as la", ""),
            ("with code on disk, Numba already running", "sympy, leastaction as la", numba_awake),
        ):
            script = before + _START.format(imports=imports, work=_TORUS)
            done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
            result[what] = float(done.stdout.split()[-1])
    return result


def targets(rows: list[Row], starts: dict[str, float]):
    """(what, measured, limit)"""
    by_name = {r.name: r for r in rows}
    for name in ("RC20", "RC50", "RC100"):
        if name in by_name:
            yield f"{name}: Method I / plain ABA", by_name[name].ratio(METHOD_1, PLAIN), 1.0
    if "RC100" in by_name:
        yield "RC100: Method I / pin.aba", by_name["RC100"].ratio(METHOD_1, PIN), 0.45
        yield "RC100: seconds to specialise", by_name["RC100"].preparation, 60.0
    if "TC20" in by_name and "RC78" in by_name:
        yield "TC20 / RC78, both plain recursions", by_name["TC20"].seconds[METHOD_2] / by_name["RC78"].seconds[PLAIN], 3.0
    if "TC80" in by_name:
        per = {n: by_name[f"TC{n}"].seconds[METHOD_2] / by_name[f"TC{n}"].dofs for n in (10, 80)}
        yield "cost per degree of freedom at TC80 / at TC10", per[80] / per[10], 1.2
    if starts:
        yield "torus joint, seconds without code on disk", starts["without code on disk"], 6.0
        yield "torus joint, seconds with code on disk", starts["with code on disk"], 0.5


def page(quick: bool = False, passes: int = 4) -> str:
    """docs/si_guenter2010.md"""
    rows, starts = run(quick, passes), start_times()
    columns = [METHOD_1, METHOD_2, PLAIN, PIN, STEP_1, STEP_2]
    body = []
    for r in rows:
        times = [number(1e6 * r.seconds[c] if c in r.seconds else None) for c in columns]
        body.append([r.name if r.confirmed else f"{r.name} (noisy)", str(r.dofs), *times, f"{r.preparation:.1f}"])
    paper = [[name, *(number(None if x is None else 1e3 * x) for x in times)] for name, times in PAPER.items()]
    ratios = [[r.name, *(number(r.ratio(*pair)) for pair in _RATIOS)] for r in rows]
    checks = [
        [what, number(x), f"<= {limit:g}", "holds" if x is not None and x <= limit else "MISSED"]
        for what, x, limit in targets(rows, starts)
    ]
    return _PAGE.format(
        machine=machine(), versions=versions([]), times=table(["microseconds", "dof", *columns, "specialised in (s)"], body),
        paper=table(["microseconds of the paper", METHOD_1, METHOD_2, "Featherstone"], paper),
        ratios=table(["", *(f"{a} / {b}" for a, b in _RATIOS)], ratios), targets=table(["target", "measured", "limit", ""], checks),
        starts=table(["from the pose to the first compiled evaluation", "seconds"], [[k, f"{x:.2f}"] for k, x in starts.items()]),
    )  # fmt: skip


_RATIOS = [(METHOD_1, METHOD_2), (METHOD_1, PLAIN), (METHOD_2, PLAIN), (METHOD_1, PIN), (STEP_1, STEP_2)]

_PAGE = """# Si and Guenter 2010, Table 1

Written by `python -m benchmarks si_guenter2010`. Forward dynamics of revolute chains (RC), torus chains (TC: 2 + 4 (n - 1) degrees of
freedom) and the windmill (WM: 1 + 18 x 4; the paper does not say which surface touches which, `la.examples.windmill` does for ours),
all in one run, interleaved, on one core.

- *Method I*: the recursion specialised to the mechanism, `model.specialise()` ([how](specialise.md)).
- *Method II*: the general recursion with symbolic joints: every joint is only a pose, its code is called by address.
- *plain ABA*: the general recursion with built-in revolute joints. `pin.aba` is called from Python.
- *step*: a full step of `la.Variational()` at 1 ms, tolerance 1e-10. The paper has no such thing; no other system has it for these joints.

Machine: {machine}. {versions}.

{times}

{ratios}

As printed in 2010, on a 2.67 GHz Core 2 Quad:

{paper}

## Targets

{targets}

## From a pose to compiled code

The torus-torus joint (4 degrees of freedom), in a new process with SymPy imported. Waking up Numba costs 0.3 to 0.6 s of a new process,
whatever is compiled first.

{starts}

## Which one to use

Method II is what every model does. Its price for joints that are only a pose is a call by address and whatever their expressions cost: a
symbolic hinge is slower than the built-in one, a torus chain costs about as much as a revolute chain of as many degrees of freedom.
Method I pays for itself when one mechanism is simulated for minutes: it takes seconds to make, once per mechanism, and is kept on disk.
It gains most where constants are zeros and ones, as in planar chains; joints called by address gain little.
"""
