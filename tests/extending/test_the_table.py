"""docs/extending.md promises few files, and keeps to them."""

import pytest
from extending import page

PROMISED = {"joint with kernels of its own": 2, "force": 1, "constraint": 1, "integrator": 2, "retraction": 2, "file format": 2}
SECTIONS = {"joint with kernels of its own": "A joint", "force": "A force", "retraction": "A retraction"}


@pytest.mark.parametrize("new", PROMISED)
def test_files_touched(new):
    files = page.table()[new]
    assert len(files) == PROMISED[new], f"{new}: {files}"


@pytest.mark.parametrize("new", SECTIONS)
def test_the_section_touches_what_the_table_says(new):
    """Files written or changed by the blocks of the section, against the table; <name> stands for any name."""
    promised = page.table()[new]
    for file in page.files_of(SECTIONS[new]):
        room = file.rsplit("/", 1)[0]
        assert file in promised or any("<name>" in p and p.rsplit("/", 1)[0] == room for p in promised), f"{file} is not in the table"
    assert len(page.files_of(SECTIONS[new])) <= len(promised)
