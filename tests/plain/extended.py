"""Forces and constraints of docs/extending.md with every integrator."""

from extending.test_at_run_time import constraints_of_the_page, forces_of_the_page


def test_forces(tmp_path, monkeypatch):
    forces_of_the_page(tmp_path, monkeypatch)


def test_constraints(tmp_path, monkeypatch):
    constraints_of_the_page(tmp_path, monkeypatch)
