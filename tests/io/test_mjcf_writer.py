"""Mechanisms as MJCF files: what is written and read again moves the same, for MuJoCo too; what MJCF cannot say is named."""

import numpy as np
import pytest

mujoco = pytest.importorskip("mujoco")

from support.mjcf import Theirs, differences  # noqa: E402

import leastaction as la  # noqa: E402
from leastaction.cli import main  # noqa: E402
from leastaction.testing import random_state  # noqa: E402

HEAVY = {"mass": 1.3, "com": (0.1, -0.2, 0.3), "inertia": [(0.5, 0.03, 0.02), (0.03, 0.4, 0.01), (0.02, 0.01, 0.3)]}
TURNED = la.Pose((0.3, 0.1, -0.2), rpy=(0.4, -0.7, 1.1))


def everything():
    """Every joint MJCF knows, chains without mass among them, and all that acts on them."""
    mech = la.Mechanism(gravity=(1.0, 2.0, -9.0), name='every "joint" & <more>')
    mech.add_body("base", joint=la.Free(), joint_name="root", **HEAVY)
    mech.add_body("hip", "base", la.Universal((0, 1, 0), (0, 0, 1)), TURNED, armature=(0.2, 0.3), **HEAVY)
    mech.add_body("slab", "hip", la.Planar((1, 2, 3)), TURNED, armature=0.1, **HEAVY)
    mech.add_body("bolt", "hip", la.Cylindrical((3, -1, 1)), TURNED, **HEAVY)
    mech.add_body("ball", "slab", la.Spherical(), TURNED, **HEAVY)
    mech.add_body("first", "ball", la.Revolute((0, 1, 1)), TURNED, armature=0.7)  # three joints, one body
    mech.add_body("second", "first", la.Prismatic((1, 0, 2)), TURNED, joint_name="slider")
    mech.add_body("third", "second", la.Revolute((1, 1, 0)), TURNED, **HEAVY)
    mech.add_body("pin", joint=la.Revolute((0, 1, 0)), placement=TURNED)  # no mass but what is fixed to it
    mech.add_body("rod", "pin", la.Fixed(), TURNED, **{**HEAVY, "inertia": (0.3, 0.2, 0.5)})  # flat: two moments add up to the third
    mech.add_body("tilted", "rod", la.Fixed(), TURNED, **{**HEAVY, "inertia": TURNED.R @ np.diag([0.1, 0.2, 0.3]) @ TURNED.R.T})
    mech.add_body("dust", "tilted", la.Fixed(), TURNED, mass=0.1, inertia=(0.0, 0.0, 0.1), unphysical=True)  # in one with the rest
    mech.add_frame("eye", "third", TURNED)
    mech.add_frame("post", "world", TURNED)
    for force in (
        la.Spring("hip", (3.0, 4.0), (0.2, -0.1)), la.Spring("ball", 2.0), la.Spring("slider", 5.0, 0.3),
        la.Damper("slab", (0.1, 0.2, 0.3)), la.Damper("root", 0.4), la.Damper("ball", 0.3), la.Damper("pin", 0.2), la.Damper("pin", 0.3),
    ):  # fmt: skip
        mech.add_force(force)
    return mech


def driven():
    """Motors, servos, friction, limits, shapes and keyframes."""
    mech = la.Mechanism()
    mech.add_body("rod", joint=la.Revolute((0, 1, 0)), joint_name="hinge", **HEAVY)
    mech.add_body("cart", "rod", la.Prismatic((1, 0, 0)), TURNED, **HEAVY)
    mech.add_body("free", joint=la.Free(), **HEAVY)
    mech.add_motor(la.Motor("hinge", gear=-3.0, limit=(-0.5, 1.0), name="motor"))
    mech.add_motor(la.Motor("cart", gear=2.0, limit=(-np.inf, 1.5), name="pusher"))
    mech.add_motor(la.Motor({"cart": 0.5, "hinge": -2.0}, gear=4.0, name="cable"))
    mech.add_servo(la.Servo("hinge", 40.0, 3.0, limit=(-7.0, 9.0), target=0.3, range=(-0.5, 0.6), name="holder"))
    mech.add_servo(la.Servo("cart", 0.0, 4.0, velocity=-0.2, range=(-1.0, np.inf), name="speed"))
    mech.add_force(la.DryFriction("cart", 1.5))
    mech.add_limit("hinge", -1.0, 2.0, velocity=3.0, effort=40.0)
    mech.add_limit("cart", upper=0.4)
    mech.add_body("stuck", "cart", la.Revolute(), **HEAVY)
    mech.add_limit("stuck", 0.2, 0.2)
    for k, shape in enumerate((la.Box((0.1, 0.2, 0.3)), la.Sphere(0.2), la.Cylinder(0.1, 0.4), la.Capsule(0.1, 0.3))):
        mech.add_shape(("rod", "cart", "world", "rod")[k], shape, TURNED, color=(0.5, 0.25, 0.75, 1.0), role=("visual", "collision")[k % 2])
    turned = np.array([0.5, 0.5, -0.5, 0.5])
    mech.keyframes["bent"] = {"q": {"hinge": 0.3, "free": (1, 2, 3, *turned)}, "v": {"cart": -1.0, "free": (1, 2, 3, 4, 5, 6)}, "t": 2.0}
    return mech


def again(mech, tmp_path, name="robot.xml"):
    mech.save(tmp_path / name)
    return la.load(tmp_path / name)


def test_written_and_read_again_moves_the_same(tmp_path):
    mech = everything()
    read = again(mech, tmp_path)
    assert read.name == mech.name and not read.notes
    ours, theirs = mech.compile(), read.compile()
    assert (ours.nq, ours.nv) == (theirs.nq, theirs.nv)
    rng = np.random.default_rng(0)
    for _ in range(5):
        q, v = random_state(ours, rng)
        np.testing.assert_allclose(la.dynamics.mass_matrix(theirs, q), la.dynamics.mass_matrix(ours, q), atol=1e-12)
        np.testing.assert_allclose(la.dynamics.forward(theirs, q, v), la.dynamics.forward(ours, q, v), rtol=1e-9, atol=1e-9)
        for name in (*(body for body in mech.bodies if body not in ("first", "second")), *mech.frames):
            pose, wanted = la.dynamics.pose(theirs, q, name), la.dynamics.pose(ours, q, name)
            np.testing.assert_allclose(np.vstack([pose.R, pose.p]), np.vstack([wanted.R, wanted.p]), atol=1e-12)
    assert differences(Theirs(tmp_path / "robot.xml", theirs)).max() < 1e-11  # MuJoCo's reading of what was written
    text = (tmp_path / "robot.xml").read_text()
    again(read, tmp_path, "twice.xml")
    once, twice = (np.array([float(x) for x in t.replace('"', " ").split() if _is_number(x)]) for t in
                   (text, (tmp_path / "twice.xml").read_text()))  # fmt: skip
    np.testing.assert_allclose(twice, once, atol=1e-12)


def _is_number(word):
    try:
        float(word)
    except ValueError:
        return False
    return True


def test_actuators_friction_limits_shapes_and_keyframes_come_back(tmp_path):
    mech = driven()
    read = again(mech, tmp_path)
    assert read.motors == mech.motors and read.limits == mech.limits and len(read.forces) == 1
    for found, wanted in zip(read.servos, mech.servos, strict=True):
        assert (found.name, found.joint, found.limit) == (wanted.name, wanted.joint, wanted.limit)
        numbers = [(s.kp, s.kd, s.target, s.velocity, *s.range) for s in (found, wanted)]
        np.testing.assert_allclose(*numbers, rtol=1e-15)
    assert {(s.body, s.shape, s.color, s.role) for s in read.shapes} == {(s.body, s.shape, s.color, s.role) for s in mech.shapes}
    model, other = mech.compile(), read.compile()
    wanted, found = model.state(**mech.keyframes["bent"]), other.state(**read.keyframes["bent"])
    np.testing.assert_allclose([*found.q, *found.v, found.t], [*wanted.q, *wanted.v, wanted.t], atol=1e-15)
    theirs, rng = mujoco.MjModel.from_xml_path(str(tmp_path / "robot.xml")), np.random.default_rng(0)
    data = mujoco.MjData(theirs)
    np.testing.assert_allclose(theirs.dof_frictionloss, [0.0, 1.5, *np.zeros(7)])
    for _ in range(10):  # without inputs, servos hold their own targets
        q, v = rng.normal(size=2), rng.normal(size=2)
        data.qpos[:2], data.qvel[:2] = q, v
        mujoco.mj_forward(theirs, data)
        holder, speed = np.clip(40.0 * (0.3 - q[0]) - 3.0 * v[0], -7.0, 9.0), 4.0 * (-0.2 - v[1])
        np.testing.assert_allclose(data.qfrc_actuator[:2], [holder, speed], atol=1e-12)


def test_shapes_that_are_not_turned_need_no_rotation(tmp_path):
    mech = la.examples.chain(1)
    mech.add_shape("link1", la.Box((0.1, 0.2, 0.3)), la.Pose(xyz=(0.0, 0.0, -0.5)))
    mech.add_shape("link1", la.Sphere(0.1), TURNED)
    mech.save(tmp_path / "plain.xml")
    box, sphere = (line for line in (tmp_path / "plain.xml").read_text(encoding="utf-8").splitlines() if "<geom" in line)
    assert "quat=" not in box and "quat=" in sphere


def test_keyframes_without_a_time_begin_at_zero(tmp_path):
    mech = driven()
    mech.keyframes |= {"bent": {"q": {"hinge": 0.3}}, "later": {"q": {"hinge": 0.3}, "t": 1.5}}
    read = again(mech, tmp_path)
    times = [read.compile().state(**read.keyframes[name]).t for name in ("bent", "later")]
    assert times == [mech.compile().state(**mech.keyframes[name]).t for name in ("bent", "later")] == [0.0, 1.5]


LOOPS = {
    "Coincident": la.Coincident("tip", "anchor"),
    "Close(Fixed)": la.Close(la.Fixed(), "tip", "world"),
    "Close(Spherical)": la.Close(la.Spherical(), "link3", "anchor"),
    "Gear": la.Gear("link2", "link1", -1.5, 0.2),
    "Prescribed": la.Prescribed("link2", 0.3),
}


@pytest.mark.parametrize("kind", LOOPS)
def test_loops_are_closed_the_same_way(tmp_path, kind):
    mech = la.examples.chain(3, spatial=True)
    mech.add_frame("anchor", "world", TURNED)
    mech.add_constraint(LOOPS[kind], name="loop")
    ours, theirs = mech.compile(), again(mech, tmp_path).compile()
    beside = Theirs(tmp_path / "robot.xml", theirs)
    beside.m.opt.disableflags &= ~int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
    rng = np.random.default_rng(1)
    for _ in range(3):
        q, v = random_state(ours, rng)
        beside.set(q, v)
        wanted = np.linalg.norm(la.constraints.values(ours, q))
        assert np.linalg.norm(la.constraints.values(theirs, q)) == pytest.approx(wanted, rel=1e-12) and wanted > 1e-3
        if kind != "Close(Fixed)":  # their measure of a rotation is another one
            assert np.linalg.norm(beside.data.efc_pos[: beside.data.nefc]) == pytest.approx(wanted, rel=1e-10)


def test_a_hinge_that_closes_a_loop_is_two_points_of_its_axis(tmp_path):
    mech = la.examples.chain(4)
    mech.add_constraint(la.Close(la.Revolute((0, 1, 0)), "tip", "world"), name="pin")
    model, other = mech.compile(), again(mech, tmp_path).compile()
    q = model.assemble({"link1": 0.5, "link2": 1.2, "link3": 1.6, "link4": 1.4})
    assert np.abs(la.constraints.values(other, q)).max() < 1e-9
    assert np.linalg.matrix_rank(la.constraints.jacobian(other, q), 1e-9) == np.linalg.matrix_rank(la.constraints.jacobian(model, q), 1e-9)


def _changed(change):
    mech = la.examples.chain(2)
    change(mech)
    return mech


def _hung(joint, name="more", **heavy):
    return lambda mech: mech.add_body(name, "link2", joint, **(heavy or HEAVY))


REFUSED = {
    "hangs on Helical": _hung(la.Helical()),
    "free bodies start from the origin": _hung(la.Free()),
    "moves with mass 0 kg": _hung(la.Revolute(), mass=0.0),
    "moments 0, 0.1, 0.1": _hung(la.Revolute(), mass=1.0, inertia=(0.1, 0.1, 0.0)),
    "belong to no body": _hung(la.Revolute(), mass=1.0, inertia=(1.0, 1.0, 3.0), unphysical=True),
    "LinearSpring": lambda mech: mech.add_force(la.LinearSpring("tip", "world", 3.0)),
    "one number for all its freedoms": lambda mech: (
        mech.add_body("b", "link2", la.Spherical(), **HEAVY), mech.add_force(la.Damper("b", (1.0, 2.0, 3.0)))),
    "rests at": lambda mech: (
        mech.add_body("b", "link2", la.Spherical(), **HEAVY), mech.add_force(la.Spring("b", 1.0, (0.6, 0.8, 0.0, 0.0)))),
    "no springs of free joints": lambda mech: (
        mech.add_body("b", joint=la.Free(), **HEAVY), mech.add_force(la.Spring("b", (1.0, 1.0)))),
    "it knows Coincident": lambda mech: mech.add_constraint(la.Distance("tip", "world", 1.0)),
    "directions=": lambda mech: mech.add_constraint(la.Coincident("tip", "world", [(1, 0, 0)])),
    "does nothing": lambda mech: mech.add_motor(la.Motor("link1", gear=0.0)),
    "has no place beside a target": lambda mech: mech.add_servo(la.Servo("link1", 1.0, velocity=2.0)),
    "two different ends": lambda mech: mech.add_motor(la.Motor("link1", limit=0.0)),
    r"part\.dae.*MuJoCo reads": lambda mech: mech.add_shape("link1", la.Mesh("part.dae")),
    "name the joints": lambda mech: mech.keyframes.update(a={"q": np.array([0.1, 0.2])}),
    "hangs on 'nowhere'": lambda mech: mech.add_body("lost", "nowhere", la.Revolute(), **HEAVY),
    "'nowhere' is named": lambda mech: mech.add_constraint(la.Coincident("tip", "nowhere")),
    "'lost' hangs on 'nobody', which does not exist": lambda mech: mech.add_frame("lost", "nobody"),
}  # fmt: skip


@pytest.mark.parametrize("words", REFUSED)
def test_what_mjcf_cannot_say_is_named(tmp_path, words):
    with pytest.raises(la.FormatError, match=words):
        _changed(REFUSED[words]).save(tmp_path / "robot.xml")
    assert not (tmp_path / "robot.xml").exists()


def test_long_chains_are_refused_where_the_reader_would(tmp_path):
    again(la.examples.chain(61), tmp_path)
    with pytest.raises(la.FormatError, match="'link62' hangs on 61 others"):
        la.examples.chain(70).save(tmp_path / "long.xml")


def test_bundled_mechanisms_are_written_or_refused(tmp_path):
    written = 0
    for name in ("chain", "ball_chain", "cart_pole", "double_pendulum", "four_bar", "gyroscope", "heavy_top", "humanoid", "robot_arm",
                 "satellite", "slider_crank", "t_handle", "tumbling_body", "furuta_pendulum", "screw", "torus_chain"):  # fmt: skip
        mech = getattr(la.examples, name)(*((3,) if "chain" in name else ()))
        try:
            read = again(mech, tmp_path)
        except la.FormatError as error:
            assert "an .xml file" in str(error) or "MuJoCo takes no" in str(error)
            continue
        written += 1
        model, other = mech.compile(), read.compile()
        q, _ = random_state(model, np.random.default_rng(0))
        np.testing.assert_allclose(la.dynamics.mass_matrix(other, q), la.dynamics.mass_matrix(model, q), rtol=1e-12, atol=1e-12)
    assert written >= 8


def test_the_command_line_converts(tmp_path, capsys):
    from leastaction import data

    arm = next(iter(data.__path__)) + "/arm.urdf"
    assert main(["convert", arm, str(tmp_path / "arm.xml")]) == 0
    ours, theirs = la.load(arm).compile(), la.load(tmp_path / "arm.xml").compile()
    assert differences(Theirs(tmp_path / "arm.xml", theirs)).max() < 1e-11
    q, _ = random_state(ours, np.random.default_rng(0))
    np.testing.assert_allclose(la.dynamics.mass_matrix(theirs, q), la.dynamics.mass_matrix(ours, q), atol=1e-12)
