"""Tasks that make the tables of many samples: Parquet parts of some shards, and sums that the driver adds up."""

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
from refinery.workers.executor import TaskPlace
from refinery.workers.match_keys import SHARD_BITS


def make_parts(place: TaskPlace, shared: str, piece: str) -> str:
    """Make the parts of a piece; see `_Work.make`. shared: for all tasks (`PartTables._shared_by`)."""
    with _Work(place, json.loads(shared), json.loads(piece)) as work:
        return json.dumps(work.make())


def sum_up(place: TaskPlace, shared: str, block: str) -> str:
    """Sum up a block's statistics; returns files with the rows of groups without keys, and with the keys of the other groups."""
    with _Work(place, json.loads(shared), json.loads(block)) as work:
        return json.dumps(work.summed())


def sum_up_keys(place: TaskPlace, shared: str, block: str) -> str:
    """Sum up a block's statistics by the chosen keys of the groups; returns the written files by group."""
    with _Work(place, json.loads(shared), json.loads(block)) as work:
        return json.dumps(work.keyed_rows())


def count_clusters(place: TaskPlace, shared: str, given: str) -> str:
    """Number of clusters in a file of members. given: its name."""
    with _Work(place, json.loads(shared), json.loads(given)) as work:
        return json.dumps(work.number_of_clusters())


def make_clusters(place: TaskPlace, shared: str, given: str) -> str:
    """Make a part of the table `clusters`; returns it. given: `sql`, `step`, the file of members, the number of clusters `before` it."""
    with _Work(place, json.loads(shared), json.loads(given)) as work:
        return json.dumps(work.clusters())


class _Work:
    """A task's work.

    place: has the limits of DuckDB. shared: stores (`source` of the shards' files, `target` of the tables), `folder` in the target,
    statements. given: `number` of the piece or block, and what it consists of.
    """

    def __init__(self, place: TaskPlace, shared: dict[str, Any], given: dict[str, Any]) -> None:
        self._place, self._shared, self._given, self._stack = place, shared, given, ExitStack()
        self._source, self._target = open_store(shared["source"]), open_store(shared["target"])
        self._plan = SummaryPlan.from_json(shared["summary"])

    def __enter__(self) -> _Work:
        made = TemporaryDirectory(dir=self._target.scratch())
        self._folder = Path(self._stack.enter_context(made))
        reached = [str(self._folder), *(store.url for store in (self._source, self._target) if store.on_this_machine)]
        limits = 1, self._place.memory, self._place.spill  # one thread: tasks run side by side, and rows stay in order
        self._con = self._stack.enter_context(closing(connect(reached, *limits)))
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    # Tables

    def make(self) -> dict[str, Any]:
        """Make the parts; returns them, with counts, sums and rows to trace.

        given: `start` of the piece, its shards' `samples` and files. Raises ConservationError if a shard's files have not all of its rows.
        """
        statements, given = self._shared["statements"], self._given
        self._read()
        for name in ("quarantine", "duplicates", "facts"):
            self._run(statements[name])
        self._check()
        self._run(statements["ledger"])
        parts = [self._part("facts", "SELECT * FROM facts"), self._part("ledger", "SELECT * FROM ledger")]
        parts += self._some("quarantine", "SELECT * FROM quarantine")
        for step in given["matches"]:
            parts += self._some("duplicates", f"SELECT * FROM duplicates WHERE step = {step}", int(step))
        if not given["number"] and not given["matches"]:
            parts += self._some("duplicates", "SELECT * FROM duplicates")
        return {
            "parts": parts,
            "removed": parts[1]["rows"],
            "sums": self._con.execute(statements["_sums"]).fetchall(),
            "broken": self._rows("SELECT step, count(*) FROM quarantine GROUP BY 1 ORDER BY 1"),
            "traced": self._traced(),
            "written": self._statistics(),
        }

    def _read(self) -> None:
        """Create what the statements read."""
        given, first = self._given, self._given["start"]
        last = first + len(given["samples"]) - 1
        self._set_first_rows()
        self._run(f"SET VARIABLE first_code = CAST({first << SHARD_BITS} AS BIGINT)")
        self._run(f"SET VARIABLE last_code = CAST({((last + 1) << SHARD_BITS) - 1} AS BIGINT)")
        for stage, names in given["facts"].items():
            self._run(f"SET VARIABLE facts_{stage} = CAST({lit(self._files(names))} AS VARCHAR[])")
        for step, names in given["matches"].items():
            self._run(f"SET VARIABLE matches_{step} = CAST({lit(self._files(names))} AS VARCHAR[])")
        shards = np.arange(first, last + 1)
        rows, lines = (
            np.array(self._shared[name], np.int64)[first : last + 1] for name in ("first_rows", "first_lines")
        )
        self._con.register("shards", pa.table({"shard": shards, "first_row": rows, "first_line": lines}))
        self._run(f"CREATE TEMP TABLE broken AS {quarantine_source(self._files(given['quarantine']))}")

    def _check(self) -> None:
        """Check the numbers of the samples of all shards against those that were read."""
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
        if (
            not ascending
            or len(rows) != found.sum()
            or len(broken) != lost.sum()
            or (len(broken) and len(np.intersect1d(rows, broken)))
        ):
            raise ConservationError(f"rows do not add up: shards from {given['start']}: numbers of rows repeat")

    def _some(self, table: str, query: str, step: int | None = None) -> list[dict[str, Any]]:
        """The part of a table, unless it is empty; the first piece has a part of each table, for its columns."""
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
        """The first rows of the piece that each traced step has changed or removed."""
        limit = self._shared["trace_limit"]
        found = {}
        for step, condition in self._shared["traced"].items():
            rows = self._con.execute(f"SELECT _row FROM facts WHERE {condition} LIMIT {limit}").fetchall()
            found[step] = [row for (row,) in rows]
        return found

    # The summary

    def summed(self) -> dict[str, Any]:
        """Files with the rows of groups without keys (`summary`), and with the keys of the other groups (`keys`)."""
        self._view()
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
        """Sum up by the keys that are `chosen` of each group."""
        self._view()
        chosen, found = self._given["chosen"], {}
        for number, group in enumerate(self._plan.groups):
            if group in chosen:
                keys = table_of(self._files([chosen[group]])[0])["key"].to_pylist()
                found[group] = self._group(number, group, keys)
        return found

    def _view(self) -> None:
        """Create the view `facts` over the block's samples: `take` after the first `skip` of its `parts`."""
        given = self._given
        source = f"read_parquet({lit(self._files(given['parts']))}, {NO_HIVE})"
        self._run(f"CREATE TEMP VIEW facts AS SELECT * FROM {source} LIMIT {given['take']} OFFSET {given['skip']}")

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

    def number_of_clusters(self) -> int:
        """Number of clusters that have a sample of this run."""
        source = f"read_parquet({lit(self._files([self._given['file']]))})"
        [(count,)] = self._rows(f"SELECT count(DISTINCT kept) FROM {source} WHERE _row >= 0")
        return int(count)

    def clusters(self) -> dict[str, Any]:
        """Make a part of the table of clusters."""
        given = self._given
        self._set_first_rows()
        self._run(
            f"SET VARIABLE clusters = CAST({lit(self._files([given['file']] if given['file'] else []))} AS VARCHAR[])"
        )
        self._run(f"SET VARIABLE clusters_before = CAST({given['before']} AS BIGINT)")
        self._run(given["sql"])
        return self._part("clusters", "SELECT * FROM clusters", given["step"])

    # Files

    def _scratch(self, kind: str, suffix: str) -> str:
        """The name of a file that the driver reads and removes."""
        return f"{self._shared['folder']}/driver/{kind}/{self._given['number']:06d}.{suffix}"

    def _set_first_rows(self) -> None:
        """Set the variable `first_rows`, from a table: as text, the numbers of many shards would be parsed for long."""
        first = pa.table({"numbers": pa.array([self._shared["first_rows"]], pa.list_(pa.int64()))})
        self._con.register("first_rows", first)
        self._run("SET VARIABLE first_rows = (SELECT numbers FROM first_rows)")
        self._con.unregister("first_rows")

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
