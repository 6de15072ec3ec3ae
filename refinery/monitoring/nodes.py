"""Reports of workers on other machines: sums by machine, running shards, and shards that take unusually long."""

from __future__ import annotations

import logging
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from statistics import median
from typing import Any

# A shard is a straggler after so many times the median of the finished ones, and so many seconds.
_TIMES, _SECONDS = 3.0, 10.0
# Finished shards from which their median says something.
_FEWEST = 3
# Seconds after which a report is no longer of now.
_FRESH = 5.0
_SUMS = ("cpu", "memory", "read", "written", "rows", "bytes")
_OF_MACHINE = ("disk_free", "gpu", "gpu_memory")


class WorkerReports:
    """The newest reports of workers, by process."""

    def __init__(self) -> None:
        self._newest: dict[tuple[str, int], dict[str, Any]] = {}
        self.retries = 0

    def take(self, reports: Iterable[dict[str, Any]]) -> None:
        """Take in reports; rows and bytes are those since the last ones."""
        self._newest = {
            key: {**report, "rows": 0, "bytes": 0}
            for key, report in self._newest.items()
            if report["running"] and time.time() - report["at"] < 60
        }
        self._newest |= {(report["node"], report["pid"]): report for report in reports}

    def workers(self) -> list[dict[str, Any]]:
        """Reports of workers that are there now."""
        return [report for report in self._newest.values() if time.time() - report["at"] < _FRESH]

    def by_node(self) -> list[dict[str, Any]]:
        """Sums of each machine, with the number of its workers."""
        groups: dict[str, list[dict[str, Any]]] = defaultdict(list)
        for report in self.workers():
            groups[report["node"]].append(report)
        return [_together(node, reports) for node, reports in sorted(groups.items())]

    def running(self) -> list[dict[str, Any]]:
        """Shards that run now: number, machine, process, seconds; the longest first."""
        now = time.time()
        found = [
            {
                "shard": report["shard"],
                "node": report["node"],
                "pid": report["pid"],
                "seconds": round(now - report["since"], 1),
            }
            for report in self._newest.values()
            if report["running"]
        ]
        return sorted(found, key=lambda shard: -shard["seconds"])


def stragglers(running: Sequence[dict[str, Any]], finished: Sequence[float]) -> list[dict[str, Any]]:
    """Running shards that take much longer than finished ones took. finished: their seconds."""
    if len(finished) < _FEWEST:
        return []
    usual = median(finished)
    return [
        {**shard, "usual": round(usual, 1)} for shard in running if shard["seconds"] > max(_SECONDS, _TIMES * usual)
    ]


def log_records(records: Iterable[dict[str, Any]]) -> None:
    """Put records of other machines into the log of the run, with machine and process."""
    for found in records:
        logger = logging.getLogger(found["logger"])
        record = logger.makeRecord(found["logger"], found["level"], "", 0, "%s", (found["message"],), None)
        record.created = found["at"]
        record.fields = {"node": found["node"], "pid": found["pid"]}
        logger.handle(record)


def _together(node: str, reports: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Sums of the workers of a machine. Disk and GPUs are the machine's: the newest report has them."""
    newest = max(reports, key=lambda report: report["at"])
    found: dict[str, Any] = {"node": node, "workers": len(reports)}
    for name in _SUMS:
        known = [report[name] for report in reports if report[name] is not None]
        found[name] = sum(known) if known else None
    return found | {name: newest[name] for name in _OF_MACHINE}
