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

    A date is read as a point in time, also where it is text in ISO 8601; without an offset it is UTC. A sample without one comes last.
    """
    keep = params.get("keep") or FIRST
    if keep == LONGEST:
        return "length(text) DESC"
    if keep == NEWEST:
        field = ".".join(map(ident, keys_of(params.get("date_key") or "date")))
        # as text: of JSON, which a field of several kinds is, without its quotes
        return f"TRY_CAST(json_extract_string(to_json({field}), '$') AS TIMESTAMPTZ) DESC"
    return "" if keep == FIRST else str(keep)
