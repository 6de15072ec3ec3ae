"""Parts of a deduplicator's SQL that runs and scripts share: names of marks, matches, the ledger's bound."""

from __future__ import annotations

from typing import Any

from refinery.operators import Operator

# Rounds in which the samples of a bucket are compared with one of those left; later rounds find almost nothing.
ROUNDS = 8
# SQL for the content hash that picks representatives: the sum of a sample's shingles, which are hashes, modulo 2^64.
CONTENT = "CAST(coalesce(list_sum(shingles), 0) % 18446744073709551616 AS UBIGINT)"

MARK = "_mark_"

# Parameter that bounds a match -> statistic that the ledger shows for a removed sample.
_BOUNDS = {"jaccard_threshold": "estimated_jaccard", "hamming_distance": "hamming_distance"}


def mark_name(column: str) -> str:
    """A mark's own name, from the name of its column in the chain."""
    return column.removeprefix(MARK)


def matched(operator: Operator) -> dict[str, Any]:
    """Values for `_duplicates.sql`: SQL for the columns that describe the match, by kind of match."""
    if operator.match == "keys":
        return {"matched": "CAST(one.key AS VARCHAR)", "distance": "NULL", "estimate": "NULL", "joined": True}
    if operator.match == "hamming":
        text = "'distance ' || found.how"
        return {"matched": text, "distance": "found.how", "estimate": "NULL", "joined": False}
    estimate = "estimate_jaccard(one.signature, other.signature)"
    return {"matched": "'band ' || found.how", "distance": "NULL", "estimate": estimate, "joined": True}


def judged(step: Any) -> dict[str, Any]:
    """Values for `ledger.sql`: a step's place, and its statistic with the bound if there is one."""
    name = next((name for name in _BOUNDS if name in step.params), None)
    bound = None if name is None else float(step.params[name])
    place = {"step": step.index, "name": step.name, "where": step.where}
    return {**place, "statistic": _BOUNDS.get(name or ""), "bound": bound}
