"""`refinery analyze`: its results, read from the tables of its run."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from refinery.execution.run import Outcome, Progress, execute
from refinery.inspect.analyze import suggest
from refinery.inspect.analyze.describe import Describer, chosen
from refinery.inspect.analyze.request import AnalysisRequest
from refinery.planning.plan import CompiledStage, stats_of
from refinery.recipe.model import Step
from refinery.results.database import Database


@dataclass(frozen=True)
class StatisticDescription:
    """One statistic in one group: finite values, samples without one, moments, and values by quantile."""

    group: str
    key: str
    stat: str
    n: int
    missing: int
    mean: float | None
    std: float | None
    min: float | None
    max: float | None
    quantiles: Mapping[float, float]


@dataclass(frozen=True)
class Analysis:
    """Results of an analysis. correlations, suggestions: rows of the tables. fragments: a recipe as YAML by method."""

    outcome: Outcome
    descriptions: tuple[StatisticDescription, ...]
    correlations: tuple[dict[str, Any], ...]
    suggestions: tuple[dict[str, Any], ...]
    fragments: Mapping[str, str]


class _Reading:
    """Run extension that fills the tables and reads them while the database is open."""

    def __init__(self, request: AnalysisRequest) -> None:
        self._describer, self._recipe = Describer(request.names), request.recipe
        self.found: dict[str, Any] = {}

    def check(self, stages: Sequence[CompiledStage], steps: Sequence[Step]) -> None:
        self._describer.check(stages, steps)

    def fill(self, db: Database, stages: Sequence[CompiledStage], steps: Sequence[Step]) -> None:
        self._describer.fill(db, stages, steps)
        stats = stats_of(stages)
        order = [stat.column for stat in chosen(stats, steps, self._describer.names)]
        suggestions = rows(db, "SELECT * FROM suggestions ORDER BY step, stat, method")
        strongest = "greatest(abs(coalesce(spearman, 0)), abs(coalesce(pearson, 0)))"
        self.found = {
            "descriptions": tuple(_descriptions(db, order)),
            "correlations": tuple(rows(db, f"SELECT * FROM correlations ORDER BY {strongest} DESC, stat_a, stat_b")),
            "suggestions": tuple(suggestions),
            "fragments": {
                method: suggest.fragment(self._recipe, stats, suggestions, method) for method in suggest.METHODS
            },
        }


def analyze(request: AnalysisRequest, progress: Progress | None = None) -> Analysis:
    """Run the request's recipe and describe its statistics. Raises the errors of `execute`."""
    reading = _Reading(request)
    outcome = execute(request.recipe, request.library, progress=progress, extension=reading)
    return Analysis(outcome, **reading.found)


def rows(db: Database, query: str) -> list[dict[str, Any]]:
    """The rows of a query by column."""
    done = db.con.execute(query)
    names = [column[0] for column in done.description or ()]
    return [dict(zip(names, row, strict=True)) for row in done.fetchall()]


def _descriptions(db: Database, order: list[str]) -> list[StatisticDescription]:
    """Every statistic in every group, statistics in the order of the recipe, keys by the number of their samples."""
    quantiles: dict[tuple[str, str, str], dict[float, float]] = defaultdict(dict)
    for *place, quantile, value in db.rows(
        'SELECT "group", key, stat, quantile, value FROM quantiles ORDER BY quantile'
    ):
        group, key, stat = place
        quantiles[group, key, stat][quantile] = value
    query = (
        'SELECT s."group", s.key, s.stat, coalesce(sum(s.n) FILTER (WHERE s.bucket IS NOT NULL), 0), '
        "coalesce(sum(s.n) FILTER (WHERE s.bucket IS NULL), 0), any_value(m.mean), any_value(m.m2), min(s.low), max(s.high) "
        'FROM sketches AS s LEFT JOIN stat_summary AS m USING ("group", key, stat) GROUP BY ALL'
    )
    descriptions = [_description(row, quantiles[row[:3]]) for row in db.rows(query)]
    first = {"summary": -1}
    return sorted(
        descriptions, key=lambda d: (order.index(d.stat), first.get(d.group, 0), d.group, -d.n - d.missing, d.key)
    )


def _description(row: tuple[Any, ...], quantiles: Mapping[float, float]) -> StatisticDescription:
    group, key, stat, n, missing, mean, m2, low, high = row
    spread = None if m2 is None or n < 2 else math.sqrt(m2 / (n - 1))
    if not n:
        mean = spread = None
    return StatisticDescription(group, key, stat, int(n), int(missing), mean, spread, low, high, quantiles)
