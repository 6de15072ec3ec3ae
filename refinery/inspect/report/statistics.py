"""The statistics of a run: moments, quantiles and histograms."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from refinery.common.duckdb_facts import settings
from refinery.compiler.model import Stat
from refinery.compiler.templates import ident
from refinery.inspect.report.axes import Axis, axis_of
from refinery.inspect.report.bounds import measured, range_of
from refinery.inspect.report.facts import ReportStep
from refinery.inspect.report.replayed import Replay
from refinery.inspect.report.tables import Row, RunTables
from refinery.operators.bounds import NO_RANGE, KeptRange

# Statistics with a histogram, and rows of the table of all statistics: a run may have hundreds.
MOST_DETAILS = 30
MOST_LISTED = 400
# Values to list of a statistic that is not a number.
_VALUES = 20
# Statistics in the correlation map, and samples from which it is computed.
_CORRELATED = 20
_SAMPLES = 200_000
# Values to sort for quantiles, and histograms to count in one pass.
_SORTED = 10_000_000
_TOGETHER = 8
QUANTILES = (0.005, 0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 0.995)
_NUMBERS = ("DOUBLE", "FLOAT", "BIGINT", "INTEGER", "UBIGINT", "UINTEGER", "SMALLINT", "TINYINT", "HUGEINT", "DECIMAL")


@dataclass(frozen=True)
class Histogram:
    """Samples by bin and fate. below, above: samples outside of the axis."""

    axis: Axis
    kept: list[int]
    here: list[int]
    elsewhere: list[int]
    below: int
    above: int


@dataclass
class Statistic:
    """One column of table `stats`.

    step: the step that measured it, if known. n: samples with a value, of `all`. quantiles: at QUANTILES, of one sample
    in `every`. histogram: of numbers with details. values: the most frequent values of a statistic that is no number.
    """

    column: str
    type: str
    step: ReportStep | None
    range: KeptRange
    n: int = 0
    all: int = 0
    mean: float | None = None
    deviation: float | None = None
    low: float | None = None
    high: float | None = None
    odd: int = 0
    removed: int = 0
    quantiles: dict[float, float] = field(default_factory=dict)
    every: int = 1
    histogram: Histogram | None = None
    values: list[Row] = field(default_factory=list)

    @property
    def constant(self) -> bool:
        """True if all samples have the same number."""
        return self.numeric and self.low is not None and self.low == self.high and not self.odd

    @property
    def numeric(self) -> bool:
        """True if the values are numbers."""
        return self.type.startswith(_NUMBERS)

    @property
    def whole(self) -> bool:
        """True if the values are whole numbers."""
        return self.numeric and not self.type.startswith(("DOUBLE", "FLOAT", "DECIMAL"))


@dataclass(frozen=True)
class Correlations:
    """Pearson's r by pair of columns, None if undefined. every: computed from one sample in so many."""

    columns: list[str]
    r: dict[tuple[str, str], float | None]
    every: int

    @property
    def strongest(self) -> list[tuple[str, str, float]]:
        """The pairs, strongest first."""
        known = [(*pair, r) for pair, r in self.r.items() if r is not None]
        return sorted(known, key=_strength)


def _strength(pair: tuple[str, str, float]) -> tuple[float, str, str]:
    return (-abs(pair[2]), pair[0], pair[1])


def read_statistics(tables: RunTables, steps: Sequence[ReportStep], again: Replay) -> list[Statistic]:
    """Read all statistics; up to MOST_DETAILS of them, those with bounds first, are counted in detail."""
    by_step = {step.step: step for step in steps}
    prepared = again.histories.prepared if again.histories else None
    known = {stat.column: stat for stat in (prepared.stats if prepared else measured(tables.run_dir.recipe))}
    columns = tables.rows("SELECT column_name, data_type FROM duckdb_columns() WHERE table_name = 'stats'")
    statistics = [
        _statistic(column["column_name"], column["data_type"], known.get(column["column_name"]), by_step)
        for column in columns
        if column["column_name"] not in ("_row", "kept") and not column["column_name"].startswith("_")
    ]
    _moments(tables, statistics)
    for statistic in sorted(statistics, key=_unbounded)[:MOST_DETAILS]:
        if not statistic.numeric:
            column = ident(statistic.column)
            statistic.values = tables.query("values", column=column, limit=_VALUES)
    detailed = [s for s in sorted(statistics, key=_unbounded)[:MOST_DETAILS] if s.numeric and s.n]
    _quantiles(tables, detailed)
    _count(tables, detailed)
    return statistics


def _unbounded(statistic: Statistic) -> bool:
    return not statistic.range.ends


def _statistic(column: str, kind: str, stat: Stat | None, steps: dict[int, ReportStep]) -> Statistic:
    step = steps.get(stat.step) if stat else None
    bounds = range_of(stat, step) if stat and step else NO_RANGE
    return Statistic(column, kind, step, bounds, removed=step.removed if step and bounds.ends else 0)


def _moments(tables: RunTables, statistics: Sequence[Statistic]) -> None:
    """Fill in n, mean and deviation, over finite values only."""
    [rows] = tables.rows("SELECT count(*) AS n FROM stats")
    sums = "SELECT stat, n, mean, m2, min, max FROM stat_summary WHERE \"group\" = 'summary'"
    summed = {row["stat"]: row for row in tables.rows(sums)}
    for statistic in statistics:
        row = summed.get(statistic.column, {})
        statistic.all, statistic.n = rows["n"], row.get("n") or 0
        statistic.mean, statistic.low, statistic.high = row.get("mean"), row.get("min"), row.get("max")
        if statistic.n > 1 and row["m2"] is not None:
            statistic.deviation = math.sqrt(max(0.0, row["m2"]) / (statistic.n - 1))


def _quantiles(tables: RunTables, statistics: Sequence[Statistic]) -> None:
    """Fill in quantiles; of many values, DuckDB sorts only those of every few samples."""
    if not statistics:
        return
    every = max(1, math.ceil(statistics[0].all * len(statistics) / _SORTED))
    columns = [ident(statistic.column) for statistic in statistics]
    quantiles = tables.query("quantiles", columns=columns, shares=list(QUANTILES), every=every)
    for statistic, row in zip(statistics, quantiles, strict=True):
        statistic.odd = max(0, statistic.n - row["finite"])
        if row["finite"] and row["quantiles"]:
            statistic.low, statistic.high, statistic.every = row["low"], row["high"], every
            statistic.quantiles = dict(zip(QUANTILES, row["quantiles"], strict=True))


def _count(tables: RunTables, statistics: Sequence[Statistic]) -> None:
    """Count the samples of each bin with DuckDB."""
    drawn = []
    for statistic in statistics:
        axis = axis_of(statistic.low, statistic.high, statistic.quantiles, statistic.range.ends, statistic.whole)
        if axis is not None:
            drawn.append((statistic, axis))
    aligned = bool(drawn) and tables.aligned()
    for start in range(0, len(drawn), _TOGETHER):
        some = drawn[start : start + _TOGETHER]
        wanted = [_Wanted(ident(s.column), s.step.step if s.step else -1, axis) for s, axis in some]
        rows = tables.query("histogram", wanted=wanted, outcomes=aligned)
        for at, (statistic, axis) in enumerate(some):
            statistic.histogram = _histogram(axis, [row for row in rows if row["nth"] == at])


@dataclass(frozen=True)
class _Wanted:
    """Values for the SQL that counts one histogram."""

    column: str
    step: int
    axis: Axis


def _histogram(axis: Axis, rows: Sequence[Row]) -> Histogram:
    counts = {fate: [0] * axis.bins for fate in ("kept", "here", "elsewhere")}
    outside = {-1: 0, axis.bins: 0}
    for row in rows:
        if row["bin"] in outside:
            outside[row["bin"]] += row["samples"]
        else:
            counts[row["fate"]][row["bin"]] = row["samples"]
    return Histogram(axis, **counts, below=outside[-1], above=outside[axis.bins])


@dataclass(frozen=True)
class AnalysisRows:
    """Rows of the tables `suggestions` and `correlations`, the latter strongest first."""

    suggestions: list[Row]
    pairs: list[Row]


def read_analysis(tables: RunTables) -> AnalysisRows | None:
    """Read the tables of `refinery analyze` in the run's database; None if the run was not an analysis."""
    names = "SELECT count(*) AS n FROM duckdb_tables() WHERE table_name IN ('suggestions', 'correlations')"
    if tables.rows(names)[0]["n"] < 2:
        return None
    strength = "greatest(abs(coalesce(spearman, 0)), abs(coalesce(pearson, 0)))"
    pairs = f"SELECT * FROM correlations WHERE coalesce(pearson, spearman) IS NOT NULL ORDER BY {strength} DESC, stat_a, stat_b"
    return AnalysisRows(tables.rows("SELECT * FROM suggestions ORDER BY step, stat, method"), tables.rows(pairs))


def read_correlations(tables: RunTables, statistics: Sequence[Statistic]) -> Correlations | None:
    """Read correlations of numbers that vary, those with bounds before others; None for fewer than two."""
    vary = [statistic for statistic in statistics if statistic.numeric and statistic.n > 1 and not statistic.constant]
    chosen = {statistic.column for statistic in sorted(vary, key=_unbounded)[:_CORRELATED]}
    numbers = [statistic.column for statistic in vary if statistic.column in chosen]
    pairs = [(left, right) for at, left in enumerate(numbers) for right in numbers[at + 1 :]]
    if not pairs:
        return None
    every = max(1, math.ceil(statistics[0].all / _SAMPLES))
    named = [(ident(left), ident(right)) for left, right in pairs]
    # On one thread: sums of floating-point numbers depend on the order.
    tables.con.execute(settings.ONE_THREAD).fetchall()
    [row] = tables.query("correlations", pairs=named, columns=[ident(name) for name in numbers], every=every)
    tables.con.execute("RESET threads").fetchall()
    r = [None if value is None or math.isnan(value) else min(1.0, max(-1.0, value)) for value in row.values()]
    return Correlations(numbers, dict(zip(pairs, r, strict=True)), every)
