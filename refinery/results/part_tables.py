"""Maker of the tables of many samples: tasks write Parquet parts, the database has views over them and small tables.

A task makes the rows of some shards (a piece) in all tables, and sums; others sum up the statistics by blocks of samples, from the
parts, and number clusters, file by file. The driver adds up the sums and never reads a row, so its time and memory grow with shards.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from refinery.compiler.program import Program
from refinery.compiler.stat_summary import empty_summary
from refinery.compiler.templates import lit
from refinery.io.model import Written
from refinery.io.writers.export import join_stats
from refinery.planning.plan import CompiledStage
from refinery.recipe.stat_summary import StatSummary
from refinery.results import database, trace
from refinery.results.block_tables import (
    broken_table,
    count_clusters,
    make_clusters,
    make_parts,
    sum_up,
    sum_up_keys,
    sums_table,
)
from refinery.results.blocks import Piece, blocks, first_rows, pieces, samples_of
from refinery.results.database import Counts, Database, Sums
from refinery.results.stage_result import StageResult
from refinery.results.stat_summary import BLOCK, add_rows, notes_of
from refinery.results.summary_rows import SummaryPlan
from refinery.results.table_views import create_views, place_of
from refinery.results.tables import (
    StepCells,
    TableStatement,
    clusters_statements,
    piece_statements,
    stat_columns,
    steps_statement,
    summed_columns,
)
from refinery.storage.store import Store
from refinery.workers.executor import Executor, TaskPlace


@dataclass(frozen=True)
class TableOrder:
    """Requests to the tasks besides tables.

    summary: plan of `stat_summary`. traced: condition on `facts` by step, of at most `trace_limit` rows each. written: columns
    of the statistics beside the export. cells: of each step.
    """

    summary: SummaryPlan
    traced: dict[int, str]
    trace_limit: int | None
    written: tuple[str, ...]
    cells: dict[int, StepCells]


@dataclass(frozen=True)
class Matches:
    """Files with what a deduplicator has removed. by_shard: the file of each shard; empty if any file may have a shard's samples."""

    step: int
    files: Sequence[str]
    by_shard: dict[int, str]

    def of(self, piece: Piece) -> list[str]:
        """The files with the samples of a piece; one file at least, for its columns."""
        if not self.by_shard:
            return list(self.files)
        own = [self.by_shard[shard] for shard in range(piece.start, piece.end) if shard in self.by_shard]
        return list(dict.fromkeys(own)) or list(self.files[:1])


def _matches(done: Sequence[StageResult]) -> list[Matches]:
    found = [stage.findings for stage in done if stage.findings and stage.findings.duplicates]
    return [Matches(item.step, item.duplicates, item.duplicates_by_shard()) for item in found]


@dataclass
class PartTables:
    """See TableMaker. executor: runs the tasks. source: store of the shards' files. target: of the tables.

    piece: least samples of a piece. size: of a block.
    """

    stages: Sequence[CompiledStage]
    order: TableOrder
    executor: Executor
    source: Store
    target: Store
    piece: int
    size: int = BLOCK
    folder: str = field(default_factory=lambda: uuid4().hex)
    _answers: list[dict[str, Any]] = field(default_factory=list)
    _summed: list[dict[str, Any]] = field(default_factory=list)
    _shared: str = ""

    def fill(self, db: Database, done: Sequence[StageResult], statements: Sequence[TableStatement]) -> None:
        """Have the parts made; create views over them and the small tables."""
        self._shared, samples = json.dumps(self._shared_by(done)), samples_of(done)
        matches = _matches(done)
        self._answers = self._made(
            make_parts, [self._given(done, samples, matches, one) for one in pieces(samples, self.piece)]
        )
        parts = [part for answer in self._answers for part in answer["parts"]]
        parts += self._clusters(done)
        self._require(parts)
        create_views(db, self.target, parts, stat_columns(self.stages))
        listed = [(p["table"], place_of(self.target, p["name"]), p["rows"], p["bytes"]) for p in parts]
        database.fill_places(db, done, listed)
        self._steps(db, done)

    def _made(self, work: Callable[[TaskPlace, str, str], str], calls: Sequence[dict[str, Any]]) -> list[Any]:
        """Answers of tasks."""
        given = [(json.dumps(call),) for call in calls]
        return [json.loads(answer) for answer in self.executor.map(work, given, (self._shared,))]

    def _shared_by(self, done: Sequence[StageResult]) -> dict[str, Any]:
        """Parameters of all tasks."""
        found = [stage.findings for stage in done]
        limited = self.order.trace_limit is not None
        return {
            "source": self.source.url,
            "target": self.target.url,
            "folder": self.folder,
            "first_rows": first_rows(done),
            "first_lines": database.shard_table(done)["first_line"].to_pylist(),
            "statements": {one.table: one.sql for one in piece_statements(self.stages, found)},
            "summary": self.order.summary.json(),
            "traced": self.order.traced if limited else {},
            "trace_limit": self.order.trace_limit,
            "written": list(self.order.written),
        }

    def _given(
        self, done: Sequence[StageResult], samples: Sequence[int], matches: Sequence[Matches], piece: Piece
    ) -> dict[str, Any]:
        """Parameters of the task of a piece. samples: of each shard."""
        shards = slice(piece.start, piece.end)
        return {
            "number": piece.number,
            "start": piece.start,
            "samples": samples[shards],
            "matches": {one.step: one.of(piece) for one in matches},
            "facts": {
                stage.planned.stage.number: [result.facts for result in stage.results[shards] if result.facts]
                for stage in done
                if not stage.program.copies
            },
            "quarantine": [r.quarantine for stage in done for r in stage.results[shards] if r.quarantine],
        }

    def _clusters(self, done: Sequence[StageResult]) -> list[dict[str, Any]]:
        """Have the parts of the table of clusters made, one for each file of members."""
        found = clusters_statements(self.stages, [stage.findings for stage in done])
        files = [(step, sql, name) for step, (sql, names) in found.items() for name in names]
        counts = self._made(count_clusters, [{"file": name} for *_, name in files if name]) or [0]
        calls: list[dict[str, Any]] = []
        before = dict.fromkeys(found, 0)
        for number, ((step, sql, name), count) in enumerate(zip(files, counts, strict=True)):
            calls.append({"number": number, "step": step, "sql": sql, "file": name, "before": before[step]})
            before[step] += count
        return self._made(make_clusters, calls)

    def _require(self, parts: Sequence[dict[str, Any]]) -> None:
        """Check that all parts are there. Raises OSError."""
        size, expected = self.target.size(f"{self.folder}/table="), sum(part["bytes"] for part in parts)
        if size != expected:
            raise OSError(
                f"{self.target.url}/{self.folder}: parts of tables have {size} bytes, but {expected} were written"
            )

    def _steps(self, db: Database, done: Sequence[StageResult]) -> None:
        """Make the table `steps` from the sums of the pieces."""
        columns = summed_columns(self.stages)
        names = [*columns["texts"], *columns["changes"], "_rows"]
        db.table("_sums", sums_table(names, [row for answer in self._answers for row in answer["sums"]]))
        db.table("_broken", broken_table([row for answer in self._answers for row in answer["broken"]]))
        database.execute(db, done, [steps_statement(self.stages, self.order.cells, parts=True)])
        for name in ("_sums", "_broken"):
            db.run(f"DROP TABLE {name}")

    def check(self, db: Database, done: Sequence[StageResult]) -> Counts:
        """Compare the sums of the pieces, whose tasks have checked their shards, with the rows read and written."""
        rows = [row for answer in self._answers for row in answer["sums"]]
        broken = [row for answer in self._answers for row in answer["broken"]]
        parts: dict[str, int] = defaultdict(int)
        for answer in self._answers:
            for part in answer["parts"]:
                parts[part["table"]] += part["rows"]
        kept = sum(row[-1] for row in rows if row[0] is None)
        quarantined = sum(count for _, count in broken)
        unreadable = sum(count for step, count in broken if step == 0)
        facts = {"facts": parts["facts"], "stats": parts["facts"]}
        distinct = sum(row[-1] for row in rows) + parts["quarantine"]
        return database.compare(db, done, Sums(kept, parts["ledger"], quarantined, unreadable, facts, distinct))

    def chosen(
        self, db: Database, done: Sequence[StageResult], names: Sequence[str], limit: int | None
    ) -> dict[int, list[int]]:
        """The rows to trace: the first of those that the pieces have found."""
        if limit is None:
            return trace.choose(db, done, names, limit)
        found = {}
        for step in self.order.traced:
            rows = [row for answer in self._answers for row in answer["traced"][str(step)]]  # pieces are in order
            found[step] = rows[:limit]
        return found

    def write_stats(self, db: Database, export_path: str, columns: Sequence[str]) -> Written:
        """Put the files of all pieces together."""
        rows = sum(row[-1] for answer in self._answers for row in answer["sums"] if row[0] is None)
        return join_stats((self.target.fetch(answer["written"]) for answer in self._answers), rows, export_path)

    # The summary

    def summarise(self, db: Database, programs: Sequence[Program], summary: StatSummary) -> None:
        """Merge the rows of all blocks."""
        plan = self.order.summary
        db.run(empty_summary())
        if not plan.groups:
            return
        given = self._of_blocks()
        self._summed = self._made(sum_up, given)
        chosen = self._chosen(db)
        keyed = self._made(sum_up_keys, [block | {"chosen": chosen} for block in given]) if chosen else []
        for group in plan.groups:
            answers = keyed if group in chosen else [answer["summary"] for answer in self._summed]
            if files := [str(self.target.fetch(answer[group])) for answer in answers if answer.get(group)]:
                relation = f"read_parquet({lit(files)}, hive_partitioning = false)"
                add_rows(db.con, group, plan.rows_of(group), relation, len(given) > 1)

    def _of_blocks(self) -> list[dict[str, Any]]:
        """Parameters of the tasks of blocks, with the parts of facts that have their samples."""
        facts = [answer["parts"][0] for answer in self._answers]
        found = []
        for block in blocks([part["rows"] for part in facts], self.size):
            names = [part["name"] for part in facts[block.start : block.end]]
            found.append({"number": block.number, "skip": block.skip, "take": block.take, "parts": names})
        return found

    def _chosen(self, db: Database) -> dict[str, str]:
        """Files with the keys of each group that are summed up."""
        found = {}
        for number, keyed in enumerate(self.order.summary.keyed):
            aside, name = (
                self.target.scratch() / f"chosen_{number}.parquet",
                f"{self.folder}/driver/chosen_{number}.parquet",
            )
            select = self.order.summary.chosen(keyed.name, self._counts(keyed.name))
            db.run(f"COPY ({select}) TO {lit(str(aside))} (FORMAT parquet)")
            self.target.publish(aside, name)
            found[keyed.name] = name
        return found

    def _counts(self, group: str) -> str:
        """The relation with the keys of a group, by block."""
        files = [str(self.target.fetch(answer["keys"][group])) for answer in self._summed]
        return f"read_parquet({lit(files)}, hive_partitioning = false)"

    def left_out(self, db: Database, summary: StatSummary) -> list[str]:
        """Notes on what the summary leaves out."""
        found = {}
        for keyed in self.order.summary.keyed:
            keys = "count(DISTINCT key), coalesce(sum(rows) FILTER (WHERE key <> ''), 0)"
            [found[keyed.name]] = db.rows(f"SELECT {keys} FROM {self._counts(keyed.name)}")
        return notes_of(db, summary, found)

    @contextmanager
    def vouched_for(self) -> Iterator[None]:
        """Remove files that only the driver has needed at the end, and all files if the next steps fail."""
        try:
            yield
        except BaseException:
            self.target.remove(f"{self.folder}/")
            raise
        finally:
            self.target.remove(f"{self.folder}/driver/")
            self.target.tidy()
