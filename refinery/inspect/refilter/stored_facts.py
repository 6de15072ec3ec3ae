"""Stored facts of a stage's samples, in the form in which the stage would compute them."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from refinery.common.lazy import duckdb
from refinery.compiler.model import bytes_name
from refinery.compiler.program import stats_object
from refinery.compiler.templates import ident, template
from refinery.inspect.refilter.change import RecipeChange
from refinery.inspect.refilter.shard_positions import ShardPosition
from refinery.operators import read_sql
from refinery.planning.plan import CompiledStage

UNREADABLE = """
SELECT quarantine._row - first_row AS _row, quarantine.file, line - first_line AS line, step, operator, error,
  raw_bytes AS raw
FROM quarantine JOIN shards ON quarantine._row >= first_row AND quarantine._row < first_row + rows
WHERE shard = $shard AND step = 0
ORDER BY 1
"""


@dataclass
class StoredFacts:
    """The stored samples of one stage.

    con: the run's database. sql: rendered from sql/analysis/known.sql. places: of the shards. texts: folder with the
    exported texts of the run, a file for each shard; None if the stage changes no text. again: by shard the numbers of
    the samples that were computed again; filled by workers.
    """

    con: duckdb.DuckDBPyConnection
    sql: str
    places: list[ShardPosition]
    texts: Path | None = None
    again: dict[int, np.ndarray] = field(default_factory=dict)

    def of(self, shard: int) -> pa.Table:
        """Stored facts of a shard's samples, without samples that must run again. `_row` is the number in the shard."""
        place = self.places[shard]
        values: dict[str, Any] = {"first": place.first, "end": place.first + place.rows}
        if self.texts is not None:
            values["texts"] = str(texts_file(self.texts, shard))
        with self.con.cursor() as con:
            return con.sql(self.sql, params=values).to_arrow_table()

    def unreadable(self, shard: int) -> list[dict[str, Any]]:
        """The unreadable lines of a shard, in the form in which a worker reports them."""
        with self.con.cursor() as con:
            return con.sql(UNREADABLE, params={"shard": shard}).to_arrow_table().to_pylist()


def texts_file(folder: Path, shard: int) -> Path:
    """The file with a shard's exported texts."""
    return folder / f"{shard:05d}.texts.parquet"


@dataclass(frozen=True)
class StoredFactsQuery:
    """Writer of the SQL that reads the stored facts of a stage's samples.

    stages: of the changed recipe. stored: columns of the run's tables. writes: whether samples are exported. traced:
    whether rows will be replayed, so that texts between stages must be real. texts: whether exported texts are
    available.
    """

    stages: tuple[CompiledStage, ...]
    change: RecipeChange
    stored: dict[str, dict[str, str]]
    writes: bool
    traced: bool
    texts: bool
    units: frozenset[int]  # numbers of stages that begin by removing text units

    def sql(self, planned: CompiledStage, all_rows: bool = False) -> str:
        """The statement for a stage up to that of the change. all_rows: for all shards of a run with one stage."""
        number = planned.stage.number
        changed = self._changed(planned)
        final = self.change.decision(self._stage(self.change.stage))
        return template(read_sql("analysis/known.sql")).render(
            reached=self._given(self._stage(self.change.stage)),
            decision=final if number == self.change.stage else self._as_it_was(planned),
            later=final,
            given=self._given(planned),
            columns={ident(name): sql for name, sql in self.columns(planned).items()},
            texts=self.texts and bool(changed),
            whole=all_rows,
            again=" OR ".join(f"coalesce({reason}, FALSE)" for reason in self._again(planned, changed)),
        )

    def _stage(self, number: int) -> CompiledStage:
        return self.stages[number - 1]

    def _given(self, planned: CompiledStage) -> str:
        """SQL for "the stage received the sample"."""
        if planned.stage.first:
            return "TRUE"
        last = max(self._stage(planned.stage.number - 1).stage.numbers(), default=planned.stage.since)
        return f"(_dropped IS NULL OR _dropped {'>=' if planned.stage.number in self.units else '>'} {last})"

    def _as_it_was(self, planned: CompiledStage) -> str:
        after = planned.stage.after
        end = (
            f"< {after.index}"
            if after is not None
            else f"<= {max(planned.stage.numbers(), default=planned.stage.since)}"
        )
        return f"CASE WHEN _dropped {end} THEN _dropped END"

    def _again(self, planned: CompiledStage, changed: str) -> list[str]:
        """SQL conditions, any of which makes a sample of a stage run again."""
        run, number = self._run_again(), planned.stage.number
        conditions = [run] if number == self.change.stage else []
        if changed and self.writes:
            missing = "_has_text IS NULL" if self.texts else "TRUE"
            conditions.append(f"(_reached AND _end IS NULL AND ({changed}) AND {missing})")
        if changed and number < self.change.stage:
            wanted = "TRUE" if self.traced else f"_reached AND ({run})"
            conditions.append(f"(_here IS NULL AND ({changed}) AND {wanted})")
        return conditions or ["FALSE"]

    def _run_again(self) -> str:
        """SQL for "the result of the stage of the change is not stored", for a sample that the stage received."""
        stage = self._stage(self.change.stage)
        if self.change.first is None:
            return "FALSE"
        if self.change.unknown is not None or stage is not self.stages[-1]:
            return "_end IS NULL"
        last = max(step.index for step in stage.steps)
        return f"(_end IS NULL AND _dropped < {last})"

    def _changed(self, planned: CompiledStage) -> str:
        """SQL for "a mapper of the stage has changed a text of the sample"; empty without mappers."""
        columns = [change.changed for change in planned.program.changes]
        return " OR ".join(column if column in self.stored["row_outcomes"] else "TRUE" for column in columns)

    def columns(self, planned: CompiledStage) -> dict[str, str]:
        """SQL for each column that the stage's statement returns, besides `_dropped`."""
        columns = {stat.column: self._stat(stat) for stat in planned.program.stats}
        for change in planned.program.changes:
            alive = f"coalesce({change.changed}, FALSE) AND (_here IS NULL OR _here >= {change.step})"
            columns[change.changed] = alive if change.changed in self.stored["row_outcomes"] else "FALSE"
        columns |= {name: self._term(step, name) for step, name in planned.chain.terms.items()}
        columns |= {bytes_name(step): self._bytes(step) for step in planned.chain.versions}
        columns |= {name: self._hidden(name, planned) for name in planned.program.hidden if self._has(name)}
        if self.texts:
            for keys, column in planned.program.outs.items():
                flags = [change.changed for change in planned.program.changes if change.field == keys]
                columns[column] = f"CASE WHEN _here IS NULL AND ({' OR '.join(flags)}) THEN {column} END"
        if planned.program.stats_json and self.writes:
            stats = [stat for stage in self.stages for stat in stage.program.stats if self._has(stat.column, "stats")]
            columns["_stats"] = f"CASE WHEN _here IS NULL THEN {stats_object(stats)} END"
        return columns

    def _hidden(self, name: str, planned: CompiledStage) -> str:
        """SQL for a key, known for all samples, or for a text length, known from the step on that counts it first."""
        steps = [step for step, column in planned.program.chars.items() if column == name]
        column = f"decided.{ident(name)}"
        return f"CASE WHEN _here IS NULL OR _here >= {min(steps)} THEN {column} END" if steps else column

    def _has(self, column: str, table: str = "row_outcomes") -> bool:
        return column in self.stored[table]

    def _stat(self, stat: Any) -> str:
        column = ident(stat.column)
        if not self._has(stat.column, "stats"):
            return f"CAST(NULL AS {stat.type})"
        return f"CASE WHEN _here IS NULL OR _here >= {stat.step} THEN decided.{column} END"

    def _term(self, step: int, name: str) -> str:
        """SQL for the term of a predicate that a sample broke; it is known if the step removes it as in the run."""
        known = f"CASE WHEN _here = {step} THEN decided.{ident(name)} END" if self._has(name) else "NULL"
        return f"CAST({known} AS USMALLINT)"

    def _bytes(self, step: int) -> str:
        """SQL for the bytes of the text after a step; a sample removed before keeps its last text."""
        every = {version for planned in self.stages for version in planned.chain.versions}
        versions = sorted(version for version in every if version <= step)
        texts = [f"decided.{bytes_name(v)}" if self._has(bytes_name(v)) else "NULL" for v in versions]
        whens = [f"WHEN _here < {after} THEN {text}" for text, after in zip(texts, versions[1:], strict=False)]
        size = f"CASE {' '.join(whens)} ELSE {texts[-1]} END" if whens else texts[-1]
        return f"CAST({size} AS BIGINT)"
