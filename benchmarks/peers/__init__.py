"""Other simulators behind one small interface (base.py).  One file per peer; a peer that is not installed is left out."""

from __future__ import annotations

import importlib

from .base import Peer

_FILES = ("pinocchio", "mujoco_", "dart_", "trep_")


def installed() -> tuple[list[Peer], dict[str, str]]:
    """Peers that can be imported, and {file: reason} of those that cannot."""
    peers: list[Peer] = []
    missing: dict[str, str] = {}
    for name in _FILES:
        try:
            module = importlib.import_module(f"{__name__}.{name}")
        except ImportError as error:
            missing[name.rstrip("_")] = str(error)
        else:
            peers.extend(module.PEERS)
    return peers, missing
