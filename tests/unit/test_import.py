"""What `import leastaction` brings in: nothing until it is asked for, and then everything that is promised."""

import ast
import importlib
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

import leastaction as la

STUB = Path(la.__file__).with_suffix(".pyi")


def in_a_new_process(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()


def test_importing_the_package_imports_none_of_the_large_ones():
    large = ("numpy", "numba", "llvmlite", "sympy", "matplotlib", "scipy", "trimesh")
    code = f"import sys; before = set(sys.modules); import leastaction; print(*[m for m in {large} if m in set(sys.modules) - before])"
    assert in_a_new_process(code) == []


def test_a_simulation_needs_neither_sympy_nor_matplotlib():
    code = """
import os, sys
os.environ["NUMBA_DISABLE_JIT"] = "1"
import leastaction as la
la.simulate(la.examples.chain(1).compile(), dt=1e-2, steps=2, q=[0.1])
print(*[m for m in ("sympy", "matplotlib", "trimesh", "leastaction.plot", "leastaction.page", "leastaction.analysis") if m in sys.modules])
"""
    assert in_a_new_process(code) == []


def names_of_the_stub():
    """name -> module it is imported from, and the list __all__."""
    homes, listed = {}, None
    for node in ast.parse(STUB.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom):
            homes |= {alias.name: node.module for alias in node.names}
        elif isinstance(node, ast.Assign):
            listed = ast.literal_eval(node.value)
    return homes, listed


def test_type_checkers_see_what_there_is():
    homes, listed = names_of_the_stub()
    assert sorted(listed) == sorted(homes) == la.__all__
    for name, home in homes.items():
        module = importlib.import_module(f"leastaction.{home or name}")
        assert getattr(la, name) is (getattr(module, name) if home else module)


def test_completion_shows_every_name_before_it_is_imported():
    shown = in_a_new_process("import leastaction; print(*dir(leastaction))")
    assert set(la.__all__) <= set(shown)


@pytest.mark.parametrize("first", ["import leastaction.simulate", "from leastaction.cli import main", "import leastaction"])
def test_a_function_wins_over_the_module_of_its_name(first):
    assert in_a_new_process(f"{first}\nimport leastaction as la\nprint(la.simulate.__name__, la.simulate.__module__)") == [
        "simulate", "leastaction.simulate",
    ]  # fmt: skip


def test_rooms_that_are_not_listed_can_still_be_asked_for():
    assert in_a_new_process("import leastaction as la; print(la.integrators.base.__name__)") == ["leastaction.integrators.base"]


@pytest.mark.parametrize("name", ["Simulatr", "__wrapped__", "_private"])
def test_a_name_that_does_not_exist_is_an_attribute_error(name):
    with pytest.raises(AttributeError, match=f"'leastaction' has no attribute '{name}'"):
        getattr(la, name)


def test_what_is_pickled_arrives_where_nothing_was_imported_yet(tmp_path):
    file = tmp_path / "pose"
    file.write_bytes(pickle.dumps([la.Pose(xyz=(1, 2, 3)), la.Variational(tol=1e-9), la.simulate]))
    code = f"import pickle; found = pickle.load(open({str(file)!r}, 'rb')); print(found[0].p[2], found[1].tol, found[2].__name__)"
    assert in_a_new_process(code) == ["3.0", "1e-09", "simulate"]


def test_functions_that_use_the_package_travel():
    from numba import cloudpickle

    there = pickle.loads(cloudpickle.dumps(lambda: la))
    assert there() is la
    assert pickle.loads(pickle.dumps(la)) is la
