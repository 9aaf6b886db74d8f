"""Hostile robot files: real ones, changed at random in the ways of vandals and of broken disks."""

import re

import numpy as np

VALUES = [
    "nan", "inf", "-inf", "-1", "0", "1e308", "-1e308", "1e-320", "", " ", "1 2", "0 0 0", "1,2,3", "1_0", "0x10", "${pi}", "$(find x)",
    "../../../../../../etc/passwd", "../../../../../../etc/passwd.stl", "package://../../etc/passwd.stl", "http://localhost/x.stl",
    "file:///dev/zero.stl", "/dev/zero", "world", "revolute", "floating", "planar", "ball", "true", "\u202e\u00e9\U0001f916",
    "A" * 10_000, "&#0;", "&lol;", "&#x10FFFF;",
]  # fmt: skip
PIECES = [
    b'<!DOCTYPE robot [<!ENTITY lol "lol">]>', b"<![CDATA[", b"]]>", b"<!--", b"-->", b"<?php ?>", b"\x00", b"\xff\xfe", b"&amp;",
    b"</robot>", b"<robot>", b"<link/>", b"<joint/>",
    b'<link name="world"/>', b'<mimic joint="x"/>', b"<inertial/>", b"<xacro:include/>", b"<limit/>",
]  # fmt: skip
_ATTRIBUTE = re.compile(rb'="([^"]*)"')
_ELEMENT = re.compile(rb"<(link|joint|inertial|visual|collision|origin|mass|inertia|axis|limit|parent|child|mimic|dynamics)\b[^>]*/>")


def mutated(data: bytes, rng: np.random.Generator) -> bytes:
    """A file with one to four changes."""
    for _ in range(rng.integers(1, 5)):
        data = CHANGES[rng.integers(len(CHANGES))](data, rng)
    return data


def _replace(data: bytes, start: int, stop: int, by: bytes) -> bytes:
    return data[:start] + by + data[stop:]


def _one(pattern, data: bytes, rng):
    found = list(pattern.finditer(data))
    return found[rng.integers(len(found))] if found else None


def a_value(data, rng):
    match = _one(_ATTRIBUTE, data, rng)
    return _replace(data, *match.span(1), VALUES[rng.integers(len(VALUES))].encode()) if match else data


def a_value_of_another(data, rng):
    """Cycles, two names, links that hang on joints, lengths that are names."""
    one, other = _one(_ATTRIBUTE, data, rng), _one(_ATTRIBUTE, data, rng)
    return _replace(data, *one.span(1), other[1]) if one else data


def an_element_less(data, rng):
    match = _one(_ELEMENT, data, rng)
    return _replace(data, *match.span(), b"") if match else data


def an_element_twice(data, rng):
    match = _one(_ELEMENT, data, rng)
    return _replace(data, match.end(), match.end(), match[0]) if match else data


def a_piece(data, rng):
    at = int(rng.integers(len(data) + 1))
    return _replace(data, at, at, PIECES[rng.integers(len(PIECES))])


def a_hole(data, rng):
    at = int(rng.integers(len(data) + 1))
    return _replace(data, at, at + int(rng.geometric(0.01)), b"")


def an_end(data, rng):
    return data[: int(rng.integers(len(data) + 1))]


def some_bytes(data, rng):
    broken = bytearray(data)
    for at in rng.integers(max(len(broken), 1), size=3):
        if broken:
            broken[at] = int(rng.integers(256))
    return bytes(broken)


def a_slice_twice(data, rng):
    start = int(rng.integers(len(data) + 1))
    stop = start + int(rng.integers(2000))
    return _replace(data, stop, stop, data[start:stop])


CHANGES = [a_value, a_value, a_value, a_value_of_another, a_value_of_another, an_element_less, an_element_twice, a_piece, a_hole, an_end,
           some_bytes, a_slice_twice]  # fmt: skip
