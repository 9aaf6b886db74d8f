"""Shapes: what is wrong with one is said where it is given; they reach the model and weigh nothing."""

import numpy as np
import pytest

import leastaction as la

ROD = dict(mass=1.0, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0.01))


def _rod():
    mech = la.Mechanism()
    mech.add_body("rod", joint=la.Revolute(axis=(0, 1, 0)), **ROD)
    return mech


@pytest.mark.parametrize(
    "make, named",
    [
        (lambda: la.Box(size=(1, 2)), "Box size"),
        (lambda: la.Box(size=(1, 2, 0)), "Box size"),
        (lambda: la.Sphere(radius=-1), "Sphere radius = -1"),
        (lambda: la.Sphere(radius="big"), "Sphere radius"),
        (lambda: la.Cylinder(radius=0.1, length=np.nan), "Cylinder length"),
        (lambda: la.Capsule(radius=0, length=1), "Capsule radius"),
        (lambda: la.Mesh("part.stl", scale=(1, 0, 1)), "flattens"),
        (lambda: _rod().add_shape("rod", "a box"), "not a shape"),
        (lambda: _rod().add_shape("rod", la.Sphere(1), (0, 0, 1)), "not a Pose"),
        (lambda: _rod().add_shape("rod", la.Sphere(1), color=(1, 2, 3)), "each from 0 to 1"),
        (lambda: _rod().add_shape("rod", la.Sphere(1), role="ghost"), "'ghost'"),
        (lambda: _rod().add_shape(None, la.Sphere(1)), "shape: body"),
    ],
)
def test_bad_shapes_are_named(make, named):
    with pytest.raises(la.MechanismError, match=named):
        make()


def test_a_shape_on_nothing_is_named():
    mech = _rod()
    mech.add_shape("rodd", la.Sphere(1))
    with pytest.raises(la.MechanismError, match="'rodd'.*'rod'"):
        mech.compile()


def test_shapes_reach_the_model_and_weigh_nothing():
    mech = _rod()
    bare = mech.compile()
    mech.add_shape("rod", la.Box(size=(0.1, 0.1, 1)), la.Pose(xyz=(0, 0, -0.5)), color=(1, 0, 0))
    mech.add_shape("world", la.Mesh("part.stl"), role="collision")
    model = mech.compile()
    assert [s.body for s in model.shapes] == ["rod", "world"] and model.shapes[0].color == (1, 0, 0, 1)
    for a, b in zip(bare.tree, model.tree, strict=True):
        assert np.array_equal(a, b)
