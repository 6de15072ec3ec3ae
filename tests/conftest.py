"""Shared by all tests: where the recorded results of the peers are, and a cache that outlives one test."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests.examples import ALL
from tests.recorded_results import VARIABLE, missing_parts, recorded_results

# How long an example takes says more of the machine than of the code.
settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")

ROOT = Path(__file__).parent.parent
RECORDED = recorded_results()


def pytest_configure(config: pytest.Config) -> None:
    """Recorded results that are named must be there: a run without them proves nothing. Models of this machine do not count."""
    os.environ |= dict.fromkeys(("DATA_JUICER_CACHE_HOME", "HF_HUB_CACHE"), "/nonexistent")
    os.environ.pop("REFINERY_ASSETS", None)
    if (
        signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    ):  # a background job of a shell ignores it, and so would all commands
        signal.signal(signal.SIGINT, signal.default_int_handler)
    missing = missing_parts(RECORDED)
    if missing:
        cure = f"Correct {VARIABLE}, or unset it: then the recorded results of this project's own texts are used"
        raise pytest.UsageError(f"no recorded results at {RECORDED} ({', '.join(missing)} missing). {cure}")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests that compare with recorded results have the marker `recorded`."""
    for item in items:
        module = getattr(item, "module", None)
        if "recorded" in getattr(item, "fixturenames", ()) or getattr(module, "RECORDED", None) == RECORDED:
            item.add_marker("recorded")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """With `--dist loadfile`, all files that need the cluster go to one process, as if they were one file."""
    if config.getoption("dist", "no") != "loadfile":
        return None
    from tests.distribution import ClusterOnce

    return ClusterOnce(config, log)


@pytest.fixture(scope="session", autouse=True)
def _few_comments() -> Iterator[None]:
    """Tables of runs have no comments, but in `make soak` and with the fixture `comments`."""
    from tests.comments import no_comments

    with nullcontext() if ALL else no_comments():
        yield


@pytest.fixture(scope="module")
def comments() -> Iterator[None]:
    """Tables of the module's runs have their comments."""
    from tests.comments import all_comments

    with all_comments():
        yield


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """The address of an S3 server on this machine."""
    from tests.s3 import s3_server

    with s3_server() as address:
        yield address


@pytest.fixture(scope="session")
def recorded() -> Path:
    """Folder of the peers' recorded results."""
    return RECORDED
