"""The .sexp format: what is written is read back, both spellings, and every error with its place."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import leastaction as la
from leastaction.io.expressions import parse
from leastaction.io.sexp import parse_mechanism, write
from leastaction.io.sexp_reader import keeps

ALL_FORCES = """
(SYSTEM (GRAVITY 0 0 -9.81)  ; Table II: capitals, bare numbers, (D "name"), strings as numbers
  (TX 0.1 TY "y" TZ 0.3 (NAME "a") (MASS "2")
    (RX (D "turn") (MASS 1 0.1 0.2 0.15) (TZ -1 (NAME "tip"))))
  (tx 1 (ry "swing" (tz -1 (name "bob") (mass 1))))
  (point-constraint "tip" "bob" 0 1 0 (name "side by side"))
  (distance-constraint "tip" "world" 1.5)
  (screw-constraint "turn" "y" 0.25)
  (linear-spring "tip" "bob" 30 0.5)
  (config-spring "swing" 4 0.3)
  (torsional-spring "turn" 2)
  (damper "y" 0.7)
  (body-wrench "bob" (1 2 3))
  (world-wrench "tip" 1 2 3 4 5 6))
"""


def forces_on(model, rng):
    """Accelerations at random states, which every number of the description enters."""
    return np.array([la.dynamics.forward(model, q, v) for q, v in rng.normal(size=(5, 2, model.nv))])


def random_tree_of_frames(rng, n=8):
    tree = la.FrameTree(gravity=rng.normal(size=3))
    nodes = [tree]
    for i in range(n):
        node = nodes[rng.integers(len(nodes))]
        for primitive in rng.choice(["tx", "ty", "tz", "rx", "ry", "rz"], size=2):
            node = getattr(node, primitive)(float(rng.normal()))
        primitive = rng.choice(["tx", "ty", "tz", "rx", "ry", "rz"])
        nodes.append(getattr(node, primitive)(f"q{i}", mass=rng.uniform(0.5, 2), inertia=rng.uniform(0.5, 0.9, size=3)))
    tree.add_force(la.LinearSpring(nodes[1].name, nodes[-1].name, 20.0, 0.4))
    tree.add_force(la.Spring("q1", 3.0, 0.2))
    tree.add_force(la.Damper("q2", 0.4))
    tree.add_force(la.Wrench(nodes[3].name, (1, 2, 3), (3, 2, 1), frame="body"))
    return tree.mechanism


# ---------------------------------------------------------------------------------------------------- reading and writing


@pytest.mark.parametrize("seed", range(5))
def test_what_is_written_is_read_back(seed):
    mech = random_tree_of_frames(np.random.default_rng(seed))
    again = parse_mechanism(write(mech))
    wanted, got = (forces_on(m.compile(), np.random.default_rng(1)) for m in (mech, again))
    assert np.abs(wanted - got).max() < 1e-11 * np.abs(wanted).max()  # angles go through rotation matrices
    names = [{(b.name, b.parent, b.joint_name) for b in m.bodies.values()} for m in (mech, again)]
    assert names[0] == names[1]


def test_bodies_with_any_axis_centre_of_mass_and_inertia_are_written_as_frames():
    rng = np.random.default_rng(3)
    mech = la.Mechanism()
    parent = "world"
    for i, kind in enumerate((la.Revolute, la.Prismatic, la.Revolute)):
        mech.add_body(
            f"body{i}", parent, kind(rng.normal(size=3)), la.Pose(rng.normal(size=3), quaternion=rng.normal(size=4)), mass=1.0 + i,
            com=rng.normal(size=3), inertia=la.examples.random_inertia(rng), joint_name=f"joint{i}",
        )  # fmt: skip
        parent = f"body{i}"
    again = parse_mechanism(write(mech)).compile()
    assert again.joint_names == ("joint0", "joint1", "joint2")
    assert np.allclose(forces_on(mech.compile(), np.random.default_rng(1)), forces_on(again, np.random.default_rng(1)), rtol=1e-9)


def test_both_spellings_and_every_component():
    mech = parse_mechanism(ALL_FORCES)
    assert [b.joint_name for b in mech.bodies.values() if b.joint.nv] == ["y", "turn", "swing"]
    assert mech.bodies["a"].mass == 2.0
    assert [type(c).__name__ for c in mech.constraints] == ["Distance", "Gear", "Coincident"]
    assert [type(f).__name__ for f in mech.forces] == ["LinearSpring", "Spring", "Spring", "Damper", "Wrench", "Wrench"]
    assert np.array_equal(mech.forces[-1].moment, (4, 5, 6))
    assert write(parse_mechanism(write(mech))) == write(mech)


def test_multi_transform_frames_are_nested_frames():
    short = parse_mechanism('(system (tx 0.1 ry "q" tz -1 (name "f") (mass 1)))')
    long = parse_mechanism('(system (tx 0.1 (ry "q" (tz -1 (name "f") (mass 1)))))')
    assert write(short) == write(long)


def test_files_by_suffix(tmp_path):
    mech = la.examples.hanging_scissor_lift(2)
    mech.save(tmp_path / "lift.sexp")
    again = la.load(tmp_path / "lift.sexp")
    assert again.name == "lift" and write(again) == write(mech)
    with pytest.raises(la.FormatError, match=r"suffix '\.txt'.*\.sexp"):
        la.load(tmp_path / "lift.txt")
    with pytest.raises(la.FormatError, match="there is no file"):
        la.load(tmp_path / "nothing.sexp")
    (tmp_path / "binary.sexp").write_bytes(b"\xff\xfe(")
    with pytest.raises(la.FormatError, match="not a text file"):
        la.load(tmp_path / "binary.sexp")


def test_what_the_format_cannot_say_is_named(tmp_path):
    mech = la.examples.ball_chain(1)
    with pytest.raises(la.FormatError, match=r"'link1'.*Spherical"):
        mech.save(tmp_path / "ball.sexp")
    assert not (tmp_path / "ball.sexp").exists()
    with pytest.raises(la.FormatError, match="CustomForce"):
        la.save(la.examples.driven_pendulum(), tmp_path / "driven.sexp")


# ---------------------------------------------------------------------------------------------------- Listing 1


@pytest.mark.parametrize("integrator", [la.Variational(quadrature="midpoint"), la.Maximal()], ids=["tree", "maximal"])
def test_listing_1_is_assembled_at_its_start_and_stays_so(integrator):
    model = la.examples.listing_1().compile()
    assert (model.nv, len(model.closures)) == (7, 2)
    start = la.examples.LISTING_1_START
    for a, b in (("G", "G2"), ("O", "O2")):
        gap = la.dynamics.pose(model, start, a).p - la.dynamics.pose(model, start, b).p
        assert np.abs(gap).max() < 1e-15
    run = la.simulate(model, dt=0.01, steps=300, q=start, integrator=integrator)
    assert run.constraint_error.max() < 1e-10
    heights = [la.dynamics.pose(model, start, name).p[2] for name in "IGLNBDF"]
    assert abs(run.energy[0] - 9.81 * sum(heights)) < 1e-12
    assert np.ptp(run.energy) < 101.234 - 101.189  # the width of the band of the midpoint rule at this step


def test_listing_1_as_printed_lacks_a_parenthesis():
    text = (la.__path__[0] + "/data/closed_chain.sexp").replace("//", "/")
    with open(text, encoding="utf-8") as file:
        printed = file.read().replace('(tz -1.0 (Name "O"))))))', '(tz -1.0 (Name "O")))))')
    with pytest.raises(la.FormatError, match=r"never closed; 1 \) missing") as caught:
        parse_mechanism(printed)
    assert caught.value.line == 3  # of the (mechanical-system


# ---------------------------------------------------------------------------------------------------- errors

BAD = [
    ("", r"^1:1: the file is empty"),
    ("(system\n  (tx 1)\n", r"^1:1: \(system \.\.\.\) is never closed; 1 \) missing"),
    ("(system))", r"^1:9: this \) closes nothing"),
    ('(system\n (tx "q', r'^2:6: this string has no closing "'),
    ("tx 1", r"^1:1: the file starts with tx"),
    ("(tree (tx 1))", r"^1:1: the file starts with \(tree"),
    ("(system (tx 1)) (system)", r"^1:17: .*outside"),
    ("(system (wobble 1))", r"^1:9: \(wobble \.\.\.\) is unknown here.*gravity"),
    ("(system 5)", r"^1:9: 5 is unknown"),
    ("(system (gravity 0 0))", r"^1:9: .*2 number\(s\); it needs 3"),
    ("(system (gravity 0 0 down))", r"^1:22: down stands where a number is wanted"),
    ("(system (gravity 0 0 1) (gravity 0 0 1))", r"^1:25: gravity is given twice"),
    ("(system (tx))", r"^1:10: tx has no parameter"),
    ("(system (tx q))", r'^1:13: .*a coordinate stands in quotes, "q"'),
    ("(system (tx nan))", r"^1:13:"),
    ("(system (tx 1e999))", r"^1:13:"),
    ('(system (tx ""))', r"^1:13: .*empty name"),
    ('(system (tx (D "a" "b")))', r"^1:13: .*2 entries"),
    ('(system (tx (K "a")))', r"^1:13: .*the motion of 'a' is yours to say: motions="),
    ('(system (tx (K)))', r"^1:13: .*has no coordinate"),
    ('(system (tx (K 3)))', r"^1:16: .*its parameter is a number"),
    ('(system (tx (K "a" 1 2)))', r"^1:13: .*is written"),
    ('(system (tx (K "a" "sin(x)")))', r"^1:13: .*the name 'x' is unknown"),
    ('(system (tx "a" (mass 1) (name "b")) (distance-constraint "b" "world" 1 (name "c") (name "d")))', "two names"),
    ("(system (tx 1 (mass)))", r"^1:15: .*0 number\(s\); it needs 1 or 4"),
    ("(system (tx 1 (mass 1 2)))", r"^1:15: .*2 number\(s\); it needs 1 or 4"),
    ("(system (tx 1 (mass -1)))", r"^1:15: mass -1 kg"),
    ("(system (tx 1 (mass 1 1 1 9)))", r"^1:10: .*belong to no body"),
    ('(system (tx 1 (mass "heavy")))', r"heavy stands where a number is wanted"),
    ("(system (tx 1 (mass 1) (mass 1)))", r"^1:24: .*two masses"),
    ('(system (tx 1 (name "a") (name "b")))', r"^1:26: .*two names"),
    ("(system (tx 1 (name 7)))", r"^1:21: 7 stands where a name in quotes is wanted"),
    ("(system (tx 1 (colour 3)))", r"^1:15: \(colour \.\.\.\) is unknown in a frame"),
    ("(system (tx 1 7))", r"^1:15: 7 is unknown in a frame"),
    ('(system (tx 1 (name "a"))\n (ty 1 (name "a")))', r"^2:3: .*already taken"),
    ('(system (tx "q") (ty "q"))', r"^1:19: .*already used"),
    ('(system (point-constraint "a" "b" 1 0 0))', r"^1:27: there is no frame 'a'"),
    ('(system (rx "q" (name "a")) (point-constraint "a" "world" 1 0))', r"^1:29: .*2 number"),
    ('(system (rx "q" (name "a")) (point-constraint "a" "world" (0 0 0)))', r"^1:29: .*zero"),
    ('(system (rx "q" (name "a")) (distance-constraint "a" "world" -1))', r"^1:29: .*length"),
    ('(system (rx "q" (name "a")) (linear-spring "a" "a"))', r"^1:29: .*0 number"),
    ('(system (rx "q") (damper "p" 1))', r"^1:26: there is no coordinate 'p'; there are 'q'"),
    ('(system (rx "q") (screw-constraint "q" 0.1))', r"^1:40: 0.1 stands where a name"),
    ("(system ((((tx 1)))))", r"^1:9: \(\.\.\.\) is unknown"),
]


@pytest.mark.parametrize(("text", "message"), BAD, ids=range(len(BAD)))
def test_errors_say_where_and_what(text, message):
    with pytest.raises(la.FormatError, match=message):
        parse_mechanism(text)


def test_errors_start_with_the_file(tmp_path):
    path = tmp_path / "bad.sexp"
    path.write_text("(system\n\n  (wobble))")
    with pytest.raises(la.FormatError) as caught:
        la.load(path)
    assert str(caught.value).startswith(f"{path}:3:3: ")


def test_directions_stay_those_of_the_world_where_both_frames_turn():
    turning = '(system (rx "a" (ry "b" (tz 1 (name "p") (mass 1)))) (ry "c" (rz "d" (tx 1 (name "r") (mass 1)))){})'
    mech = parse_mechanism(turning.format('(point-constraint "p" "r" 1 0 0)(point-constraint "p" "r" 0 3 4)'))
    for read in (mech, parse_mechanism(write(mech))):
        assert read.constraints[0].axes == "world"
        np.testing.assert_allclose(read.constraints[0].directions, [(1, 0, 0), (0, 0.6, 0.8)])
    whole = "".join(f'(point-constraint "p" "r" {d})' for d in ("1 0 0", "0 1 0", "0 0 1"))
    assert len(parse_mechanism(turning.format(whole)).constraints[0].directions) == 3


@pytest.mark.parametrize("opening", ["(", "(tx 1 "])
def test_deep_nesting_is_an_error_not_a_crash(opening):
    with pytest.raises(la.FormatError, match=r"never closed; 100001 \) missing"):
        parse_mechanism("(system " + opening * 100_000)
    with pytest.raises(la.FormatError, match="nothing|unknown"):
        parse_mechanism("(system " + opening * 100_000 + ")" * 100_002)


def test_frames_nested_deeper_than_the_stack_are_read_written_and_compiled():
    depth = 10_000
    text = "(system " + "(tx 1 " * depth + '(ry "q" (tz -1 (mass 1)))' + ")" * (depth + 1)
    mech = parse_mechanism(text)
    assert len(mech.frames) == depth
    assert len(parse_mechanism(write(mech)).frames) == depth
    model = mech.compile()
    assert la.dynamics.pose(model, None, "q").p[0] == depth


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet='()"; \n\\tx1.a-', max_size=40))
def test_any_text_is_read_or_refused(text):
    try:
        mech = parse_mechanism(text)
    except la.FormatError as error:
        assert error.line >= 1 and error.column >= 1
    else:
        write(mech)


@settings(max_examples=50, deadline=None)
@given(st.text(min_size=1, max_size=10).filter(lambda s: not set(s) & set("\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029") and s != "world"))
def test_any_name_survives(name):
    tree = la.FrameTree()
    tree.ry("q").tz(-1.0, name=name, mass=1.0)
    assert name in parse_mechanism(write(tree.mechanism)).bodies


def test_places_of_expressions():
    (outer,) = parse('; comment\n  (a "b"\n   (c))', "file")
    assert (outer.line, outer.column, outer.items[2].line, outer.items[2].column) == (2, 3, 3, 4)


# ---------------------------------------------------------------------------------------------------- kinematic coordinates and names

MARIONETTE = """
(system (gravity 0 0 -9.81)
  (tz (K "hand" "0.2 * sin(3 * t)") (name "handle") (mass 1))
  (tx (K "cart") (name "b") (mass 1)
    (ry "b" (name "a") (mass 1 0.1 0.1 0.1) (tz -1 (name "tip") (mass 1))))
  (tx 1 (ry "c" (tz -1 (name "bob") (mass 1))))
  (linear-spring "handle" "bob" 5 0.5)
  (damper "b" 0.2)
  (distance-constraint "tip" "bob" 1 (name "rod")))
"""


def test_kinematic_coordinates_are_prescribed():
    mech = parse_mechanism(MARIONETTE, motions={"cart": "0.1 * t**2"})
    model = mech.compile()
    q = model.assemble({"b": 0.3, "c": 0.2}, hold=["b"])
    run = la.simulate(model, q=q, v=model.project_velocity(q, {"hand": 0.6}), dt=1e-2, duration=1.0)
    assert np.abs(run["hand"][:, 0] - 0.2 * np.sin(3 * run.t)).max() < 1e-10
    assert np.abs(run["cart"][:, 0] - 0.1 * run.t**2).max() < 1e-10


def test_frames_and_coordinates_are_two_namespaces():
    """Frame a is moved by coordinate b, and frame b by another one; what names a frame never finds a coordinate."""
    mech = parse_mechanism(MARIONETTE, motions={"cart": 0.0})
    assert mech.bodies["a"].joint_name == "b" and mech.bodies["b"].joint_name == "cart"
    assert [f.joint for f in mech.forces if isinstance(f, la.Damper)] == ["b"]


def test_names_and_motions_come_back():
    mech = parse_mechanism(MARIONETTE, motions={"cart": 0.25})
    again = parse_mechanism(write(mech))
    assert write(again) == write(mech)
    assert [c.name for c in again.compile().closures] == ["rod", "Prescribed('hand')", "Prescribed('cart')"]
    assert [c.motion for c in again.constraints if isinstance(c, la.Prescribed)] == ["0.2 * sin(3 * t)", 0.25]
    mech.add_constraint(la.Prescribed("c", lambda t, sp: sp.sin(t)))
    with pytest.raises(la.FormatError, match=r"the motion of 'c' is a function.*give it as text"):
        write(mech)


@pytest.mark.parametrize(("joint", "words"), [("hand", "'hand' is prescribed twice"), ("nobody", "'nobody' does not exist")])
def test_no_motion_is_lost_on_writing(joint, words):
    mech = parse_mechanism(MARIONETTE, motions={"cart": 0.0})
    mech.add_constraint(la.Prescribed(joint, 0.5))
    with pytest.raises(la.FormatError, match=words):
        write(mech)


def test_names_of_prescribed_coordinates_and_points_are_kept():
    mech = parse_mechanism(MARIONETTE, motions={"cart": 0.0})
    mech.add_constraint(la.Prescribed("c", "0.1"), "drive")
    mech.add_constraint(la.Coincident("tip", "bob"), "pin")
    assert [c.name for c in parse_mechanism(write(mech)).constraints if c.name in ("drive", "pin")] == ["pin", "drive"]


def test_motions_of_load(tmp_path):
    path = tmp_path / "marionette.sexp"
    path.write_text(MARIONETTE)
    assert la.load(path, motions={"cart": 1.0}).constraints[-1].motion == 1.0
    with pytest.raises(la.FormatError, match=r"marionette.sexp:4:7: .*the motion of 'cart' is yours to say"):
        la.load(path)
    with pytest.raises(la.FormatError, match=r"motions has 'b', which is not a kinematic coordinate.*'hand', 'cart'"):
        la.load(path, motions={"cart": 1.0, "b": 2.0})
    with pytest.raises(la.FormatError, match="motions = 3"):
        la.load(path, motions=3)


def test_turns_that_keep_the_directions_of_a_constraint():
    """About the one direction, or about the normal of two; any other turn leaves them."""
    x, y, z = np.eye(3)
    assert keeps(z, -z, np.array([z])) and keeps(z, z, np.array([x, y])) and keeps(z, z, 2.0 * np.array([x + y, x]))
    assert not keeps(z, z, np.array([x])) and not keeps(z, z, np.array([z, x])) and not keeps(z, x, np.array([z]))
    assert not keeps(z, z, np.array([x + z])) and not keeps(z, z, np.eye(3))


def test_lines_are_indented_by_their_depth_and_long_chains_stay_short():
    chain = parse_mechanism("(system " + "(tx 1 " * 200 + '(ry "q" (tz -1 (mass 1)))' + ")" * 201)
    blanks = [len(line) - len(line.lstrip()) for line in write(chain).splitlines()]
    assert blanks[1:6] == [2, 4, 6, 8, 10] and max(blanks) == blanks[-1] <= 60
