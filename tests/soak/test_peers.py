"""Operators beside those of their peers, for random documents and parameters.

A peer runs in its own Python, which `REFINERY_PEER_DATATROVE`, `REFINERY_PEER_DATA_JUICER`, `REFINERY_PEER_NEMO` and
`REFINERY_PEER_DOLMA` name. `REFINERY_PEER_DRAWS` and `REFINERY_PEER_SEED` choose how many parameters, and which.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from tests.soak.peers import draws
from tests.soak.peers.compare import differences, jobs_of, peer_results
from tests.soak.peers.documents import copies, documents

ONE_BY_ONE = {"datatrove": draws.DATATROVE, "data_juicer": draws.DATA_JUICER, "nemo": draws.NEMO, "dolma": draws.DOLMA}
TOGETHER = {"datatrove": draws.DATATROVE_WHOLE, "data_juicer": draws.DATA_JUICER_WHOLE}
SEED = int(os.environ.get("REFINERY_PEER_SEED", "17"))
DRAWS = int(os.environ.get("REFINERY_PEER_DRAWS", "10"))


@pytest.mark.long
@pytest.mark.parametrize("peer", ONE_BY_ONE)
def test_documents_one_by_one(peer: str, tmp_path: Path) -> None:
    hold(peer, ONE_BY_ONE[peer], documents(SEED, 300), tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("peer", TOGETHER)
def test_deduplicators(peer: str, tmp_path: Path) -> None:
    hold(peer, TOGETHER[peer], copies(SEED, 120), tmp_path)


def hold(peer: str, drawn: Mapping[str, draws.Drawn], docs: Sequence[Mapping[str, str]], folder: Path) -> None:
    """Hold the results of operators against the peer's."""
    python = os.environ.get(f"REFINERY_PEER_{peer.upper()}")
    if not python:
        pytest.skip(f"REFINERY_PEER_{peer.upper()} names no Python with {peer}")
    jobs = jobs_of(drawn, DRAWS, SEED)
    results = peer_results(python, f"serve_{peer}.py", docs, jobs, folder)
    found = [
        f"{job['op']} {job['params']}: {difference}"
        for job, result in zip(jobs, results, strict=True)
        for difference in differences(job, result, drawn[job["op"]], docs)
    ]
    assert not found, f"seed {SEED}: {len(found)} differences\n" + "\n".join(found[:20])
