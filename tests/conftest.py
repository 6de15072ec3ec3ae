"""Shared by all tests: where the recorded results of the peers are, and a cache that outlives one test."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

# How long an example takes says more of the machine than of the code.
settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")

ROOT = Path(__file__).parent.parent
RECORDED = Path(os.environ.get("REFINERY_CONFORMANCE", ROOT.parent / "shared" / "conformance"))


def pytest_configure(config: pytest.Config) -> None:
    """In CI the recorded results must be there: a run without them would prove nothing. Models of this machine do not count."""
    os.environ |= dict.fromkeys(("DATA_JUICER_CACHE_HOME", "HF_HUB_CACHE"), "/nonexistent")
    os.environ.pop("REFINERY_ASSETS", None)
    missing = [name for name in ("data_juicer", "datatrove", "hub_recipes") if not (RECORDED / name).is_dir()]
    if os.environ.get("CI") == "true" and missing:
        found = f"no recorded results at {RECORDED} ({', '.join(missing)} missing)"
        raise pytest.UsageError(f"{found}; set REFINERY_CONFORMANCE to their folder")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """With `--dist loadfile`, all files that need the cluster go to one process, as if they were one file."""
    if config.getoption("dist", "no") != "loadfile":
        return None
    from tests.distribution import ClusterOnce

    return ClusterOnce(config, log)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say loudly that conformance was not tested."""
    if not (RECORDED / "data_juicer").is_dir():
        terminalreporter.write_sep(
            "!", f"NOT TESTED: equality with the peers, for want of {RECORDED}", red=True, bold=True
        )


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """The address of an S3 server on this machine."""
    from tests.s3 import s3_server

    with s3_server() as address:
        yield address


@pytest.fixture(scope="session")
def recorded() -> Path:
    """Folder of the peers' recorded results; tests that need it are skipped where it is absent."""
    if not (RECORDED / "data_juicer").is_dir():
        pytest.skip(f"no recorded results at {RECORDED}")
    return RECORDED
