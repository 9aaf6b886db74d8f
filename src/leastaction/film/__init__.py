"""Films of runs: `run.to_video("run.mp4")`.

The scene is the one of a page, drawn by a headless Chromium; where there is none, Matplotlib draws the skeleton (`la.plot.animation`).
`browser` starts and drives Chromium, `write` takes the pictures and hands them to ffmpeg (.mp4) or Pillow (.gif, .webp).
"""

from .write import write

__all__ = ["write"]
