"""What both a run and a script say of a deduplicator: its marks' names, what matched, and the bound of the ledger."""

from __future__ import annotations

from typing import Any

from refinery.operators import Operator

# Rounds of comparing the members of a bucket with one of those that are left; later ones find next to nothing.
ROUNDS = 8
# SQL for the number that says which: the sum of a sample's shingles, which are hashes, modulo 2^64.
CONTENT = "CAST(coalesce(list_sum(shingles), 0) % 18446744073709551616 AS UBIGINT)"

MARK = "_mark_"

# The statistic that a removed sample is judged by, for the parameter that bounds it.
_BOUNDS = {"jaccard_threshold": "estimated_jaccard", "hamming_distance": "hamming_distance"}


def mark_name(column: str) -> str:
    """A mark's own name, for that of its column in the chain."""
    return column.removeprefix(MARK)


def matched(operator: Operator) -> dict[str, Any]:
    """SQL for the columns of `duplicates` that say what matched, by kind of match: what `_duplicates.sql` asks for."""
    if operator.match == "keys":
        return {"matched": "CAST(one.key AS VARCHAR)", "distance": "NULL", "estimate": "NULL", "joined": True}
    if operator.match == "hamming":
        text = "'distance ' || found.how"
        return {"matched": text, "distance": "found.how", "estimate": "NULL", "joined": False}
    estimate = "estimate_jaccard(one.signature, other.signature)"
    return {"matched": "'band ' || found.how", "distance": "NULL", "estimate": estimate, "joined": True}


def judged(step: Any) -> dict[str, Any]:
    """What `ledger.sql` asks for of a step: its place, and the statistic with its bound where there is one."""
    name = next((name for name in _BOUNDS if name in step.params), None)
    bound = None if name is None else float(step.params[name])
    place = {"step": step.index, "name": step.name, "where": step.where}
    return {**place, "statistic": _BOUNDS.get(name or ""), "bound": bound}
