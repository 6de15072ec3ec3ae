"""Compare the final texts of two runs: from their exports, or recomputed where the exports are gone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from refinery.common.fields import keys_of
from refinery.common.lazy import duckdb
from refinery.compiler.templates import ident, json_path, lit, template
from refinery.compiler.user_names import text_of_columns
from refinery.errors import RefineryError
from refinery.inspect.finished_run import FinishedRun
from refinery.inspect.why.query import RowHistories
from refinery.io.batch import LINE
from refinery.io.readers.read import read
from refinery.io.sources import cut, find
from refinery.kernels.core.arrow import from_zero
from refinery.operators import read_sql
from refinery.results.delivery import state_of
from refinery.results.owned_files import OwnedFiles
from refinery.storage.urls import is_url
from refinery.workers.replay import versions_before

_BATCH = 16 << 20
_LARGEST = 1 << 60


@dataclass(frozen=True)
class TextPair:
    """A row that both runs kept, with its text at the end of each."""

    row: int
    a: str | None
    b: str | None


@dataclass(frozen=True)
class DifferentTexts:
    """Texts that differ.

    compared: rows that both runs kept. differing: rows among them with different texts; when not exact, a lower limit:
    rows with texts of different lengths. examples: the first differing rows. note: what could not be compared.
    """

    compared: int
    differing: int
    exact: bool
    examples: tuple[TextPair, ...]
    note: str | None = None


def compare_texts(con: duckdb.DuckDBPyConnection, a: FinishedRun, b: FinishedRun, limit: int) -> DifferentTexts:
    """Compare the texts of the rows that two runs over the same input both kept.

    con: has their databases as `a` and `b`.
    """
    gone = [reason for stored in (a, b) if (reason := _unreadable(stored))]
    if gone:
        return _by_length(con, a, b, limit, gone[0])
    for name, stored in (("a", a), ("b", b)):
        _digest(con, f"texts_{name}", stored)
    query = template(read_sql("analysis/diff_texts.sql")).render(limit=limit)
    [(compared, differing, examples)] = con.execute(query).fetchall()
    texts_a = _at(con, a, [place for _, place, _ in examples])
    texts_b = _at(con, b, [place for _, _, place in examples])
    pairs = tuple(TextPair(row, texts_a[one], texts_b[other]) for row, one, other in examples)
    return DifferentTexts(compared, differing, True, pairs)


def _unreadable(stored: FinishedRun) -> str | None:
    """Return the reason why the exports of a run cannot be read; None when they are unchanged since the run."""
    if not stored.recipe.exports:
        return f"{stored.run_dir.root} wrote no samples"
    for key, given in {
        "partition_by": stored.recipe.partition_by,
        "export_fields": stored.recipe.export_fields,
        "repeat_by": stored.recipe.repeat_by,
    }.items():
        if given:
            return f"the samples of {stored.run_dir.root} are written in another order or form, by {key}"
    for item in stored.manifest["outputs"]:
        try:
            now = state_of(item["path"])
        except OSError:
            return f"{item['path']} is not there any more"
        touched = not is_url(item["path"]) and not OwnedFiles(stored.run_dir).is_untouched(item["path"])
        if touched or now != (item["bytes"], item.get("modified", now[1])):
            return f"{item['path']} has changed since the run"
    return None


def _batches(stored: FinishedRun) -> Iterator[tuple[int, pa.Table, str]]:
    """Batches of the exports: position of the first sample, the batch, and SQL for the text of its samples."""
    keys = keys_of(stored.recipe.text_key)
    place = 0
    for item in stored.manifest["outputs"]:
        if not item["rows"]:
            continue
        sources, _ = find([item["path"]])
        for shard in cut(sources, _LARGEST):
            for batch in read(shard, _BATCH, check=False):
                sql = f"{LINE} ->> {lit(json_path(keys))}" if batch.lines else text_of_columns(keys)
                yield place, batch.table, sql
                place += len(batch)


def _digest(con: duckdb.DuckDBPyConnection, table: str, stored: FinishedRun) -> None:
    """Make a table of (place, digest) for the texts of a run, so that no text has to stay in memory."""
    con.execute(f"CREATE OR REPLACE TEMP TABLE {ident(table)} (place BIGINT, digest UBIGINT)").fetchall()
    for place, batch, sql in _batches(stored):
        _register(con, place, batch)
        con.execute(f"INSERT INTO {ident(table)} SELECT _place, hash({sql}) FROM batch").fetchall()
        con.unregister("batch")


def _register(con: duckdb.DuckDBPyConnection, place: int, batch: pa.Table) -> None:
    places = pa.array(np.arange(place, place + batch.num_rows))
    con.register("batch", from_zero(batch.append_column("_place", places)))


def _at(con: duckdb.DuckDBPyConnection, stored: FinishedRun, places: Sequence[int]) -> dict[int, str | None]:
    """The texts at the given positions in the exports of a run."""
    texts: dict[int, str | None] = {}
    for place, batch, sql in _batches(stored) if places else ():
        if any(place <= wanted < place + batch.num_rows for wanted in places):
            _register(con, place, batch)
            texts |= dict(
                con.execute(f"SELECT _place, {sql} FROM batch WHERE _place IN {lit(list(places))}").fetchall()
            )
            con.unregister("batch")
    return texts


# Without exports


def _by_length(con: duckdb.DuckDBPyConnection, a: FinishedRun, b: FinishedRun, limit: int, why: str) -> DifferentTexts:
    """Compare the final lengths of texts in the tables; the first texts that differ are recomputed."""
    names = {"bytes_a": _last_bytes(a), "bytes_b": _last_bytes(b), "limit": limit}
    query = template(read_sql("analysis/diff_bytes.sql")).render(names)
    [(compared, differing, rows)] = con.execute(query).fetchall()
    note = f"{why}, so only the lengths of texts were compared"
    try:
        return DifferentTexts(compared, differing, False, tuple(_recomputed(a, b, rows)), note)
    except RefineryError as error:
        return DifferentTexts(compared, differing, False, (), f"{note}; examples cannot be recomputed: {error}")


def _last_bytes(stored: FinishedRun) -> str:
    steps = [int(name.removeprefix("_bytes_")) for name in stored.columns["row_outcomes"] if name.startswith("_bytes_")]
    return f"_bytes_{max(steps)}"


def _recomputed(a: FinishedRun, b: FinishedRun, rows: Sequence[int]) -> list[TextPair]:
    if not rows:
        return []
    with ExitStack() as stack:
        one, other = (stack.enter_context(RowHistories(Path(stored.run_dir.root))) for stored in (a, b))
        return [TextPair(row, _text(one, row), _text(other, row)) for row in rows]


def _text(histories: RowHistories, row: int) -> str | None:
    """A row's text at the end of the run."""
    text: Any = None
    for seen in histories.replay.walk(histories.replay.place(row)):
        program = seen.program
        values: Mapping[str, Any] = seen.row.values
        text = values[versions_before(program, _LARGEST)[program.text_key]]
    return text
