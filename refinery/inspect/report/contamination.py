"""Items of evaluation sets in the samples of a run."""

from __future__ import annotations

from dataclasses import dataclass

from refinery.inspect.report.tables import Row, RunTables

# Items to list, and samples to list of each.
_ITEMS, _ROWS = 50, 10


@dataclass(frozen=True)
class Contamination:
    """Rows by evaluation set, and by item with a copy in a sample."""

    sets: list[Row]
    items: list[Row]


def read_contamination(tables: RunTables) -> Contamination | None:
    """Read the findings of contamination_filter; None if the recipe has no such step."""
    if not tables.rows("SELECT 1 FROM steps WHERE operator = 'contamination_filter' LIMIT 1"):
        return None
    sets = tables.rows("SELECT * FROM contamination_sets")
    return Contamination(sets, tables.query("contamination_items", limit=_ITEMS, rows=_ROWS))
