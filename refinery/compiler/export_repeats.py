"""SQL for the number of times that a sample is exported, by the recipe's `repeat_by`."""

from __future__ import annotations

from refinery.compiler.templates import lit

# A larger number is more likely a mistake, such as a score in place of a number of repeats.
MOST_REPEATS = 10_000
# Begin of the reason for which a sample cannot be exported.
REPEAT_FAULT = "repeat_by is "


def repeats_of(own: str) -> str:
    """SQL for the number of times; NULL where the value is not a whole number in range. own: SQL of the person's expression."""
    value = _number(own)
    return f"CASE WHEN {_valid(value)} THEN CAST({value} AS INTEGER) END"


def repeat_fault(own: str) -> str:
    """SQL for the reason why a sample cannot be exported; NULL where its number of repeats is valid."""
    shown = f"left(coalesce(CAST({own} AS VARCHAR), 'NULL'), 50)"
    before, behind = lit(REPEAT_FAULT), lit(f", not a whole number from 1 to {MOST_REPEATS}")
    return f"CASE WHEN ({_valid(_number(own))}) IS NOT TRUE THEN {before} || {shown} || {behind} END"


def _number(own: str) -> str:
    return f"TRY_CAST(({own}) AS DOUBLE)"


def _valid(value: str) -> str:
    return f"{value} BETWEEN 1 AND {MOST_REPEATS} AND {value} = floor({value})"
