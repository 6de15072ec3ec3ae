"""The task that makes the tables of one block of samples: Parquet parts, and sums that the driver adds up."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa

from refinery.common.connections import connect
from refinery.common.lazy import pq
from refinery.common.parquet import table_of
from refinery.compiler.templates import lit
from refinery.errors import ConservationError
from refinery.io.writers.export import stats_query
from refinery.kernels.core.arrow import ints, of_texts
from refinery.results.stat_summary import group_rows
from refinery.results.summary_rows import SummaryPlan
from refinery.results.tables import quarantine_source
from refinery.storage.open import open_store
from refinery.storage.store import Store
from refinery.workers.match_keys import SHARD_BITS


def make_block(shared: str, block: str) -> str:
    """Make the parts of a block; see `_Block.make`. shared: what all blocks have in common (`part_tables.shared_by`)."""
    with _Block(json.loads(shared), json.loads(block)) as work:
        return json.dumps(work.make())


def make_keyed_rows(shared: str, block: str) -> str:
    """Sum up a block's statistics by the chosen keys of the groups; returns the written files by group."""
    with _Block(json.loads(shared), json.loads(block)) as work:
        return json.dumps(work.keyed_rows())


def make_clusters(shared: str, given: str) -> str:
    """Make the table `clusters`; returns its part. given: `sql`, and the files of clusters by variable."""
    with _Block(json.loads(shared), json.loads(given)) as work:
        return json.dumps(work.clusters())


class _Block:
    """A block in work.

    shared: stores (`source` of the shards' files, `target` of the tables), `folder` in the target, limits of DuckDB, statements.
    given: `number`, `start`, `skip`, `take` of the block, and its shards' `samples` and files.
    """

    def __init__(self, shared: dict[str, Any], given: dict[str, Any]) -> None:
        self._shared, self._given, self._stack = shared, given, ExitStack()
        self._source, self._target = open_store(shared["source"]), open_store(shared["target"])
        self._plan = SummaryPlan.from_json(shared["summary"])

    def __enter__(self) -> _Block:
        made = TemporaryDirectory(dir=self._target.scratch())
        self._folder = Path(self._stack.enter_context(made))
        reached = [str(self._folder), *(store.url for store in (self._source, self._target) if store.on_this_machine)]
        limits = self._shared["threads"], self._shared["memory"], self._shared["spill"]
        self._con = self._stack.enter_context(closing(connect(reached, *limits)))
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    # Tables

    def make(self) -> dict[str, Any]:
        """Make the parts; returns them, with counts, sums, rows to trace and files of the summary.

        Raises ConservationError if a shard's files have not all of its rows.
        """
        statements, given = self._shared["statements"], self._given
        self._read()
        for name in ("quarantine", "duplicates", "facts"):
            self._run(statements[name])
        begin, end = self._cut(self._checked())
        self._run(statements["ledger"])
        parts = [self._part("facts", "SELECT * FROM facts"), self._part("ledger", "SELECT * FROM ledger")]
        within = f"_row >= {begin} AND _row < {end}"
        parts += self._some("quarantine", f"SELECT * FROM quarantine WHERE {within}")
        for step in self._shared["matches"]:
            query = f"SELECT * FROM duplicates WHERE step = {step} AND {within}"
            parts += self._some("duplicates", query, int(step))
        if not given["number"] and not self._shared["matches"]:
            parts += self._some("duplicates", "SELECT * FROM duplicates")
        return {
            "parts": parts,
            "removed": parts[1]["rows"],
            "sums": self._con.execute(statements["_sums"]).fetchall(),
            "broken": self._rows(f"SELECT step, count(*) FROM quarantine WHERE {within} GROUP BY 1 ORDER BY 1"),
            "traced": self._traced(),
            "written": self._statistics(),
            **self._summed(),
        }

    def _read(self) -> None:
        """Create what the statements read."""
        given, first = self._given, self._given["start"]
        last = first + len(given["samples"]) - 1
        self._run(f"SET VARIABLE first_rows = CAST({lit(self._shared['first_rows'])} AS BIGINT[])")
        self._run(f"SET VARIABLE first_code = CAST({first << SHARD_BITS} AS BIGINT)")
        self._run(f"SET VARIABLE last_code = CAST({((last + 1) << SHARD_BITS) - 1} AS BIGINT)")
        for stage, names in given["facts"].items():
            self._run(f"SET VARIABLE facts_{stage} = CAST({lit(self._files(names))} AS VARCHAR[])")
        for step, names in self._shared["matches"].items():
            self._run(f"SET VARIABLE matches_{step} = CAST({lit(self._files(names))} AS VARCHAR[])")
        shards = np.arange(first, last + 1)
        rows, lines = (
            np.array(self._shared[name], np.int64)[first : last + 1] for name in ("first_rows", "first_lines")
        )
        self._con.register("shards", pa.table({"shard": shards, "first_row": rows, "first_line": lines}))
        self._run(f"CREATE TEMP TABLE broken AS {quarantine_source(self._files(given['quarantine']))}")

    def _checked(self) -> np.ndarray:
        """The numbers of the samples of all shards of the block, checked against those that were read."""
        given = self._given
        rows = self._con.sql("SELECT _row FROM facts").fetchnumpy()["_row"]
        broken = self._con.sql("SELECT _row FROM quarantine ORDER BY 1").fetchnumpy()["_row"]
        first = np.array(
            self._shared["first_rows"][given["start"] : given["start"] + len(given["samples"]) + 1], np.int64
        )
        found = np.diff(np.searchsorted(rows, first))
        lost = np.diff(np.searchsorted(broken, first))
        ascending = bool((np.diff(rows) > 0).all()) and bool((np.diff(broken) > 0).all())
        for at, (samples, here, bad) in enumerate(zip(given["samples"], found, lost, strict=True)):
            if here != samples or here + bad != first[at + 1] - first[at]:
                what = (
                    f"{first[at + 1] - first[at]} rows were read, but {here} are in its facts and {bad} in quarantine"
                )
                raise ConservationError(f"rows do not add up: shard {given['start'] + at}: {what}")
        if not ascending or len(rows) != found.sum() or len(broken) != lost.sum() or len(np.intersect1d(rows, broken)):
            raise ConservationError(f"rows do not add up: shards from {given['start']}: numbers of rows repeat")
        return rows

    def _cut(self, rows: np.ndarray) -> tuple[int, int]:
        """Restrict `facts` to the block; returns the first number of the block, and the first one after it."""
        given, first_rows = self._given, self._shared["first_rows"]
        skip, take = given["skip"], given["take"]
        begin = int(rows[skip]) if skip else first_rows[given["start"]]
        after = first_rows[given["start"] + len(given["samples"])]
        end = int(rows[skip + take]) if skip + take < len(rows) else after
        if skip or skip + take < len(rows):
            self._run(f"CREATE TEMP TABLE cut AS SELECT * FROM facts WHERE _row >= {begin} AND _row < {end}")
            self._run("DROP TABLE facts")
            self._run("ALTER TABLE cut RENAME TO facts")
        return begin, end

    def _some(self, table: str, query: str, step: int | None = None) -> list[dict[str, Any]]:
        """The part of a table, unless it is empty; the first block has a part of each table, for its columns."""
        found = self._part(table, query, step)
        if found["rows"] or not self._given["number"]:
            return [found]
        self._target.discard(found["name"])
        return []

    def _part(self, table: str, query: str, step: int | None = None) -> dict[str, Any]:
        """Write a part of a table. step: of a table whose parts are apart by steps."""
        below = f"table={table}" if step is None else f"table={table}/step={step}"
        name = f"{self._shared['folder']}/{below}/{self._given['number']:06d}.parquet"
        rows, size = self._publish(query, name, "FORMAT parquet, COMPRESSION zstd")
        return {"table": table, "step": step, "name": name, "rows": rows, "bytes": size}

    def _statistics(self) -> str:
        """The file with the statistics of the kept samples, as they stand beside the export; "" where it is not written."""
        if not self._shared["written"]:
            return ""
        name = self._scratch("kept", "jsonl")
        self._publish(stats_query(self._shared["written"], "facts", "_dropped IS NULL"), name, "FORMAT json")
        return name

    def _publish(self, query: str, name: str, options: str) -> tuple[int, int]:
        """Write the result of a query under a name; returns rows and bytes."""
        aside = self._folder / name.replace("/", "-")
        [(rows,)] = self._con.execute(f"COPY ({query}) TO {lit(str(aside))} ({options})").fetchall()
        size = aside.stat().st_size
        self._target.publish(aside, name)
        return int(rows), size

    def _traced(self) -> dict[str, list[int]]:
        """The first rows of the block that each traced step has changed or removed."""
        limit = self._shared["trace_limit"]
        found = {}
        for step, condition in self._shared["traced"].items():
            rows = self._con.execute(f"SELECT _row FROM facts WHERE {condition} LIMIT {limit}").fetchall()
            found[step] = [row for (row,) in rows]
        return found

    # The summary

    def _summed(self) -> dict[str, Any]:
        """Files with the rows of groups without keys, and with the keys of the other groups."""
        keyed = {group.name for group in self._plan.keyed}
        rows = {
            group: self._group(number, group) for number, group in enumerate(self._plan.groups) if group not in keyed
        }
        counts = {}
        for number, group in enumerate(self._plan.groups):
            if group in keyed:
                counts[group] = self._scratch(f"keys_{number}", "parquet")
                self._publish(self._plan.counted(group), counts[group], "FORMAT parquet")
        return {"summary": rows, "keys": counts}

    def keyed_rows(self) -> dict[str, str]:
        """Sum up by the chosen keys, from the block's part of facts."""
        facts, chosen = self._given["part"], self._given["chosen"]
        self._run(f"CREATE TEMP VIEW facts AS SELECT * FROM read_parquet({lit(self._files([facts]))}, {NO_HIVE})")
        found = {}
        for number, group in enumerate(self._plan.groups):
            if group in chosen:
                keys = table_of(self._files([chosen[group]])[0])["key"].to_pylist()
                found[group] = self._group(number, group, keys)
        return found

    def _group(self, number: int, group: str, chosen: Sequence[str | None] = ()) -> str:
        """Write the rows of a group; returns the file, "" without rows."""
        made = self._plan.rows_of(group, chosen)
        rows = list(group_rows(self._con, made, len(self._plan.stats), self._given["take"]))
        if not rows:
            return ""
        table = pa.concat_tables(rows)
        table = table.append_column("stat", of_texts(made.names).take(table["nth"]))
        aside, name = self._folder / f"group_{number}.parquet", self._scratch(f"group_{number}", "parquet")
        pq.write_table(table, aside, compression="zstd")
        self._target.publish(aside, name)
        return name

    # Clusters

    def clusters(self) -> dict[str, Any]:
        """Make the table of clusters."""
        self._run(f"SET VARIABLE first_rows = CAST({lit(self._shared['first_rows'])} AS BIGINT[])")
        for step, names in self._given["clusters"].items():
            self._run(f"SET VARIABLE clusters_{step} = CAST({lit(self._files(names))} AS VARCHAR[])")
        self._run(self._given["sql"])
        return self._part("clusters", "SELECT * FROM clusters")

    # Files

    def _scratch(self, kind: str, suffix: str) -> str:
        """The name of a file that the driver reads and removes."""
        return f"{self._shared['folder']}/driver/{kind}/{self._given['number']:06d}.{suffix}"

    def _files(self, names: Sequence[str]) -> list[str]:
        """Files of this machine with the contents; objects are copied below the task's folder, under distinct names."""
        return [self._file(name) for name in names]

    def _file(self, name: str) -> str:
        store = self._target if name.startswith(f"{self._shared['folder']}/") else self._source
        if store.on_this_machine:
            return str(store.fetch(name))
        return _copied(store, name, self._folder / name.replace("/", "-"))

    def _run(self, sql: str) -> None:
        self._con.execute(sql).fetchall()

    def _rows(self, sql: str) -> list[tuple[Any, ...]]:
        return self._con.execute(sql).fetchall()


# Folders such as `table=facts` are for other readers; the columns are those of the files.
NO_HIVE = "hive_partitioning = false"


def _copied(store: Store, name: str, target: Path) -> str:
    if not target.exists():
        with store.reading(name) as stream, target.open("wb") as file:
            shutil.copyfileobj(stream, file, 1 << 20)
    return str(target)


def broken_table(rows: Sequence[Sequence[Any]]) -> pa.Table:
    """Sums of quarantined rows as a table: `step`, `_rows`."""
    steps, counts = ([row[at] for row in rows] for at in (0, 1))
    return pa.table({"step": ints(np.array(steps, np.int32)), "_rows": ints(np.array(counts, np.int64))})


def sums_table(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> pa.Table:
    """Sums of blocks as a table: `_dropped`, and a BIGINT for each name, NULL where no row has a value."""
    columns = [pa.array([row[at] for row in rows], pa.int64()) for at in range(len(names) + 1)]
    return pa.table({"_dropped": columns[0], **dict(zip(names, columns[1:], strict=True))})
