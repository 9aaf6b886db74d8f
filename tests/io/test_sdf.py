"""SDF: poses relative to anything, every joint type, loops, couplings, what is kept and what is refused."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import leastaction as la
from leastaction.io import urdf
from leastaction.io.sdf import parse_model

INERTIAL = """<inertial><pose>0.1 0 -0.2 0.3 0.2 0.1</pose><mass>2</mass>
  <inertia><ixx>0.2</ixx><ixy>0.01</ixy><ixz>0.02</ixz><iyy>0.3</iyy><iyz>-0.01</iyz><izz>0.25</izz></inertia></inertial>"""
AXIS = "<axis><xyz>0 1 0</xyz>{}</axis>"
PLAIN = AXIS.format("")
SINGLE = {"revolute": "", "continuous": "", "prismatic": "", "screw": "<screw_thread_pitch>0.3</screw_thread_pitch>"}


def link(name, pose="", inside=INERTIAL):
    return f'<link name="{name}">{pose}{inside}</link>\n'


def joint(name, kind, parent, child, inside=PLAIN, pose=""):
    return f'<joint name="{name}" type="{kind}"><parent>{parent}</parent><child>{child}</child>{pose}{inside}</joint>\n'


def sdf(*parts, version="1.9", pose=""):
    return f'<?xml version="1.0"?>\n<sdf version="{version}">\n<model name="m">{pose}\n{"".join(parts)}</model></sdf>\n'


def matrix(xyz, rotation):
    X = np.eye(4)
    X[:3, :3], X[:3, 3] = rotation.as_matrix(), xyz
    return X


def placed(numbers):
    return matrix(numbers[:3], Rotation.from_euler("xyz", numbers[3:]))


def motion(kind, axis, q):
    """Displacement of a joint about an axis through its origin, by a matrix exponential of its own."""
    axis = np.asarray(axis) / np.linalg.norm(axis)
    if kind == "prismatic":
        return matrix(axis * q, Rotation.identity())
    along = 0.3 * q / (2 * np.pi) if kind == "screw" else 0.0
    return matrix(axis * along, Rotation.from_rotvec(axis * q))


def close_to(pose, X):
    np.testing.assert_allclose(pose.R, X[:3, :3], atol=1e-13)
    np.testing.assert_allclose(pose.p, X[:3, 3], atol=1e-13)


# ---------------------------------------------------------------------------------------------------- what is read

BASE, ARM = [0.1, -0.2, 0.3, 0.4, -0.5, 0.6], [1, 0.5, -0.2, 0.1, 0.2, -0.3]
JOINT, MODEL = [0.2, 0.1, 0, -0.7, 0.2, 0.5], [5, 4, 3, 0, 0.3, 0.1]


def text_of(numbers, attributes=""):
    return f"<pose{attributes}>{' '.join(map(str, numbers))}</pose>"


@pytest.mark.parametrize("kind", SINGLE)
@pytest.mark.parametrize("turned", [False, True])
def test_links_move_as_the_file_says(kind, turned):
    """The arm moves against the base about an axis through the joint's origin, which is not the arm's; both ways round."""
    ends = ("arm", "base") if turned else ("base", "arm")
    text = sdf(
        link("base", text_of(BASE)), link("arm", text_of(ARM)), joint("hold", "fixed", "world", "base", ""),
        joint("j", kind, *ends, "<axis><xyz>1 2 -1</xyz></axis>" + SINGLE[kind], text_of(JOINT)), pose=text_of(MODEL),
    )  # fmt: skip
    model = parse_model(text).compile()
    X_model, X_base, X_arm = placed(MODEL), placed(BASE), placed(ARM)
    X_joint = (X_base if turned else X_arm) @ placed(JOINT)
    moved = motion(kind, [1, 2, -1], 0.7)
    if turned:  # the child, here the base, moves by it against the parent
        moved = np.linalg.inv(moved)
    assert model.joint_names == ("j",)
    close_to(la.dynamics.pose(model, {"j": 0.7}, "base"), X_model @ X_base)
    close_to(la.dynamics.pose(model, {"j": 0.7}, "arm"), X_model @ X_joint @ moved @ np.linalg.inv(X_joint) @ X_arm)


@pytest.mark.parametrize("kind", ["universal", "revolute2"])
def test_joints_with_two_axes(kind):
    second = "0 0 1" if kind == "universal" else "0.3 0.2 1"
    axes = f"<axis><xyz>1 0 0</xyz></axis><axis2><xyz>{second}</xyz><dynamics><damping>0.4</damping></dynamics></axis2>"
    mech = parse_model(sdf(link("arm", text_of(ARM)), joint("j", kind, "world", "arm", axes, text_of(JOINT))))
    model = mech.compile()
    X_joint = placed(ARM) @ placed(JOINT)
    moved = motion("revolute", [1, 0, 0], 0.4) @ motion("revolute", [float(x) for x in second.split()], -0.9)
    assert model.joint_names == ("j_axis", "j_axis2") and mech.forces[0].joint == "j_axis2"
    close_to(la.dynamics.pose(model, {"j_axis": 0.4, "j_axis2": -0.9}, "arm"), X_joint @ moved @ np.linalg.inv(X_joint) @ placed(ARM))


def test_poses_relative_to_anything():
    """A frame on a frame on a link; degrees; quaternions; an axis in the frame of the model and in another one."""
    half = np.sqrt(0.5)
    text = sdf(
        link("a", text_of([1, 2, 3, 0, 0, 90], ' degrees="true"')),
        link("b", text_of([0, 0, 1, 0, 0, half, half], ' relative_to="f" rotation_format="quat_xyzw"')),
        f'<frame name="f" attached_to="a">{text_of(JOINT)}</frame>',
        joint("hold", "fixed", "world", "a", ""),
        joint("j", "prismatic", "a", "b", '<axis><xyz expressed_in="__model__">1 0 0</xyz></axis>'),
        joint("unused", "fixed", "b", "c", "", text_of([0] * 6, ' relative_to="f"')), link("c", text_of(ARM, ' relative_to="b"')),
    )  # fmt: skip
    model = parse_model(text).compile()
    X_a = matrix([1, 2, 3], Rotation.from_euler("z", 90, degrees=True))
    X_f = X_a @ placed(JOINT)
    X_b = X_f @ matrix([0, 0, 1], Rotation.from_euler("z", 90, degrees=True))
    slid = matrix([0.5, 0, 0], Rotation.identity())  # in the axes of the model
    close_to(la.dynamics.pose(model, {"j": 0.5}, "f"), X_f)
    close_to(la.dynamics.pose(model, {"j": 0.5}, "b"), slid @ X_b)
    close_to(la.dynamics.pose(model, {"j": 0.5}, "c"), slid @ X_b @ placed(ARM))


@pytest.mark.parametrize(
    ("version", "inside", "expected"),
    [("1.4", "", [0, 1, 0]), ("1.6", "", None), ("1.6", "<use_parent_model_frame>true</use_parent_model_frame>", [0, 1, 0])],
)
def test_axes_of_older_files(version, inside, expected):
    """Until 1.4 axes were given in the frame of the model."""
    text = sdf(link("a", text_of(ARM)), joint("j", "prismatic", "world", "a", AXIS.format(inside)), version=version)
    moved = la.dynamics.pose(parse_model(text).compile(), {"j": 1.0}, "a").p - np.array(ARM[:3])
    np.testing.assert_allclose(moved, placed(ARM)[:3, 1] if expected is None else expected, atol=1e-14)


def test_the_same_robot_as_a_urdf():
    """Inertias, limits, dampers and gravity: mass matrix and bias of a twin in the other format."""
    limited = AXIS.format("<limit><lower>-1</lower><upper>2</upper></limit><dynamics><damping>0.5</damping></dynamics>")
    mech = parse_model(sdf(
        link("base"), link("arm", text_of([0, 0.1, 0.5, 0.1, -0.2, 0.3])),
        joint("hold", "fixed", "world", "base", ""), joint("j", "revolute", "base", "arm", limited),
    ))  # fmt: skip
    inertial = """<inertial><origin xyz="0.1 0 -0.2" rpy="0.3 0.2 0.1"/><mass value="2"/>
      <inertia ixx="0.2" ixy="0.01" ixz="0.02" iyy="0.3" iyz="-0.01" izz="0.25"/></inertial>"""
    twin = urdf.parse_robot(f"""<robot name="r"><link name="base">{inertial}</link><link name="arm">{inertial}</link>
      <joint name="j" type="revolute"><parent link="base"/><child link="arm"/><origin xyz="0 0.1 0.5" rpy="0.1 -0.2 0.3"/>
      <axis xyz="0 1 0"/><limit lower="-1" upper="2"/><dynamics damping="0.5"/></joint></robot>""")
    model, other = mech.compile(), twin.compile()
    assert model.limits == other.limits and mech.forces[0].damping == twin.forces[0].damping
    for q in ([0.3], [-1.2]):
        np.testing.assert_allclose(la.dynamics.mass_matrix(model, q), la.dynamics.mass_matrix(other, q), rtol=1e-13)
        np.testing.assert_allclose(la.dynamics.forward(model, q, [0.7]), la.dynamics.forward(other, q, [0.7]), rtol=1e-12)


def test_a_model_that_nothing_holds_floats():
    text = sdf(link("a", text_of(ARM)), link("b", text_of(BASE)), joint("j", "revolute", "a", "b"))
    assert parse_model(text).compile().nv == 7
    assert parse_model(text, floating=False).compile().nv == 1
    close_to(la.dynamics.pose(parse_model(text).compile(), None, "b"), placed(BASE))
    with pytest.raises(la.FormatError, match="holds the model to the world"):
        parse_model(sdf(link("a"), joint("j", "revolute", "world", "a")), floating=True)


def test_a_spring_and_a_ball():
    spring = AXIS.format("<dynamics><spring_stiffness>7</spring_stiffness><spring_reference>0.2</spring_reference></dynamics>")
    text = sdf(link("a"), link("b"), joint("j", "revolute", "world", "a", spring), joint("k", "ball", "a", "b", ""))
    mech = parse_model(text)
    assert isinstance(mech.bodies["b"].joint, la.Spherical)
    assert (mech.forces[0].stiffness, mech.forces[0].rest) == (7.0, 0.2)


def test_a_world_with_gravity_and_a_ground():
    model = f'<model name="m">{link("a")}{joint("j", "revolute", "world", "a")}</model>'
    ground = '<model name="ground"><static>true</static><link name="plane"/></model>'
    text = f'<sdf version="1.9"><world name="w"><gravity>0 0 -1.6</gravity>{ground}{model}</world></sdf>'
    mech = parse_model(text)
    assert list(mech.gravity) == [0, 0, -1.6] and "static" in mech.notes[0]
    with pytest.raises(la.FormatError, match=r"2 models that move.*model="):
        parse_model(text.replace("<static>true</static>", ""))
    assert list(parse_model(text.replace("<static>true</static>", ""), model="m").bodies) == ["a"]


# ---------------------------------------------------------------------------------------------------- loops and couplings


def four_bar(closing="revolute", axis=""):
    """A parallelogram: crank and rocker of 1 m, 2 m apart."""
    rod = "<inertial><pose>{} 0 {} 0 0 0</pose><mass>1</mass><inertia><ixx>.1</ixx><iyy>.1</iyy><izz>.1</izz></inertia></inertial>"
    return sdf(
        link("crank", "<pose>0 0 0 0 0 0</pose>", rod.format(0, 0.5)), link("coupler", "<pose>0 0 1 0 0 0</pose>", rod.format(1, 0)),
        link("rocker", "<pose>2 0 0 0 0 0</pose>", rod.format(0, 0.5)),
        joint("a", "revolute", "world", "crank"), joint("b", "revolute", "crank", "coupler"), joint("c", "revolute", "world", "rocker"),
        joint("d", closing, "rocker", "coupler", AXIS.format(axis) if closing == "revolute" else "", "<pose>2 0 0 0 0 0</pose>"),
    )  # fmt: skip


@pytest.mark.parametrize("closing", ["revolute", "ball"])
def test_joints_that_close_loops(closing):
    """The parallelogram stays one, and swings like the pendulum it is: all links but the coupler turn, the coupler does not."""
    model = parse_model(four_bar(closing)).compile()
    q = model.assemble({"a": 0.3, "c": 0.3}, hold=["a"])
    run = la.simulate(model, q=q, dt=1e-3, steps=1000)
    crank, rocker, coupler = (run.q[:, model.joint_names.index(name)] for name in ("a", "c", "b"))
    np.testing.assert_allclose(crank, rocker, atol=1e-9)
    np.testing.assert_allclose(crank, -coupler, atol=1e-9)
    assert run.constraint_error.max() < 1e-10
    # one freedom: (2 (0.1 + 0.25) + 1) a'' = (2 * 0.5 + 1) g sin a, upside down
    start = la.dynamics.forward(model, q)[model.joint_names.index("a")]
    np.testing.assert_allclose(start, 2 * 9.81 * np.sin(0.3) / 1.7, rtol=1e-9)


def test_what_carries_something_is_part_of_the_tree():
    """The last joint has a damper, so another one closes the loop."""
    mech = parse_model(four_bar(axis="<dynamics><damping>0.1</damping></dynamics>"))
    assert "d" in mech.joint_names and [c.name for c in mech.constraints] != ["d"]
    assert mech.compile().nv == 3


def test_a_gearbox_and_a_mimic():
    """Both as couplings: child = -ratio * parent; follower = multiplier (leader - reference) + offset."""
    gears = "<gearbox_ratio>3</gearbox_ratio><gearbox_reference_body>frame</gearbox_reference_body>"
    axes = "<axis><xyz>0 1 0</xyz></axis><axis2><xyz>0 1 0</xyz></axis2>"
    mimic = '<mimic joint="in" axis="axis"><multiplier>2</multiplier><offset>0.5</offset><reference>0.1</reference></mimic>'
    mech = parse_model(sdf(
        link("frame"), link("driving", text_of([1, 0, 0, 0, 0, 0])), link("driven", text_of([2, 0, 0, 0, 0, 0])), link("third"),
        joint("hold", "fixed", "world", "frame", ""), joint("in", "revolute", "frame", "driving"),
        joint("out", "revolute", "driven", "frame"), joint("gear", "gearbox", "driving", "driven", axes + gears),
        joint("follows", "revolute", "frame", "third", AXIS.format(mimic)),
    ))  # fmt: skip
    found = mech.compile()
    q = dict(zip(found.joint_names, found.assemble({"in": 0.4}, hold=["in"]), strict=True))
    assert q["out"] == pytest.approx(3 * 0.4)  # the file names the driven wheel as parent of its hinge, so its angle counts backwards
    assert q["follows"] == pytest.approx(2 * (0.4 - 0.1) + 0.5)


# ---------------------------------------------------------------------------------------------------- what is refused

LINK = link("a")
HELD = joint("j", "revolute", "world", "a")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("<robot/>", "starts with <sdf>"),
        (sdf(), "no <link>"),
        (sdf(LINK, LINK, HELD), "twice"),
        (sdf(LINK, joint("j", "revolute", "nobody", "a")), "no link 'nobody'"),
        (sdf(LINK, joint("j", "hinge", "world", "a")), "'hinge'"),
        (sdf(LINK, joint("j", "revolute", "world", "a", "")), "no <axis>"),
        (sdf(LINK, joint("j", "revolute", "a", "a")), "with itself"),
        (sdf(link("a", text_of([0] * 5)), HELD), "6 numbers"),
        (sdf(link("a", text_of([0] * 6, ' relative_to="x"')), HELD), "'x', which does not exist"),
        (sdf(link("a", text_of([0] * 6, ' relative_to="a"')), HELD), "relative to itself"),
        (sdf(link("a", inside=""), HELD), "no <inertial>"),
        (sdf(link("a", inside=INERTIAL.replace("<mass>2</mass>", "")), HELD), "no <mass>"),
        (sdf(link("a", inside=INERTIAL.replace("<inertial>", '<inertial auto="true">')), HELD), "instead of auto"),
        (sdf(link("a", inside=INERTIAL + "<gravity>false</gravity>"), HELD), "<gravity> is false"),
        (sdf(link("a", inside=INERTIAL + "<wheel/>"), HELD), "<wheel> is unknown"),
        (sdf(LINK, HELD, "<include><uri>model://x</uri></include>"), "other files are not read"),
        (four_bar(axis="<limit><lower>-1</lower></limit>").replace("<xyz>0 1 0</xyz></axis>", "<xyz>0 1 0</xyz><limit><lower>-1</lower>"
         "</limit></axis>"), "closes a loop and has"),
    ],
)  # fmt: skip
def test_errors_name_what_is_wrong(text, words):
    with pytest.raises(la.FormatError, match=words) as caught:
        parse_model(text)
    assert str(caught.value).startswith("model.sdf:")  # and the line


def test_what_is_read_can_be_left_out_and_is_noted():
    text = sdf(LINK, joint("j", "revolute", "world", "a", AXIS.format("<dynamics><friction>1</friction></dynamics>")))
    mech = parse_model(text, ignore=["friction"])
    assert "dry friction 1" in mech.notes[0]


def test_load_and_the_command_line(tmp_path, capsys):
    from leastaction.cli import main

    path = tmp_path / "m.sdf"
    path.write_text(four_bar())
    assert la.load(path).compile().nv == 3
    assert main(["info", str(path)]) == 0
    assert "coupler" in capsys.readouterr().out
    with pytest.raises(la.FormatError, match="read and not written"):
        la.load(path).save(tmp_path / "n.sdf")


def test_shapes_and_meshes_stay_in_their_folders(tmp_path):
    (tmp_path / "m" / "meshes").mkdir(parents=True)
    (tmp_path / "m" / "model.config").write_text("<model/>")
    (tmp_path / "m" / "meshes" / "a.stl").write_bytes(b"")
    shapes = """<visual name="v"><pose>0 0 1 0 0 0</pose><geometry><box><size>1 2 3</size></box></geometry>
      <material><diffuse>1 0 0 1</diffuse></material></visual><collision name="c"><geometry><sphere><radius>2</radius></sphere></geometry>
      </collision><visual name="w"><geometry><mesh><uri>{}</uri></mesh></geometry></visual>"""
    path = tmp_path / "m" / "m.sdf"
    path.write_text(sdf(link("a", inside=INERTIAL + shapes.format("model://m/meshes/a.stl")), HELD))
    kinds = [type(placed.shape).__name__ for placed in la.load(path).shapes]
    assert kinds == ["Box", "Sphere", "Mesh"]
    path.write_text(sdf(link("a", inside=INERTIAL + shapes.format("../../secret.stl")), HELD))
    with pytest.raises(la.FormatError, match="lies outside"):
        la.load(path)


def test_a_mass_that_is_not_given_and_may_be_missing_is_none():
    text = sdf(link("a", inside=INERTIAL.replace("<mass>2</mass>", "")), HELD)
    assert parse_model(text, ignore=["inertial"]).bodies["a"].mass == 0.0


@pytest.mark.parametrize(("color", "read"), [("0 0.5 1", True), ("1.5 0.2 0.3", False), ("0.2 0.3 -0.1 1", False), ("2 2 2", False)])
def test_colours_with_a_number_out_of_range_are_not_read(color, read):
    shape = "<visual name='v'><geometry><sphere><radius>2</radius></sphere></geometry><material><diffuse>{}</diffuse></material></visual>"
    mech = parse_model(sdf(link("a", inside=INERTIAL + shape.format(color)), HELD))
    numbers = tuple(map(float, color.split()))
    assert (mech.shapes[0].color is not None and mech.shapes[0].color[: len(numbers)] == numbers) == read
    assert any("outside of 0 to 1" in note for note in mech.notes) != read


@pytest.mark.parametrize(("switch", "harmless"), [("gravity", "true"), ("kinematic", "false"), ("enable_wind", "false")])
def test_switches_that_change_nothing_may_be_written_out(switch, harmless):
    """By word, by number, or left empty; the other word is refused."""
    for text in (harmless, str(int(harmless == "true")), "", " "):
        assert parse_model(sdf(link("a", inside=INERTIAL + f"<{switch}>{text}</{switch}>"), HELD)).bodies["a"].mass == 2.0
    other = "false" if harmless == "true" else "true"
    with pytest.raises(la.FormatError, match=f"<{switch}> is {other}"):
        parse_model(sdf(link("a", inside=INERTIAL + f"<{switch}>{other}</{switch}>"), HELD))


@pytest.mark.parametrize("which", ["axis", "axis2"])
def test_a_joint_may_follow_either_axis_of_another(which):
    axes = "<axis><xyz>1 0 0</xyz></axis><axis2><xyz>0 0 1</xyz></axis2>"
    mimic = f'<mimic joint="j" axis="{which}"><multiplier>2</multiplier></mimic>'
    mech = parse_model(sdf(
        LINK, link("b"), joint("j", "universal", "world", "a", axes), joint("k", "revolute", "world", "b", AXIS.format(mimic)),
    ))  # fmt: skip
    model = mech.compile()
    led = {"j_axis": 0.2, "j_axis2": 0.3}
    q = dict(zip(model.joint_names, model.assemble(led, hold=list(led)), strict=True))
    assert q["k"] == pytest.approx(2 * led[f"j_{which}"])
