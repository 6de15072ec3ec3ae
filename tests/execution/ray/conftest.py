"""A Ray cluster of several nodes on this machine, all of them on loopback."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import chdir, nullcontext
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT
from tests.examples import ALL
from tests.faulty_proxy import Faults, faulty
from tests.s3 import s3_server

# Read when Ray is imported: nodes listen on 127.0.0.1 only.
os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
os.environ.setdefault("RAY_AUTH_MODE", "disabled")  # a token that is on this machine belongs to other clusters

SMALL = {"num_cpus": 1, "object_store_memory": 80 << 20, "include_dashboard": False}


@pytest.fixture(scope="session")
def faults() -> Faults:
    """The faults of the storage: none, unless a test changes the rate."""
    return Faults(0.0)


@pytest.fixture(scope="session")
def storage(faults: Faults) -> Iterator[str]:
    """An S3 server that the machines of the cluster know of, because they are started after it."""
    with s3_server() as address, faulty(address, faults) as proxy:
        yield proxy


@pytest.fixture(scope="session")
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The current folder of the cluster's processes, which is nobody else's."""
    return tmp_path_factory.mktemp("elsewhere")


def two_nodes(tries: int = 5) -> Any:
    """A cluster of two nodes. Ray gives a node half a minute to start, too little on a busy machine: then all is begun again."""
    from ray.cluster_utils import Cluster

    running = None
    try:
        running = Cluster(initialize_head=True, head_node_args=SMALL)
        running.add_node(**SMALL)
        return running
    except Exception:
        if running is not None:
            running.shutdown()
        if tries == 1:
            raise
    return two_nodes(tries - 1)


@pytest.fixture(scope="session")
def cluster(storage: str, elsewhere: Path) -> Iterator[Any]:
    """A cluster of two nodes with a processor each, started in another folder than any run."""
    pytest.importorskip("ray", reason="Ray is not installed; the extra ray brings it")
    import ray

    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (str(ROOT), before)))
    with chdir(elsewhere):
        running = two_nodes()
    try:
        yield running
    finally:
        if ray.is_initialized():
            ray.shutdown()
        running.shutdown()
        os.environ.pop("PYTHONPATH") if before is None else os.environ.update(PYTHONPATH=before)


@pytest.fixture(scope="session")
def _shared_actors() -> Iterator[None]:
    """Runs share the actors that clean up and report, but in `make soak` and with the fixture `actors`."""
    from tests.execution.ray.actors import shared

    with nullcontext() if ALL else shared():
        yield


@pytest.fixture(scope="module")
def actors() -> Iterator[None]:
    """Runs of the module have actors of their own, as those of users."""
    from tests.execution.ray.actors import own

    with own():
        yield


@pytest.fixture
def driver(cluster: Any, _shared_actors: None) -> Any:
    """This process as a driver of the cluster."""
    import ray

    if not ray.is_initialized():
        ray.init(address=cluster.address, logging_level="ERROR", log_to_driver=False)
    return ray
