"""The gate: arrays of every form users have give the same numbers, and no other form than the right one enters compiled code."""

from typing import NamedTuple

import numpy as np
import pytest
from numba import config

import leastaction as la
from leastaction.checks import numbers
from leastaction.compiling import canaries
from leastaction.compiling.decorators import Direct, entry
from leastaction.compiling.gate import kind
from leastaction.errors import StateError
from leastaction.reference.constrained import AccelerationConstraints

# --------------------------------------------------------------------------------------- arrays as users have them


def misaligned(a):
    found = np.frombuffer(b"\0" + np.ascontiguousarray(a, dtype=float).tobytes(), dtype=np.uint8)[1:].view(float).reshape(a.shape)
    assert not found.flags.aligned
    return found


def read_only(a):
    copy = np.array(a, dtype=float)
    copy.flags.writeable = False
    return copy


def strided(a):
    wide = np.full([3 * n + 1 for n in a.shape], np.nan)
    part = wide[tuple(slice(1, None, 3) for _ in a.shape)]
    part[...] = a
    return part


def backwards(a):
    return a[::-1].copy()[::-1]


FORMS = {
    "Fortran": lambda a: np.array(a, dtype=float, order="F"),
    "transposed": lambda a: np.array(a.T, dtype=float).T,
    "big-endian": lambda a: a.astype(">f8"),
    "float32": lambda a: a.astype(np.float32),
    "longdouble": lambda a: a.astype(np.longdouble),
    "int": lambda a: a.astype(int),
    "int32": lambda a: a.astype(np.int32),
    "read-only": read_only,
    "strided": strided,
    "backwards": backwards,
    "misaligned": misaligned,
    "broadcast": lambda a: np.broadcast_to(a, a.shape),
    "list": lambda a: a.tolist(),
    "matrix row": lambda a: np.asfortranarray(np.tile(a, (3, 1)))[1] if a.ndim == 1 else np.asfortranarray(a),
}
STEPS = 4


@pytest.fixture(scope="module")
def model():
    mech = la.examples.chain(3)
    mech.add_force(la.Damper("link2", 0.3))
    return mech.compile()


@pytest.fixture(scope="module")
def arrays(model):
    """Whole numbers, so that every form can hold them."""
    rng = np.random.default_rng(1)
    whole = {name: rng.integers(-2, 3, size=model.nv).astype(float) for name in ("q", "v", "tau", "p", "r")}
    return whole | {"forces": rng.integers(-5, 6, size=(STEPS, model.nv)).astype(float)}


def run(model, a):
    one = la.simulate(model, dt=0.01, steps=STEPS, q=a["q"], v=a["v"], tau=a["forces"])
    simulator = la.Simulator(model, la.State(model, 0.0, a["q"], a["p"]), dt=0.01)
    simulator.step(a["tau"])
    other = la.simulate(model, dt=0.01, steps=STEPS, q=a["q"], control=lambda t, state: a["tau"])
    return [one.q, one.recorded, simulator.q, simulator.state.v, other.q]


def evaluate(model, a):
    d, q, v = la.dynamics, a["q"], a["v"]
    return [
        d.mass_matrix(model, q), d.inverse(model, q, v, a["r"]), d.forward(model, q, v, a["tau"]), d.energy(model, q, v),
        d.momentum(model, q, v), d.spatial_momentum(model, q, v), d.velocity(model, q, a["p"]), d.pose(model, q, "tip").p,
        list(d.condition(model, q).values()),
        model.state(q=q, p=a["p"]).v, la.State(model, 0.0, q, a["p"]).v, model.assemble(q), model.project_velocity(q, v),
    ]  # fmt: skip


def discretise(model, a):
    d, q, near, dt = la.discrete, a["q"], numbers(a["q"], "q", StateError) + 0.01, 0.01
    return [
        d.residual(model, q, near, q, dt, a["tau"]), *d.momenta(model, q, near, dt, a["tau"], quadrature="midpoint"),
        d.jacobian(model, q, near, dt), d.newton_direction(model, q, near, dt, a["r"]), d.increment(model, q, near),
    ]  # fmt: skip


def differentiate(model, a):
    step = la.linearize(model, la.Variational(), la.State(model, 0.0, a["q"], a["p"]), 0.01, a["tau"])
    accelerations = AccelerationConstraints(model, numbers(a["q"], "q", StateError))
    return [step.A, step.B, step.next_state.p, accelerations.acceleration(a["q"], a["v"]), accelerations.moved(a["q"], a["v"])]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("use", [run, evaluate, discretise, differentiate])
def test_every_form_of_an_array_means_the_same(model, arrays, form, use):
    shaped = {name: FORMS[form](a) for name, a in arrays.items()}
    for found, wanted in zip(use(model, shaped), use(model, arrays), strict=True):
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("form", FORMS)
def test_what_users_give_becomes_an_array_of_its_own(form):
    given = FORMS[form](np.arange(6.0).reshape(2, 3))
    found = numbers(given, "x", StateError)
    assert type(found) is np.ndarray and found.dtype == np.float64 and found.dtype.isnative and found.flags.carray
    assert not np.shares_memory(found, given)


def test_a_state_is_not_changed_from_outside(model, arrays):
    q = arrays["q"].copy()
    state = la.State(model, 0.0, q, arrays["p"])
    q[:] = np.nan
    np.testing.assert_array_equal(state.q, arrays["q"])
    with pytest.raises(StateError, match=r"q of the state .* shape \(2,\)"):
        la.State(model, 0.0, [0.0, 1.0], arrays["p"])


# ------------------------------------------------------------------------------------------------- the gate itself


class Inner(NamedTuple):
    x: np.ndarray
    count: int


class Outer(NamedTuple):
    inner: Inner
    nothing: None
    y: np.ndarray


@entry
def add_up(record, a, n, factor):
    total = 0.0
    for i in range(n):
        total += factor * a[i] * record.inner.x[0, i] + record.y[i]
    return total


@entry
def spill(record, a):
    """Writes one number `count` places past the end of a."""
    a[a.shape[0] + record.inner.count] = 1.0


@entry
def double(a, row):
    for i in range(a.shape[0]):
        a[i] += row[0, i]


def record(**changes):
    inner = Inner(np.ones((1, 3)), 2)._replace(**{k: v for k, v in changes.items() if k in Inner._fields})
    return Outer(inner, None, np.zeros(3))._replace(**{k: v for k, v in changes.items() if k in Outer._fields})


A = np.arange(3.0)
BAD = {
    "Fortran": (np.asfortranarray(np.ones((3, 3)))[1], "not C-contiguous"),
    "big-endian": (A.astype(">f8"), "float64 or int64 in native byte order"),
    "float32": (A.astype(np.float32), "float64 or int64"),
    "read-only": (read_only(A), "is read-only"),
    "misaligned": (misaligned(A), "not aligned"),
    "list": ([0.0, 1.0, 2.0], "neither an array"),
    "masked": (np.ma.masked_array(A), "is a MaskedArray"),
}


@pytest.fixture(params=[lambda e: e, Direct], ids=["entry", "direct"])
def add(request):
    call = request.param(add_up)
    for _ in range(3):  # the third look is quicker
        assert call(record(), A, 3, 2.0) == 6.0
    return call


@pytest.mark.parametrize("bad", BAD)
def test_no_other_array_enters(add, bad):
    array, reason = BAD[bad]
    with pytest.raises(TypeError, match=f"add_up: a.*{reason}"):
        add(record(), array, 3, 2.0)
    with pytest.raises(TypeError, match=f"add_up: record.y.*{reason}"):
        add(record(y=array), A, 3, 2.0)
    with pytest.raises(TypeError, match=r"add_up: record.inner.x"):
        add(record(x=array), A, 3, 2.0)
    assert add(record(), A, 3, 2.0) == 6.0


def test_numbers_of_other_types_do_not_enter():
    add = Direct(add_up)
    assert add(record(), A, 3, 2.0) == add(record(), A, np.int64(3), np.float64(2.0)) == 6.0
    for arguments, message in (
        ((record(), A, 3.0, 2.0), "n is float; this code was compiled for int"),
        ((record(), A, 3, 2), "factor is int; this code was compiled for float"),
        ((record(), A, np.int32(3), 2.0), "n = .*int32"),
        ((record(), A.astype(int), 3, 2.0), "a is an int64 array of 1 dimensions; .* float64 array of 1"),
        ((record(), A[None], 3, 2.0), "a is a float64 array of 2 dimensions"),
        ((record(count=1.0), A, 3, 2.0), "record.inner.count is float"),
        ((record(nothing=A), A, 3, 2.0), "record.nothing is a float64 array of 1 dimensions; .* None"),
        ((record(), A, 3), "takes 4 arguments, not 3"),
    ):
        with pytest.raises(TypeError, match=message):
            add(*arguments)
    assert add(record(), A, 3, 2.0) == 6.0


def test_a_quicker_look_sees_the_same():
    usual = (record(), A, 3, 2.0)
    others = [
        usual, (record(), A, 3, 2), (record(), A, True, 2.0), (record(), A[None], 3, 2.0), (record(y=A.astype(int)), A, 3, 2.0),
        (record(), A, 3),
        (record(count=1.0), A, 3, 2.0), (record(nothing=A), A, 3, 2.0), (tuple(record()), A, 3, 2.0), (None, A, 3, 2.0), (A, A, 3, 2.0),
    ]  # fmt: skip
    for arguments in others:
        for _ in range(3):
            add_up.kinds(usual)
        assert add_up._last[1](usual) and add_up._last[1](arguments) == (arguments is usual)
        assert add_up.kinds(arguments) == tuple(map(kind, arguments))


def test_another_record_is_looked_at_again():
    add = Direct(add_up)
    first = record()
    assert add(first, A, 3, 2.0) == 6.0 == add(first, A, 3, 2.0)
    assert add(record(y=np.ones(3)), A, 3, 2.0) == 9.0
    with pytest.raises(TypeError, match="record.y"):
        add(record(y=np.ones(6)[::2]), A, 3, 2.0)


def test_an_entry_shows_what_it_is_made_of():
    assert add_up.py_func(record(), A, 3, 2.0) == 6.0
    assert add_up.__name__ == "add_up" and repr(add_up).endswith(".add_up") and add_up.parameters == ("record", "a", "n", "factor")
    assert callable(add_up.dispatcher)


# ------------------------------------------------------------------------------------------------------- canaries


@pytest.fixture
def guarded(monkeypatch):
    monkeypatch.setattr(canaries, "ON", True)
    for e in (spill, double):
        monkeypatch.setattr(e, "_compiled", {})


@pytest.mark.skipif(config.DISABLE_JIT, reason="NumPy does not write past the end")
@pytest.mark.parametrize("make", [lambda e: e, Direct], ids=["entry", "direct"])
def test_writing_past_the_end_is_caught(guarded, make):
    call = make(spill)
    held = record(count=-1)
    a = np.zeros(3)
    call(held, a)
    np.testing.assert_array_equal(a, [0.0, 0.0, 1.0])
    with pytest.raises(MemoryError, match=r"spill wrote past the end of a, shape \(3,\): 1 number.* first 0 away"):
        call(record(count=0), a)
    with pytest.raises(MemoryError, match=r"spill wrote past the end of a, shape \(0,\).* first 5 away"):
        call(record(count=5), np.zeros(0))


def test_arrays_that_share_memory_keep_sharing_it(guarded):
    a = np.arange(4.0)
    double(a[1:], a[1:].reshape(1, 3))
    np.testing.assert_array_equal(a, [0.0, 2.0, 4.0, 6.0])
    a = np.arange(4.0)
    double(a[:3], a[1:].reshape(1, 3))  # each sees what the one before it has become
    np.testing.assert_array_equal(a, [1.0, 3.0, 5.0, 3.0])
