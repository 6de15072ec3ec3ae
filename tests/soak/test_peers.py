"""Operators beside those of their peers, for random documents and parameters.

A peer runs in its own Python, which `REFINERY_PEER_DATATROVE`, `REFINERY_PEER_DATA_JUICER`, `REFINERY_PEER_NEMO` and
`REFINERY_PEER_DOLMA` name. `REFINERY_PEER_DRAWS` and `REFINERY_PEER_SEED` choose how many parameters, and which.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.soak.peers import draws
from tests.soak.peers.compare import differences, jobs_of, peer_results
from tests.soak.peers.documents import documents

PEERS: dict[str, Mapping[str, draws.Drawn]] = {
    "datatrove": draws.DATATROVE,
    "data_juicer": draws.DATA_JUICER,
    "nemo": draws.NEMO,
    "dolma": draws.DOLMA,
}
DOCUMENTS = 300


@pytest.mark.long
@pytest.mark.parametrize("peer", PEERS)
def test_results_are_the_peers(peer: str, tmp_path: Path) -> None:
    python = os.environ.get(f"REFINERY_PEER_{peer.upper()}")
    if not python:
        pytest.skip(f"REFINERY_PEER_{peer.upper()} names no Python with {peer}")
    seed = int(os.environ.get("REFINERY_PEER_SEED", "17"))
    docs = documents(seed, DOCUMENTS)
    jobs = jobs_of(PEERS[peer], int(os.environ.get("REFINERY_PEER_DRAWS", "10")), seed)
    results = peer_results(python, f"serve_{peer}.py", docs, jobs, tmp_path)
    found = [
        f"{job['op']} {job['params']}: {difference}"
        for job, result in zip(jobs, results, strict=True)
        for difference in differences(job, result, PEERS[peer][job["op"]], docs)
    ]
    assert not found, f"seed {seed}: {len(found)} differences\n" + "\n".join(found[:20])
