"""URDF: every joint type, what is kept and what is refused, names of merged links, and every error with its line."""

import numpy as np
import pytest

import leastaction as la
from leastaction.io.urdf import parse_robot, write

INERTIAL = """<inertial><origin xyz="0.1 0 -0.2" rpy="0.3 0.2 0.1"/><mass value="2"/>
  <inertia ixx="0.2" ixy="0.01" ixz="0.02" iyy="0.3" iyz="-0.01" izz="0.25"/></inertial>"""


def link(name, inside=INERTIAL):
    return f'<link name="{name}">{inside}</link>\n'


def joint(name, kind, parent, child, inside="", axis="0 1 0"):
    placed = '<origin xyz="0 0.1 0.5" rpy="0.1 -0.2 0.3"/>'
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>{placed}<axis xyz="{axis}"/>{inside}</joint>\n'
    )


def robot(*parts):
    return f'<?xml version="1.0"?>\n<robot name="r">\n{"".join(parts)}</robot>\n'


LIMIT = '<limit lower="-1" upper="2" velocity="3" effort="4"/>'
ARM = robot(
    link("base"), link("upper"), link("tool"), link("lower"),
    joint("shoulder", "revolute", "base", "upper", LIMIT + '<dynamics damping="0.5"/>'),
    joint("mount", "fixed", "upper", "tool"),
    joint("elbow", "continuous", "tool", "lower"),
)  # fmt: skip


# ---------------------------------------------------------------------------------------------------- what is read


def test_an_arm():
    mech = parse_robot(ARM)
    model = mech.compile()
    assert mech.name == "r" and model.joint_names == ("shoulder", "elbow")
    assert [type(f).__name__ for f in mech.forces] == ["Damper"] and mech.forces[0].damping == 0.5
    assert model.limits == (la.Limit("shoulder", -1.0, 2.0, 3.0, 4.0),)
    assert sum(body.mass for body in mech.bodies.values()) == 8.0


def test_names_of_links_on_fixed_joints_stay():
    """The tool is part of the upper arm, and still a place like any other: poses, wrenches, constraints, shapes."""
    mech = parse_robot(ARM)
    mech.add_force(la.Wrench("tool", force=(1, 0, 0)))
    mech.add_frame("tip", "tool", la.Pose((0, 0, 1)))
    model = mech.compile()
    upper, tool = (la.dynamics.pose(model, {"shoulder": 0.7}, name) for name in ("upper", "tool"))
    placed = upper @ la.Pose((0, 0.1, 0.5), rpy=(0.1, -0.2, 0.3))
    np.testing.assert_allclose(tool.R, placed.R, atol=1e-14)
    np.testing.assert_allclose(tool.p, placed.p, atol=1e-14)


def test_an_inertia_is_given_in_axes_of_its_own():
    body = parse_robot(ARM).bodies["upper"]
    R = la.Pose(rpy=(0.3, 0.2, 0.1)).R
    given = np.array([[0.2, 0.01, 0.02], [0.01, 0.3, -0.01], [0.02, -0.01, 0.25]])
    np.testing.assert_allclose(body.inertia, R @ given @ R.T, atol=1e-15)
    np.testing.assert_array_equal(body.com, (0.1, 0.0, -0.2))


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("revolute", la.Revolute), ("continuous", la.Revolute), ("prismatic", la.Prismatic), ("planar", la.Planar), ("floating", la.Free),
        ("fixed", la.Fixed),
    ],
)  # fmt: skip
def test_every_joint_type(kind, expected):
    mech = parse_robot(robot(link("a"), link("b"), joint("j", kind, "a", "b", axis="0 0 2")))
    made = mech.bodies["b"].joint
    assert type(made) is expected
    if hasattr(made, "axis"):
        np.testing.assert_array_equal(made.axis, (0, 0, 1))


def test_the_axis_is_x_where_none_is_given():
    text = robot(link("a"), link("b"), '<joint name="j" type="continuous"><parent link="a"/><child link="b"/></joint>')
    np.testing.assert_array_equal(parse_robot(text).bodies["b"].joint.axis, (1, 0, 0))


def test_a_floating_robot_falls_freely():
    model = parse_robot(ARM, floating=True).compile()
    assert model.joint_names == ("root_joint", "shoulder", "elbow")
    a = la.dynamics.forward(model, {"root_joint": (0, 0, 3, 1, 0, 0, 0)})
    np.testing.assert_allclose(a[model.v_slice("root_joint")], (0, 0, 0, 0, 0, -9.81), atol=1e-12)


def test_the_root_may_be_called_world():
    text = robot('<link name="world"/>', link("a"), link("b"), joint("stand", "fixed", "world", "a"), joint("j", "continuous", "a", "b"))
    fixed, floating = parse_robot(text), parse_robot(text, floating=True)
    assert fixed.bodies["a"].parent == "world" and fixed.notes == ()
    assert floating.bodies["a"].parent == "world_link" and "'world_link'" in floating.notes[0]
    assert floating.compile().nv == 7


def test_a_mimic_joint_follows():
    text = robot(
        link("a"), link("b"), link("c"), joint("j", "continuous", "a", "b"),
        joint("k", "prismatic", "b", "c", LIMIT + '<mimic joint="j" multiplier="-0.5" offset="0.1"/>'),
    )  # fmt: skip
    model = parse_robot(text).compile()
    q = model.assemble({"j": 0.4}, hold="j")
    np.testing.assert_allclose(q[model.q_slice("k")], -0.5 * 0.4 + 0.1, atol=1e-12)
    assert len(parse_robot(text, ignore="mimic").compile().closures) == 0


def test_links_without_mass_get_none():
    """In the middle of a chain that is fine; at its end nothing moves, and the joint is named."""
    text = robot(
        link("a"), link("b", ""), link("c"), joint("j", "continuous", "a", "b", axis="1 0 0"), joint("k", "continuous", "b", "c")
    )
    mech = parse_robot(text)
    assert mech.bodies["b"].mass == 0.0 and mech.compile().nv == 2
    with pytest.raises(la.SingularMassError, match="'k'"):
        parse_robot(text.replace(link("c"), link("c", ""))).compile()


def test_an_inertia_no_body_has_is_taken_as_written_and_noted():
    thin = '<inertial><mass value="1"/><inertia ixx="1" iyy="0.1" izz="0.1"/></inertial>'
    mech = parse_robot(robot(link("a"), link("b", thin), joint("j", "continuous", "a", "b")))
    np.testing.assert_array_equal(mech.bodies["b"].inertia, np.diag([1, 0.1, 0.1]))
    assert "'b'" in mech.notes[0] and "belong to no body" in mech.notes[0] and "as it is written" in mech.notes[0]
    mech.compile()


def test_negative_energy_is_refused_by_what_moves_as_one():
    """A small negative moment of a part is outweighed by what it is fixed to; alone it would have negative energy."""
    wrong = '<inertial><mass value="1"/><inertia ixx="0.1" iyy="0.1" izz="-0.01"/></inertial>'
    parts = link("a"), link("b", wrong), joint("j", "continuous", "a", "b")
    with pytest.raises(la.MechanismError, match="'b' has the negative principal moment of inertia -0.01"):
        parse_robot(robot(*parts)).compile()
    assert parse_robot(robot(*parts, link("c"), joint("m", "fixed", "b", "c"))).compile().nv == 1


def test_shapes_and_colours(tmp_path):
    shapes = """
      <visual><origin xyz="0 0 1"/><geometry><box size="1 2 3"/></geometry><material name="red"/></visual>
      <visual><geometry><mesh filename="../meshes/a.stl" scale="1 1 -1"/></geometry>
        <material name="own"><color rgba="0 1 0 0.5"/></material></visual>
      <visual><geometry><sphere radius="0.1"/></geometry><material name="own"/></visual>
      <collision><geometry><cylinder radius="0.2" length="0.3"/></geometry></collision>
      <collision><geometry><capsule radius="0.2" length="0.3"/></geometry></collision>"""
    folder = tmp_path / "robot" / "urdf"
    folder.mkdir(parents=True)
    text = robot('<material name="red"><color rgba="1 0 0 1"/></material>', link("a", INERTIAL + shapes))
    (folder / "r.urdf").write_text(text)
    mech = la.load(folder / "r.urdf", floating=True)
    model = mech.compile()
    assert [(type(s.shape), s.role) for s in model.shapes] == [
        (la.Box, "visual"), (la.Mesh, "visual"), (la.Sphere, "visual"), (la.Cylinder, "collision"), (la.Capsule, "collision"),
    ]  # fmt: skip
    box, mesh, sphere = model.shapes[:3]
    assert box.color == (1, 0, 0, 1) and box.placement.p[2] == 1 and mesh.color == sphere.color == (0, 1, 0, 0.5)
    assert mesh.shape.path == tmp_path / "robot" / "meshes" / "a.stl" and mesh.shape.scale == (1, 1, -1)
    assert any("do not exist" in note for note in mech.notes)
    assert len(la.load(folder / "r.urdf", ignore=["visual"]).shapes) == 2
    assert len(la.load(folder / "r.urdf", ignore=["contact"]).shapes) == 3


def mesh_of(file, name, **options):
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(robot(link("a", f'<visual><geometry><mesh filename="{name}"/></geometry></visual>')))
    mech = la.load(file, **options)
    return mech.shapes[0].shape.path if mech.shapes else mech.notes


def test_packages(tmp_path):
    """package:// is found above the file, beside the package of the file, or below a folder that is given; nowhere else."""
    inside, beside, far = (tmp_path / name for name in ("ws/arm", "ws/hand", "elsewhere/foot"))
    for package in (inside, beside, far):
        package.mkdir(parents=True)
        (package / "package.xml").write_text("<package/>")
    file = inside / "deep" / "urdf" / "r.urdf"
    assert mesh_of(file, "package://arm/m/a.stl") == inside / "m" / "a.stl"
    assert mesh_of(file, "package:///arm/m/a.stl") == inside / "m" / "a.stl"
    assert mesh_of(file, "package://hand/a.dae") == beside / "a.dae"
    assert mesh_of(file, "../../m/a.stl") == inside / "m" / "a.stl"
    assert mesh_of(file, f"file://{inside}/a%20b.stl") == inside / "a b.stl"
    assert "packages=" in mesh_of(file, "package://foot/a.stl")[0]
    assert mesh_of(file, "package://foot/a.stl", packages=tmp_path / "elsewhere") == far / "a.stl"
    assert mesh_of(file, "package://foot/a.stl", packages=[far]) == far / "a.stl"
    assert mesh_of(file, f"{far}/a.stl", packages=[far]) == far / "a.stl"
    with pytest.raises(la.FormatError, match="packages: there is no folder"):
        mesh_of(file, "a.stl", packages=tmp_path / "nothing")


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("../../../secret.stl", "outside"), ("/etc/shadow.stl", "outside"), ("file:///etc/shadow.stl", "outside"),
        ("package://arm/../../secret.stl", "outside"), ("package://arm/link.stl", "outside"), ("../../m/../../../x.stl", "outside"),
        ("https://evil.example/a.stl", "fetched"), ("/etc/passwd", "not a mesh"), ("a.stl/../../passwd", "not a mesh"),
        ("..\\..\\a.stl", "backslash"), ("x" * 5000 + ".stl", "not the name"),
    ],
)  # fmt: skip
def test_meshes_outside_are_refused(tmp_path, name, reason):
    package = tmp_path / "ws" / "arm"
    (package / "urdf").mkdir(parents=True)
    (package / "package.xml").write_text("<package/>")
    (tmp_path / "secret.stl").write_text("solid")
    (package / "link.stl").symlink_to(tmp_path / "secret.stl")
    with pytest.raises(la.FormatError, match=rf"r\.urdf:3: mesh .*{reason}"):
        mesh_of(package / "urdf" / "r.urdf", name)
    assert "left out" in mesh_of(package / "urdf" / "r.urdf", name, ignore=["meshes"])[0]


# ---------------------------------------------------------------------------------------------------- what is not simulated


def test_what_is_not_simulated_is_listed_with_its_line():
    text = robot(
        link("a"), link("b"), link("c"), joint("j", "floating", "a", "b", '<dynamics friction="0.3"/>'),
        joint("k", "continuous", "b", "c", '<dynamics friction="0.2" mu_coulomb="7" K="0"/>'),
        '<transmission name="t"><joint name="j"/><actuator name="m"><rotorInertia>1e-4</rotorInertia></actuator></transmission>\n',
        '<gazebo reference="b"><mu1>0.9</mu1><turnGravityOff>true</turnGravityOff></gazebo>\n<loop_joint/>\n',
    )  # fmt: skip
    with pytest.raises(la.FormatError) as caught:
        parse_robot(text, "robot.urdf")
    message, lines = str(caught.value), text.splitlines()
    assert message.startswith("robot.urdf:") and "5 things" in message
    for kind, words in {
        "friction": "'j': dry friction 0.3 of a floating", "dynamics": 'mu_coulomb="7"',
        "armature": "rotorInertia = 0.0001", "gazebo": "turnGravityOff",
        "extensions": "loop_joint",
    }.items():  # fmt: skip
        entry = next(line for line in message.splitlines() if words in line)
        number = int(entry.split(":")[1])
        assert f"[{kind}]" in entry and words.split()[0].strip("':") in lines[number - 1].replace('name="j"', "'j'"), entry
    mech = parse_robot(text, ignore=["friction", "dynamics", "armature", "gazebo", "extensions"])
    assert len([note for note in mech.notes if note.startswith("left out, as asked")]) == 5
    assert any("of transmissions rotor inertias are used" in note for note in mech.notes)


ACTUATOR = "<actuator name='m'><mechanicalReduction>{}</mechanicalReduction>{}</actuator>"
ROTORS = {  # inside a transmission of joint "j" -> armature
    ACTUATOR.format(50, "<rotorInertia>1e-4</rotorInertia>"): 0.25,
    ACTUATOR.format(-3, "<motorInertia>2e-2</motorInertia>"): 0.18,
    "<actuator name='m'><drake:gear_ratio value='10'/><drake:rotor_inertia value='1e-3'/></actuator>": 0.1,
    "<actuator name='m' armature='0.7'/>": 0.7,
    "<mechanicalReduction>2</mechanicalReduction><actuator name='m'><rotor_inertia>0</rotor_inertia></actuator>": 0.0,
}


@pytest.mark.parametrize("inside", ROTORS)
def test_rotors_of_transmissions_are_armatures(inside):
    text = '<transmission name="t"><joint name="j"/>' + inside + "</transmission>"
    for given in (text, f'<ros2_control name="r">{text}</ros2_control>'):
        mech = parse_robot(robot(link("a"), link("b"), joint("j", "continuous", "a", "b"), given))
        assert mech.bodies["b"].armature == pytest.approx([ROTORS[inside]], rel=1e-14)


@pytest.mark.parametrize(
    ("transmission", "message"),
    [
        ("<joint name='j'/><actuator name='m'><rotorInertia>1</rotorInertia></actuator>", "mechanicalReduction is missing"),
        ("<joint name='j'/>" + ACTUATOR.format(2, "<rotorInertia>1</rotorInertia><gear_ratio>3</gear_ratio>"), "or there are several"),
        ("<joint name='j'/><joint name='k'/>" + ACTUATOR.format(2, "<rotorInertia>1</rotorInertia>"), "moves 2 joints"),
        ("<joint name='x'/>" + ACTUATOR.format(2, "<rotorInertia>1</rotorInertia>"), "no joint 'x'"),
        ("<joint name='f'/>" + ACTUATOR.format(2, "<rotorInertia>1</rotorInertia>"), "'f' is floating"),
        ("<joint name='j'/>" + ACTUATOR.format(2, "<rotorInertia>-1</rotorInertia>"), "number >= 0"),
    ],
)
def test_rotors_that_are_not_understood_are_refused(transmission, message):
    text = robot(
        link("a"), link("b"), link("c"), link("d"), joint("j", "continuous", "a", "b"), joint("k", "continuous", "b", "c"),
        joint("f", "floating", "c", "d"), f"<transmission name='t'>{transmission}</transmission>",
    )  # fmt: skip
    with pytest.raises(la.FormatError, match=rf"transmission 't': rotorInertia = .*{message}.*\[armature\]"):
        parse_robot(text)
    assert not any(body.armature.any() for body in parse_robot(text, ignore=["armature"]).bodies.values())


def test_zeros_and_harmless_extensions_are_fine():
    text = robot(
        link("a", INERTIAL + "<contact><lateral_friction value='1'/></contact><gravity>1</gravity>"), link("b"),
        joint("j", "continuous", "a", "b", '<dynamics friction="0" K="0.0"/><safety_controller k_velocity="1"/>'),
        '<transmission name="t"><joint name="j"/><actuator name="m"><mechanicalReduction>50</mechanicalReduction>',
        '<rotorInertia>0</rotorInertia></actuator></transmission>',
        '<gazebo><plugin name="p"/></gazebo><gazebo reference="a"><kp>1e6</kp><gravity>true</gravity></gazebo>',
    )  # fmt: skip
    mech = parse_robot(text)
    assert mech.compile().nv == 1 and not mech.forces
    assert len(mech.notes) == 4  # <contact>, <safety_controller>, transmissions, <gazebo>


def test_a_wrong_name_to_ignore_lists_the_right_ones():
    with pytest.raises(la.FormatError, match="'fricton' is not known.*'friction': dry friction.*'armature'"):
        parse_robot(ARM, ignore=["fricton"])


def test_xacro_is_refused_with_what_to_run(tmp_path):
    with pytest.raises(la.FormatError, match=r"robot\.urdf:4: <xacro:include> is a macro.*xacro robot\.urdf >"):
        parse_robot(robot(link("a", ""), '<xacro:include filename="b"/>'))
    with pytest.raises(la.FormatError, match=r"'\$\{length\}' is a macro"):
        parse_robot(robot(link("a", '<visual><geometry><sphere radius="${length}"/></geometry></visual>')))
    with pytest.raises(la.FormatError, match=r"xacro arm\.urdf\.xacro > arm\.urdf"):
        la.load(tmp_path / "arm.urdf.xacro")


def test_options_of_other_formats_are_refused(tmp_path):
    with pytest.raises(la.FormatError, match=r"floating= for 'a\.sexp'.*takes motions="):
        la.load(tmp_path / "a.sexp", floating=True)
    with pytest.raises(la.FormatError, match=r"flotaing= for 'a\.urdf'.*takes floating=, ignore=, packages="):
        la.load(tmp_path / "a.urdf", flotaing=True)


# ---------------------------------------------------------------------------------------------------- errors

A, B, J = link("a"), link("b"), joint("j", "continuous", "a", "b")
BAD = [
    ("<robot", r"robot\.urdf:1:\d+: not well-formed XML: unclosed token"),
    ("", "not well-formed XML: no element found"),
    ("<mujoco/>", r":1: the file starts with <mujoco>"),
    ("<robot/>", "has no <link>"),
    (robot("<link/>"), r':3: <link> has no name="\.\.\."'),
    (robot(A, A), r":5: <link> 'a' is there twice, first in line 3"),
    (robot(A, B, J, joint("j", "fixed", "a", "b")), r":8: <joint> 'j' is there twice"),
    (robot(A, B), r":5: links 'a', 'b' hang on nothing"),
    (robot(A, B, joint("j", "fixed", "a", "x")), r":7: joint 'j': there is no link 'x'"),
    (robot(A, B, J, joint("k", "fixed", "a", "b")), r":8: link 'b' hangs on two joints, 'j' and 'k'"),
    (robot(A, B, joint("j", "fixed", "b", "b")), "'b' hangs on itself"),
    (robot(A, B, J, joint("k", "fixed", "b", "a")), "hangs on itself"),
    (robot(A, B, joint("j", "ball", "a", "b")), "'j' is of type 'ball'; it is one of revolute"),
    (robot(A, B, joint("j", "revolute", "a", "b", axis="0 0 0")), r":7: Revolute axis.*has no direction"),
    (robot(A, B, joint("j", "revolute", "a", "b", axis="1 0")), "xyz of <axis> is '1 0'; it needs 3 numbers"),
    (robot(A, B, joint("j", "revolute", "a", "b", axis="1 0 nan")), "'nan', which is not finite"),
    (robot(A, B, joint("j", "revolute", "a", "b", axis="1 0 1_0")), "'1_0', which is not a number"),
    (robot(A, B, joint("j", "revolute", "a", "b", '<limit lower="2" upper="1"/>')), ":7: .*lower = 2 is greater than upper = 1"),
    (robot(A, B, joint("j", "revolute", "a", "b", '<limit lower="nan"/>')), "not finite"),
    (robot(A, B, joint("j", "revolute", "a", "b", '<limit effort="-1"/>')), "effort = -1; it needs a number >= 0"),
    (robot(A, B, joint("j", "continuous", "a", "b", '<dynamics damping="-1"/>')), "damping = -1.*>= 0"),
    (robot(A, B, joint("j", "continuous", "a", "b", LIMIT + LIMIT)), r"a second <limit>, the first is in line 7"),
    (robot(A, B, joint("j", "continuous", "a", "b", '<mimic joint="x"/>')), "'j' mimics 'x', which does not exist"),
    (robot(A, B, joint("j", "continuous", "a", "b", '<mimic joint="j"/>')), "couples a joint with itself"),
    (robot(A, B, joint("j", "floating", "a", "b", '<mimic joint="j"/>')), "'j' is floating; couplings are between"),
    (robot(link("a", INERTIAL.replace('value="2"', 'value="nan"'))), "'nan', which is not finite"),
    (robot(link("a", INERTIAL.replace('value="2"', 'value="-2"'))), "<mass> is -2 kg"),
    (robot(link("a", INERTIAL.replace('value="2"', 'value="1e300"'))), r"numbers up to 1e\+30"),
    (robot(link("a", '<inertial><inertia ixx="1" iyy="1" izz="1"/></inertial>')), "has an <inertia> and no <mass>"),
    (robot(link("a", '<inertial><mass value="1"/><inertia ixx="1"/></inertial>')), '<inertia> has no iyy="..."'),
    (robot(link("a", "<visual/>")), "<visual> has no <geometry>"),
    (robot(link("a", "<visual><geometry/></visual>")), "has 0 shapes in it"),
    (robot(link("a", '<visual><geometry><box size="1 1 0"/></geometry></visual>')), "Box size.*positive"),
    (robot(link("a", "<visual><geometry><blob/></geometry></visual>")), "<blob> is not a shape of URDF"),
    (robot(A, link("world"), joint("j", "fixed", "a", "world")), "that is the name of the ground"),
]


@pytest.mark.parametrize(("text", "message"), BAD, ids=range(len(BAD)))
def test_errors_say_where_and_what(text, message):
    with pytest.raises(la.FormatError, match=message) as caught:
        parse_robot(text)
    assert caught.value.path == "robot.urdf" and caught.value.line > 0


# ---------------------------------------------------------------------------------------------------- writing


def dynamics_of(mech):
    """What every number of the description enters: accelerations, limits, couplings, shapes."""
    model = mech.compile()
    rng = np.random.default_rng(5)
    order = np.concatenate([np.arange(model.nv)[model.v_slice(name)] for name in sorted(model.joint_names)])
    accelerations = []
    bodies = sorted(model.bodies, key=lambda body: body.joint_name)
    for _ in range(3):
        states = {body.joint_name: (body.joint.sample_coordinates(rng), rng.normal(size=body.joint.nv)) for body in bodies}
        q, v = ({name: state[k] for name, state in states.items()} for k in (0, 1))
        a = la.dynamics.inverse(model, q, v, v) + la.dynamics.mass_matrix(model, q) @ model.velocities(v)
        accelerations.append((a - model.tree.damping * model.velocities(v))[order])
    shapes = sorted(((s.body, s.shape, s.role, s.color, s.placement.p.tolist()) for s in model.shapes), key=lambda s: s[0])
    limits = sorted(model.limits, key=lambda limit: limit.joint)
    return np.array(accelerations), limits, shapes, [(c.name, c.numbers) for c in model.closures]


def assert_same(a, b):
    for one, other in zip(dynamics_of(a), dynamics_of(b), strict=True):
        if isinstance(one, np.ndarray):
            np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12 * np.abs(one).max())
        else:
            assert one == other


@pytest.mark.parametrize("floating", [False, True])
def test_what_is_written_is_read_back(floating, tmp_path):
    mech = la.Mechanism(name="all of it")
    first = la.Free() if floating else la.Fixed()
    rng = np.random.default_rng(2)
    sound = lambda: {"mass": 1.5, "com": rng.normal(size=3), "inertia": la.examples.random_inertia(rng)}
    pose = lambda: la.Pose(rng.normal(size=3), quaternion=rng.normal(size=4))
    mech.add_body("base", "world", first, joint_name="root", **sound())
    for i, kind in enumerate((la.Revolute, la.Prismatic, la.Planar, la.Fixed, la.Revolute)):
        axis = () if kind is la.Fixed else (rng.normal(size=3),)
        armature = {0: 0.3, 1: 1 / 7}.get(i, 0.0)
        mech.add_body(f"b{i}", f"b{i - 1}" if i else "base", kind(*axis), pose(), joint_name=f"j{i} <&\">", armature=armature, **sound())
    mech.add_frame("tip", "b4", pose())
    mech.add_force(la.Damper('j0 <&">', 0.25))
    mech.add_constraint(la.Gear('j0 <&">', 'j1 <&">', 0.5, 0.1))
    mech.add_limit('j0 <&">', -1.0, 1 / 3, velocity=2.0, effort=5.0)
    mech.add_limit('j4 <&">', velocity=2.0)
    mech.add_shape("b1", la.Box((1, 2, 3)), pose(), color=(0.1, 0.2, 0.3))
    mech.add_shape("tip", la.Capsule(0.1, 0.2), role="collision")
    mech.add_shape("b0", la.Mesh(tmp_path / "m.stl", (1, 2, -1)))
    mech.save(tmp_path / "r.urdf")
    again = la.load(tmp_path / "r.urdf")
    assert_same(mech, again)
    assert set(again.compile().frames) == set(mech.compile().frames)


def test_what_urdf_cannot_say_is_named(tmp_path):
    for mech, words in [
        (la.examples.ball_chain(1), "'link1'.*Spherical"), (la.examples.driven_pendulum(), "CustomForce"),
        (la.Mechanism(gravity=(0, 0, 0)), "gravity"), (la.examples.four_bar(), "cannot be written"),
    ]:  # fmt: skip
        with pytest.raises(la.FormatError, match=words):
            mech.save(tmp_path / "x.urdf")
        assert not (tmp_path / "x.urdf").exists()
    slab, arm = la.Mechanism(), la.Mechanism()
    slab.add_body("slab", joint=la.Planar(normal=(0, 0, 1)), mass=1.0, inertia=(1, 1, 1), armature=0.1)
    arm.add_body("arm", joint=la.Revolute(axis=(0, 0, 1)), mass=1.0, inertia=(1, 1, 1), armature=0.1)
    for mech, name in ((slab, "x.urdf"), (arm, "x.sexp")):
        with pytest.raises(la.FormatError, match="armature"):
            mech.save(tmp_path / name)
    with pytest.raises(la.FormatError, match="limits of joints"):
        parse_robot(ARM, ignore=["visual"]).save(tmp_path / "x.sexp")


def test_pinocchio_reads_what_is_written():
    pin = pytest.importorskip("pinocchio")
    mech = la.examples.chain(3)
    theirs = pin.buildModelFromXML(write(mech))
    assert list(theirs.names)[1:] == mech.joint_names
