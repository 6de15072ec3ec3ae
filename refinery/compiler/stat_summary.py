"""The statements that sum up the statistics of a run: the table `stat_summary`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from refinery.compiler.model import Stat
from refinery.compiler.program import Program
from refinery.compiler.stat_groups import TOKENS, key_name
from refinery.compiler.templates import ident, template
from refinery.operators import read_sql
from refinery.recipe.stat_summary import StatSummary

_WHOLE = {"BOOLEAN", "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER"}
_REAL = {"FLOAT", "DOUBLE", "UBIGINT", "HUGEINT"}  # the last two do not fit a BIGINT


@dataclass(frozen=True)
class SummedStatistic:
    """SQL of a statistic for the templates.

    column: quoted. number: as DOUBLE or BIGINT. finite: as a DOUBLE, NULL for NaN and infinities. real: number is a
    DOUBLE. rounded: as the key of a histogram. chars: the column with the lengths of the measured texts.
    """

    name: str
    column: str
    number: str
    finite: str
    real: bool
    rounded: str
    chars: str


def summary_statements(programs: Sequence[Program], summary: StatSummary) -> list[str]:
    """Statements of a script that make the table, in order, from the relations `stats` and `facts`."""
    stats = summed(programs, summary)
    everything = [_written("stat_summary", stats=stats if "summary" in summary.groups else [])]
    if not stats:
        return everything
    tokens = TOKENS if any(TOKENS in program.keys for program in programs) else "CAST(NULL AS BIGINT)"
    for group in (*summary.groups, *(name for name, _ in summary.group_by)):
        if group == "histogram":
            everything.append(_written("stat_summary_histogram", stats=stats, tokens=tokens))
        elif group != "summary":
            most = summary.top_k if group in summary.top_k_groups else None
            key = key_name(group, summary)
            everything.append(_written("stat_summary_keys", stats=stats, group=group, key=key, top_k=most))
    return everything


def empty_summary() -> str:
    """The statement that makes the table without rows."""
    return _written("stat_summary", stats=[])


def summed(programs: Sequence[Program], summary: StatSummary) -> list[SummedStatistic]:
    """The statistics that are summed up: numeric ones; if the recipe names statistics, only those."""
    return [
        _summed(stat, summary, program.chars.get(stat.step))
        for program in programs
        for stat in program.stats
        if stat.type.upper() in _WHOLE | _REAL and (not summary.stats or stat.column in summary.stats)
    ]


def _summed(stat: Stat, summary: StatSummary, chars: str | None) -> SummedStatistic:
    column, real = ident(stat.column), stat.type.upper() in _REAL
    number = f"CAST({column} AS {'DOUBLE' if real else 'BIGINT'})"
    finite = f"CASE WHEN isfinite({number}) THEN {number} END" if real else f"CAST({column} AS DOUBLE)"
    digits = summary.histogram_round_digits
    asked = "histogram" in summary.groups
    rounded = _rounded(number, real, digits) if asked else ""
    return SummedStatistic(stat.column, column, number, finite, real, rounded, chars or "")


def _rounded(value: str, real: bool, digits: int) -> str:
    power = f"1e{abs(digits)}" if real else str(10 ** abs(digits))
    lines = _written("_rounded", value=value, real=real, digits=digits, power=power).splitlines()
    return "\n".join(line for line in lines if not line.startswith("--")).strip()


def _written(name: str, **values: Any) -> str:
    return template(read_sql(f"tables/{name}.sql")).render(values)
