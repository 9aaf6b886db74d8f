"""Robot files beside Pinocchio, which reads the same files: all 69 of PyPI's example-robot-data where they are installed, and a small one.

The same at 20 configurations, and the energy of all of them: `python -m benchmarks robots`, docs/robots.md.
"""

import importlib
from pathlib import Path

import numpy as np
import pytest

import leastaction as la
from leastaction.testing import random_state

ROOT = Path(__file__).resolve().parents[2]
HOW = "the robots of example-robot-data are not installed (430 MB): pip install leastaction[robots], or make robots"
# what cannot be simulated at all, and the words by which it is refused
REFUSED = {
    "ur/ur3": "has no <link>", "romeo/romeo": "'RThumb3' moves body 'RThumb3Link'", "romeo/romeo_laas_small": "negative principal moment",
    "hector/quadrotor_base fixed": "nothing that moves", "iris/iris_simple fixed": "nothing that moves",
}  # fmt: skip
LET_GO = ["panda/panda", "talos/talos_reduced", "ur/ur5_robot", "anymal_b_simple/anymal"]

pytest.importorskip("pinocchio")
pytestmark = pytest.mark.skipif(not (ROOT / "benchmarks").is_dir(), reason="benchmarks are not part of the installed package")


@pytest.fixture(autouse=True)
def benchmarks_can_be_imported(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))


@pytest.fixture
def robots():
    return importlib.import_module("benchmarks.robots")


SMALL = """<robot name="small">
  <link name="base"><inertial><mass value="3"/><inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.15"/></inertial></link>
  <link name="arm"><inertial><origin xyz="0 0.1 0.2" rpy="0.3 0.1 -0.2"/><mass value="1"/>
    <inertia ixx="0.01" ixy="0.001" ixz="0.002" iyy="0.02" iyz="-0.001" izz="0.015"/></inertial></link>
  <link name="tool"><inertial><mass value="0.4"/><inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/></inertial></link>
  <link name="wheel"><inertial><mass value="0.5"/><inertia ixx="0.001" ixy="0" ixz="0" iyy="0.001" iyz="0" izz="0.002"/></inertial></link>
  <link name="slider"><inertial><mass value="0.5"/><inertia ixx="0.001" ixy="0" ixz="0" iyy="0.001" iyz="0" izz="0.001"/></inertial></link>
  <joint name="shoulder" type="revolute"><parent link="base"/><child link="arm"/><origin xyz="0.1 0 1" rpy="0.1 0.2 0.3"/>
    <axis xyz="0 0.6 0.8"/>    <limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
  <joint name="mount" type="fixed"><parent link="arm"/><child link="tool"/><origin xyz="0 0 0.3" rpy="0 0 1"/></joint>
  <joint name="spin" type="continuous"><parent link="tool"/><child link="wheel"/><origin xyz="0 0.2 0"/><axis xyz="0 0 1"/></joint>
  <joint name="slide" type="prismatic"><parent link="tool"/><child link="slider"/><axis xyz="0 1 0"/>
    <limit lower="-0.1" upper="0.1" effort="1" velocity="1"/></joint>
</robot>"""


@pytest.mark.parametrize("floating", [False, True])
def test_a_small_robot(robots, floating, tmp_path):
    path = tmp_path / "small.urdf"
    path.write_text(SMALL)
    worst = robots.compare(robots.read(path, floating))
    assert set(worst) == {"mass matrix", "gravity", "frames", "total mass"} and max(worst.values()) < 1e-13, worst


@pytest.mark.parametrize("floating", [False, True])
def test_every_robot(robots, floating):
    """The same joints, total mass, mass matrix, gravity and poses of all links, or refused by name."""
    files = robots.files()
    if not files:
        pytest.skip(HOW)
    assert len(files) >= 69
    for file in files:
        name = robots.short(file)
        robot = robots.read(file, floating)
        words = REFUSED.get(name) or REFUSED.get(f"{name} {'floating' if floating else 'fixed'}")
        if words:
            assert robot.model is None and words in robot.refused, name
            continue
        assert robot.model is not None, f"{name}: {robot.refused}"
        worst = robots.compare(robot, 2)
        assert max(worst.values()) < robots.TOLERANCE, f"{name}: {worst}"


@pytest.mark.parametrize("floating", [False, True])
def test_every_robot_is_written_for_mujoco(robots, floating, tmp_path):
    """As MJCF, which MuJoCo reads: the same mass matrix; or refused by name, because MuJoCo would not take a body."""
    pytest.importorskip("mujoco")
    from support.mjcf import Theirs

    if not robots.files():
        pytest.skip(HOW)
    unwritten, file = [], tmp_path / "robot.xml"
    for robot in (robots.read(file, floating, ("visual", "contact")) for file in robots.files()):
        if robot.mechanism is None or robot.model is None:
            continue
        try:
            robot.mechanism.save(file)
        except la.FormatError as error:
            assert "MuJoCo takes no moving body" in str(error) or "belong to no body" in str(error)
            unwritten.append(robots.short(robot.file))
            continue
        ours, theirs = robot.model, Theirs(file, la.load(file).compile())
        q, v = random_state(ours, np.random.default_rng(0))
        places = [(ours.q_slice(name), theirs.model.q_slice(name)) for name in ours.joint_names]
        moved = np.concatenate([np.arange(ours.nv)[ours.v_slice(name)] for name in theirs.model.joint_names])
        there = theirs.model.neutral()
        for here, at in places:
            there[at] = q[here]
        M, _ = theirs.inertia_and_forces(there, v[moved])
        wanted = la.dynamics.mass_matrix(ours, q)[np.ix_(moved, moved)]
        assert np.abs(M - wanted).max() < 1e-12 * np.abs(wanted).max(), robot.file
    assert unwritten == ["icub/icub", "icub/icub_reduced", "romeo/romeo_small"]


@pytest.mark.parametrize("name", LET_GO)
def test_robots_let_go_keep_their_energy(robots, name):
    file = next((f for f in robots.files() if robots.short(f) == name), None)
    if file is None:
        pytest.skip(HOW)
    got = robots.flies(robots.read(file, False, also=("damping", "friction")))
    assert got["order 2"] < robots.LIMITS["order 2"] and got["order 4"] < robots.LIMITS["order 4"]
    assert 3.5 < got["gain"] < 4.5


def test_masses_are_those_of_the_file(robots):
    """Independent of both readers: the sum of all <mass value> in the text."""
    import xml.etree.ElementTree as ElementTree

    if not robots.files():
        pytest.skip(HOW)
    for file in robots.files()[::7]:
        robot = robots.read(file, True)
        if robot.model is not None:
            wanted = sum(float(element.get("value")) for element in ElementTree.parse(file).iter("mass"))
            assert sum(body.mass for body in robot.mechanism.bodies.values()) == pytest.approx(wanted, rel=1e-12)


def test_the_first_error_of_a_robot_names_what_to_ignore(robots):
    if not robots.files():
        pytest.skip(HOW)
    panda = next(f for f in robots.files() if f.stem == "panda")
    with pytest.raises(la.FormatError, match=r"panda\.urdf:\d+: 21 things.*ignore=\['dynamics'\]"):
        la.load(panda)
    model = la.load(panda, ignore=["dynamics"]).compile()
    with pytest.raises(la.StateError, match=r"'panda_joint4' is beyond its upper limit -0.0698.*q=\{'panda_joint4': -0.0698\}"):
        la.simulate(model, dt=1e-3, steps=1)
    assert np.isfinite(la.simulate(model, dt=1e-3, steps=5, q={"panda_joint4": -1.5}).energy).all()


def check_couplings(file, ignore, rng):
    """Accelerations with the couplings kept as constraints, and by Pinocchio, which leaves the coupled coordinates out."""
    import pinocchio as pin

    mech = la.load(file, ignore=ignore)
    model, theirs = mech.compile(), pin.buildModelFromUrdf(str(file), mimic=True)
    followers = {gear.joint1: gear for gear in mech.constraints}
    free = [name for name in list(theirs.names)[1:] if name not in followers]
    assert followers and len(free) == theirs.nv
    z, dz = 0.3 * rng.normal(size=(2, theirs.nv))
    q, v = dict(zip(free, z, strict=True)), dict(zip(free, dz, strict=True))
    for name, gear in followers.items():
        q[name], v[name] = gear.ratio * q[gear.joint2] + gear.offset, gear.ratio * v[gear.joint2]
    data = theirs.createData()
    q_pin = pin.integrate(theirs, pin.neutral(theirs), z)  # theirs has cosine and sine of continuous joints
    M = pin.crba(theirs, data, q_pin)
    M = np.triu(M) + np.triu(M, 1).T
    wanted = np.linalg.solve(M, -pin.nonLinearEffects(theirs, data, q_pin, dz))
    a = la.dynamics.forward(model, q, v)
    got = np.concatenate([a[model.v_slice(name)] for name in free])
    assert np.abs(M @ (got - wanted)).max() < 1e-9 * np.abs(M @ wanted).max()
    for name, gear in followers.items():
        np.testing.assert_allclose(a[model.v_slice(name)], gear.ratio * a[model.v_slice(gear.joint2)], atol=1e-9 * np.abs(a).max())


def test_couplings(tmp_path):
    path = tmp_path / "coupled.urdf"
    mimic = '<mimic joint="shoulder" multiplier="-0.4" offset="0.05"/>'
    path.write_text(SMALL.replace('<axis xyz="0 1 0"/>', f'<axis xyz="0 1 0"/>{mimic}').replace('"continuous"', '"revolute"').replace(
        '<origin xyz="0 0.2 0"/>', '<origin xyz="0 0.2 0"/><limit lower="-3" upper="3" effort="1" velocity="1"/>'))  # fmt: skip
    for seed in range(5):
        check_couplings(path, (), np.random.default_rng(seed))


@pytest.mark.parametrize("name", ["panda/panda", "tiago_pro/tiago_pro"])  # Pinocchio cannot read those of talos
def test_couplings_of_robots(robots, name):
    file = next((f for f in robots.files() if robots.short(f) == name), None)
    if file is None:
        pytest.skip(HOW)
    check_couplings(file, ["friction", "dynamics", "damping"], np.random.default_rng(0))
