"""The board of a run: a small actor to which workers send their reports, and from which the driver takes them.

A report that is lost costs a measurement, never a shard.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from refinery.monitoring.nodes import ADDED, Report

# Records of the log that wait for the driver, at most, and seconds for the board's answer.
_MOST, _PATIENCE = 1000, 5.0


class Board:
    """The actor: keeps the newest report of each process, and all records, until the driver takes them."""

    def __init__(self) -> None:
        self._reports: dict[tuple[str, int], Report] = {}
        self._records: list[dict[str, Any]] = []

    def report(self, report: Report, records: list[dict[str, Any]]) -> None:
        """Take in a report; what it counts adds up."""
        key = report["node"], report["pid"]
        before = self._reports.get(key, {})
        for name in ADDED:
            report[name] = None if report[name] is None else report[name] + (before.get(name) or 0)
        self._reports[key] = report
        self._records = [*self._records, *records][-_MOST:]

    def take(self) -> tuple[list[Report], list[dict[str, Any]]]:
        """Reports and records since the last call."""
        reports = list(self._reports.values()), self._records
        self._reports, self._records = {}, []
        return reports


class BoardClient:
    """The driver's side: starts the board, and takes what it has."""

    def __init__(self, ray: Any) -> None:
        self._ray = ray
        self.actor = ray.remote(num_cpus=0, max_restarts=0)(Board).remote()

    def take(self) -> tuple[list[Report], list[dict[str, Any]]]:
        """Reports and records since the last call; nothing if the board does not answer."""
        with suppress(Exception):  # whatever has happened to the board, the run goes on
            return self._ray.get(self.actor.take.remote(), timeout=_PATIENCE)
        return [], []

    def close(self) -> None:
        """End the board."""
        with suppress(Exception):
            self._ray.kill(self.actor)
