"""View `waterfall`: rows and bytes after each step, and the reasons of removals."""

from __future__ import annotations

from typing import Any

from refinery.explore.model import Endpoint, Query, View
from refinery.explore.rows import dicts
from refinery.explore.run import ExploredRun

_STEPS = "FROM steps ORDER BY step"
# Each reason of a deduplicator names another sample: all of them are one, NULL.
_REASONS = """
SELECT
  step, CASE WHEN kind <> 'deduplicator' THEN reason END AS reason, statistic, count(*) AS rows,
  CAST(coalesce(sum(_bytes_0), 0) AS BIGINT) AS bytes
FROM ledger JOIN (SELECT step, kind FROM steps) USING (step) LEFT JOIN row_outcomes USING (_row)
GROUP BY ALL ORDER BY step, rows DESC, reason
"""
_RUN = """
SELECT project_name, rows_read, rows_kept, rows_removed, rows_quarantined, bytes, seconds, began, outputs FROM runs
"""


def waterfall(run: ExploredRun, query: Query) -> dict[str, Any]:
    """The run's figures, its steps, and the reasons of each with rows and bytes of the input."""
    with run.con() as con:
        [total] = dicts(con, _RUN)
        [unread] = dicts(con, "SELECT count(*) AS rows FROM quarantine WHERE step = 0")
        return {
            "run": total | {"unread": unread["rows"]},
            "steps": dicts(con, _STEPS),
            "reasons": dicts(con, _REASONS),
        }


VIEW = View("waterfall", "Waterfall", 10, (Endpoint("", waterfall),))
