"""The site: `make docs` builds it from the pages of this folder and the docstrings of the package."""

import inspect
import re
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "src"))

import leastaction as la  # noqa: E402

project, author = "leastaction", "the leastaction developers"
release = la.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx_copybutton"]
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 4
exclude_patterns = ["_build", "README.md"]  # the second one is for people who browse the folder
html_theme = "furo"
html_title = "leastaction"
html_static_path = ["_static"]
html_css_files = ["site.css"]
autodoc_member_order = "groupwise"
autodoc_typehints = "none"
suppress_warnings = ["myst.header"]  # pages start with what they are about, at whatever level

_OUTSIDE = re.compile(r"\[([^\]]+)\]\(\.\./[^)]+\)")  # links to files beside this folder, which the site does not have


def _without_files(app, docname, source):
    """Links that leave the folder of the documentation become plain names."""
    source[0] = _OUTSIDE.sub(r"\1", source[0])


def _as_written(app, what, name, object_, options, lines):
    """Docstrings are plain text that people also read in a terminal: the first sentence, then the rest as it stands."""
    if not lines:
        return
    end = next((i for i, line in enumerate(lines) if not line.strip()), len(lines))
    first, rest = lines[:end], lines[end:]
    escaped = [re.sub(r"([*`|_\\])", r"\\\1", line).strip() for line in first]
    while rest and not rest[-1].strip():
        rest.pop()
    lines[:] = [*escaped, "", "::", "", *(f"    {line}" for line in rest), ""] if any(r.strip() for r in rest) else [*escaped, ""]


def _write_reference() -> None:
    """api.rst: every public name, sorted by what it is."""
    groups: dict[str, list[str]] = {"Mechanisms": [], "Joints": [], "Forces": [], "Constraints": [], "Integrators": [], "Shapes": [],
                                    "Runs and functions": [], "Errors": []}  # fmt: skip
    for name in la.__all__:
        thing = getattr(la, name)
        home = (getattr(thing, "__module__", "") or "").removeprefix("leastaction.").split(".")[0]
        if inspect.ismodule(thing):
            continue
        kind = {
            "joints": "Joints", "forces": "Forces", "constraints": "Constraints", "integrators": "Integrators", "shapes": "Shapes",
            "errors": "Errors", "mechanism": "Mechanisms", "model": "Mechanisms", "frames": "Mechanisms", "pose": "Mechanisms",
            "limits": "Mechanisms", "io": "Mechanisms", "state": "Mechanisms",
        }.get(home, "Runs and functions")  # fmt: skip
        groups[kind].append(name)
    text = ["Every public name", "=================", "", "``import leastaction as la``; each name below is ``la.<name>``.", ""]
    for title, names in groups.items():
        text += [title, "-" * len(title), ""]
        for name in names:
            directive = "autoclass" if inspect.isclass(getattr(la, name)) else "autofunction"
            text += [f".. {directive}:: leastaction.{name}", *(["   :members:"] if directive == "autoclass" else []), ""]
    for name in la.__all__:
        module = getattr(la, name)
        if inspect.ismodule(module):
            text += [f"la.{name}", "-" * (3 + len(name)), "", f".. automodule:: {module.__name__}", ""]
            for inner in getattr(module, "__all__", []):
                thing = getattr(module, inner)
                if inspect.isfunction(inspect.unwrap(thing)) and inner not in la.__all__:
                    text += [f".. autofunction:: {module.__name__}.{inner}", ""]
    target = HERE / "api.rst"
    written = "\n".join(text)
    if not target.exists() or target.read_text(encoding="utf-8") != written:
        target.write_text(written, encoding="utf-8")


def setup(app):
    _write_reference()
    app.connect("source-read", _without_files)
    app.connect("autodoc-process-docstring", _as_written)
