"""Servos and dry friction of robot files: what is read, and what MuJoCo does with the same file."""

import numpy as np
import pytest

import leastaction as la
from leastaction.io.sdf import parse_model
from leastaction.io.urdf import parse_robot

ROBOT = """<mujoco><option gravity="0 0 0"/><worldbody>
  <body name="rod"><joint name="pin" axis="0 1 0" {joint}/><geom type="box" size=".1 .2 .3" pos="0 0 -1"/>
    <body name="cart"><joint name="slide" type="slide" axis="1 0 0"/><geom type="box" size=".1 .2 .3"/></body></body>
</worldbody><actuator>{actuators}</actuator></mujoco>"""

ACTUATORS = """
  <position name="plain" joint="pin" kp="30"/>
  <position name="geared" joint="slide" kp="20" kv="3" gear="-2.5" ctrlrange="-1 .5" ctrllimited="true" forcerange="-7 9"
            forcelimited="true"/>
  <velocity name="speed" joint="pin" kv="4" gear="3" ctrlrange="-1 2" ctrllimited="true"/>
  <general name="affine" joint="slide" gainprm="6" biastype="affine" biasprm="1.5 -8 -.5" gear="1.5"/>
  <motor name="motor" joint="pin" gear="2"/>
"""


def load(tmp_path, actuators=ACTUATORS, joint=""):
    path = tmp_path / "robot.xml"
    path.write_text(ROBOT.format(actuators=actuators, joint=joint))
    return path


def test_actuators_of_mjcf_give_the_joint_forces_of_mujoco(tmp_path):
    """Forces that the actuators add to M a, at random states and inputs, with limits of inputs and forces reached."""
    mujoco = pytest.importorskip("mujoco")
    path = load(tmp_path)
    mech = la.load(path)
    model, bare = mech.compile(), la.load(path, ignore=["actuator"]).compile()
    assert [servo.name for servo in model.servos] == ["plain", "geared", "speed", "affine"] and not bare.servos
    theirs, rng = mujoco.MjModel.from_xml_path(str(path)), np.random.default_rng(0)
    data, names = mujoco.MjData(theirs), [theirs.actuator(a).name for a in range(theirs.nu)]
    at_limit = 0
    for _ in range(30):
        u = dict(zip(names, rng.normal(size=5), strict=True))
        q, v = rng.normal(size=2), rng.normal(size=2)
        data.ctrl[:], data.qpos[:], data.qvel[:] = [u[name] for name in names], q, v
        mujoco.mj_forward(theirs, data)
        at_limit += data.actuator_force[1] in (-7.0, 9.0)
        targets = {"plain": u["plain"], "geared": u["geared"] / -2.5, "affine": (6 * u["affine"] + 1.5) / (8 * 1.5)}
        targets["speed"] = (0.0, u["speed"] / 3)
        inputs = model.inputs(model.torques({"motor": u["motor"]}), targets)
        M = la.dynamics.mass_matrix(model, q)
        found = M @ (la.dynamics.forward(model, q, v, inputs) - la.dynamics.forward(bare, q, v))
        np.testing.assert_allclose(found, data.qfrc_actuator, rtol=1e-12, atol=1e-12)
    assert 0 < at_limit < 30
    assert sum("times the ctrl" in note for note in mech.notes) == 3  # how inputs become targets, where they are not the same


def test_the_range_of_a_joint_limits_its_one_actuator(tmp_path):
    mujoco = pytest.importorskip("mujoco")
    text = '<position name="p" joint="pin" kp="50" gear="-2" forcerange="-4 9" forcelimited="true"/><motor name="m" joint="slide"/>'
    path = load(tmp_path, text, 'actuatorfrclimited="true" actuatorfrcrange="-15 3"')
    model, theirs, rng = la.load(path).compile(), mujoco.MjModel.from_xml_path(str(path)), np.random.default_rng(1)
    bare, data = la.load(path, ignore=["actuator"]).compile(), mujoco.MjData(theirs)
    for u in 0.3 * rng.normal(size=20):
        q = rng.normal(size=2) * 0.2
        data.ctrl[0], data.qpos[:], data.qvel[:] = u, q, 0.0
        mujoco.mj_forward(theirs, data)
        felt = la.dynamics.forward(model, q, None, model.inputs(None, {"p": u / -2})) - la.dynamics.forward(bare, q)
        np.testing.assert_allclose(la.dynamics.mass_matrix(model, q) @ felt, data.qfrc_actuator, atol=1e-12)
    with pytest.raises(la.FormatError, match="shares a joint"):
        la.load(load(tmp_path, text.replace("slide", "pin"), 'actuatorfrclimited="true" actuatorfrcrange="-15 3"'))


def test_servos_of_a_file_hold_the_robot(tmp_path):
    pytest.importorskip("mujoco")
    model = la.load(load(tmp_path, '<position name="hold" joint="pin" kp="1e4" kv="1000"/>')).compile()
    run = la.simulate(model, dt=1e-2, duration=3.0, targets={"hold": 0.7})
    assert abs(run["pin"][-1, 0] - 0.7) < 1e-3


@pytest.mark.parametrize("text", [
    '<general name="m" joint="pin" biastype="affine" biasprm="0 0 1"/>', '<general name="m" joint="pin" biastype="affine" biasprm="2"/>',
    '<position name="m" joint="pin" timeconst=".1"/>', '<intvelocity name="m" joint="pin" actrange="-1 1"/>',
    '<damper name="m" joint="pin" ctrlrange="0 1"/>',
])  # fmt: skip
def test_actuators_that_are_no_servos_are_refused(tmp_path, text):
    pytest.importorskip("mujoco")
    with pytest.raises(la.FormatError, match=r"'m' is not a motor or servo.*\[actuator\]"):
        la.load(load(tmp_path, text))


def test_dry_friction_of_mjcf(tmp_path):
    pytest.importorskip("mujoco")
    path = load(tmp_path, "", 'frictionloss="2.5"')
    assert la.load(path).compile().tree.friction.tolist() == [2.5, 0.0]
    assert not la.load(path, ignore=["frictionloss"]).compile().tree.has_friction


URDF = """<robot name="arm"><link name="base"/>
<link name="rod"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="pin" type="{}"><parent link="base"/><child link="rod"/><axis xyz="0 1 0"/><dynamics damping="0.3" friction="1.5"/></joint>
</robot>"""


def test_dry_friction_of_urdf_is_read_and_written(tmp_path):
    mech = parse_robot(URDF.format("continuous"))
    assert [type(force) for force in mech.forces] == [la.Damper, la.DryFriction] and mech.compile().tree.friction.tolist() == [1.5]
    mech.save(tmp_path / "arm.urdf")
    assert la.load(tmp_path / "arm.urdf").compile().tree.friction.tolist() == [1.5]
    with pytest.raises(la.FormatError, match="dry friction 1.5 of a floating joint"):
        parse_robot(URDF.format("floating"))


def test_dry_friction_of_sdf():
    text = """<sdf version="1.9"><model name="m">
    <link name="a"><inertial><mass>1</mass><inertia><ixx>1</ixx><iyy>1</iyy><izz>1</izz></inertia></inertial></link>
    <joint name="j" type="revolute"><parent>world</parent><child>a</child>
    <axis><xyz>0 0 1</xyz><dynamics><friction>1.5</friction></dynamics></axis></joint></model></sdf>"""
    assert parse_model(text).compile().tree.friction.tolist() == [1.5]
    assert not parse_model(text, ignore=["friction"]).forces


def test_what_writers_cannot_say_is_named(tmp_path):
    mech = la.examples.chain(2)
    mech.add_servo(la.Servo("link1", kp=10.0))
    with pytest.raises(la.FormatError, match=r"Servo\('link1', kp=10"):
        mech.save(tmp_path / "chain.urdf")
    with pytest.raises(la.FormatError, match="motors or servos"):
        mech.save(tmp_path / "chain.sexp")
