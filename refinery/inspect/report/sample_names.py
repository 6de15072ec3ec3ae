"""Name of a sample for a person: its file and line, and fields such as its id and address."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from refinery.compiler.templates import template
from refinery.inspect.report.tables import RunTables
from refinery.operators import read_sql

# Usual names of such fields; the first of each line that a sample has is shown.
_IDS = ("id", "_id", "doc_id", "uuid", "warc_record_id", "sample_id", "key")
_ADDRESSES = ("url", "source_url", "uri", "warc_target_uri", "link", "path", "filename")
# Fields with more of them below, as FineWeb and others have them.
_WITHIN = ("meta", "metadata")

Names = tuple[tuple[str, str], ...]


def names_of(sample: Mapping[str, Any] | None) -> Names:
    """The fields of a sample that name it; nested ones as `meta.url`."""
    if sample is None:
        return ()
    names = [_first(sample, usual) for usual in (_IDS, _ADDRESSES)]
    return tuple(name for name in names if name is not None)


def names_in_record(record: str | None) -> Names:
    """The same from a record of the table `trace`, which has all fields or those of `trace_keys`."""
    try:
        plain = json.loads(record or "null")
    except ValueError:
        return ()
    return names_of(plain if isinstance(plain, dict) else None)


def places_of(tables: RunTables, rows: Sequence[int]) -> dict[int, str]:
    """File and line of rows; the file alone where the run has no lines of it."""
    if not rows:
        return {}
    known = tables.rows(
        "SELECT 1 FROM duckdb_tables() WHERE table_name = 'lines' UNION ALL SELECT 1 FROM duckdb_views() WHERE view_name = 'lines'"
    )
    places = template(read_sql("views/_places.sql")).render(lines=bool(known)).strip()
    found = tables.query("places", rows=rows, places=places)
    return {
        row["_row"]: row["file"] + (f":{row['line']}" if row["line"] is not None else "")
        for row in found
        if row["file"]
    }


def _first(sample: Mapping[str, Any], usual: Sequence[str]) -> tuple[str, str] | None:
    for inside in (None, *_WITHIN):
        fields = sample if inside is None else sample.get(inside)
        for name in usual:
            value = fields.get(name) if isinstance(fields, Mapping) else None
            if isinstance(value, (str, int)) and not isinstance(value, bool) and value != "":
                return (name if inside is None else f"{inside}.{name}"), str(value)
    return None
