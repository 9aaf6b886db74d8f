"""Formats by their suffix: what is no suffix is named, and nothing is registered."""

import pytest

import leastaction as la
from leastaction.io import registry


class Rods:
    @staticmethod
    def read(path):
        return la.examples.double_pendulum()

    @staticmethod
    def write(mechanism):
        return mechanism.name


@pytest.mark.parametrize("suffix", ["rods", "", ".", ".RODS", 3, None, b".rods"])
def test_what_is_no_suffix_is_named(suffix):
    before = dict(registry.FORMATS)
    with pytest.raises(la.FormatError, match="suffix = .*a dot and lower-case letters"):
        registry.register(suffix, Rods)
    assert before == registry.FORMATS


def test_a_registered_format_reads_and_writes(tmp_path, monkeypatch):
    monkeypatch.setattr(registry, "FORMATS", dict(registry.FORMATS))
    registry.register(".r", Rods)
    la.save(la.examples.double_pendulum(), tmp_path / "a.r")
    assert (tmp_path / "a.r").read_text() == la.load(tmp_path / "a.r").name
