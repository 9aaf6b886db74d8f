"""MJCF files: the same dynamics as MuJoCo, nothing dropped silently, nothing read outside of the folders of the robot."""

import os
import struct
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

mujoco = pytest.importorskip("mujoco")

from support.mjcf import Theirs, differences, trajectory_end  # noqa: E402
from support.mutations import mutated  # noqa: E402

import leastaction as la  # noqa: E402
from leastaction.cli import main  # noqa: E402
from leastaction.io.mjcf import write  # noqa: E402
from leastaction.testing import random_state  # noqa: E402

COUNT = int(os.environ.get("LEASTACTION_FUZZ", "300"))
BOX = '<geom type="box" size=".1 .2 .3" pos=".05 .1 -.2"/>'
PENDULUM = f'<body name="rod"><joint name="pin" axis="0 1 0"/>{BOX}<site name="s"/><site name="end" pos="0 0 1"/></body>'

EVERY_JOINT = f"""
<mujoco model="everything">
  <compiler angle="degree" eulerseq="zyx"/>
  <option gravity="1 2 -9"/>
  <default>
    <joint damping=".2"/>
    <default class="geared"><joint armature=".7" stiffness="3" springref="20"/><geom density="500"/></default>
  </default>
  <worldbody>
    <geom type="plane" size="1 1 1"/>
    <body name="base" pos="0 0 1" euler="10 20 30">
      <freejoint name="root"/>{BOX}
      <site name="eye" pos=".1 0 .2" euler="0 45 0"/>
      <body name="arm" pos=".3 .1 0" euler="30 0 10" childclass="geared">
        <joint name="first" axis="0 1 1" pos=".1 .2 .3" ref="25"/>
        <joint name="second" type="slide" axis="1 0 2" ref=".1"/>
        <joint name="third" axis="1 0 0" pos="-.1 0 .2" damping="1.5"/>
        <inertial mass="1.3" pos=".1 .2 .3" fullinertia=".4 .5 .6 .01 .02 .03"/>
        <body pos="0 .2 -.5">
          <joint name="ball" type="ball" pos=".1 0 .1" stiffness="2" damping=".3" armature="0"/><geom type="capsule" size=".05 .2"/>
          <body name="hand" pos="0 0 .4"><geom type="sphere" size=".1"/></body>
        </body>
        <frame pos=".1 .2 .3" euler="0 0 90"><body name="leg"><joint axis="0 0 1"/>{BOX}</body></frame>
      </body>
    </body>
    <body name="cart"><joint name="x" type="slide" axis="1 0 0"/><joint name="z" type="slide" axis="0 0 1"/>
      <joint name="tilt" axis="0 1 0" armature=".1"/>{BOX}
    </body>
    <body name="post" pos="1 1 0">{BOX}{PENDULUM}</body>
  </worldbody>
  <keyframe>
    <key name="home" time="2" qpos=".1 .2 .3 2 0 0 0 .4 .5 .6 1 0 0 0 .7 .8 .9 1 1.1" qvel="1 2 3 4 5 6 7 8 9 1 2 3 4 5 6 7 8"/>
  </keyframe>
</mujoco>
"""


def saved(tmp_path, text, name="robot.xml"):
    path = tmp_path / name
    path.write_text(text)
    return path


def robot(*inside, before="", after=""):
    """A file with one element per line from line 3 on."""
    return "\n".join(["<mujoco>", before or "<compiler/>", "<worldbody>", *inside, "</worldbody>", after, "</mujoco>"])


@pytest.fixture(scope="module")
def everything(tmp_path_factory):
    path = saved(tmp_path_factory.mktemp("mjcf"), EVERY_JOINT)
    mech = la.load(path)
    return path, mech, mech.compile()


def test_mass_matrix_and_forces_are_those_of_mujoco(everything):
    path, _, model = everything
    assert model.joint_names == ("root", "first", "second", "third", "ball", "leg", "x", "z", "tilt", "pin")
    assert differences(Theirs(path, model)).max() < 1e-11


def test_bodies_and_sites_are_where_mujoco_has_them(everything):
    path, _, model = everything
    theirs, rng = Theirs(path, model), np.random.default_rng(1)
    for _ in range(5):
        q, v = random_state(model, rng)
        theirs.set(q, v)
        for b in range(1, theirs.m.nbody):
            if name := theirs.m.body(b).name:
                pose = la.dynamics.pose(model, q, name)
                np.testing.assert_allclose(pose.p, theirs.data.xpos[b], atol=1e-12)
                np.testing.assert_allclose(pose.R.ravel(), theirs.data.xmat[b], atol=1e-12)
        np.testing.assert_allclose(la.dynamics.pose(model, q, "eye").p, theirs.data.site("eye").xpos, atol=1e-12)


def test_keyframes_are_states(everything):
    path, mech, model = everything
    state = model.state(**mech.keyframes["home"])
    theirs = Theirs(path, model)
    mujoco.mj_resetDataKeyframe(theirs.m, theirs.data, 0)
    qvel = theirs.data.qvel.copy()
    B, _ = theirs.set(state.q, state.v)
    assert state.t == 2.0 and np.abs(B @ state.v - qvel).max() < 1e-12
    start = model.state(**mech.keyframes["qpos0"])
    np.testing.assert_allclose(start.q[model.q_slice("root")][:3], (0, 0, 1))


def test_trajectories_converge_to_those_of_mujoco(everything):
    path, mech, model = everything
    rng = np.random.default_rng(3)
    state = model.state(model.state(**mech.keyframes["qpos0"]).q, 0.5 * rng.normal(size=model.nv))
    wanted = trajectory_end(Theirs(path, model), state, 0.2, 1e-3)
    ends = [la.simulate(model, state, dt=dt, duration=0.2).q[-1] for dt in (4e-3, 2e-3)]
    errors = [np.abs(Theirs(path, model).qpos(q) - wanted).max() for q in ends]
    assert errors[1] < 1e-3 and 3.5 < errors[0] / errors[1] < 4.5


# ---------------------------------------------------------------------------------------------------------- equalities

FOUR_BAR = """
<mujoco>
  <worldbody>
    <body name="a"><joint name="ja" axis="0 1 0"/><geom type="capsule" fromto="0 0 0 0 0 1" size=".02"/>
      <body name="b" pos="0 0 1"><joint name="jb" axis="0 1 0"/><geom type="capsule" fromto="0 0 0 1 0 0" size=".02"/>
        <site name="end" pos="1 0 0"/></body>
    </body>
    <body name="c" pos="1 0 0"><joint name="jc" axis="0 1 0"/><geom type="capsule" fromto="0 0 0 0 0 1" size=".02"/>
      <site name="top" pos="0 0 1"/></body>
  </worldbody>
  <equality>{}</equality>
</mujoco>
"""
CLOSED = {
    "connect": '<connect name="loop" body1="b" body2="c" anchor="1 0 0"/>',
    "sites": '<connect name="loop" site1="end" site2="top"/>',
    "joint": '<joint name="loop" joint1="ja" joint2="jc" polycoef=".1 2 0 0 0"/>',
    "polynomial": '<joint name="loop" joint1="ja" joint2="jc" polycoef=".1 2 -.3 .2 .1"/>',
    "held": '<joint name="loop" joint1="ja" polycoef=".3 0 0 0 0"/>',
}


def their_violation(path, model, q):
    theirs = Theirs(path, model)
    theirs.m.opt.disableflags &= ~int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
    theirs.set(q, np.zeros(model.nv))
    return theirs.data.efc_pos[: theirs.data.nefc].copy()


@pytest.mark.parametrize("kind", CLOSED)
def test_equalities_are_constraints(tmp_path, kind):
    path = saved(tmp_path, FOUR_BAR.format(CLOSED[kind]))
    mech = la.load(path)
    model = mech.compile()
    q = np.array([0.35, -0.2, 0.1])
    ours, theirs = la.constraints.values(model, q), their_violation(path, model, q)
    assert np.linalg.norm(ours) == pytest.approx(np.linalg.norm(theirs), rel=1e-10) and np.linalg.norm(ours) > 1e-3
    start = model.assemble(q)
    assert np.abs(their_violation(path, model, start)).max() < 1e-10
    run = la.simulate(model, dt=2e-3, duration=0.2, q=start)
    assert run.converged and run.constraint_error.max() < 1e-10 and "loop" in run.reactions


def test_a_weld_holds_everything(tmp_path):
    """Two bodies that float, welded with another pose between them than the one they start in."""
    bodies = [f'<body name="{n}" pos="{x} 0 0"><freejoint/>{BOX}</body>' for n, x in (("a", 0), ("b", 0.7))]
    weld = '<equality><weld name="glue" body1="a" body2="b" anchor=".1 .2 .3" relpose=".5 .1 .2 .9 .1 .3 .2"/></equality>'
    path = saved(tmp_path, robot(*bodies, after=weld))
    mech = la.load(path)
    model = mech.compile()
    q = model.assemble(mech.keyframes["qpos0"]["q"])
    assert np.abs(their_violation(path, model, q)).max() < 1e-9
    assert np.abs(their_violation(path, model, model.coordinates(mech.keyframes["qpos0"]["q"]))).max() > 0.1
    v = model.project_velocity(q, np.random.default_rng(0).normal(size=12))
    assert la.simulate(model, dt=2e-3, steps=50, q=q, v=v).constraint_error.max() < 1e-10


TENDONS = """<tendon>
  <fixed name="pull"><joint joint="ja" coef="2"/><joint joint="jb" coef="-.5"/></fixed>
  <fixed name="bow" stiffness="30" {}><joint joint="jb" coef="1.5"/><joint joint="jc" coef="2"/></fixed>
</tendon>{}<actuator><motor name="cable" tendon="pull" gear="3" ctrllimited="true" ctrlrange="-.5 1"/></actuator>"""
UNTIED = FOUR_BAR.replace("<equality>{}</equality>", "{}").replace('name="jb"', 'name="jb" ref="20"')


def test_springs_and_motors_of_fixed_tendons_act_as_those_of_mujoco(tmp_path):
    path = saved(tmp_path, UNTIED.format(TENDONS.format("", "")))
    model = la.load(path).compile()
    theirs = Theirs(path, model)
    assert differences(theirs).max() < 1e-11 and len(model.description.forces) == 1
    theirs.m.opt.disableflags &= ~int(mujoco.mjtDisableBit.mjDSBL_ACTUATION)
    for u in (-0.7, 0.4, 2.0):
        theirs.data.ctrl[:] = u
        theirs.set(np.zeros(3), np.zeros(3))
        np.testing.assert_allclose(model.torques([u]), theirs.data.qfrc_actuator, atol=1e-12)
    with pytest.raises(la.FormatError, match="'bow': stiffness"):  # slack in between
        la.load(saved(tmp_path, UNTIED.format(TENDONS.format('springlength="0 1"', ""))))


@pytest.mark.parametrize("tied", [
    'tendon1="pull"', 'tendon1="pull" polycoef=".2 9 9 0 0"', 'tendon1="bow" tendon2="pull" polycoef=".1 2 .3 0 .2"',
])  # fmt: skip
def test_fixed_tendons_are_tied_as_those_of_mujoco(tmp_path, tied):
    path = saved(tmp_path, UNTIED.format(TENDONS.format("", f'<equality><tendon name="loop" {tied}/></equality>')))
    model = la.load(path).compile()
    for q in np.random.default_rng(0).normal(size=(3, 3)):
        np.testing.assert_allclose(la.constraints.values(model, q), their_violation(path, model, q), rtol=1e-10)


# ------------------------------------------------------------------------------------------------- what is not simulated

REFUSED = {  # kind -> what to put into the file, where, and what the error says
    "actuator": ("after", '<actuator><position name="m" joint="pin" timeconst="1"/></actuator>', "<position> 'm'"),
    "frictionloss": ("inside", f'<body><joint name="b" type="ball" frictionloss="2"/>{BOX}</body>', "'b': dry friction 2 of a Spherical"),
    "armature": ("inside", f'<body><joint name="b" type="ball" armature=".1"/>{BOX}</body>', "'b': armature 0.1 of a Spherical"),
    "stiffness": ("inside", f'<body><joint name="f" type="free" stiffness="3"/>{BOX}</body>', "'f': stiffness 3 of a free joint"),
    "fluid": ("before", '<option density="1000"/>', "density 1000"),
    "tendon": ("after", '<tendon><fixed name="t" damping="1"><joint joint="pin" coef="1"/></fixed></tendon>', "'t': damping"),
    "equality": ("after", '<tendon><spatial name="t"><site site="s"/><site site="end"/></spatial></tendon>'
                 '<equality><tendon tendon1="t"/></equality>', "is not a connect, weld or joint equality"),
    "gravcomp": ("inside", f'<body name="kite" gravcomp=".5">{BOX}</body>', "'kite': gravcomp 0.5"),
    "mocap": ("inside", f'<body name="hand" mocap="true">{BOX}</body>', "'hand' is moved by hand"),
    "plugin": ("before", '<extension><plugin plugin="mujoco.pid"/></extension>', "plugins are not run"),
    "flex": ("inside", '<body><flexcomp name="cloth" type="grid" count="3 3 1" dim="2"/></body>', "deformable bodies"),
}  # fmt: skip


@pytest.mark.parametrize("kind", REFUSED)
def test_what_is_not_simulated_is_named_with_its_line(tmp_path, kind):
    where, text, words = REFUSED[kind]
    inside = [PENDULUM, text] if where == "inside" else [PENDULUM]
    path = saved(tmp_path, robot(*inside, **({} if where == "inside" else {where: text})))
    line = {"before": 2, "inside": 5, "after": 6}[where]
    with pytest.raises(la.FormatError) as caught:
        la.load(path)
    entry = next(part for part in str(caught.value).splitlines() if words in part)
    assert f"robot.xml:{line}:" in entry and f"[{kind}]" in entry
    mech = la.load(path, ignore=[kind])
    assert any(f"'{kind}'" in note and words.split(":")[0] in note for note in mech.notes)
    assert mech.compile().nv >= 1


def test_what_could_be_kept_can_be_left_out(everything):
    path, mech, _ = everything
    bare = la.load(path, ignore=["armature", "stiffness", "damping", "visual", "contact"])
    assert mech.forces and mech.shapes and not bare.forces and not bare.shapes
    assert not any(body.armature.any() for body in bare.bodies.values())
    with pytest.raises(la.FormatError, match="'frction' is not known.*'frictionloss': dry friction"):
        la.load(path, ignore=["frction"])


def test_flags_switch_forces_off(tmp_path):
    body = PENDULUM.replace("axis", 'stiffness="3" damping="2" frictionloss="1" limited="true" range="-1 1" axis')
    flags = '<option><flag gravity="disable" spring="disable" damper="disable" frictionloss="disable" limit="disable"/></option>'
    mech = la.load(saved(tmp_path, robot(body, before=flags)))
    assert not mech.forces and not mech.limits and not mech.gravity.any()


def test_limits_are_kept(tmp_path):
    body = PENDULUM.replace("axis", 'range="-30 60" limited="true" axis')
    mech = la.load(saved(tmp_path, robot(body)))
    assert (mech.limits["pin"].lower, mech.limits["pin"].upper) == pytest.approx((-np.pi / 6, np.pi / 3))
    assert not la.load(saved(tmp_path, robot(body)), ignore=["limits"]).limits


@pytest.mark.parametrize("ends", ["", 'range="-30 60" limited="true"'], ids=["endless", "with ends"])
def test_the_larger_of_two_efforts_is_the_limit(tmp_path, ends):
    for given in ("-5 20", "-20 5"):
        body = PENDULUM.replace("axis", f'{ends} actuatorfrclimited="true" actuatorfrcrange="{given}" axis')
        assert la.load(saved(tmp_path, robot(body))).limits["pin"].effort == 20.0


def test_names_that_are_taken_get_numbers(tmp_path):
    """Bodies between the joints of one are named after it and the joint; a site may be called so already."""
    body = f'<body name="rod"><joint name="x" type="slide"/><joint name="pin"/>{BOX}<site name="rod:x" pos="0 0 1"/></body>'
    mech = la.load(saved(tmp_path, robot(body)))
    assert set(mech.bodies) == {"rod:x 2", "rod"} and "rod:x" in mech.frames
    assert mech.compile().joint_names == ("x", "pin")


MOTORS = """<actuator>
  <motor name="plain" joint="pin" gear="30"/> <motor name="weak" joint="pin" gear="-2" ctrllimited="true" ctrlrange="-.5 1"/>
  <general name="strong" joint="slide" gear="3" gainprm="-4" ctrllimited="true" ctrlrange="-2 3" forcelimited="true" forcerange="-5 6"/>
</actuator>"""


def test_motors_give_the_joint_forces_of_mujoco(tmp_path):
    slider = f'<body name="cart"><joint name="slide" type="slide" axis="1 0 0"/>{BOX}</body>'
    path = saved(tmp_path, robot(PENDULUM, slider, after=MOTORS))
    model = la.load(path).compile()
    assert [motor.name for motor in model.motors] == ["plain", "weak", "strong"]
    theirs, rng = mujoco.MjModel.from_xml_path(str(path)), np.random.default_rng(0)
    data = mujoco.MjData(theirs)
    for u in 3.0 * rng.normal(size=(20, 3)):
        data.ctrl[:] = u
        mujoco.mj_forward(theirs, data)
        np.testing.assert_allclose(model.torques(u), data.qfrc_actuator, atol=1e-12)
    assert not la.load(path, ignore=["actuator"]).motors


@pytest.mark.parametrize("text", [
    '<general name="m" joint="pin" biastype="affine" biasprm="0 1"/>', '<general name="m" joint="pin" dyntype="integrator"/>',
    '<motor name="m" joint="ball"/>', '<position name="m" tendon="t"/>', '<general name="m" joint="pin" gainprm="0"/>',
    '<muscle name="m" joint="pin"/>', '<motor name="m" site="s"/>',
])  # fmt: skip
def test_other_actuators_are_refused(tmp_path, text):
    ball = f'<body><joint name="ball" type="ball"/>{BOX}</body>'
    tendon = '<tendon><fixed name="t"><joint joint="pin" coef="1"/></fixed></tendon>'
    path = saved(tmp_path, robot(PENDULUM, ball, after=f"{tendon}<actuator>{text}</actuator>"))
    with pytest.raises(la.FormatError, match=r"robot\.xml:7: <\w+> 'm' is not a motor.*\[actuator\]"):
        la.load(path)
    assert not la.load(path, ignore=["actuator"]).motors


# ----------------------------------------------------------------------------------------------- files, and other people's


def tetrahedron():
    """A binary STL file."""
    corners = np.array([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)], dtype="<f4")
    faces = [corners[list(face)] for face in ((0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3))]
    return bytes(80) + struct.pack("<I", 4) + b"".join(bytes(12) + f.tobytes() + bytes(2) for f in faces)


def test_shapes_and_meshes(tmp_path):
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "t.stl").write_bytes(tetrahedron())
    before = (
        '<compiler meshdir="parts"/><asset><mesh name="t" file="t.stl" scale="1 2 3"/><material name="red" rgba="1 0 0 .5"/>'
        '<texture name="x" type="2d" file="../../../../etc/passwd"/></asset>'
    )
    geoms = (
        '<geom type="mesh" mesh="t" pos=".1 .2 .3" euler="0 0 90" material="red"/><geom type="capsule" size=".1 .2" group="3"/>'
        '<geom type="sphere" size=".3" contype="0" conaffinity="0"/>'
    )
    mech = la.load(saved(tmp_path, robot(f'<body name="rod"><joint axis="0 1 0"/>{geoms}</body>', before=before)))
    visual = [s for s in mech.shapes if s.role == "visual"]
    collision = [s for s in mech.shapes if s.role == "collision"]
    assert [type(s.shape) for s in visual] == [la.Mesh, la.Sphere] and [type(s.shape) for s in collision] == [la.Mesh, la.Capsule]
    assert visual[0].shape == la.Mesh(tmp_path / "parts" / "t.stl", (1, 2, 3)) and visual[0].color == (1, 0, 0, 0.5)
    np.testing.assert_allclose(visual[0].placement.p, (0.1, 0.2, 0.3), atol=1e-7)  # of single precision
    np.testing.assert_allclose(visual[0].placement.R, [(0, -1, 0), (1, 0, 0), (0, 0, 1)], atol=1e-6)
    assert any("textures" in note for note in mech.notes)


def test_includes(tmp_path):
    (tmp_path / "parts").mkdir()
    saved(tmp_path / "parts", f"<mujocoinclude>{PENDULUM}</mujocoinclude>", "rod.xml")
    saved(tmp_path / "parts", '<mujoco><default><joint damping="3"/></default></mujoco>', "defaults.xml")
    text = robot('<include file="parts/rod.xml"/>', before='<include file="parts/defaults.xml"/>')
    mech = la.load(saved(tmp_path, text))
    assert mech.joint_names == ["pin"] and mech.forces[0].damping == 3.0
    wrong = text.replace("<compiler/>", "").replace("</worldbody>", '<include file="parts/rod.xml"/></worldbody>')
    with pytest.raises(la.FormatError, match=r"robot\.xml:5: 'parts/rod\.xml' is included twice"):
        la.load(saved(tmp_path, wrong))


HOSTILE = [
    ('<!DOCTYPE m [<!ENTITY a "b">]><mujoco/>', "document type"),
    (robot('<include file="../../secret.xml"/>'), "4: include .*lies outside"),
    (robot('<include file="/etc/passwd"/>'), "4: include .*is not an MJCF file"),
    (robot('<include file="missing.xml"/>'), "4: there is no file 'missing.xml'"),
    (robot('<include file="robot.xml"/>'), "included twice"),
    (robot('<include file="http://x.org/a.xml"/>'), "would have to be fetched"),
    (robot(PENDULUM, before='<asset><mesh file="../../secret.stl"/></asset>'), "2: mesh .*lies outside"),
    (robot(PENDULUM, before='<asset><mesh file="missing.stl"/></asset>'), "2: mesh 'missing.stl' does not exist"),
    (robot(PENDULUM, before='<asset><model name="x" file="robot.xml"/></asset>'), "2: <model> takes bodies from another file"),
    (robot(PENDULUM, before='<asset><mesh name="x" builtin="sphere" params="9"/></asset>'), "built-in meshes are not read"),
    (robot('<replicate count="1000"><replicate count="1000"><site/></replicate></replicate>'), "replicas make more than"),
    (robot("<body>" * 70 + "</body>" * 70), "nested more than 64 deep"),
    (robot('<body name="rod"><joint/></body>'), "robot.xml:4: MuJoCo does not take it: .*mass"),
    (robot('<body name="rod" wings="2"/>'), "robot.xml:4: MuJoCo does not take it: .*wings"),
    (robot('<body name="rod"><joint name="a"/><geom size="nan"/></body>'), "MuJoCo does not take it"),
    ("<robot name='a'/>", "starts with <robot>; an MJCF file starts with <mujoco>; it is a URDF file"),
    ("<mujoco><worldbody>", "not well-formed"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "message"), HOSTILE)
def test_errors_say_where_and_what(tmp_path, monkeypatch, text, message):
    saved(tmp_path, "<mujoco/>", "secret.xml")
    (tmp_path / "secret.stl").write_bytes(tetrahedron())
    folder = tmp_path / "ws" / "arm"
    folder.mkdir(parents=True)
    monkeypatch.chdir(folder)
    with pytest.raises(la.FormatError, match=message):
        la.load(saved(folder, text))
    assert [path.name for path in folder.iterdir()] == ["robot.xml"]  # MuJoCo keeps no log there


def real_files():
    """Small ones of gymnasium, where its MuJoCo robots are installed."""
    spec = find_spec("gymnasium")
    folder = Path(spec.origin).parent / "envs" / "mujoco" / "assets" if spec and spec.origin else Path("nowhere")
    return [path.read_bytes() for path in sorted(folder.glob("*.xml")) if path.stat().st_size < 10_000]


def test_mutated_files(tmp_path, monkeypatch):
    """An answer or an error of ours, whatever MuJoCo says, and nothing written; what is read is written again, or refused."""
    folder = tmp_path / "ws" / "arm"
    folder.mkdir(parents=True)
    monkeypatch.chdir(folder)
    tied = '<equality><tendon tendon1="bow" tendon2="pull"/></equality>'
    texts = [EVERY_JOINT, FOUR_BAR.format(CLOSED["connect"]), UNTIED.format(TENDONS.format("", tied))]
    seeds, refused, count = [text.encode() for text in texts] + real_files(), 0, COUNT // 3
    for i in range(count):
        (folder / "robot.xml").write_bytes(mutated(seeds[i % len(seeds)], np.random.default_rng(i)))
        try:
            mech = la.load(folder / "robot.xml", ignore=["actuator"] if i % 3 else [])
            if not any(isinstance(thing, (la.UserPotential, la.SymbolicConstraint)) for thing in (*mech.forces, *mech.constraints)):
                mech.compile()  # those would have to be compiled in earnest
            write(mech)
        except la.MechanismError as error:
            refused += 1
            assert len(str(error)) < 20_000
        except BaseException:
            print(f"seed {i}")
            raise
    assert 0.3 < refused / count < 0.999 and [path.name for path in folder.iterdir()] == ["robot.xml"]


def test_warnings_of_mujoco_are_notes(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    mech = la.load(saved(tmp_path, robot(PENDULUM, before='<compiler settotalmass="3"/>')))
    assert mech.bodies["rod"].mass == pytest.approx(3.0)
    assert [path.name for path in tmp_path.iterdir()] == ["robot.xml"] and "settotalmass" not in "".join(capfd.readouterr())


def test_without_mujoco_the_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "mujoco", None)
    with pytest.raises(la.FormatError, match=r"pip install leastaction\[mjcf\]"):
        la.load(saved(tmp_path, robot(PENDULUM)))


def test_the_command_line_takes_it(tmp_path, capsys):
    path = saved(tmp_path, robot(PENDULUM, after='<actuator><intvelocity name="m" joint="pin" actrange="-1 1"/></actuator>'))
    assert main(["info", str(path)]) == 0
    assert "<intvelocity> 'm'" in capsys.readouterr().out
    assert main(["run", str(path), "--duration", "0.01"]) != 0
    assert main(["run", str(path), "--ignore", "actuator", "--duration", "0.01", "--q", "pin=0.3"]) == 0
    assert main(["convert", str(path), str(tmp_path / "robot.urdf"), "--ignore", "actuator"]) == 0
    assert la.load(tmp_path / "robot.urdf").compile().nv == 1
