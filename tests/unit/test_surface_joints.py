"""Joints of the library: shapes touch where independent formulas say, kernels are derivatives of the pose, mistakes are named."""

import subprocess
import sys
from functools import cache

import numpy as np
import pytest

import leastaction as la
from leastaction.testing import joint_laws
from leastaction.testing.joint_alone import JointAlone

lib = la.library
ROUNDING = 1e-12

GRID = np.linspace(-1.0, 1.0, 5)
BOWL = np.array([[(x, y, 0.3 * x * x + 0.2 * y * y + 0.1 * x * y) for y in GRID] for x in GRID])
WIRE = np.array([(-3, 0, 2), (-2, 1, 0), (-1, 0, -1), (0, -1, -1), (1, 0, -1), (2, 1, 0), (3, 0, 2)], dtype=float)


def de_casteljau(points, t):
    """Point and derivative of a Bezier curve, by repeated halving of polygons; no Bernstein polynomials."""
    points = np.asarray(points, dtype=float)
    while len(points) > 2:
        degree, points = len(points) - 1, (1 - t) * points[:-1] + t * points[1:]
        slope = degree * (points[1] - points[0]) if len(points) == 2 else None
    return (1 - t) * points[0] + t * points[1], slope


# --- shapes as (joint's surface, point(u, v), outer normal(u, v)), written down independently of the library


def on_sphere(r):
    normal = lambda u, v: np.array([np.cos(v) * np.cos(u), np.cos(v) * np.sin(u), np.sin(v)])
    return lib.sphere(r), lambda u, v: r * normal(u, v), normal


def on_torus(R, r):
    normal = lambda u, v: np.array([np.cos(v) * np.cos(u), np.cos(v) * np.sin(u), np.sin(v)])
    return lib.torus(R, r), lambda u, v: R * np.array([np.cos(u), np.sin(u), 0.0]) + r * normal(u, v), normal


def on_ellipsoid(*axes):
    point = lambda u, v: np.array(axes) * [np.cos(v) * np.cos(u), np.cos(v) * np.sin(u), np.sin(v)]

    def normal(u, v):
        gradient = point(u, v) / np.array(axes) ** 2
        return gradient / np.linalg.norm(gradient)

    return lib.ellipsoid(*axes), point, normal


def on_saddle(bend):
    def normal(u, v):
        gradient = np.array([-bend * v, -bend * u, 1.0])
        return gradient / np.linalg.norm(gradient)

    saddle = lib.surface("saddle", lambda u, v, sp, p: (u, v, p.bend * u * v), parameters={"bend": bend})
    return saddle, lambda u, v: np.array([u, v, bend * u * v]), normal


def on_bowl(points):
    def normal(u, v):
        rows = np.array([de_casteljau(row, v) for row in points])
        vector = np.cross(de_casteljau(rows[:, 0], u)[1], de_casteljau(rows[:, 1], u)[0])
        return vector / np.linalg.norm(vector)

    return lib.bezier_surface(points), lambda u, v: de_casteljau([de_casteljau(row, v)[0] for row in points], u)[0], normal


def inside(shape):
    surface, point, normal = shape
    return surface.inside(), point, lambda u, v: -normal(u, v)


# each with the spin it is tested with; None turns freely
PAIRS = {
    "sphere-sphere": (on_sphere(0.7), on_sphere(0.4), 0.0),
    "sphere-ellipsoid": (on_sphere(0.7), on_ellipsoid(0.5, 0.4, 0.3), 0.0),
    "sphere-torus": (on_sphere(0.4), on_torus(1.0, 0.3), 0.0),
    "torus-torus": (on_torus(1.0, 0.3), on_torus(0.9, 0.25), np.pi / 2),
    "torus-torus, turning": (on_torus(1.0, 0.3), on_torus(0.9, 0.25), None),
    "torus-ellipsoid": (on_torus(1.0, 0.3), on_ellipsoid(0.5, 0.4, 0.3), np.pi / 2),
    "saddle-sphere": (on_saddle(0.6), on_sphere(0.3), 0.7),
    "ball in a bowl": (inside(on_sphere(1.0)), on_sphere(0.3), np.pi / 2),
}

# each with its spin, and the owner of the surface
POINTS = {
    "sphere": (on_sphere(0.7), 0.4, "parent"),
    "torus": (on_torus(1.0, 0.3), 0.0, "child"),
    "ellipsoid": (on_ellipsoid(0.5, 0.4, 0.3), 0.0, "parent"),
    "saddle": (on_saddle(0.6), 0.0, "parent"),
    "Bezier surface": (on_bowl(BOWL), None, "parent"),
}

LINKAGES = {
    "knee": lambda: lib.four_bar_knee(),
    "cam of waves": lambda: lib.barrel_cam(cosine=(0.1,), sine=(0.0, 0.05)),
    "cam of a function": lambda: lib.barrel_cam(lambda a, sp, p: p.height * sp.exp(sp.sin(a)), parameters={"height": 0.1}),
    "planet outside": lambda: lib.planet_gear(0.3, 0.1),
    "planet inside": lambda: lib.planet_gear(0.3, 0.1, inside=True),
}


@cache  # making a joint of a large expression takes a second
def touching(pair):
    (first, *_), (second, *_), spin = PAIRS[pair]
    return lib.surface_surface(first, second, spin=spin)


@cache
def sliding(shape):
    (surface, *_), spin, carrier = POINTS[shape]
    return lib.surface_point(surface, spin=spin, carrier=carrier)


@cache
def bead():
    """On a gentle wire: the difference quotients of the laws need steps of 1e-3 to be small against its bends."""
    return lib.curve_point(lib.bezier_curve(WIRE * (1.0, 0.3, 0.3)), spin=None)


JOINTS = (
    {name: lambda name=name: touching(name) for name in PAIRS}
    | {f"point on {name}": lambda name=name: sliding(name) for name in POINTS}
    | {"bead": bead}
    | LINKAGES
)


def near_start(joint, rng):
    return joint.neutral() + 0.2 * rng.normal(size=joint.nq)


# --- geometry


@pytest.mark.parametrize("pair", PAIRS)
def test_surfaces_touch(pair):
    """Points coincide, normals are opposite, and the tangents along u enclose the spin."""
    (_, point1, normal1), (_, point2, normal2), spin = PAIRS[pair]
    joint = touching(pair)
    assert joint.nv == (5 if spin is None else 4)
    alone, rng = JointAlone(joint), np.random.default_rng(1)
    for _ in range(10):
        q = rng.uniform(-1.4, 1.4, size=joint.nq)
        X = alone.pose(q)
        assert np.abs(X[:3, :3] @ point2(*q[2:4]) + X[:3, 3] - point1(*q[:2])).max() < ROUNDING
        assert np.abs(X[:3, :3] @ normal2(*q[2:4]) + normal1(*q[:2])).max() < ROUNDING
        tangent1, tangent2 = along_u(point1, *q[:2]), X[:3, :3] @ along_u(point2, *q[2:4])
        angle = np.arctan2(normal1(*q[:2]) @ np.cross(tangent1, tangent2), tangent1 @ tangent2)
        assert abs(angle - (q[4] if spin is None else spin)) < 1e-8  # of the difference quotient


def along_u(point, u, v, step=1e-6):
    return (point(u + step, v) - point(u - step, v)) / (2 * step)


@pytest.mark.parametrize("shape", POINTS)
def test_point_lies_on_the_surface(shape):
    (_, point, normal), spin, carrier = POINTS[shape]
    joint = sliding(shape)
    assert joint.nv == (3 if spin is None else 2)
    alone, rng = JointAlone(joint), np.random.default_rng(2)
    for _ in range(10):
        q = near_start(joint, rng)
        X = alone.pose(q) if carrier == "parent" else np.linalg.inv(alone.pose(q))
        assert np.abs(X[:3, 3] - point(*q[:2])).max() < ROUNDING
        assert np.abs(X[:3, 2] - normal(*q[:2])).max() < ROUNDING
        tangent = along_u(point, *q[:2])
        angle = np.arctan2(X[:3, 2] @ np.cross(tangent, X[:3, 0]), X[:3, 0] @ tangent)
        assert abs(angle - (q[2] if spin is None else spin)) < 1e-8


def test_bead_follows_the_wire():
    joint, rng = lib.curve_point(lib.bezier_curve(WIRE), spin=None), np.random.default_rng(3)
    alone = JointAlone(joint)
    for s in rng.uniform(0.05, 0.95, size=10):
        X = alone.pose(np.array([s, 0.0]))
        point, slope = de_casteljau(WIRE, s)
        assert np.abs(X[:3, 3] - point).max() < ROUNDING
        assert np.abs(X[:3, 2] - slope / np.linalg.norm(slope)).max() < ROUNDING
        assert X[2, 0] > 0  # x leans towards up,
        assert abs(X[2, 1]) < ROUNDING  # y stays level
        turned = alone.pose(np.array([s, 0.4]))
        assert np.abs(turned[:3, 2:] - X[:3, 2:]).max() < ROUNDING
        assert turned[:3, 0] @ X[:3, 0] == pytest.approx(np.cos(0.4), abs=ROUNDING)


@pytest.mark.parametrize(
    "make",
    [bead, lambda: sliding("Bezier surface"), lambda: touching("sphere-sphere")],
    ids=["curve", "surface", "spheres"],
)
def test_other_numbers_share_the_code(make):
    joint, rng = make(), np.random.default_rng(4)
    changed = {key: value + 0.1 * rng.uniform(size=value.shape) for key, value in joint._values.items()}
    other = joint.with_parameters(**changed)
    assert other.kind == joint.kind
    assert np.abs(JointAlone(other).pose(other.neutral()) - JointAlone(joint).pose(joint.neutral())).max() > 1e-3


def test_knee_bars_keep_their_lengths():
    femur, tibia = np.array(((0.008, 0.012), (-0.004, 0.006))), np.array(((-0.013, -0.018), (0.014, -0.020)))
    alone = JointAlone(lib.four_bar_knee(femur, tibia))
    assert np.abs(alone.pose(np.zeros(1)) - np.eye(4)).max() < ROUNDING
    for angle in np.linspace(-3.0, 3.0, 13):
        X = alone.pose(np.array([angle]))
        assert np.arctan2(X[1, 0], X[0, 0]) == pytest.approx(angle, abs=ROUNDING)
        ends = tibia @ X[:2, :2].T + X[:2, 3]
        assert np.abs(np.linalg.norm(ends - femur, axis=1) - np.linalg.norm(tibia - femur, axis=1)).max() < ROUNDING


@pytest.mark.parametrize("side", ["planet outside", "planet inside"])
def test_planet_rolls(side):
    """The planet's point of contact stands still."""
    joint = LINKAGES[side]()
    for angle in (0.0, 0.7, 2.0):
        X, S = joint.reference_pose(np.array([angle])), joint.columns(np.array([angle]))[0]
        contact = np.linalg.inv(X) @ [0.3 * np.cos(angle), 0.3 * np.sin(angle), 0.0, 1.0]
        assert np.linalg.norm(contact[:3]) == pytest.approx(0.1)
        assert np.abs(S[3:] + np.cross(S[:3], contact[:3])).max() < ROUNDING


def test_cam_is_lifted_by_its_track():
    q = np.array([0.8])
    assert JointAlone(LINKAGES["cam of waves"]()).pose(q)[2, 3] == pytest.approx(0.1 * np.cos(0.8) + 0.05 * np.sin(1.6), abs=ROUNDING)
    assert JointAlone(LINKAGES["cam of a function"]()).pose(q)[2, 3] == pytest.approx(0.1 * np.exp(np.sin(0.8)), abs=ROUNDING)


# --- laws


@pytest.mark.parametrize("name", JOINTS)
def test_kernels_are_derivatives_of_the_pose(name):
    joint, rng = JOINTS[name](), np.random.default_rng(5)
    alone = JointAlone(joint)
    for _ in range(3):
        q, d, v = near_start(joint, rng), 0.2 * rng.normal(size=joint.nv), rng.normal(size=joint.nv)
        for f in (0.0, 0.5, 1.0):
            X = alone.pose(q, d, f)
            assert np.abs(X[:3, :3].T @ X[:3, :3] - np.eye(3)).max() < ROUNDING
            assert np.abs(X - joint.reference_pose(q + f * d)).max() < ROUNDING
        exact = joint.columns(q)  # by complex steps
        assert np.abs(alone.columns(q) - exact).max() < ROUNDING * max(1.0, np.abs(exact).max())
        for law in joint_laws._LAWS:
            if law is not joint_laws._law_pose:  # it wants the identity at the start, which surfaces do not promise
                law(alone, q, d, v, rng)


def test_rings_at_right_angles_are_never_singular():
    """rank 4 everywhere: the smallest singular value stays away from zero over all positions around both tubes."""
    joint = lib.surface_surface(lib.torus(1.0, 0.3), lib.torus(1.0, 0.3))
    around = np.linspace(0, 2 * np.pi, 13)
    smallest = min(np.linalg.svd(joint.columns([0, a, 0, b]), compute_uv=False)[-1] for a in around for b in around)
    assert smallest > 0.1


def test_importing_the_package_does_not_import_sympy():
    code = "import sys, leastaction as la; la.library.torus(1.0, 0.3); print('sympy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "False"


# --- mistakes


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: lib.torus(0.3, 0.3), "closes the hole"),
        (lambda: lib.sphere(-1.0), "sphere radius = -1.0"),
        (lambda: lib.ellipsoid(1.0, 0.0, 1.0), "ellipsoid b = 0.0"),
        (lambda: lib.bezier_surface(WIRE), r"\(7, 3\).*\(5, 5, 3\)"),
        (lambda: lib.bezier_curve(BOWL), r"\(5, 5, 3\).*\(7, 3\)"),
        (lambda: lib.bezier_curve(WIRE, up=(0, 0, 0)), "no direction"),
        (lambda: lib.surface_surface(lib.sphere(1.0), 2.0), "second = 2.0 is not a surface"),
        (lambda: lib.surface_point(lib.bezier_curve(WIRE)), "is not a surface"),
        (lambda: lib.surface_point(lib.sphere(1.0), carrier="body"), "'parent' or 'child'"),
        (lambda: lib.surface_point(lib.sphere(1.0), spin=None, start=(0.0, np.pi / 2, 0.0)), "singular at its start.*'u' and 'spin'"),
        (lambda: lib.surface_point(lib.surface("tip", lambda u, v, sp, p: (u * u, v, 0))), "tip"),
        (lambda: lib.barrel_cam(), "either"),
        (lambda: lib.barrel_cam(lambda a, sp, p: a, sine=(1.0,)), "either"),
        (lambda: lib.planet_gear(0.1, 0.3, inside=True), "does not fit"),
        (lambda: lib.four_bar_knee(femur=(0.0, 1.0)), "four_bar_knee: femur"),
    ],
)
def test_mistakes_are_named(make, message):
    with pytest.raises(la.MechanismError, match=message):
        make()


def test_rings_that_lock_are_named():
    with pytest.warns(UserWarning, match="does not fit the hole"):
        lib.surface_surface(lib.torus(1.0, 0.6), lib.torus(1.0, 0.6))
