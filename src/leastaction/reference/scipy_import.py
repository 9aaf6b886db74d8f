"""SciPy is an optional dependency: imported where it is used, and missed with a remedy."""

from __future__ import annotations

import importlib
from types import ModuleType


def scipy_module(name: str, purpose: str) -> ModuleType:
    """The module scipy.<name>, or an error that says what to install."""
    try:
        return importlib.import_module(f"scipy.{name}")
    except ImportError as error:
        raise ImportError(f"{purpose} needs SciPy, which is not installed; install it with: pip install scipy") from error
