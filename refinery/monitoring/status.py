"""Data of `refinery status`: from the state of a working run, or from the database of a finished run."""

from __future__ import annotations

from typing import Any

from refinery.common.connections import file_name
from refinery.monitoring import state
from refinery.storage.run_folder import RunDir

_RUN = """
SELECT project_name, seconds, rows_read, rows_kept, rows_removed, rows_quarantined, bytes, peak_memory, began
FROM runs
"""
_USED = "SELECT round(avg(cpu), 2), round(max(cpu), 2), max(memory) FROM monitor WHERE worker = 'all'"
_LAST = "SELECT file, line, operator, error FROM quarantine ORDER BY _row DESC LIMIT 1"


def status(run_dir: RunDir) -> dict[str, Any]:
    """Status as plain data: `state` (running, finished, failed, interrupted, none); other fields: docs/monitoring.md.

    `before` is true if the last run did not end well but the folder has the tables of an earlier run.
    """
    fields = state.look(run_dir)
    if fields["state"] == state.FINISHED:
        return fields | _finished(run_dir)
    if fields["state"] in (state.FAILED, state.INTERRUPTED):
        fields |= {"shards_kept": _kept(run_dir), "before": run_dir.database.exists()}
    return fields


def _kept(run_dir: RunDir) -> int:
    """Number of shards of all stages that the next run can reuse."""
    return sum(1 for _ in run_dir.parts.rglob("*.done.json"))


def _finished(run_dir: RunDir) -> dict[str, Any]:
    import duckdb

    with duckdb.connect(file_name(run_dir.database), read_only=True) as con:
        [row] = con.execute(_RUN).fetchall()
        names = ("project_name", "seconds", "rows", "kept", "removed", "quarantined", "bytes", "peak_memory", "began")
        fields = dict(zip(names, row, strict=True))
        fields["began"] = fields["began"].isoformat(timespec="seconds") + "+00:00"
        last = con.execute(_LAST).fetchone()
        fields["last_quarantined"] = (
            dict(zip(("file", "line", "operator", "error"), last, strict=True)) if last else None
        )
        try:
            mean, most, memory = con.execute(_USED).fetchall()[0]
            fields |= {"cpu": mean, "cpu_max": most, "memory_max": memory}
        except duckdb.CatalogException:  # an older run without a monitor
            pass
    return fields
