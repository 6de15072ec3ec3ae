"""Number of random examples of a property test: a share of them in `make test`, all of them in `make soak`."""

from __future__ import annotations

import os

LEAST, SHARE = 25, 10
ALL = bool(os.environ.get("REFINERY_ALL_EXAMPLES"))


def share_of(count: int, least: int = LEAST) -> int:
    """The number of examples of a test that has `count` in `make soak`; least: of those in `make test`."""
    return count if ALL else min(count, max(least, count // SHARE))
