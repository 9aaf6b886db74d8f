"""One function for all joints: number -> kernels, one branch for each joint of the list ALL, written by the machine.

`base.py` says what each function does; here stand the defaults of joints that do not have one.  The number of a `SymbolicJoint` is
the address of its generated code (`generated.py`).
"""

from types import ModuleType

from ..compiling.decorators import inlined, kernel
from ..compiling.switch import one_of, switch
from ..lie.algebra import ZERO3, add, cross, load3
from . import ALL, generated, plain
from .base import ABOUT_Z, FREELY
from .table import modules

PARAMETERS = 4  # numbers a built-in joint may keep in Tree.param

MODULES = modules(ALL)
COUNT = len(MODULES)  # kinds below are numbers of joint types, others addresses of generated code
_CLASSES = [joint for joint in ALL if joint.nv > 0]


def _has(module: ModuleType, name: str) -> bool:
    """Does the file of a joint have this kernel?  One it imports under that name would be taken for its own."""
    function = getattr(module, name, None)
    origin = getattr(getattr(function, "py_func", function), "__module__", module.__name__)
    if function is not None and origin != module.__name__:
        raise TypeError(f"{module.__name__} imports {name} from {origin}, which would be taken for its kernel; import it by another name")
    return function is not None


def _demand(module: ModuleType, name: str, parameters: str, why: str) -> None:
    if not _has(module, name):
        raise TypeError(f"{module.__name__} has no function {name}({parameters.removeprefix('kind, ')}), which {why} needs")


def _by_kind(name: str, parameters: str, default, doc: str, *, everyone: bool = False, groups: bool = False, inline: bool = False):
    """switch over the joints, after a check that those who must have the function do."""
    for joint, module in zip(_CLASSES, MODULES, strict=True):
        if everyone:
            _demand(module, name, parameters, "every joint")
        elif groups and joint.has_quaternion:
            _demand(module, name, parameters, "a joint with has_quaternion = True")
        _has(module, name)
    return switch(name, parameters, MODULES, default, doc=doc, inline=inline)


def _test(name: str, chosen, doc: str):
    """Inlined test whether a kind is one of the chosen joints."""
    return one_of(name, [k for k, joint in enumerate(_CLASSES) if chosen(joint, MODULES[k])], doc=doc)


# ----------------------------------------------------------------------------------------------------- what kernels may ask

turns_about_z = _test("turns_about_z", lambda joint, _: joint.turns == ABOUT_Z, "Is the pose a rotation by q about z?")
turns_freely = _test(
    "turns_freely", lambda joint, _: joint.turns == FREELY,
    "Are the columns at the start of a step the three unit rotations, and is the increment a Cayley vector?",
)  # fmt: skip
has_quaternion = _test("has_quaternion", lambda joint, _: joint.has_quaternion, "Is the velocity a twist, not the rate of coordinates?")
_has_bias = _test("has_bias", lambda _, module: _has(module, "bias"), "Do the columns of a built-in joint change with its coordinates?")
_lacks_duals = _test(
    "lacks_duals", lambda joint, module: not joint.orthonormal and not _has(module, "dual_column"),
    "Does a built-in joint leave its dual columns to be computed?",
)  # fmt: skip


@inlined
def is_generated(kind):
    """Is it a joint of generated code, `kind` its address?"""
    return kind >= COUNT


@inlined
def columns_change(kind):
    """Do the columns change with plain coordinates, and is there a bias?"""
    return is_generated(kind) or _has_bias(kind)


@inlined
def needs_duals(kind):
    """Are the dual columns neither the columns themselves nor the joint's own choice?"""
    return is_generated(kind) or _lacks_duals(kind)


# ----------------------------------------------------------------------------------------------------------- of every joint

pose = _by_kind(
    "pose", "kind, param, i, q, k, d, v, f", generated.pose, "Pose (R, p) of the joint at the fraction f of the step.", everyone=True
)
displacement = _by_kind(
    "displacement", "kind, param, i, q, k, d, v", generated.displacement,
    "X(q)^-1 X(q + d) as quaternion (w, u) and translation t.", everyone=True,
)  # fmt: skip
columns = _by_kind(
    "columns", "kind, param, i, q, k, d, v, f, S", generated.columns,
    "Body twists per unit coordinate rate, written to rows S[v:].", everyone=True,
)  # fmt: skip
coordinates_of = _by_kind(
    "coordinates_of", "kind, param, i, R, p, old, k, out", None,
    "out[k:] = coordinates of the pose (R, p), continued from old[k:].  Not of generated joints.", everyone=True,
)  # fmt: skip


@kernel
def place(kind, param, i, q, k, d, v, f, S):
    """Pose and columns together."""
    if is_generated(kind):
        return generated.place(kind, param, i, q, k, d, v, f, S)
    columns(kind, param, i, q, k, d, v, f, S)
    return pose(kind, param, i, q, k, d, v, f)


# ------------------------------------------------------------------------------- of joints whose columns change, and duals


@inlined
def _other_bias(kind, param, i, q, k, rate, v):
    if is_generated(kind):
        return generated.bias(kind, param, i, q, k, rate, v)
    return ZERO3, ZERO3


bias = _by_kind(
    "bias", "kind, param, i, q, k, rate, v", _other_bias, "(dS/dt) rate as (angular, linear); zero for joints with constant S."
)


@inlined
def felt(twist, moment, force):
    a, l = twist
    return a[0] * moment[0] + a[1] * moment[1] + a[2] * moment[2] + l[0] * force[0] + l[1] * force[1] + l[2] * force[2]


@kernel
def _curvature_from_bias(kind, param, q, k, d, v, nv, S1, G, i, E, scratch):
    """From b(x) = (dS/dt) x alone, which is quadratic in the rate x:

    d_l S_j + d_j S_l = b(e_j + e_l) - b(e_j) - b(e_l),   d_l S_j - d_j S_l = ad_{S_j} S_l
    S1 holds half the columns at the midpoint; q is moved there and back again.
    """
    if not columns_change(kind):
        return
    start, rate, G_a, G_l = scratch[0], scratch[1], load3(G, i, 0), load3(G, i, 3)
    for j in range(nv):
        start[j], rate[j] = q[k + j], 0.0
        q[k + j] += 0.5 * d[v + j]
    for j in range(nv):
        rate[j] = 1.0
        scratch[2, j] = felt(bias(kind, param, i, q, k, rate, 0), G_a, G_l)
        rate[j] = 0.0
    for j in range(nv):
        E[j, j] += 0.25 * scratch[2, j]
        rate[j] = 1.0
        for l in range(j):
            rate[l] = 1.0
            both = felt(bias(kind, param, i, q, k, rate, 0), G_a, G_l) - scratch[2, j] - scratch[2, l]
            rate[l] = 0.0
            ja, jl, la, ll = load3(S1, v + j, 0), load3(S1, v + j, 3), load3(S1, v + l, 0), load3(S1, v + l, 3)
            turned = 4.0 * felt((cross(ja, la), add(cross(ja, ll), cross(jl, la))), G_a, G_l)
            E[j, l] += 0.125 * (both + turned)
            E[l, j] += 0.125 * (both - turned)
        rate[j] = 0.0
    for j in range(nv):
        q[k + j] = start[j]


mid_curvature = _by_kind(
    "mid_curvature", "kind, param, q, k, d, v, nv, S1, G, i, E, scratch", _curvature_from_bias,
    "E[j, l] += (d S0_j / d d_l) . G with the wrench G[i, :] held fixed in the midpoint body frame; scratch: (6, 6).", groups=True,
)  # fmt: skip


@inlined
def _other_dual(kind, S, dual, j):
    if needs_duals(kind):
        return load3(dual, j, 0), load3(dual, j, 3)
    return load3(S, j, 0), load3(S, j, 3)


dual_column = _by_kind(
    "dual_column", "kind, S, dual, j", _other_dual,
    "Wrench (moment, force) of a unit force on coordinate j; dual[j] where the joint needs it computed.", inline=True,
)  # fmt: skip


# ------------------------------------------------------------------------------------- different on groups and on plain coordinates


@kernel
def _half_of_columns(kind, param, i, q, k, d, v, nv, S0, S1, S2):
    columns(kind, param, i, q, k, d, v, 0.5, S0)
    for j in range(v, v + nv):
        for a in range(6):
            S0[j, a] *= 0.5
            S1[j, a] = S0[j, a]
            S2[j, a] = S0[j, a]


mid_columns = _by_kind(
    "mid_columns", "kind, param, i, q, k, d, v, nv, S0, S1, S2", _half_of_columns,
    "Twist of the midpoint pose per unit variation of the start (S0), of the increment (S1) and of the end (S2).", groups=True,
)  # fmt: skip
advance = _by_kind("advance", "kind, q, k, d, v, nv", plain.advance, "q <- q + d in place.", groups=True)
increment = _by_kind(
    "increment", "kind, q0, q1, k, v, nv, at_end, out", plain.increment,
    "out[v:] = the increment from q0 to q1, in the axes of q0 or of q1.", groups=True,
)  # fmt: skip
end_increment = _by_kind(
    "end_increment", "kind, d, v, nv, out", plain.end_increment,
    "out[v:] = the increment in the axes of the step's end: minus the increment that leads back.", groups=True,
)  # fmt: skip
increment_slope = _by_kind(
    "increment_slope", "kind, d, v, j, a, l", plain.increment_slope,
    "Derivative of increment j in the pose of the step's end, (a, l) the dual column there.", groups=True, inline=True,
)  # fmt: skip

# ... and those that have the same name for plain coordinates (plain.py)
_OTHERS = {
    "carry": ("kind, d, v, nv, r, target", "target -= r, a momentum at the start of the step seen from its end."),
    "rate": ("kind, q, k, velocity, v, nv, out", "out[k:] = time derivative of the coordinates for the joint velocity velocity[v:]."),
    "normalise": ("kind, q, k", "Put the coordinates back on their manifold (unit quaternions)."),
    "spring": (
        "kind, q, k, rest, d, v, nv, f, stiffness, g",
        "Energy of the joint spring at the fraction f (0 or 1/2) of the step; its gradient is added to g[v:].",
    ),
    "spring_curvature": (
        "kind, q, k, rest, d, v, nv, stiffness, S0, S1, E",
        "E[j, l] += derivative of the midpoint spring force on the start of joint j in the increment l (see loads at midpoint).",
    ),
    "retract": ("kind, retraction, x, v, nv, d", "d[v:] = the increment tau(x[v:])."),
    "retraction_cotangent": ("kind, retraction, x, v, nv, sign, p", "p[v:] <- (dtau^-1 at sign x)' p[v:]."),
    "rotate_and_slide": (
        "kind, x, v, nv, d",
        "d[v:] = the increment that turns by the rotation vector in x and translates by x in the axes of the step's start.",
    ),
    "canonical_rate": ("kind, x, v, nv, velocity, out", "out[v:] = dexp^-1_{-x} velocity, to second order in x."),
}
carry, rate, normalise, spring, spring_curvature, retract, retraction_cotangent, rotate_and_slide, canonical_rate = (
    _by_kind(name, parameters, getattr(plain, name), doc, groups=True) for name, (parameters, doc) in _OTHERS.items()
)


def _refuse_own_motion(joint: type, module: ModuleType) -> None:
    """`move_plainly` says why."""
    for name in ("advance", "carry"):
        if joint.nq == joint.nv and _has(module, name):
            raise TypeError(
                f"{module.__name__} has a function {name}, but {joint.__name__} as many coordinates as freedoms: they move by q += d"
            )


for _joint, _module in zip(_CLASSES, MODULES, strict=True):
    _refuse_own_motion(_joint, _module)


@inlined
def move_plainly(q, d):
    """Do all joints with these coordinates and increments move by q += d?  Others have more coordinates than degrees of freedom."""
    return q.shape[0] == d.shape[0]
