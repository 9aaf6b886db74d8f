"""Pictures and films of mechanisms: everything of the tree is in them, in the right place."""

import numpy as np
import pytest

import leastaction as la
from leastaction.drawing.skeleton import CONSTRAINT, LINK, SPRING, Skeleton
from leastaction.plot.camera import Camera

EXAMPLES = [
    la.examples.chain(3), la.examples.listing_1(), la.examples.marionette(), la.examples.planar_human(), la.examples.heavy_top(),
    la.examples.tumbling_body(), la.examples.cart_pole(), la.examples.humanoid(), la.examples.random_tree(6, seed=2, floating=True),
]  # fmt: skip


@pytest.mark.parametrize("mech", EXAMPLES, ids=lambda m: m.name)
def test_every_mechanism_can_be_drawn_and_shows_all_masses_and_bodies(mech, tmp_path):
    model = mech.compile()
    skeleton = Skeleton(model)
    total = sum(b.mass for b in mech.bodies.values())
    assert np.isclose(sum(m for _, m in skeleton.masses), total)
    assert len(skeleton.joints) == len(model.bodies)
    figure = la.plot.mechanism(mech, save_to=tmp_path / "mechanism.png")
    assert (tmp_path / "mechanism.png").stat().st_size > 2000
    assert len(figure.axes) == 1


def test_points_are_where_forward_kinematics_says():
    mech = la.examples.random_tree(6, seed=4)
    model = mech.compile()
    q = model.neutral()
    points, skeleton = Skeleton(model).points(q), Skeleton(model)
    for point, mass in skeleton.masses:
        names = [b.name for b in mech.bodies.values() if b.mass == mass]
        pose = la.dynamics.pose(model, q, names[0])
        assert np.allclose(points[point], pose.p + pose.R @ mech.bodies[names[0]].com, atol=1e-12)


def test_constraints_and_springs_are_lines():
    mech = la.examples.chain(2)
    mech.add_frame("hook", placement=la.Pose(xyz=(1, 0, 0)))
    mech.add_force(la.LinearSpring("tip", "hook", 1.0))
    mech.add_constraint(la.Distance("link2", "hook", 1.0))
    kinds = [kind for _, _, kind, _ in Skeleton(mech.compile()).lines]
    assert kinds.count(CONSTRAINT) == 1 and kinds.count(SPRING) == 1 and kinds.count(LINK) >= 4


def test_planar_mechanisms_are_seen_face_on_and_others_obliquely():
    flat = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, -2.0]])
    assert Camera(flat, None).names == ("x", "z")
    assert Camera(flat[:, [0, 2, 1]], None).names == ("x", "y")
    deep = np.vstack([flat, [0.0, 1.0, 0.0]])
    assert Camera(deep, None).names is None
    camera = Camera(flat, (30.0, 10.0))
    assert np.allclose(camera.matrix @ camera.matrix.T, np.eye(2)) and np.allclose(camera.matrix @ camera.toward, 0.0)


def test_films(tmp_path):
    run = la.simulate(la.examples.chain(2).compile(), dt=1e-2, duration=0.3, q={"link1": 0.5})
    la.plot.mechanism(run, poses=3, save_to=tmp_path / "run.svg")
    la.plot.animation(run, tmp_path / "run.gif", fps=10)
    from PIL import Image

    with Image.open(tmp_path / "run.gif") as film:
        assert film.n_frames == 4
    with pytest.raises(la.StateError, match=r"suffix '\.avi'.*\.gif"):
        la.plot.animation(run, tmp_path / "run.avi")
    with pytest.raises(la.StateError, match="what simulate"):
        la.plot.animation(run.model, tmp_path / "run.gif")
    with pytest.raises(la.StateError, match="cannot draw a list"):
        la.plot.mechanism([1, 2])
    with pytest.raises(la.StateError, match="leave q out"):
        la.plot.mechanism(run, {"link1": 1.0})
