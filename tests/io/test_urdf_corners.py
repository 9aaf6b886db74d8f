"""URDF: corners that mutants of the reader lived in (`make mutation`)."""

import numpy as np
import pytest

import leastaction as la
from leastaction.io.urdf import parse_robot

ROBOT = """<?xml version="1.0"?>
<robot name="r">
<link name="base"/>
<link name="arm">{inertial}</link>
<joint name="hinge" type="continuous"><parent link="base"/><child link="arm"/><axis xyz="0 1 0"/></joint>
{extension}
</robot>
"""
INERTIAL = '<inertial><origin xyz="0 0 -0.5"/><mass value="2"/>{}</inertial>'
MOMENTS = '<inertia ixx="0.2" iyy="0.3" izz="0.25"/>'


def parsed(extension="", moments=MOMENTS):
    return parse_robot(ROBOT.format(inertial=INERTIAL.format(moments), extension=extension))


def test_a_mass_without_moments_is_a_point_mass():
    body = parsed(moments="").bodies["arm"]
    assert body.mass == 2.0 and np.array_equal(body.inertia, np.zeros((3, 3))) and np.array_equal(body.com, (0, 0, -0.5))


def test_an_empty_rotor_inertia_is_none():
    motor = '<transmission name="t"><actuator name="m"><rotorInertia>{}</rotorInertia></actuator></transmission>'
    for harmless in ("", "0", "0.0"):
        assert list(parsed(motor.format(harmless)).bodies) == list(parsed().bodies)
    with pytest.raises(la.FormatError, match="0.3"):
        parsed(motor.format("0.3"))


@pytest.mark.parametrize(("value", "harmless"), [("0.0", True), ("0e5", True), ("2", False), ("0.5", False), ("-1", False)])
def test_switches_given_as_numbers(value, harmless):
    """kinematic: 0 in any spelling is off, any other number is on and would hold the link still."""
    extension = f'<gazebo reference="arm"><kinematic>{value}</kinematic></gazebo>'
    if harmless:
        assert "arm" in parsed(extension).bodies
    else:
        with pytest.raises(la.FormatError, match="kinematic"):
            parsed(extension)


def test_an_origin_in_a_link_is_harmless_only_if_it_moves_nothing():
    text = ROBOT.format(inertial=INERTIAL.format(MOMENTS) + "{}", extension="")
    for harmless in ("<origin/>", '<origin xyz="0 0 0"/>', '<origin xyz="0 0 0" rpy="0 0 0"/>'):
        assert "arm" in parse_robot(text.format(harmless)).bodies
    for moving in ('<origin xyz="0 0 1"/>', '<origin rpy="0 0 1"/>', '<origin xyz="0 0 1" rpy="0 0 1"/>'):
        with pytest.raises(la.FormatError, match="origin"):
            parse_robot(text.format(moving))


def test_a_mesh_without_a_scale_has_its_own_size(tmp_path):
    (tmp_path / "a.stl").write_bytes(b"")
    file = tmp_path / "r.urdf"
    visual = '<visual><geometry><mesh filename="a.stl"/></geometry></visual>'
    file.write_text(ROBOT.format(inertial=INERTIAL.format(MOMENTS) + visual, extension=""), encoding="utf-8")
    assert [shape.shape.scale for shape in la.load(file).shapes] == [(1.0, 1.0, 1.0)]


@pytest.mark.parametrize("given", ['lower="-1"', 'upper="1"', 'lower="-1" upper="1"'])
def test_either_end_of_a_joint_that_turns_without_end_is_said_to_be_unused(given):
    text = ROBOT.format(inertial=INERTIAL.format(MOMENTS), extension="").replace("</joint>", f"<limit {given} effort='3'/></joint>")
    assert any("turn without end" in note for note in parse_robot(text).notes)
    quiet = parse_robot(text.replace(given, ""))
    assert not any("turn without end" in note for note in quiet.notes)


def test_what_an_origin_does_not_say_is_zero():
    text = ROBOT.format(inertial=INERTIAL.format(MOMENTS), extension="")
    none = (0, 0, 0)
    for origin, xyz, rpy in (('xyz="1 2 3"', (1, 2, 3), none), ('rpy="0.1 0.2 0.3"', none, (0.1, 0.2, 0.3)), ("", none, none)):
        placement = parse_robot(text.replace("</joint>", f"<origin {origin}/></joint>")).bodies["arm"].placement
        wanted = la.Pose(xyz=xyz, rpy=rpy)
        assert np.array_equal(placement.p, wanted.p) and np.array_equal(placement.R, wanted.R)


@pytest.mark.parametrize("placement", [la.Pose(xyz=(0, 0, 1)), la.Pose(rpy=(0, 0, 1)), la.Pose()], ids=["moved", "turned", "at the origin"])
@pytest.mark.parametrize("framed", [False, True])
def test_a_standing_body_stays_where_it_is_when_written_and_read(tmp_path, placement, framed):
    mech = la.Mechanism(name="stand")
    mech.add_body("post", joint=la.Fixed(), placement=placement, mass=1.0, inertia=(0.1, 0.1, 0.1))
    mech.add_body("arm", "post", la.Revolute((0, 1, 0)), mass=1.0, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0.1))
    if framed:
        mech.add_frame("corner", "world", la.Pose(xyz=(1, 2, 3)))
    mech.save(tmp_path / "stand.urdf")
    again = la.load(tmp_path / "stand.urdf").compile()
    for name in ("arm", *(["corner"] if framed else [])):
        one, other = (la.dynamics.pose(m, m.neutral(), name) for m in (mech.compile(), again))
        assert np.allclose(one.p, other.p, rtol=0.0, atol=1e-12) and np.allclose(one.R, other.R, rtol=0.0, atol=1e-12)


def test_point_masses_and_bodies_without_mass_stay_so_when_written_and_read(tmp_path):
    mech = la.Mechanism()
    mech.add_body("arm", joint=la.Revolute((0, 1, 0)), mass=2.0, com=(0, 0, -1))
    mech.add_body("nothing", "arm", la.Fixed(), la.Pose((0, 0, -1)))
    mech.save(tmp_path / "r.urdf")
    assert (tmp_path / "r.urdf").read_text().count("<inertial>") == 1
    read = la.load(tmp_path / "r.urdf")
    heavy, light = (la.dynamics.mass_matrix(m.compile(), {"arm": 0.3}) for m in (mech, read))
    np.testing.assert_allclose(heavy, [[2.0]])
    np.testing.assert_allclose(light, heavy)
