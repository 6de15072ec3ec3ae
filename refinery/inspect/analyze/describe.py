"""Descriptions of statistics in a run's database: sketches, quantiles, correlations, suggested bounds."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from refinery.compiler.model import Stat
from refinery.compiler.stat_groups import key_name, keyed
from refinery.compiler.templates import ident, lit
from refinery.errors import Problem, RecipeError, did_you_mean
from refinery.inspect.analyze import sketch, suggest
from refinery.inspect.analyze.correlate import correlate
from refinery.planning.plan import CompiledStage, stats_of
from refinery.recipe.model import Step
from refinery.recipe.stat_summary import StatSummary
from refinery.results.database import Database

SUMMARY = ("'summary'", "'summary'")
NUMBERS = {"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT"}
NUMBERS |= {"FLOAT", "DOUBLE", "BOOLEAN"}


@dataclass(frozen=True)
class Describer:
    """Run extension that describes statistics in the database. names: columns or operators to describe; empty: all."""

    names: tuple[str, ...] = ()

    def check(self, stages: Sequence[CompiledStage], steps: Sequence[Step]) -> None:
        """Check that the run computes the requested statistics. Raises RecipeError."""
        if not chosen(stats_of(stages), steps, self.names):
            raise RecipeError([Problem("process", "no step computes a statistic, so there is nothing to describe")])

    def fill(self, db: Database, stages: Sequence[CompiledStage], steps: Sequence[Step]) -> None:
        """Fill sketches, quantiles, correlations and suggestions from the facts of the run."""
        stats = chosen(stats_of(stages), steps, self.names)
        columns = [(lit(stat.column), ident(stat.column)) for stat in stats]
        groups = _groups(stages[0].inputs.settings.summary)
        long = sketch.values("facts", [SUMMARY, *groups], columns)
        db.run(f"CREATE OR REPLACE TABLE sketches AS {sketch.sketches(long)}")
        if groups:  # of some groups only the keys of most samples are summed up
            db.run('DELETE FROM sketches WHERE ("group", key) NOT IN (SELECT "group", key FROM stat_summary)')
        db.run(f"CREATE OR REPLACE TABLE quantiles AS {sketch.quantiles('sketches')}")
        correlate(db, [stat.column for stat in stats], [column for _, column in columns])
        suggest.fill(db, stages, steps, stats)


def chosen(stats: Sequence[Stat], steps: Sequence[Step], names: Collection[str]) -> list[Stat]:
    """The numeric ones of a run's statistics that match `names` (columns, statistics or operators); all if `names` is empty.

    Raises RecipeError for a name that matches nothing.
    """
    stats = [stat for stat in stats if stat.type.upper() in NUMBERS]
    operators = {step.index: step.name for step in steps}
    answers = {stat.column: {stat.column, stat.name, operators[stat.step]} for stat in stats}
    known = set().union(*answers.values()) if answers else set()
    problems = [
        Problem("--stats", f"the run computes no statistic {name!r}{did_you_mean(name, known)}")
        for name in names
        if name not in known
    ]
    if problems:
        raise RecipeError(problems)
    return [stat for stat in stats if not names or answers[stat.column] & set(names)]


def _groups(summary: StatSummary) -> list[tuple[str, str]]:
    """SQL for the name and the key of each group in the recipe."""
    return [(lit(group), key_name(group, summary)) for group in keyed(summary)]
