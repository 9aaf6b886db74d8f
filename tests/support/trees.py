"""How many random trees the laws of trees are tried on."""

import os


def how_many(usual: int) -> int:
    """LEASTACTION_TREES if it is set: runs that repeat the tests hundreds of times (tests/mutation) take fewer."""
    return int(os.environ.get("LEASTACTION_TREES", usual))
