"""Distribution of tests to processes: by files, and those on a Ray cluster together, so that one cluster is started."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from xdist.scheduler import LoadFileScheduling

ON_CLUSTER = "tests/execution/ray/"
# What tests on a cluster ask for: fixtures of the one that they share, or a cluster of their own.
_ASKS = re.compile(r"\b(cluster|driver|storage): |ray_address")


class ClusterOnce(LoadFileScheduling):
    """Files go to whichever process is free; those on a cluster count as one file."""

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        return ON_CLUSTER if file.startswith(ON_CLUSTER) and on_cluster(file) else super()._split_scope(nodeid)


@cache
def on_cluster(file: str) -> bool:
    """True for a file with tests on a cluster. file: its path in the checkout."""
    return bool(_ASKS.search((Path(__file__).parents[1] / file).read_text("utf-8")))
