"""What needs no file in the package: forces, constraints, integrators and formats of docs/extending.md.

Forces and constraints are compiled here with an integrator of every kind; tests/plain/extended.py runs them with all.
"""

import inspect

import pytest
from extending import page

import leastaction as la
from leastaction.forces import Force
from leastaction.io import registry
from leastaction.testing import check_constraint, check_force, check_integrator

FEW = (la.Variational(), la.Maximal(), la.RK4())


def made_by(section, base, tmp_path, monkeypatch):
    """The classes a section makes of a base class."""
    monkeypatch.chdir(tmp_path)
    found = page.run(section).values()
    return {c.__name__: c for c in found if inspect.isclass(c) and issubclass(c, base) and c.__module__ == "example"}


# ------------------------------------------------------------------------------------------------------------- forces


@pytest.mark.slow
def test_forces(tmp_path, monkeypatch):
    forces_of_the_page(tmp_path, monkeypatch, FEW)


def forces_of_the_page(tmp_path, monkeypatch, integrators=None):
    """Every force of the page, on the bodies and joints of the bench."""
    made = made_by("A force", Force, tmp_path, monkeypatch)
    assert made
    for cls in made.values():
        report = check_force(lambda cls=cls: on_the_bench(cls), integrators=integrators)
        assert {"Variational-exp-trapezoid", "Maximal-exp-trapezoid", "RK4"} <= set(report.orders), report.refused


def on_the_bench(cls):
    """An instance on places of `force_bench`: arguments by their names."""
    places = {"joint": "hinge", "body": "slide", "frame": "tip", "a": "tip", "b": "anchor"}
    numbers = {"stiffness": 30.0, "damping": 0.5, "coefficient": 0.4, "area": 0.3, "density": 1.2, "velocity": (0.0, 4.0, 0.0)}
    given = {}
    for name, parameter in inspect.signature(cls).parameters.items():
        if name in places or name in numbers:
            given[name] = {**places, **numbers}[name]
        else:
            assert parameter.default is not parameter.empty, f"what is {name!r} of {cls.__name__}? Add it to on_the_bench"
    return cls(**given)


def test_a_force_that_does_not_say_what_it_does():
    class Silent(Force):
        pass

    with pytest.raises(la.MechanismError, match=r"Silent.*apply\(self, builder\)"):
        la.examples.chain(2).add_force(Silent())


# -------------------------------------------------------------------------------------------------------- constraints


def test_constraints(tmp_path, monkeypatch):
    constraints_of_the_page(tmp_path, monkeypatch, (*FEW, la.Midpoint()))


def constraints_of_the_page(tmp_path, monkeypatch, integrators=None):
    made = made_by("A constraint", la.Constraint, tmp_path, monkeypatch)
    assert made
    for cls in made.values():
        report = check_constraint(lambda cls=cls: cls("anchor", "tip"), integrators=integrators)
        assert report.on_positions
        wanted = {"Variational-exp-trapezoid", "Midpoint", "RK4"}
        if integrators is None:
            wanted |= {"Variational-cayley-midpoint", "Maximal-quaternion-trapezoid"}
        assert wanted <= set(report.orders)


def test_a_constraint_that_does_not_say_what_it_keeps():
    class Silent(la.Constraint):
        pass

    mech = la.examples.chain(2)
    mech.add_constraint(Silent())
    with pytest.raises((TypeError, la.MechanismError), match="Silent"):
        mech.compile()


# -------------------------------------------------------------------------------------------------------- integrators


def test_integrators(tmp_path, monkeypatch):
    made = made_by("An integrator", la.Integrator, tmp_path, monkeypatch)
    assert made
    for cls in made.values():
        integrator = cls()
        check_integrator(integrator)
        check_force(lambda: la.Spring("hinge", 20.0), integrators=[integrator])
        check_force(lambda: la.Damper("slide", 2.0), integrators=[integrator])


def test_an_integrator_with_a_method_missing(tmp_path, monkeypatch):
    """Whatever the page overrides of the base class is missed by name."""
    model = la.examples.chain(2).compile()
    for cls in made_by("An integrator", la.Integrator, tmp_path, monkeypatch).values():
        methods = [name for name in vars(cls) if name[0] != "_" and callable(vars(cls)[name]) and name in vars(la.Integrator)]
        assert "start" in methods
        for missing in methods:
            forgetful = type(cls.__name__, cls.__bases__, {k: v for k, v in vars(cls).items() if k != missing})
            with pytest.raises(TypeError, match=f"{cls.__name__}.*{missing}"):
                assert la.simulate(model, dt=1e-3, steps=2, integrator=forgetful()).energy.shape == (3,)


# ------------------------------------------------------------------------------------------------------------ formats


@pytest.fixture
def rods(tmp_path, monkeypatch):
    monkeypatch.setattr(registry, "FORMATS", dict(registry.FORMATS))
    monkeypatch.chdir(tmp_path)
    return page.run("A file format")


def test_a_format(rods, tmp_path):
    mech = rods["mech"]
    (tmp_path / "again.rods").unlink(missing_ok=True)
    la.save(mech, tmp_path / "again.rods")
    again = la.load(tmp_path / "again.rods")
    models = [m.compile() for m in (mech, again)]
    assert (tmp_path / "again.rods").read_text() == (tmp_path / "pendulums.rods").read_text()
    ends = [la.simulate(m, dt=1e-3, steps=20, q=[0.3, 0.2]).q for m in models]
    assert (ends[0] == ends[1]).all() and models[0].joint_names == models[1].joint_names


def test_what_a_format_cannot_read_or_say_is_named(rods, tmp_path):
    (tmp_path / "bad.rods").write_text("upper 1.0 2.0\nlower one\n")
    with pytest.raises(la.FormatError, match=r"bad.rods:2: .*'lower one'"):
        la.load(tmp_path / "bad.rods")
    ball = la.Mechanism()
    ball.add_body("link1", joint=la.Spherical(), mass=1.0, inertia=(1, 1, 1))
    with pytest.raises(la.FormatError, match="'link1' is Spherical"):
        la.save(ball, tmp_path / "ball.rods")
    assert not (tmp_path / "ball.rods").exists()


def test_a_format_registered_wrongly(rods):
    with pytest.raises(la.FormatError, match="'.rods' belongs to a format already"):
        registry.register(".rods", rods["rods"])
    with pytest.raises(la.FormatError, match="'.half'.*has no function write"):
        registry.register(".half", type("half", (), {"read": staticmethod(rods["read"])}))
    for suffix in ("yaml", ".YAML", ".", 3):
        with pytest.raises(la.FormatError, match="suffix = "):
            registry.register(suffix, rods["rods"])
    with pytest.raises(la.FormatError, match="no format has the suffix '.cad'; those there are: .*\\.urdf.*, \\.rods"):
        la.load("robot.cad")
