"""View `samples`: rows by outcome, statistic, source and words, and the whole way of one of them."""

from __future__ import annotations

from dataclasses import asdict
from itertools import islice
from typing import Any

import numpy as np

from refinery.common.fields import field_name
from refinery.common.paths import shorter
from refinery.errors import DataError, RefineryError
from refinery.explore.browsing import (
    columns_of,
    compared_rows,
    conditions_of,
    filter_of,
    input_of,
    optional,
    rows_of,
    searches_of,
)
from refinery.explore.model import Endpoint, Query, View
from refinery.explore.rows import dicts
from refinery.explore.run import ExploredRun
from refinery.inspect.browse.conditions import SampleCondition
from refinery.inspect.browse.row_pages import MOST, PageRequest, described, matching, page
from refinery.inspect.browse.sample import SampleWay, sample_way
from refinery.inspect.browse.word_diff import folded
from refinery.inspect.starter_samples import spread_samples

# Reasons, files and samples that the choices of a filter are made of.
_REASONS, _FILES, _SAMPLES = 300, 300, 200
# Characters of an equal piece in the change of one step; the whole text stands above the steps.
_FOLDED = 2000


def rows(run: ExploredRun, query: Query) -> dict[str, Any]:
    """A page of rows, and the progress of the search where the request has conditions on fields."""
    wanted = filter_of(query)
    with run.stored() as stored:
        conditions = conditions_of(query, stored.recipe.text_key)
        progress = searches_of(run).advance(run, stored.con, wanted, conditions) if conditions else None
        matches = None if progress is None else progress.rows
        if (compared := compared_rows(run, query)) is not None:
            known = matching(stored.con, columns_of(run, stored.con), wanted) if matches is None else matches
            matches = np.intersect1d(known, compared, assume_unique=True)
        request = PageRequest(
            filter=wanted,
            sort=query.text("sort", "row"),
            descending=query.choice("order", ("up", "down")) == "down",
            after=optional(query.text, query, "after"),
            limit=query.integer("limit", 50, least=1, most=MOST),
            matches=matches,
        )
        answer = asdict(page(stored.con, columns_of(run, stored.con), request))
    if progress is None:
        return answer | {"search": None}
    state = {"searched": progress.searched, "candidates": progress.candidates, "done": progress.done}
    return answer | {"search": state | {"matches": len(progress.rows)}}


def texts(run: ExploredRun, query: Query) -> list[dict[str, Any]]:
    """Pieces of the texts of some rows, with the first of the searched words."""
    words = optional(query.text, query, "q")
    field = optional(query.text, query, "in")
    known = SampleCondition(field or "", "contains", words).words if words is not None else []
    return [asdict(excerpt) for excerpt in input_of(run).excerpts(rows_of(query), field if words else None, known)]


def choices(run: ExploredRun, query: Query) -> dict[str, Any]:
    """Choices by which rows can be filtered and sorted."""
    with run.stored() as stored:
        columns = columns_of(run, stored.con)
        reasons = dicts(stored.con, _REASON_COUNTS, [_REASONS + 1])
        files = dicts(stored.con, "SELECT file, rows FROM files ORDER BY first_row, file LIMIT ?", [_FILES + 1])
        return {
            "text_key": stored.recipe.text_key,
            "rows": dicts(stored.con, "SELECT rows_read, rows_kept, rows_removed, rows_quarantined FROM runs")[0],
            "steps": dicts(stored.con, "SELECT * FROM steps ORDER BY step"),
            "stats": [{"name": name, "type": kind} for name, kind in columns.stats.items()],
            "reasons": reasons[:_REASONS],
            "more_reasons": len(reasons) > _REASONS,
            "files": files[:_FILES],
            "more_files": len(files) > _FILES,
        }


# Reasons of deduplicators name single samples.
_REASON_COUNTS = """
SELECT step, reason, count(*) AS rows FROM ledger SEMI JOIN (FROM steps WHERE kind <> 'deduplicator') USING (step)
GROUP BY ALL ORDER BY step, rows DESC, reason LIMIT ?
"""


def fields(run: ExploredRun, query: Query) -> list[str]:
    """Names of fields in some samples of the input, also of nested ones."""
    names: dict[str, None] = {}
    with input_of(run).histories() as histories:
        for sample in islice(spread_samples(histories.prepared.shards), _SAMPLES):
            for name, value in sample.items() if isinstance(sample, dict) else ():
                names[field_name((name,))] = None
                if isinstance(value, dict):
                    names |= dict.fromkeys(field_name((name, inner)) for inner in value)
    return list(names)[:1000]


def way(run: ExploredRun, query: Query) -> dict[str, Any]:
    """The whole way of one row, with differences word by word; where it cannot be recomputed, what the tables say of it."""
    row = query.integer("row", least=0)
    with run.con() as con:
        last = dicts(con, "SELECT coalesce(max(first_row + rows), 0) - 1 AS row FROM shards")[0]["row"]
        if row > last:
            raise DataError(f"no row {row}: the run read " + (f"rows 0 to {last}" if last >= 0 else "none"))
        raw = dicts(con, "SELECT step, error, raw, raw_bytes, file, line FROM quarantine WHERE _row = ?", [row])
        known = {
            "last": last,
            "raw": raw[0] if raw else None,
            "clusters": dicts(
                con, "SELECT step, cluster, size, survivor FROM clusters WHERE _row = ? ORDER BY step", [row]
            ),
            "recorded": described(con, [row])[row],
        }
    try:
        with input_of(run).histories() as histories:
            return known | _recomputed(sample_way(histories, row)) | {"why_not": ""}
    except RefineryError as error:
        unknown: dict[str, Any] = {"sample": None, "events": [], "fields": [], "error": None}
        recorded = {"row": row, "file": known["recorded"]["file"], "fate": known["recorded"]["fate"]}
        return known | unknown | recorded | {"why_not": str(error)}


def _recomputed(found: SampleWay) -> dict[str, Any]:
    """A sample's way as JSON data, in which a difference stands for both of its texts."""
    answer = asdict(found)
    events = [
        {"diff": event["diff"] and folded(event["diff"], _FOLDED), **event["event"]} for event in answer["events"]
    ]
    for event in events:
        del event["before"], event["after"]
    history = answer["history"]
    return history | {"events": events, "fields": answer["fields"], "file": shorter(history["file"])}


VIEW = View(
    "samples",
    "Samples",
    30,
    (
        Endpoint("", rows),
        Endpoint("texts", texts),
        Endpoint("choices", choices),
        Endpoint("fields", fields),
        Endpoint("way/{row}", way),
    ),
)
