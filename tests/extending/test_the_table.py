"""docs/extending.md promises few files, and keeps to them."""

import re

import pytest
from extending import page

PROMISED = {"joint with kernels of its own": 2, "force": 1, "constraint": 1, "integrator": 2, "retraction": 2, "file format": 2}
SECTIONS = {"joint with kernels of its own": "A joint", "retraction": "A retraction"}  # those that write files of the package


@pytest.mark.parametrize("new", PROMISED)
def test_files_touched(new):
    files = page.table()[new]
    assert len(files) == PROMISED[new], f"{new}: {files}"


@pytest.mark.parametrize("new", SECTIONS)
def test_the_section_touches_what_the_table_says(new):
    """Files written or changed by the blocks of the section are those of the table; <name> stands for any name."""
    promised = page.table()[new]
    touched = list(page.files_of(SECTIONS[new]))
    assert len(touched) == len(promised)
    for file, wanted in zip(touched, promised, strict=True):
        assert re.fullmatch(re.escape(wanted).replace("<name>", r"\w+"), file), f"{file} is not in the table: {promised}"
