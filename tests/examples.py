"""Number of random examples of a property test: a share of them in `make test`, all of them in `make soak`."""

from __future__ import annotations

import os

LEAST, SHARE = 40, 5
_ALL = bool(os.environ.get("REFINERY_ALL_EXAMPLES"))


def share_of(count: int, least: int = LEAST) -> int:
    """The number of examples of a test that has `count` in `make soak`; least: of those in `make test`."""
    return count if _ALL else min(count, max(least, count // SHARE))
