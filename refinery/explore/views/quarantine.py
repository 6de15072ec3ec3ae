"""View `quarantine`: rows that could not be read or on which a step failed, with their errors and raw lines."""

from __future__ import annotations

from typing import Any

from refinery.explore.browsing import optional
from refinery.explore.model import Endpoint, Query, View
from refinery.explore.rows import dicts
from refinery.explore.run import ExploredRun

# Rows on a page, kinds of errors, and characters of a raw line.
_ROWS, _KINDS, _WIDTH = 50, 100, 20_000

# Places within a line do not make another kind of error.
_KIND = r"regexp_replace(left(error, 200), '(column|position|character|char|byte|line) (0x)?[0-9a-fA-F]+', '\1 …', 'g')"


def quarantine(run: ExploredRun, query: Query) -> dict[str, Any]:
    """A page of rows, and the kinds of errors with their numbers. after: the last row and step of the page before."""
    kind, step = optional(query.text, query, "kind"), optional(query.integer, query, "step")
    after = query.integer("after", -1), query.integer("after_step", -1)
    where = "(? IS NULL OR kind = ?) AND (? IS NULL OR step = ?)"
    values = [kind, kind, step, step]
    with run.con() as con:
        rows = dicts(con, _PAGE.format(where=where), [_WIDTH, _WIDTH, *values, *after, _ROWS + 1])
        return {
            "rows": rows[:_ROWS],
            "next": [rows[_ROWS - 1]["row"], rows[_ROWS - 1]["step"]] if len(rows) > _ROWS else None,
            "total": dicts(con, f"SELECT count(*) AS n FROM ({_ROWS_BY_KIND}) WHERE {where}", values)[0]["n"],
            "kinds": dicts(con, f"SELECT step, operator, kind, count(*) AS rows {_BY_KIND}", [_KINDS]),
        }


_ROWS_BY_KIND = f"SELECT *, {_KIND} AS kind FROM quarantine"
_PAGE = f"""
SELECT
  _row AS row, file, line, step, operator, error, kind,
  left(raw, ?) AS raw, length(raw) AS characters,
  CASE WHEN raw IS NULL THEN hex(raw_bytes[1:?]) END AS hex, octet_length(raw_bytes) AS bytes
FROM ({_ROWS_BY_KIND})
WHERE {{where}} AND (_row, step) > (?, ?)
ORDER BY _row, step
LIMIT ?
"""
_BY_KIND = f"FROM ({_ROWS_BY_KIND}) GROUP BY ALL ORDER BY rows DESC, step, kind LIMIT ?"

VIEW = View("quarantine", "Quarantine", 50, (Endpoint("", quarantine),))
