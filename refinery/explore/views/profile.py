"""View `profile`: the fields of the input, and what in them deserves a look."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from refinery.errors import RefineryError
from refinery.explore.browsing import SECONDS, input_of
from refinery.explore.model import Endpoint, Query, View
from refinery.explore.run import ExploredRun
from refinery.inspect.browse.field_summary import FieldSummary
from refinery.inspect.browse.input_profile import InputProfile
from refinery.inspect.browse.look_here import look_here


def profile(run: ExploredRun, query: Query) -> dict[str, Any]:
    """The fields by what was read of the input so far; each request reads on for a second."""
    with run.con() as con:
        why_not, seen = "", None
        try:
            seen = run.remember("input profile", lambda: InputProfile(input_of(run), con))
            if not seen.done:
                seen.advance(con, SECONDS)
        except RefineryError as error:
            why_not, seen = str(error), None
            run.forget("input profile")
        lost = 0.0 if seen is None else 1 - seen.kept / max(1, seen.read)
        summaries = [] if seen is None else seen.summaries()
        return {
            "read": 0 if seen is None else seen.read,
            "unreadable": 0 if seen is None else seen.unreadable,
            "total": 0 if seen is None else seen.total,
            "done": seen is None or seen.done,
            "more_fields": seen is not None and seen.more,
            "why_not": why_not,
            "fields": [_field(summary) for summary in summaries],
            "remarks": [asdict(remark) for remark in look_here(con, summaries, lost)],
        }


def _field(summary: FieldSummary) -> dict[str, Any]:
    categories = summary.categories
    return {
        "name": summary.name,
        "type": summary.type,
        "present": summary.present,
        "missing": summary.nulls,
        "kinds": summary.kinds.most_common(),
        "shortest": summary.shortest,
        "median_length": summary.median_length(),
        "longest": summary.longest,
        "least": summary.least,
        "greatest": summary.greatest,
        "distinct": None if categories.many else len(categories.values),
        "comparable": summary.comparable,
        "values": [[value, counted.rows, counted.lost] for value, counted in categories.most()],
        "hosts": [[host, counted.rows, counted.lost] for host, counted in summary.hosts.most()],
        "examples": summary.examples,
    }


VIEW = View("profile", "Fields", 60, (Endpoint("", profile),))
