"""Distribution of tests to processes: by files, and those on the Ray cluster together, so that one cluster is started."""

from __future__ import annotations

from xdist.scheduler import LoadFileScheduling

ON_CLUSTER = "tests/execution/ray/"


class ClusterOnce(LoadFileScheduling):
    """Files go to whichever process is free; those on the cluster count as one file."""

    def _split_scope(self, nodeid: str) -> str:
        return ON_CLUSTER if nodeid.startswith(ON_CLUSTER) else super()._split_scope(nodeid)
