"""The order in which a deduplicator prefers samples: the parameter `keep`, with names for usual orders."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from refinery.common.fields import keys_of
from refinery.compiler.templates import ident

FIRST, LONGEST, NEWEST = "first", "longest", "newest"
# Names that stand for an order; a field of such a name is written `"newest"` or `newest asc`.
NAMED = (FIRST, LONGEST, NEWEST)


def order_of(params: Mapping[str, Any]) -> str:
    """The SQL order of a deduplicator's parameters; "" if the first sample of the input stays.

    A date is read as a point in time, also where it is text in ISO 8601; without an offset it is UTC. A sample without one comes last,
    as does one with `infinity`, which DuckDB takes for a time after all others.
    """
    keep = params.get("keep") or FIRST
    if keep == LONGEST:
        return "length(text) DESC"
    if keep == NEWEST:
        field = ".".join(map(ident, keys_of(params.get("date_key") or "date")))
        # as text: of JSON, which a field of several kinds is, without its quotes
        text = f"json_extract_string(to_json({field}), '$')"
        return f"TRY_CAST(regexp_extract({text}, '(?s)^\\s*([0-9].*\\S)', 1) AS TIMESTAMPTZ) DESC"
    return "" if keep == FIRST else str(keep)


def key_of(term: str, params: Mapping[str, Any]) -> str:
    """SQL for a term of an order with NULL for NaN, which DuckDB takes for greater than all numbers: it would be the best score."""
    if params.get("keep") in NAMED:
        return term
    return (
        f"CASE WHEN typeof({term}) IN ('DOUBLE', 'FLOAT') AND CAST({term} AS VARCHAR) = 'nan' THEN NULL ELSE {term} END"
    )


def problem_of_order(params: Mapping[str, Any]) -> str:
    """The reason why `keep` and `date_key` cannot be used; "" if they can."""
    keep, date = params.get("keep", FIRST), params.get("date_key", "date")
    if not str(keep or "").strip():
        return "keep is empty; set it to first, longest, newest or an SQL order such as score desc"
    if not str(date or "").strip():
        return "date_key is empty; set it to the name of a field"
    if date != "date" and keep != NEWEST:
        return f"date_key has no effect with keep: {keep}; set keep: newest, or leave date_key out"
    return ""
