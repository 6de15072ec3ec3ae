"""Dates by which `keep: newest` prefers samples: samples without one are older than all others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from refinery.errors import OperatorError


def notes_on_dates(step: Any, seen: Mapping[str, Any]) -> list[str]:
    """The note on samples without a date. seen: `rows` of match keys, and of these the number without a date in `counts`.

    Raises OperatorError if no sample has a date: then the field holds none.
    """
    rows, (missing,) = seen["rows"], seen["counts"]
    field, begin = step.params.get("date_key"), f"{step.where}: {step.name}: keep: newest:"
    if rows and missing == rows:
        raise OperatorError(
            f"{begin} no sample has a date in the field {field!r}. Set date_key to a field with dates, times or text in ISO 8601, "
            "or keep to an SQL order such as year desc"
        )
    if not missing:
        return []
    if missing == 1:
        samples, count = "1 of the compared samples has", "counts"
    else:
        samples, count = f"{missing:,} of {rows:,} compared samples have", "count"
    return [f"{begin} {samples} no date in the field {field!r}, and {count} as older than all others"]
