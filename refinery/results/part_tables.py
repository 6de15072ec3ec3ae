"""Maker of the tables of many samples: tasks write Parquet parts, the database has views over them and small tables.

A task makes the rows of one block of samples in all tables, and sums. The driver adds up the sums and never reads a row, so
its time and memory grow with blocks and shards.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import field
from typing import Any
from uuid import uuid4

from refinery.common.lazy_dataclass import dataclass
from refinery.compiler.program import Program
from refinery.compiler.stat_summary import empty_summary
from refinery.compiler.templates import lit
from refinery.io.model import Written
from refinery.io.writers.export import join_stats
from refinery.planning.plan import CompiledStage
from refinery.recipe.model import StatSummary
from refinery.results import database, trace
from refinery.results.block_tables import broken_table, make_block, make_clusters, make_keyed_rows, sums_table
from refinery.results.blocks import Block, blocks, first_rows, samples_of
from refinery.results.database import Counts, Database, Sums
from refinery.results.stage_result import StageResult
from refinery.results.stat_summary import BLOCK, add_rows, notes_of
from refinery.results.summary_rows import SummaryPlan
from refinery.results.table_views import create_views, place_of
from refinery.results.tables import (
    TableStatement,
    block_statements,
    clusters_statement,
    stat_columns,
    steps_statement,
    summed_columns,
)
from refinery.storage.store import Store

# Calls a function of this package with what all calls share and with each text; by tasks of the backend.
Every = Callable[[Callable[[str, str], str], dict[str, Any], Sequence[str]], list[str]]


@dataclass(frozen=True)
class TableOrder:
    """Requests to the tasks besides tables.

    summary: plan of `stat_summary`. traced: condition on `facts` by step, of at most `trace_limit` rows each. written: columns
    of the statistics beside the export. parameters: of each step, as JSON.
    """

    summary: SummaryPlan
    traced: dict[int, str]
    trace_limit: int | None
    written: tuple[str, ...]
    parameters: dict[int, str]


@dataclass
class PartTables:
    """See TableMaker. every: runs tasks. source: store of the shards' files. target: of the tables. size: of a block."""

    stages: Sequence[CompiledStage]
    order: TableOrder
    every: Every
    source: Store
    target: Store
    size: int = BLOCK
    folder: str = field(default_factory=lambda: uuid4().hex)
    _blocks: list[dict[str, Any]] = field(default_factory=list)
    _answers: list[dict[str, Any]] = field(default_factory=list)
    _shared: dict[str, Any] = field(default_factory=dict)

    def fill(self, db: Database, done: Sequence[StageResult], statements: Sequence[TableStatement]) -> None:
        """Have the parts made; create views over them and the small tables."""
        self._shared = self._shared_by(done)
        self._blocks = [self._given(done, block) for block in blocks(samples_of(done), self.size)]
        self._answers = self._made(make_block, self._blocks)
        parts = [part for answer in self._answers for part in answer["parts"]]
        parts += self._made(make_clusters, [self._of_clusters(done)])
        self._require(parts)
        create_views(db, self.target, parts, stat_columns(self.stages))
        listed = [(p["table"], place_of(self.target, p["name"]), p["rows"], p["bytes"]) for p in parts]
        database.fill_places(db, done, listed)
        self._steps(db, done)

    def _made(self, work: Callable[[str, str], str], calls: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """Answers of tasks."""
        return [json.loads(answer) for answer in self.every(work, self._shared, [json.dumps(call) for call in calls])]

    def _shared_by(self, done: Sequence[StageResult]) -> dict[str, Any]:
        """Parameters of all tasks; the backend adds the limits of DuckDB."""
        found = [stage.findings for stage in done]
        limited = self.order.trace_limit is not None
        return {
            "source": self.source.url,
            "target": self.target.url,
            "folder": self.folder,
            "first_rows": first_rows(done),
            "first_lines": database.shard_table(done)["first_line"].to_pylist(),
            "statements": {one.table: one.sql for one in block_statements(self.stages, found)},
            "matches": {item.step: list(item.duplicates) for item in found if item and item.duplicates},
            "summary": self.order.summary.json(),
            "traced": self.order.traced if limited else {},
            "trace_limit": self.order.trace_limit,
            "written": list(self.order.written),
        }

    def _given(self, done: Sequence[StageResult], block: Block) -> dict[str, Any]:
        """Parameters of the task of a block."""
        shards = slice(block.start, block.end)
        return {
            "number": block.number,
            "start": block.start,
            "skip": block.skip,
            "take": block.take,
            "samples": samples_of(done)[shards],
            "facts": {
                stage.planned.stage.number: [result.facts for result in stage.results[shards] if result.facts]
                for stage in done
                if not stage.program.copies
            },
            "quarantine": [r.quarantine for stage in done for r in stage.results[shards] if r.quarantine],
        }

    def _of_clusters(self, done: Sequence[StageResult]) -> dict[str, Any]:
        found = [stage.findings for stage in done]
        files = {item.step: list(item.clusters) for item in found if item and item.clusters}
        return {"number": 0, "sql": clusters_statement(self.stages, found).sql, "clusters": files}

    def _require(self, parts: Sequence[dict[str, Any]]) -> None:
        """Check that all parts are there. Raises OSError."""
        size, expected = self.target.size(f"{self.folder}/table="), sum(part["bytes"] for part in parts)
        if size != expected:
            raise OSError(
                f"{self.target.url}/{self.folder}: parts of tables have {size} bytes, but {expected} were written"
            )

    def _steps(self, db: Database, done: Sequence[StageResult]) -> None:
        """Make the table `steps` from the sums of the blocks."""
        columns = summed_columns(self.stages)
        names = [*columns["texts"], *columns["changes"], "_rows"]
        db.table("_sums", sums_table(names, [row for answer in self._answers for row in answer["sums"]]))
        db.table("_broken", broken_table([row for answer in self._answers for row in answer["broken"]]))
        database.execute(db, done, [steps_statement(self.stages, self.order.parameters, parts=True)])
        for name in ("_sums", "_broken"):
            db.run(f"DROP TABLE {name}")

    def check(self, db: Database, done: Sequence[StageResult]) -> Counts:
        """Compare the sums of the blocks, whose tasks have checked their shards, with the rows read and written."""
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
        """The rows to trace: the first of those that the blocks have found."""
        if limit is None:
            return trace.choose(db, done, names, limit)
        found = {}
        for step in self.order.traced:
            rows = [row for answer in self._answers for row in answer["traced"][str(step)]]  # blocks are in order
            found[step] = rows[:limit]
        return found

    def write_stats(self, db: Database, export_path: str, columns: Sequence[str]) -> Written:
        """Put the files of all blocks together."""
        rows = sum(row[-1] for answer in self._answers for row in answer["sums"] if row[0] is None)
        return join_stats((self.target.fetch(answer["written"]) for answer in self._answers), rows, export_path)

    # The summary

    def summarise(self, db: Database, programs: Sequence[Program], summary: StatSummary) -> None:
        """Merge the rows of all blocks."""
        plan = self.order.summary
        db.run(empty_summary())
        chosen = self._chosen(db)
        keyed = self._keyed(chosen)
        several = sum(block["take"] for block in self._blocks) > self.size
        for group in plan.groups:
            answers = keyed if group in chosen else [answer["summary"] for answer in self._answers]
            if files := [str(self.target.fetch(answer[group])) for answer in answers if answer.get(group)]:
                relation = f"read_parquet({lit(files)}, hive_partitioning = false)"
                add_rows(db.con, group, plan.rows_of(group), relation, several)

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
        files = [str(self.target.fetch(answer["keys"][group])) for answer in self._answers]
        return f"read_parquet({lit(files)}, hive_partitioning = false)"

    def _keyed(self, chosen: dict[str, str]) -> list[dict[str, str]]:
        """Files with the rows of groups with keys, of each block."""
        if not chosen:
            return []
        calls = [
            {"number": block["number"], "take": block["take"], "part": answer["parts"][0]["name"], "chosen": chosen}
            for block, answer in zip(self._blocks, self._answers, strict=True)
        ]
        return self._made(make_keyed_rows, calls)

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
