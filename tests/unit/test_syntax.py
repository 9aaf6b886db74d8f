"""Syntax trees are those of the text that was imported, however the file has changed since."""

import ast
import importlib.util
from pathlib import Path

import pytest

from leastaction.compiling import cache, syntax
from leastaction.lie import algebra

BEFORE = """
def first(x):
    return x + 1.0


def second(x):
    return x * 2.0
"""


@pytest.fixture
def edited(tmp_path, monkeypatch):
    """A module of the package whose file has changed after it was imported: `second` stands where `first` stood."""
    path = (tmp_path / "edited.py").resolve()
    path.write_text(BEFORE, encoding="utf-8")
    spec = importlib.util.spec_from_file_location("edited", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setitem(cache._AS_IMPORTED, path, path.read_bytes())
    path.write_text(BEFORE.replace("first", "third").replace("second", "first"), encoding="utf-8")
    return module


@pytest.mark.parametrize("name", ["first", "second"])
def test_it_is_the_text_that_was_imported(edited, name):
    expected = next(node for node in ast.parse(BEFORE).body if node.name == name)
    assert ast.unparse(syntax.definition(getattr(edited, name))) == ast.unparse(expected)


def test_what_is_outside_of_the_package_is_read_where_it_stands():
    tree = syntax.definition(test_what_is_outside_of_the_package_is_read_where_it_stands)
    assert tree.name == "test_what_is_outside_of_the_package_is_read_where_it_stands"


def test_every_file_with_compiled_code_is_known_as_it_was_imported():
    assert cache.source_as_imported(algebra.__file__) == Path(algebra.__file__).read_text(encoding="utf-8")
    assert cache.source_as_imported(__file__) is None
    assert cache.hash_of_sources(cache.PACKAGE, cache._AS_IMPORTED) == cache.hash_of_sources(cache.PACKAGE)
