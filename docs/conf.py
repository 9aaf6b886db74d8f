"""The site: `make docs` builds it from the pages of this folder and the docstrings of the package."""

import html
import inspect
import re
import sys
from pathlib import Path

from docutils import nodes

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "src"))

import leastaction as la  # noqa: E402
from leastaction.gallery.pages import cards, style  # noqa: E402

project, author = "leastaction", "the leastaction developers"
release = la.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx_copybutton"]
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 4
myst_fence_as_directive = ["math"]
html_math_renderer = "mathml"
exclude_patterns = ["_build", "README.md"]  # the second one is for people who browse the folder
html_theme = "furo"
html_title = "leastaction"
html_show_search_summary = False  # it would fetch pages, which browsers refuse to do from a disk
html_static_path = ["_static"]
html_css_files = ["site.css", "cards.css"]
autodoc_member_order = "groupwise"
autodoc_typehints = "none"
suppress_warnings = ["myst.header"]  # pages start with what they are about, at whatever level

_OUTSIDE = re.compile(r"\[([^\]]+)\]\((?:\.\./)+(?:papers|tests|src|README)[^)]*\)")  # links to files beside this folder

_TAG = re.compile(r"\\tag\{([^}]*)\}")  # the number of an equation


def _without_files(app, docname, source):
    """Links that leave the folder of the documentation become plain names."""
    source[0] = _OUTSIDE.sub(r"\1", source[0])


def _as_written(app, what, name, object_, options, lines):
    """Docstrings are plain text that people also read in a terminal: sentences, tables of arguments as they stand, examples."""
    paragraphs = re.split(r"\n\s*\n", "\n".join(lines).strip("\n"))
    lines[:] = [line for i, paragraph in enumerate(paragraphs) for line in _typeset(paragraph.split("\n"), first=i == 0)]


_COLUMNS = re.compile(r"^ |(?<![.:;?!]) {2,}\S", re.MULTILINE)  # what is set in columns: an indent, or a gap that does not end a sentence


def _typeset(rows: list[str], first: bool) -> list[str]:
    """One paragraph of a docstring as reStructuredText."""
    indented = ["", *(f"    {row}" for row in rows), ""]
    if rows[0].lstrip().startswith(">>>"):
        return [".. code-block:: pycon", *indented]
    if not first and _COLUMNS.search("\n".join(rows)):
        return [".. code-block:: text", *indented]
    words = re.split(r"`([^`]+)`", " ".join(row.strip() for row in rows))  # every second one stood in back quotes
    escaped = [re.sub(r"([*`|_\\])", r"\\\1", word) for word in words[::2]]
    quoted = [f"``{word}``\\ " for word in words[1::2]]
    return ["".join(part for pair in zip(escaped, [*quoted, ""], strict=True) for part in pair), ""]


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
    _write(HERE / "api.rst", "\n".join(text))


def _write(target: Path, text: str) -> None:
    """Only if it is new: what did not change is not built again."""
    if not target.exists() or target.read_text(encoding="utf-8") != text:
        target.write_text(text, encoding="utf-8")


def _write_gallery() -> None:
    """What gallery.md includes: cards that lead to the pages that are made when everything else is."""
    _write(HERE / "_cards.html", cards(la.gallery.ENTRIES, base="gallery/"))
    _write(HERE / "_static" / "cards.css", style())


def _play_gallery(app, error):
    """The pages of the gallery, beside those of the site."""
    if error is None and app.builder.format == "html":
        la.gallery.write(Path(app.outdir) / "gallery", steps=app.config.gallery_steps or None, home="../gallery.html")


def _mathml(latex: str, display: str) -> str:
    """Equations as MathML, which browsers draw by themselves, off line; as they are written where the converter is not installed."""
    try:
        from latex2mathml.converter import convert
    except ImportError:
        return f"<code>{html.escape(latex)}</code>"
    return convert(latex, display=display)


def _inline_math(self, node):
    self.body.append(_mathml(node.astext(), "inline"))
    raise nodes.SkipNode


def _block_math(self, node):
    latex = node.astext()
    number = _TAG.search(latex)
    said = f"<span class=number>({number[1]})</span>" if number else ""
    place = f' id="equation-{number[1]}"' if number else ""
    self.body.append(f"<div class=equation{place}>{_mathml(_TAG.sub('', latex), 'block')}{said}</div>")
    raise nodes.SkipNode


def setup(app):
    _write_reference()
    _write_gallery()
    app.add_config_value("gallery_steps", 0, "")  # of every run; 0: all
    app.add_html_math_renderer("mathml", (_inline_math, None), (_block_math, None))
    app.connect("build-finished", _play_gallery)
    app.connect("source-read", _without_files)
    app.connect("autodoc-process-docstring", _as_written)
