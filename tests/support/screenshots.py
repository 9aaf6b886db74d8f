"""Screenshots of the live view, a notebook, the gallery and the site for the documentation, taken in a headless Chromium.

`make screenshots`, or `python -m support.screenshots NAME ...` for some.  The notebook needs `pip install nbconvert ipykernel`; the
gallery and the site are those of `make docs`.
"""

from __future__ import annotations

import io
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import leastaction as la
from leastaction.film.browser import Browser, missing
from leastaction.viewer.server import Server
from leastaction.viewer.session import Session

ROOT = Path(__file__).resolve().parents[2]
IMAGES, SITE = ROOT / "docs" / "img", ROOT / "docs" / "_build"
_GAP = 16  # pixels between pictures side by side


def viewer() -> list[Any]:
    """While a hand pulls at the tip of a chain."""
    model = la.examples.chain(5).compile()
    session = Session(model, model.state({"link1": 0.9}), 2e-3)
    with Server(session) as server, Browser(1180, 820, dark=True) as browser:
        thread = threading.Thread(target=server.run, daemon=True)
        thread.start()
        browser.visit(server.address, online=True)
        browser.wait_for("leastaction.live.time > 4")
        x, y = browser.run("leastaction.live.onScreen(leastaction.pose('tip').position).slice(0, 2)")
        left, top = browser.run("(() => { const r = leastaction.canvas.getBoundingClientRect(); return [r.x, r.y]; })()")
        mouse = {"button": "left", "buttons": 1, "clickCount": 1}
        browser.call("Input.dispatchMouseEvent", type="mousePressed", x=left + x, y=top + y, **mouse)
        browser.call("Input.dispatchMouseEvent", type="mouseMoved", x=left + x + 150, y=top + y - 90, **mouse | {"button": "none"})
        time.sleep(1.5)
        taken = browser.screenshot()
        server.stop()
        thread.join(10.0)
    return [taken]


CELLS = (
    """import leastaction as la

mech = la.Mechanism(name="my robot")
mech.add_body("base", joint=la.Revolute(axis=(0, 0, 1)), mass=3.0, inertia=(0.02, 0.02, 0.03))
mech.add_body("upper", "base", la.Revolute(axis=(0, 1, 0)), la.Pose(xyz=(0, 0, 0.2)),
              mass=2.0, com=(0, 0, 0.25), inertia=(0.05, 0.05, 0.004))
mech.add_body("lower", "upper", la.Revolute(axis=(0, 1, 0)), la.Pose(xyz=(0, 0, 0.5)),
              mass=1.0, com=(0, 0, 0.2), inertia=(0.02, 0.02, 0.002))
mech""",
    'la.simulate(mech.compile(), dt=1e-3, duration=4.0, q={"upper": 0.6, "lower": 0.4}, v={"base": 2.0})',
)


def notebook() -> list[Any]:
    """A mechanism and a run, as cells show them; the page is folded out."""
    import nbformat
    from nbconvert import HTMLExporter
    from nbconvert.preprocessors import ExecutePreprocessor

    document = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS])
    ExecutePreprocessor(timeout=600).preprocess(document)
    text, _ = HTMLExporter(template_name="lab").from_notebook_node(document)
    with tempfile.TemporaryDirectory() as folder, Browser(1000, 1500) as browser:
        path = Path(folder) / "notebook.html"
        path.write_text(text, encoding="utf-8")
        _read(browser, path)
        browser.run("document.querySelectorAll('details').forEach((d) => (d.open = true))")
        time.sleep(6.0)
        return [browser.screenshot()]


def gallery() -> list[Any]:
    return _pages(SITE / "gallery.html", 1000)


def site() -> list[Any]:
    return _pages(SITE / "learn" / "four-bar.html", 1000)


def _pages(path: Path, tall: int) -> list[Any]:
    """On a desk in light, on a phone in dark."""
    if not path.exists():
        raise SystemExit(f"{path} is not there: make docs")
    taken = []
    for width, dark in ((1180, False), (390, True)):
        with Browser(width, tall, dark=dark) as browser:
            _read(browser, path)
            taken.append(browser.screenshot())
    return taken


def _read(browser: Browser, path: Path) -> None:
    browser.call("Page.navigate", url=path.resolve().as_uri())
    browser.wait_for("document.readyState === 'complete'")
    time.sleep(1.0)


def take(names: list[str]) -> None:
    from PIL import Image

    for name in names:
        pictures = [Image.open(io.BytesIO(data)).convert("RGB") for data in globals()[name]()]
        wide = sum(p.width for p in pictures) + _GAP * (len(pictures) - 1)
        whole = Image.new("RGB", (wide, max(p.height for p in pictures)), "white")
        left = 0
        for picture in pictures:
            whole.paste(picture, (left, 0))
            left += picture.width + _GAP
        target = IMAGES / f"screen_{name}.webp"
        whole.save(target, quality=80, method=6)
        print(f"{target.relative_to(ROOT)}: {target.stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    sys.exit(missing() or take(sys.argv[1:] or ["viewer", "notebook", "gallery", "site"]))
