"""Pictures of the gallery, taken in a headless Chromium: `make thumbnails`, or `python -m support.thumbnails NAME ...` for some."""

from __future__ import annotations

import io
import sys
import tempfile

import leastaction as la
from leastaction.film.browser import Browser, missing
from leastaction.film.write import stage
from leastaction.gallery.pages import PICTURES

WIDE, TALL = 480, 320  # pixels


def take(names: list[str]) -> None:
    """Thumbnails of these entries, light and dark, into the package."""
    from PIL import Image

    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        pages = la.gallery.write(folder, names)[1:]
        for kind, dark in (("", False), ("-dark", True)):
            with Browser(WIDE, TALL, dark=dark, ratio=2.0) as browser:
                for path in pages:
                    stage(browser, path, label=False)
                    show(browser, la.gallery.entry(path.stem))
                    with Image.open(io.BytesIO(browser.screenshot())) as image:
                        small = image.convert("RGB").resize((WIDE, TALL), Image.Resampling.LANCZOS)
                    small.save(PICTURES / f"{path.stem}{kind}.webp", quality=80, method=6)


def show(browser: Browser, entry: la.gallery.Entry) -> None:
    """Its moment, and its distance."""
    browser.run(f"leastaction.player.seek({entry.moment} * leastaction.player.end); 0")
    if entry.near:
        browser.run("leastaction.follow('centre of mass'); leastaction.camera.fitDistance(); 0")
    else:
        browser.run("leastaction.follow(''); leastaction.camera.fit(); 0")
    browser.settle()


if __name__ == "__main__":
    sys.exit(missing() or take(sys.argv[1:] or la.gallery.names()))
