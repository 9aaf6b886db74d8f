"""Pages without a browser: keyframes keep their promise, arrays come back, everything of a mechanism is in the scene, errors are named."""

import base64
import json
import re
import subprocess
import sys
import zlib

import numpy as np
import pytest

import leastaction as la
from leastaction.page.keyframes import Kinematics, interpolate, quaternions, thin
from leastaction.page.meshes import MeshReader, Triangles, shaded
from leastaction.page.pack import Pack
from leastaction.page.scene import Scene, glyph
from leastaction.pose import rotation_of_quaternion

ROD = dict(mass=1.0, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0.01))


@pytest.fixture(scope="module")
def run():
    return la.simulate(la.examples.chain(5).compile(), dt=2e-3, duration=2.0, q={"link1": 0.8})


def unpacked(text):
    """Header and arrays of a page, decoded as its JavaScript does."""
    data = zlib.decompress(base64.b64decode(re.search(r'id="data">([^<]*)<', text)[1]))
    size = int(np.frombuffer(data[:4], "<u4")[0])
    header = json.loads(data[4 : 4 + size])
    base = -(-(4 + size) // 8) * 8

    def array(index):
        entry = header["arrays"][index]
        start = base + entry["offset"]
        if entry["kind"] == "f64":
            return np.frombuffer(data, "<f8", entry["count"], start)
        if entry["kind"] == "raw":
            return data[start : start + entry["count"]]
        total = entry["series"] * entry["count"]
        planes = np.frombuffer(data, np.uint8, entry["planes"] * total, start).reshape(-1, total).astype(np.int64)
        words = sum(plane << (8 * k) for k, plane in enumerate(planes))
        d = np.where(words % 2, -(words + 1) // 2, words // 2).reshape(entry["series"], entry["count"])
        d[:, 1:] = np.cumsum(d[:, 1:], axis=1)
        return np.cumsum(d, axis=1).T

    return header, array


@pytest.mark.parametrize("shape", [(1, 3), (2, 2), (7, 1), (50, 4)])
def test_whole_numbers_come_back(shape):
    rng = np.random.default_rng(3)
    values = rng.integers(-(10**6), 10**6, shape)
    pack = Pack()
    index, floats, curve = pack.integers(values), pack.floats(np.array([1.5, -2.0])), pack.curve(values[:, 0] / 7)
    header, array = unpacked(f'<script id="data">{pack.encoded({"a": 1})}</script>')
    assert header["a"] == 1 and np.array_equal(array(index), values) and array(floats).tolist() == [1.5, -2.0]
    back = curve["low"] + curve["step"] * array(curve["values"])[:, 0]
    assert np.abs(back - values[:, 0] / 7).max() <= 0.51 * curve["step"]


def test_numbers_that_are_too_large_are_refused():
    with pytest.raises(la.StateError, match="larger accuracy"):
        Pack().integers(np.array([[2**40]]))


def test_quaternions_are_those_of_the_rotations_and_change_continuously():
    angles = np.linspace(0, 25, 400)  # four turns
    axis = np.array([1.0, 2.0, -2.0]) / 3
    R = np.array([rotation_of_quaternion([np.cos(a / 2), *np.sin(a / 2) * axis]) for a in angles])[:, None]
    found = quaternions(R)
    assert np.abs(np.diff(found, axis=0)).max() < 0.1
    assert np.allclose([rotation_of_quaternion(q[0]) for q in found], R[:, 0], atol=1e-14)


@pytest.mark.parametrize("accuracy", [1e-3, 1e-4, 1e-6])
def test_keyframes_keep_to_the_accuracy_at_every_node(run, accuracy, monkeypatch):
    """Points of the bodies, found from the keyframes as a page finds them, against forward kinematics; also over several blocks."""
    monkeypatch.setattr("leastaction.page.keyframes._BLOCK", 7 * 5 * 300)  # 300 of 1001 nodes
    scene = Scene(run.model, run.q, MeshReader(None))
    keys = thin(run.model, run.t, run.q, scene.reach, accuracy)
    assert len(keys.breaks) == 3 and len(keys.t) == len(keys.poses) < len(run)
    poses = (keys.poses * keys.steps).reshape(len(keys.t), -1, 7)
    R, p = Kinematics(run.model).world(run.q)
    exact = scene.points(R, p, moving=True)
    worst = 0.0
    for start, end in zip([0, *keys.breaks], [*keys.breaks, len(keys.t) - 1], strict=True):
        nodes = np.flatnonzero((run.t >= keys.t[start] - 1e-12) & (run.t <= keys.t[end] + 1e-12))
        found = interpolate(keys.t[start : end + 1], poses[start : end + 1], run.t[nodes])
        turned = np.array([[rotation_of_quaternion(q) for q in row[:, 3:]] for row in found])
        worst = max(worst, np.linalg.norm(scene.points(turned, found[..., :3], moving=True) - exact[nodes], axis=-1).max())
    assert worst <= keys.error <= accuracy
    assert keys.error > 0.1 * accuracy  # not more keyframes than needed


def test_fewer_keyframes_for_less_accuracy(run):
    sizes = [la.page.make(run, accuracy=a).keyframes for a in (1e-5, 1e-4, 1e-3)]
    assert sizes[0] > sizes[1] > sizes[2]


def test_a_page_says_what_it_holds(run, tmp_path):
    page = run.to_html(tmp_path / "run.html", title="<five> & links", traces=["tip"])
    text = (tmp_path / "run.html").read_text(encoding="utf-8")
    assert text == page.text and f"{page.megabytes:.2f} MB" in text and f"{page.keyframes} keyframes" in text
    assert page.nodes == len(run) and page.pose_error <= 1e-4 and "&lt;five&gt; &amp; links" in text
    header, array = unpacked(text)
    assert header["title"] == "<five> & links" and header["traces"] == ["tip"]
    keys = header["runs"][0]["keys"]
    assert array(keys["poses"]).shape == (page.keyframes, 7 * 5)
    energy = header["runs"][0]["curves"]["energy"]["curves"][0]
    values = energy["low"] + energy["step"] * array(energy["values"])[:, 0]
    assert np.abs(values - run.energy).max() <= energy["step"]


def test_a_page_needs_nothing_from_outside(run):
    text = la.page.make(run).text
    assert "default-src 'none'" in text
    assert not re.findall(r"https?:|//\w+\.\w|\bimport\b\s*[({'\"]|<(?:script|img|iframe)[^>]+src", re.sub(r'id="data">[^<]*<', "", text))


def test_the_size_is_capped(run):
    with pytest.raises(la.StateError, match=r"MB, more than max_mb = 0\.01.*accuracy=.*triangles="):
        la.page.make(run, max_mb=0.01)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"traces": ["tipp"]}, "'tipp'.*'tip'"),
        ({"arrows": {"pull": ("tipp", [[0, 0, 1]])}}, "arrow 'pull': 'tipp'.*'tip'"),
        ({"arrows": {"pull": ("tip", [[0, 0, 1]])}}, r"arrow 'pull' has shape \(1, 3\).*1001"),
        ({"accuracy": 0.0}, "accuracy = 0.0"),
        ({"accuracy": "fine"}, "accuracy = 'fine'"),
        ({"triangles": -3}, "triangles = -3"),
        ({"max_mb": np.nan}, "max_mb = nan"),
    ],
)
def test_bad_options_are_named(run, options, named):
    with pytest.raises(la.StateError, match=named):
        la.page.make(run, **options)


def test_reactions_are_drawn_where_they_act():
    """Two rods of 1 kg at rest: the upper pin carries both, the lower one its own; each at the origin of its body."""
    still = la.simulate(la.examples.chain(2).compile(), dt=1e-2, steps=5)
    header, array = unpacked(la.page.make(still, reactions=True).text)
    arrows = header["runs"][0]["arrows"]
    assert [(a["name"], a["row"]) for a in arrows] == [("link1", 1), ("link2", 2)] and all(np.abs(a["point"]).max() < 1e-9 for a in arrows)
    for arrow, weight in zip(arrows, (19.62, 9.81), strict=True):
        along = [curve["low"] + curve["step"] * array(curve["values"])[:, 0] for curve in arrow["panel"]["curves"]]
        np.testing.assert_allclose(along, np.tile([[0.0], [0.0], [weight]], len(along[0])), atol=1e-4)
    assert len(unpacked(la.page.make(still, reactions=["link2"]).text)[0]["runs"][0]["arrows"]) == 1
    with pytest.raises(la.LeastActionError, match="'pin'"):
        la.page.make(still, reactions=["pin"])


def test_arrows_belong_to_one_run(run):
    with pytest.raises(la.StateError, match="belong to one run"):
        la.page.make([run, run], arrows={"pull": ("tip", np.zeros((len(run), 3)))})


def test_what_is_not_a_run_is_named():
    with pytest.raises(la.StateError, match="cannot plot a int"):
        la.page.make(3)


def test_runs_that_left_the_numbers_are_shown_until_then_and_say_so(run):
    from dataclasses import replace

    q = run.q.copy()
    q[600:] = np.nan
    page = la.page.make(replace(run, q=q, converged=False, message="stopped: the step at 1.2 s could not be solved"))
    assert page.nodes == 600
    assert "not finite from t = 1.2 s" in page.text and "could not be solved" in page.text
    q[:] = np.nan
    with pytest.raises(la.StateError, match="nothing to show"):
        la.page.make(replace(run, q=q))


EXAMPLES = [
    la.examples.chain(3), la.examples.marionette(), la.examples.heavy_top(), la.examples.tumbling_body(), la.examples.cart_pole(),
    la.examples.humanoid(), la.examples.random_tree(8, seed=2, floating=True), la.examples.screw(), la.examples.four_bar(),
    la.examples.rolling_disc(), la.examples.knee_leg(),
]  # fmt: skip


@pytest.mark.parametrize("mech", EXAMPLES, ids=lambda m: m.name)
def test_everything_of_a_mechanism_is_drawn(mech):
    model = mech.compile()
    scene = Scene(model, model.neutral()[None], MeshReader(None))
    described = scene.described(Pack(), {}, [])
    json.dumps(described, allow_nan=False)
    assert len([s for s in scene.solids if s[12] == "mass"]) == sum(b.mass > 0 for b in mech.bodies.values())
    for row, body in enumerate(model.bodies, start=1):
        drawn = [s for s in scene.solids if s[12] in ("joint", "link") and s[13] == row] + [r for r in scene.rods if r[10] == row]
        assert drawn or body.mass == 0.0, f"nothing is drawn of {body.name}"
    assert scene.unit > 0 and np.isfinite(scene.reach).all()


def test_joints_are_drawn_as_what_they_are():
    kinds = {
        la.Revolute(): "hinge", la.Prismatic(): "slide", la.Helical(pitch=0.1): "screw", la.Cylindrical(): "cylindrical",
        la.Universal(): "universal", la.Planar(): "plane", la.Spherical(): "ball", la.Free(): "free",
    }  # fmt: skip
    for joint, kind in kinds.items():
        assert glyph(joint) == kind
    assert glyph(la.SymbolicJoint("rail", pose=lambda q, sp: sp.move(q[0], q[0] ** 2, 0), nq=1)) == "general"


def test_shapes_are_drawn_where_they_are():
    mech = la.Mechanism()
    mech.add_body("rod", joint=la.Revolute(axis=(0, 1, 0)), placement=la.Pose(xyz=(0, 0, 2)), **ROD)
    mech.add_shape("rod", la.Box(size=(0.2, 0.4, 1)), la.Pose(xyz=(0, 0, -0.5)), color=(1, 0, 0))
    mech.add_shape("rod", la.Capsule(radius=0.1, length=0.3))
    mech.add_shape("world", la.Sphere(radius=0.3), la.Pose(xyz=(5, 0, 0)))
    mech.add_shape("rod", la.Box(size=(9, 9, 9)), role="collision")
    model = mech.compile()
    scene = Scene(model, model.neutral()[None], MeshReader(None))
    shapes = [s for s in scene.solids if s[12] == "shape"]
    assert [s[0] for s in shapes] == ["box", "cylinder", "sphere", "sphere", "sphere"] and shapes[0][14] == [1, 0, 0, 1]
    R, p = Kinematics(model).world(model.neutral()[None])
    place = p[0, 0] + R[0, 0] @ shapes[0][2:5]
    assert np.allclose(place, (0, 0, 1.5))
    points = scene.points(R, p)[0]
    assert np.isclose(points[:, 0].max(), 5.3) and np.isclose(points[:, 2].min(), -0.3)


def box_file(path, **kind):
    trimesh = pytest.importorskip("trimesh")
    trimesh.creation.box(extents=(1, 2, 3)).export(path, **kind)
    return path


@pytest.mark.parametrize("suffix", ["stl", "obj", "dae", "glb", "gltf"])
def test_meshes_of_every_format_are_read(tmp_path, suffix):
    if suffix == "dae":
        pytest.importorskip("collada")
    if suffix == "gltf":
        trimesh = pytest.importorskip("trimesh")
        for name, data in trimesh.creation.box(extents=(1, 2, 3)).scene().export(file_type="gltf").items():
            (tmp_path / name).write_bytes(data)
        path = tmp_path / "model.gltf"
    else:
        path = box_file(tmp_path / f"box.{suffix}")
    (piece,) = MeshReader(None).read(la.Mesh(path, scale=(2, 1, 1)))
    assert np.allclose(np.ptp(piece.vertices, axis=0), (2, 2, 3)) and len(piece.faces) == 12
    vertices, normals, faces = shaded(piece)
    assert len(vertices) == 24  # sharp edges: every corner three times
    corners = vertices[faces]
    outwards = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    assert (np.einsum("ij,ij->i", outwards, normals[faces[:, 0]]) > 0).all()
    assert (np.einsum("ij,ij->i", vertices, normals) > 0).all()


def test_a_mirrored_mesh_is_not_inside_out(tmp_path):
    (piece,) = MeshReader(None).read(la.Mesh(box_file(tmp_path / "box.stl"), scale=(-1, 1, 1)))
    vertices, normals, _ = shaded(piece)
    assert (np.einsum("ij,ij->i", vertices, normals) > 0).all()


def test_meshes_are_decimated_to_the_asked_number_and_the_page_says_so(tmp_path):
    trimesh = pytest.importorskip("trimesh")
    pytest.importorskip("fast_simplification")
    trimesh.creation.icosphere(subdivisions=4, radius=0.3).export(tmp_path / "ball.stl")
    mech = la.Mechanism()
    mech.add_body("rod", joint=la.Revolute(axis=(0, 1, 0)), **ROD)
    mech.add_shape("rod", la.Mesh(tmp_path / "ball.stl"), la.Pose(xyz=(0, 0, -0.5)))
    run = la.simulate(mech.compile(), dt=1e-2, duration=0.2)
    page = la.page.make(run, triangles=500)
    assert page.triangles_in_files == 5120 and 400 <= page.triangles <= 500
    assert f"meshes of {page.triangles} triangles (decimated from 5120)" in page.text
    header, array = unpacked(page.text)
    (mesh,) = header["meshes"]
    whole = np.frombuffer(array(mesh["vertices"]), "<i2").reshape(-1, 3) / 32767 * mesh["half"] + mesh["centre"]
    assert np.abs(np.linalg.norm(whole, axis=1) - 0.3).max() < 0.02
    assert la.page.make(run, triangles=None).triangles == 5120


def test_a_smooth_surface_is_shaded_smoothly():
    trimesh = pytest.importorskip("trimesh")
    ball = trimesh.creation.icosphere(subdivisions=3)
    vertices, normals, _ = shaded(Triangles(np.array(ball.vertices), np.array(ball.faces), None))
    assert len(vertices) == len(ball.vertices) and np.abs(normals - vertices).max() < 0.02


@pytest.mark.parametrize(("content", "named"), [(None, "does not exist"), (b"solid nothing", "no triangles|cannot be read")])
def test_bad_mesh_files_are_named(tmp_path, content, named):
    path = tmp_path / "part.stl"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(la.MechanismError, match=f"part.stl.*({named})"):
        MeshReader(None).read(la.Mesh(path))


def test_without_trimesh_meshes_name_the_extra_and_other_pages_work():
    """In a process of its own, because modules stay imported."""
    script = """
import sys
sys.modules["trimesh"] = sys.modules["IPython"] = sys.modules["matplotlib"] = None
import leastaction as la
from leastaction.page.meshes import MeshReader
from leastaction.page.scene import Scene
try:
    MeshReader(None).read(la.Mesh("part.stl"))
except ImportError as error:
    assert "pip install leastaction[page]" in str(error), error
else:
    raise SystemExit("no error")
"""
    subprocess.run([sys.executable, "-c", script], check=True)


def test_show_opens_a_browser_and_writes_a_file(run, monkeypatch, capsys):
    opened = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    la.show([run, run])
    (address,) = opened
    assert address.startswith("file://") and address.endswith("run.html") and "keyframes" in capsys.readouterr().out
    from pathlib import Path
    from urllib.request import url2pathname

    assert "(2)" in unpacked(Path(url2pathname(address[7:])).read_text(encoding="utf-8"))[0]["runs"][1]["label"]


def test_show_is_inline_in_a_notebook(run, monkeypatch):
    from types import SimpleNamespace

    shown = []
    display = SimpleNamespace(HTML=lambda text: text, display=shown.append)
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: SimpleNamespace(kernel=1), display=display))
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    la.show(run, height=400)
    (text,) = shown
    assert text.startswith("<iframe srcdoc=") and "height:400px" in text and 'sandbox="allow-scripts"' in text
