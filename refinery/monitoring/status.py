"""What `refinery status` tells of a run folder: while the run works from its state, afterwards from its database."""

from __future__ import annotations

from typing import Any

from refinery.monitoring import state
from refinery.storage.run_folder import RunDir

_RUN = """
SELECT project_name, seconds, rows_read, rows_kept, rows_removed, rows_quarantined, bytes, peak_memory, began
FROM runs
"""
_USED = "SELECT round(avg(cpu), 2), round(max(cpu), 2), max(memory) FROM monitor WHERE worker = 'all'"
_LAST = "SELECT file, line, operator, error FROM quarantine ORDER BY _row DESC LIMIT 1"


def status(run_dir: RunDir) -> dict[str, Any]:
    """Plain data. `state` is running, finished, failed, interrupted or none; docs/monitoring.md lists the other fields.

    Of a folder whose last run did not end well, but which has the tables of one before, `before` is true.
    """
    found = state.look(run_dir)
    if found["state"] == state.FINISHED:
        return found | _finished(run_dir)
    if found["state"] in (state.FAILED, state.INTERRUPTED):
        found |= {"shards_kept": _kept(run_dir), "before": run_dir.database.exists()}
    return found


def _kept(run_dir: RunDir) -> int:
    """Shards of all stages that the next run need not run again."""
    return sum(1 for _ in run_dir.parts.rglob("*.done.json"))


def _finished(run_dir: RunDir) -> dict[str, Any]:
    import duckdb

    with duckdb.connect(str(run_dir.database), read_only=True) as con:
        [row] = con.execute(_RUN).fetchall()
        names = ("project_name", "seconds", "rows", "kept", "removed", "quarantined", "bytes", "peak_memory", "began")
        found = dict(zip(names, row, strict=True))
        found["began"] = found["began"].isoformat(timespec="seconds") + "+00:00"
        last = con.execute(_LAST).fetchone()
        found["last_quarantined"] = (
            dict(zip(("file", "line", "operator", "error"), last, strict=True)) if last else None
        )
        try:
            mean, most, memory = con.execute(_USED).fetchall()[0]
            found |= {"cpu": mean, "cpu_max": most, "memory_max": memory}
        except duckdb.CatalogException:  # of a run from before there was a monitor
            pass
    return found
