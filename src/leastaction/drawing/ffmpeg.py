"""Where the program that makes .mp4 films is."""

from __future__ import annotations

import shutil

HOW = "pip install leastaction[video], or install the program ffmpeg"


def program() -> str | None:
    """Path of ffmpeg: the installed one, or the one that imageio-ffmpeg brings along; None if there is neither."""
    found = shutil.which("ffmpeg")
    if found:
        return found
    try:
        import imageio_ffmpeg

        return str(imageio_ffmpeg.get_ffmpeg_exe())
    except (ImportError, RuntimeError):
        return None
