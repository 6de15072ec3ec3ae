"""The reference engine: one run over all data that are left, and the difference to what was kept before.

It is right for every recipe, on threads, processes and clusters, because a run is. Its run folder stays in the corpus, so shards whose data have
not changed are not computed again; comparing samples, tables and the difference cost more with the size of the corpus.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from refinery.common.connections import connect
from refinery.common.lazy import duckdb
from refinery.compiler.templates import lit
from refinery.corpus.engine import ANEW, LINE, PART, QUARANTINED, ROW, WITHDRAWN, Change, Counts, Delta, PartInput
from refinery.corpus.reference_state import DIGESTS, SCHEMA, differences, seal
from refinery.corpus.view import latest_outcomes
from refinery.errors import ConservationError
from refinery.execution.run import execute
from refinery.io.model import Shard
from refinery.io.readers.read import read
from refinery.io.sources import carrier
from refinery.io.writers.registry import writer_of
from refinery.operators import Library
from refinery.planning.discovery import discover
from refinery.planning.settings import PlanSettings
from refinery.recipe import Recipe
from refinery.recipe.stat_summary import StatSummary
from refinery.results.kept_samples import KeptSamples
from refinery.results.open_tables import open_tables

_KEY = pa.schema([(PART, pa.int32()), (ROW, pa.int64())])


class ReferenceEngine:
    """The engine that makes one run over everything."""

    name = "reference"

    def refusals(self, recipe: Recipe, library: Library) -> list[str]:
        """No reasons: a run can do all that a recipe says."""
        return []

    def apply(self, change: Change) -> Delta:
        """Run over all parts, and compare; without the state before, where it is damaged. Raises what a run raises."""
        damaged = change.state is not None and differences(change.state)
        delta = self._applied(replace(change, state=None) if damaged else change)
        seal(change.new_state)
        return replace(delta, notes=(*delta.notes, ANEW)) if damaged else delta

    def differences(self, state: Path) -> list[str]:
        """Reasons why a state is not as a change has left it."""
        return differences(state)

    def _applied(self, change: Change) -> Delta:
        change.new_state.mkdir(parents=True)
        if not change.parts:
            return _Comparison(change, np.zeros((0, 2), np.int64)).emptied()
        recipe = _recipe(change)
        outcome = execute(recipe, change.library, progress=change.progress)
        rows = {part.number: part.rows for part in change.parts}
        unknown = [number for number, count in rows.items() if count is None]
        known = sum(count - len(part.withdrawn) for part in change.parts if (count := part.rows) is not None)
        if unknown:
            rows[unknown[0]] = outcome.counts.read - known
        elif known != outcome.counts.read:
            raise ConservationError(f"{outcome.counts.read:,} samples were read, the corpus has {known:,} left")
        numbers = np.concatenate([_numbers(part, rows[part.number] or 0) for part in change.parts])
        counts = Counts(outcome.counts.kept, outcome.counts.removed, outcome.counts.quarantined)
        comparison = _Comparison(change, numbers)
        kept = KeptSamples(tuple(map(str, outcome.outputs)), outcome.counts.kept)
        files = comparison.of(outcome.run_dir.database, kept, writer_of(recipe.export_format).plain_lines)
        new_rows = {number: rows[number] or 0 for number in change.added}
        return Delta(*files, new_rows, counts, tuple(map(str, outcome.alarms)))


def _recipe(change: Change) -> Recipe:
    """The recipe of the run over all parts that are left."""
    inputs = tuple(
        replace(config, left_out=part.left_out, weight=1.0) for part in change.parts for config in part.inputs
    )
    recipe = replace(change.recipe, inputs=inputs, suffixes=(), max_sample_num=None)
    sources = discover(PlanSettings.of(recipe, change.library).inputs, None, ()).value
    lines = not sources or carrier(sources) == "lines"
    kind = "jsonl" if lines else "parquet"
    return replace(
        recipe,
        export_path=str(change.work / "export" / f"kept.{kind}"),
        export_type=kind,
        export_shard_size=0,
        work_dir=str(change.work / "run"),
        removed_path=None,
        removed_partition_by=None,
        stat_summary=StatSummary(),
        open_tracer=False,
        use_cache=True,
        digests=False,
    )


def _numbers(part: PartInput, rows: int) -> np.ndarray:
    """Numbers of the part and of the sample in it, of each sample of the run, in order."""
    left = np.setdiff1d(np.arange(rows), part.withdrawn, assume_unique=True)
    return np.stack([np.full(len(left), part.number), left], axis=1)


class _Comparison:
    """The difference of a run to the last snapshot. numbers: part and number of each sample of the run."""

    def __init__(self, change: Change, numbers: np.ndarray) -> None:
        self.change, self.numbers = change, numbers
        self.con = connect([change.output, change.new_state, *_folders(change)])
        places = pa.table([pa.array(numbers[:, 0], pa.int32()), pa.array(numbers[:, 1], pa.int64())], schema=_KEY)
        self.con.register("places_arrow", places.append_column("run_row", pa.array(np.arange(len(numbers)))))
        self.con.execute("CREATE TABLE places AS FROM places_arrow").fetchall()
        self.con.unregister("places_arrow")
        self.con.execute(f"CREATE VIEW living AS {living(change.additions, change.retractions)}").fetchall()

    def emptied(self) -> Delta:
        """The delta of a change that leaves no data: all that was kept goes."""
        self._digests(
            pa.table(
                {PART: pa.array([], pa.int32()), ROW: pa.array([], pa.int64()), "digest": pa.array([], pa.binary())}
            )
        )
        retractions = self._write("retractions", "SELECT _part, _row FROM living ORDER BY ALL")
        self._outcomes_table(None)
        outcomes = self._outcomes()
        schema = None
        if self.change.state is not None and (self.change.state / SCHEMA).is_file():
            shutil.copyfile(self.change.state / SCHEMA, self.change.new_state / SCHEMA)
            schema = pa.ipc.read_schema(pa.py_buffer((self.change.state / SCHEMA).read_bytes()))
        self.con.close()
        return Delta((), retractions, outcomes, schema, {}, Counts(0, 0, 0))

    def of(
        self, database: Path, kept: KeptSamples, lines: bool
    ) -> tuple[tuple[Path, ...], tuple[Path, ...], tuple[Path, ...], pa.Schema | None]:
        """Files of additions, retractions and outcomes, and the schema of samples that are no lines."""
        with open_tables(database) as tables:
            self._outcomes_table(tables)
        kept_at = self.con.execute("SELECT run_row FROM outcome WHERE step = 0 ORDER BY run_row").fetchnumpy()[
            "run_row"
        ]
        rows = self.numbers[np.asarray(kept_at, np.int64)]
        everything = self.change.output / "kept.parquet"
        _write_kept(everything, kept, lines, rows)
        schema = None if lines else kept.schema
        anew = self._is_anew(schema)
        digest = "md5(_line)" if lines else "md5(to_json(COLUMNS(* EXCLUDE (_part, _row)))::VARCHAR)"
        if not lines:
            names = ", ".join(f"{lit(field.name)}: {_quoted(field.name)}" for field in kept.schema)
            digest = f"md5(to_json({{{names}}})::VARCHAR)"
        path = self.change.new_state / DIGESTS
        self.con.execute(
            f"COPY (SELECT _part, _row, unhex({digest}) AS digest FROM read_parquet({lit(str(everything))})) "
            f"TO {lit(str(path))} (FORMAT parquet)"
        ).fetchall()
        if schema is not None:
            (self.change.new_state / SCHEMA).write_bytes(schema.serialize().to_pybytes())
        files = self._changes(everything, path, anew)
        everything.unlink()
        outcomes = self._outcomes()
        self.con.close()
        return (*files, outcomes, schema)

    def _is_anew(self, schema: pa.Schema | None) -> bool:
        """True if all samples are published anew: nothing is known of the last snapshot, or a column has another type."""
        state = self.change.state
        if state is None:
            return True
        path = state / SCHEMA
        if schema is None or not path.is_file():
            return schema is not None or path.is_file()
        was = pa.ipc.read_schema(pa.py_buffer(path.read_bytes()))
        return any(name in was.names and was.field(name).type != schema.field(name).type for name in schema.names)

    def _changes(self, everything: Path, digests: Path, anew: bool) -> tuple[tuple[Path, ...], tuple[Path, ...]]:
        if anew:
            additions, retractions = f"FROM read_parquet({lit(str(everything))})", "SELECT _part, _row FROM living"
        else:
            assert self.change.state is not None
            was, now = f"read_parquet({lit(str(self.change.state / DIGESTS))})", f"read_parquet({lit(str(digests))})"
            additions = (
                f"SELECT k.* FROM read_parquet({lit(str(everything))}) AS k SEMI JOIN "
                f"(SELECT n._part, n._row FROM {now} AS n ANTI JOIN {was} AS w USING (_part, _row, digest)) USING (_part, _row)"
            )
            retractions = f"SELECT w._part, w._row FROM {was} AS w ANTI JOIN {now} AS n USING (_part, _row, digest)"
        return (
            self._write("additions", f"{additions} ORDER BY _part, _row"),
            self._write("retractions", f"{retractions} ORDER BY _part, _row"),
        )

    def _outcomes_table(self, tables: duckdb.DuckDBPyConnection | None) -> None:
        """Make the table of the outcomes of the run: number in the run, step, and number of the sample that is kept instead."""
        columns = "run_row BIGINT, step INTEGER, kept_run_row BIGINT"
        self.con.execute(f"CREATE TABLE outcome ({columns})").fetchall()
        if tables is None:
            return
        query = (
            "SELECT o._row AS run_row, coalesce(o._dropped, 0)::INTEGER AS step, l.kept_instead AS kept_run_row FROM row_outcomes AS o "
            f"LEFT JOIN ledger AS l USING (_row) UNION ALL SELECT _row, {QUARANTINED}, NULL FROM quarantine"
        )
        reader = tables.execute(query).to_arrow_reader(1 << 16)
        self.con.register("outcomes_arrow", reader)
        self.con.execute("INSERT INTO outcome FROM outcomes_arrow").fetchall()
        self.con.unregister("outcomes_arrow")

    def _outcomes(self) -> tuple[Path, ...]:
        """Outcomes that differ from those of the last snapshot."""
        was = latest_outcomes(_listed(self.change.outcomes))
        now = (
            "SELECT p._part, p._row, o.step, k._part AS kept_part, k._row AS kept_row FROM outcome AS o JOIN places AS p USING (run_row) "
            "LEFT JOIN places AS k ON k.run_row = o.kept_run_row"
        )
        self.con.register("withdrawn_arrow", _withdrawn(self.change.withdrawn))
        query = (
            f"SELECT * FROM (({now}) UNION ALL SELECT _part, _row, {WITHDRAWN}::INTEGER, NULL::INTEGER, NULL::BIGINT FROM withdrawn_arrow) "
            f"EXCEPT SELECT * FROM ({was}) ORDER BY _part, _row"
        )
        return self._write("outcomes", query)

    def _digests(self, table: pa.Table) -> None:
        pq.write_table(table, self.change.new_state / DIGESTS)

    def _write(self, name: str, query: str) -> tuple[Path, ...]:
        """Write the rows of a query; no file if there are none."""
        path = self.change.output / f"{name}.parquet"
        self.con.execute(f"COPY ({query}) TO {lit(str(path))} (FORMAT parquet, COMPRESSION zstd)").fetchall()
        if pq.read_metadata(path).num_rows:
            return (path,)
        path.unlink()
        return ()


def _folders(change: Change) -> list[Path]:
    files = (*change.additions, *change.retractions, *change.outcomes)
    return [*{path.parent for path in files}, *([change.state] if change.state is not None else [])]


def _listed(paths: Sequence[Path]) -> str:
    return f"[{', '.join(lit(str(path)) for path in paths)}]" if paths else ""


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def living(additions: Sequence[Path], retractions: Sequence[Path]) -> str:
    """SQL of part and number of the samples that are kept by published files."""
    if not additions:
        return "SELECT NULL::INTEGER AS _part, NULL::BIGINT AS _row LIMIT 0"
    kept = f"SELECT _part, _row, _snapshot FROM read_parquet({_listed(additions)}, union_by_name = true)"
    if not retractions:
        return f"SELECT _part, _row FROM ({kept})"
    return (
        f"SELECT k._part, k._row FROM ({kept}) AS k ANTI JOIN read_parquet({_listed(retractions)}) AS r "
        "ON r._part = k._part AND r._row = k._row AND r._snapshot > k._snapshot"
    )


def _withdrawn(rows: Mapping[int, np.ndarray]) -> pa.Table:
    parts = [np.full(len(numbers), part) for part, numbers in rows.items()]
    every = np.concatenate([np.zeros(0, np.int64), *rows.values()])
    numbers = np.concatenate([np.zeros(0, np.int64), *parts])
    return pa.table([pa.array(numbers, pa.int32()), pa.array(every, pa.int64())], schema=_KEY)


def _write_kept(path: Path, kept: KeptSamples, lines: bool, rows: np.ndarray) -> None:
    """Write all kept samples with their part and number. Raises ConservationError if there are more or fewer than outcomes."""
    first = 0
    schema = pa.schema([*_KEY, pa.field(LINE, pa.string())]) if lines else pa.schema([*_KEY, *kept.schema])
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        for table in _tables(kept, lines):
            place = rows[first : first + len(table)]
            first += len(table)
            keys = [pa.array(place[:, 0], pa.int32()), pa.array(place[:, 1], pa.int64())]
            if len(place) < len(table):
                break
            writer.write_table(pa.Table.from_arrays([*keys, *table.columns], schema=schema))
    if first != len(rows):
        raise ConservationError(
            f"the run has exported other samples ({first:,}) than its tables have kept ({len(rows):,})"
        )


def _tables(kept: KeptSamples, lines: bool) -> Iterator[pa.Table]:
    for shard in kept.shards:
        if not lines:
            yield from kept.tables(shard, kept.schema)
            continue
        yield from _lines(shard)


def _lines(shard: Shard) -> Iterator[pa.Table]:
    import pyarrow.compute as pc

    for batch in read(shard):
        if len(batch):
            yield pa.table({LINE: pc.utf8_rtrim(batch.table[LINE].cast(pa.string()), "\r\n")})
