"""Getting the list of joints wrong is an error at import that names joint and function; a joint outside it one at compile."""

from types import ModuleType

import numpy as np
import pytest

import leastaction as la
from leastaction import joints
from leastaction.joints import dispatch, table
from leastaction.joints.base import Joint


def joint(name="Hinge", module="leastaction.joints.hinge", **changed):
    """A class that is fit for the list, but for what is changed; None leaves something out."""
    said = {
        "nq": 1, "nv": 1, "coordinates": ("angle",), "angular": (True,), "reference_pose": lambda self, q: q,
        "reference_coordinates": lambda self, R, p: p, "__module__": module,
    } | changed  # fmt: skip
    return type(name, (Joint,), {key: value for key, value in said.items() if value is not None})


def test_the_list_gives_the_numbers():
    first, still, second = joint("A", "a"), joint("B", "b", nq=0, nv=0, coordinates=(), angular=()), joint("C", "c")
    table.number((first, still, second))
    assert (first.kind, still.kind, second.kind) == (0, table.NO_KERNELS, 1)


MISTAKES = [
    ((joint(kind=3),), r"Hinge.kind = 3: .* leave `kind` out"),
    ((joint(), joint("Other")), "Hinge and Other share the kernels of leastaction.joints.hinge"),
    ((joint(nv=None),), "Hinge has no class attribute nv"),
    ((joint(coordinates=("a", "b")),), r"Hinge.coordinates = \('a', 'b'\) has 2 entries, not 1"),
    ((joint(angular=()),), r"Hinge.angular = \(\) has 0 entries, not 1"),
    ((joint(turns="round"),), "Hinge.turns = 'round'; it is one of '', 'about z', 'freely'"),
    ((joint(reference_pose=None),), r"Hinge has no method reference_pose\(q\)"),
    ((joint(reference_coordinates=None),), r"Hinge has no method reference_coordinates\(R, p\)"),
    ((int,), "int, which is not a subclass of Joint"),
]


@pytest.mark.parametrize(("listed", "message"), MISTAKES, ids=[message[:40] for _, message in MISTAKES])
def test_a_mistake_in_the_list_is_named(listed, message):
    with pytest.raises(TypeError, match=message):
        table.number(listed)


def test_a_joint_listed_twice_is_named():
    hinge = joint()
    with pytest.raises(TypeError, match="Hinge stands twice in joints.ALL"):
        table.number((hinge, hinge))


def test_a_missing_kernel_is_named_with_its_parameters():
    empty = ModuleType("leastaction.joints.empty")
    with pytest.raises(TypeError, match=r"empty has no function pose\(param, i, q, k, d, v, f\), which every joint needs"):
        dispatch._demand(empty, "pose", "kind, param, i, q, k, d, v, f", "every joint")


@pytest.mark.parametrize("name", ["advance", "carry"])
def test_plain_coordinates_move_in_no_way_of_their_own(name):
    own = ModuleType("leastaction.joints.winding")
    setattr(own, name, lambda *_: None)
    getattr(own, name).__module__ = own.__name__
    with pytest.raises(TypeError, match=f"winding has a function {name}, but Hinge as many coordinates as freedoms"):
        dispatch._refuse_own_motion(joint(), own)
    dispatch._refuse_own_motion(joint(nq=4, nv=3), own)


def test_an_imported_function_is_not_taken_for_a_kernel():
    careless = ModuleType("leastaction.joints.careless")
    careless.bias = joints.universal.bias
    with pytest.raises(TypeError, match="careless imports bias from leastaction.joints.universal"):
        dispatch._has(careless, "bias")


def test_a_joint_outside_the_list_is_refused_when_the_mechanism_is_compiled():
    class Weld(Joint):
        nq = nv = 1
        coordinates, angular = ("angle",), (True,)

        def columns_at_zero(self):
            return np.eye(6)[[2]]

    mech = la.Mechanism()
    mech.add_body("arm", joint=Weld(), mass=1.0, inertia=(1.0, 1.0, 1.0))
    with pytest.raises(la.MechanismError, match=r"joint 'arm': Weld is not in the list joints.ALL.*SymbolicJoint"):
        mech.compile()


def test_a_subclass_of_a_listed_joint_has_its_kernels():
    class Hinge(la.Revolute):
        """Always about y."""

        def __init__(self):
            super().__init__((0, 1, 0))

    mech = la.Mechanism()
    mech.add_body("arm", joint=Hinge(), mass=1.0, com=(0, 0, -1))
    assert mech.compile().tree.link[1, 1] == la.Revolute.kind


def test_what_kernels_ask_of_a_joint_follows_from_the_list():
    kinds = {k.__name__: k.kind for k in joints.ALL}

    def chosen(test):
        return {name for name, kind in kinds.items() if getattr(test, "py_func", test)(kind)}

    assert chosen(dispatch.turns_about_z) == {k.__name__ for k in joints.ALL if k.turns == "about z"} == {"Revolute"}
    assert chosen(dispatch.turns_freely) == {k.__name__ for k in joints.ALL if k.turns == "freely"} == {"Spherical"}
    assert chosen(dispatch.has_quaternion) == {k.__name__ for k in joints.ALL if k.has_quaternion}
