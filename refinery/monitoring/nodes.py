"""Reports of workers on other machines: sums by machine, running shards, and shards that take unusually long."""

from __future__ import annotations

import logging
import time
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from statistics import median
from typing import Any

# A shard is a straggler after so many times the median of the finished ones, and so many seconds.
_TIMES, _SECONDS = 3.0, 10.0
# Finished shards from which their median says something.
_FEWEST = 3
# Seconds after which a report is no longer of now, and after which a process that is silent has gone.
_FRESH, _GONE = 5.0, 60.0
# Fields that count since the report before, and their rates by the second.
ADDED = ("cpu_seconds", "read_bytes", "written_bytes", "covered", "rows", "bytes")
_RATES = {"cpu": "cpu_seconds", "read": "read_bytes", "written": "written_bytes"}
_SUMS = ("memory", *ADDED, *_RATES)
_OF_MACHINE = ("disk_free", "gpu", "gpu_memory")

Report = dict[str, Any]


class WorkerReports:
    """The newest reports of workers, by process. Their times are those at which they are taken in, by this machine's clock."""

    def __init__(self) -> None:
        self._newest: dict[tuple[str, int], Report] = {}
        self.retries = 0

    def take(self, reports: Iterable[Report], elapsed: float) -> None:
        """Take in reports, whose counts are those since the last ones. elapsed: seconds since then."""
        now = time.monotonic()
        before = {key: {**report, **_nothing(report)} for key, report in self._newest.items()}
        self._newest = {
            key: report for key, report in before.items() if report["running"] and now - report["heard"] < _GONE
        }
        for report in reports:
            rates = {rate: _rate(report[name], max(elapsed, report["covered"])) for rate, name in _RATES.items()}
            self._newest[report["node"], report["pid"]] = {**report, **rates, "heard": now}

    def workers(self) -> list[Report]:
        """Reports of workers that are there now."""
        return [report for report in self._newest.values() if time.monotonic() - report["heard"] < _FRESH]

    def by_node(self) -> list[Report]:
        """Sums of each machine, with the number of its workers."""
        groups: dict[str, list[Report]] = defaultdict(list)
        for report in self.workers():
            groups[report["node"]].append(report)
        return [_together(node, reports) for node, reports in sorted(groups.items())]

    def beyond(self, host: str, pids: Collection[int]) -> Report:
        """Sums of all workers but those of this host that are measured here already, by their processes."""
        others = [report for report in self.workers() if report["host"] != host or report["pid"] not in pids]
        machines = {report["node"]: report for report in sorted(others, key=lambda report: report["heard"])}
        return _sums(others, _SUMS) | _sums(list(machines.values()), ("gpu", "gpu_memory"))

    def running(self) -> list[Report]:
        """Shards that run now: number, machine, process, seconds; the longest first."""
        now = time.monotonic()
        shards = [
            {
                "shard": report["shard"],
                "node": report["node"],
                "pid": report["pid"],
                "seconds": round(report["seconds"] + now - report["heard"], 1),
            }
            for report in self._newest.values()
            if report["running"] and report["shard"] is not None
        ]
        return sorted(shards, key=lambda shard: -shard["seconds"])


def _nothing(report: Report) -> Report:
    """Counts and rates of a process without news."""
    return {name: None if report[name] is None else 0 for name in (*ADDED, *_RATES)}


def _rate(count: float | None, seconds: float) -> float | None:
    return None if count is None else count / max(seconds, 1e-3)


def _sums(reports: Sequence[Report], names: Iterable[str]) -> Report:
    """Sums of fields, None for those that no report has."""
    sums: Report = {}
    for name in names:
        known = [report[name] for report in reports if report[name] is not None]
        sums[name] = sum(known) if known else None
    return sums


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
    for entry in records:
        logger = logging.getLogger(entry["logger"])
        record = logger.makeRecord(entry["logger"], entry["level"], "", 0, "%s", (entry["message"],), None)
        record.created = entry["at"]
        record.fields = {"node": entry["node"], "pid": entry["pid"]}
        logger.handle(record)


def _together(node: str, reports: Sequence[Report]) -> Report:
    """Sums of the workers of a machine. Disk and GPUs are the machine's: the newest report that knows them has them."""
    machine = {"node": node, "workers": len(reports), **_sums(reports, _SUMS), **dict.fromkeys(_OF_MACHINE)}
    for report in sorted(reports, key=lambda report: report["heard"]):
        machine |= {name: report[name] for name in _OF_MACHINE if report[name] is not None}
    return machine
