"""Exported texts of a run, read from its files, so that no mapper has to run again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from refinery.common.lazy import pq
from refinery.errors import DataError
from refinery.inspect.finished_run import FinishedRun
from refinery.inspect.refilter.shard_positions import ShardPosition
from refinery.inspect.refilter.stored_facts import texts_file
from refinery.io.batch import Batch
from refinery.io.readers.read import read
from refinery.io.readers.registry import reader_of
from refinery.io.sources import carrier, cut, find
from refinery.kernels.core.arrow import ints, numbers
from refinery.planning.plan import CompiledStage
from refinery.planning.sizes import BATCH
from refinery.results.delivery import is_as_left
from refinery.results.owned_files import OwnedFiles
from refinery.storage.urls import is_url


def exported_texts(
    stored: FinishedRun, stages: Sequence[CompiledStage], places: Sequence[ShardPosition], folder: Path
) -> bool:
    """Write the exported texts that mappers have changed to a file for each shard in `folder`.

    The columns are `_row`, number in the whole input, and those of `Program.outs`. Returns False when the texts are not
    available: the files have changed since the run, or do not hold the texts.
    """
    outs = {keys: column for planned in stages for keys, column in planned.program.outs.items()}
    flags = [change.changed for planned in stages for change in planned.program.changes]
    if (
        any(planned.program.written for planned in stages)
        or any(len(keys) > 1 for keys in outs)
        or not set(flags) <= stored.columns["row_outcomes"].keys()
    ):
        return False
    recipe = stored.recipe
    if recipe.partition_by or recipe.export_fields or recipe.repeat_by or not as_left(stored):
        return False  # samples of partitions are in another order, and a chosen field may have the name of another one
    changed_any = " OR ".join(f"coalesce({flag}, FALSE)" for flag in flags)
    sql = f"SELECT _row, {changed_any} AS changed FROM row_outcomes WHERE _dropped IS NULL ORDER BY _row"
    kept = stored.con.execute(sql).fetchnumpy()
    rows, changed = np.asarray(kept["_row"], np.int64), np.asarray(kept["changed"], bool)
    schema = pa.schema([("_row", pa.int64()), *((column, pa.large_string()) for column in outs.values())])
    at = 0
    try:
        with _Files(folder, places, schema) as files:
            for batch in _batches(stored.manifest):
                here = slice(at, at + len(batch))
                at += len(batch)
                if batch.bad or at > len(rows):
                    return False
                files.add(_texts(batch, outs, rows[here], changed[here], schema))
    except (DataError, KeyError, pa.ArrowInvalid):
        return False
    return at == len(rows)


class _Files:
    """A file for each shard, written one after another."""

    def __init__(self, folder: Path, places: Sequence[ShardPosition], schema: pa.Schema) -> None:
        self._folder, self._schema, self._shard = folder, schema, 0
        self._ends = np.array([place.first + place.rows for place in places], np.int64)

    def __enter__(self) -> _Files:
        self._folder.mkdir(parents=True, exist_ok=True)
        self._writer = self._open()
        return self

    def __exit__(self, *_: object) -> None:
        self._go_to(len(self._ends) - 1)
        self._writer.close()

    def _open(self) -> Any:
        return pq.ParquetWriter(texts_file(self._folder, self._shard), self._schema, compression="lz4")

    def _go_to(self, shard: int) -> None:
        while self._shard < shard:
            self._writer.close()
            self._shard += 1
            self._writer = self._open()

    def add(self, table: pa.Table) -> None:
        """Add samples, which come in the order of their numbers."""
        shards = np.searchsorted(self._ends, numbers(table["_row"]), "right")
        for shard in np.unique(shards).tolist():
            self._go_to(shard)
            first, end = np.searchsorted(shards, [shard, shard + 1])
            self._writer.write_table(table.slice(first, end - first))


def as_left(stored: FinishedRun, kind: str = "outputs") -> bool:
    """Return whether the exported files (or those of the kind `beside`) are unchanged since the run."""
    manifest, owned = stored.manifest, OwnedFiles(stored.run_dir)
    outputs = manifest[kind]
    if not outputs or sum(output["rows"] for output in outputs) != manifest["rows"]["kept"]:
        return False
    return all(
        is_as_left(output) and (is_url(output["path"]) or owned.is_untouched(output["path"])) for output in outputs
    )


def _batches(manifest: dict[str, Any]) -> Iterator[Batch]:
    """The exported samples in order."""
    sources = [source for output in manifest["outputs"] for source in find([output["path"]])[0]]
    if carrier(sources) == "lines" or reader_of(sources[0]).has_footer:
        for shard in cut(sources, 1 << 40):
            yield from read(shard, BATCH, check=False)


def _texts(batch: Batch, outs: dict[Any, str], rows: np.ndarray, changed: np.ndarray, schema: pa.Schema) -> pa.Table:
    """The texts of those samples that a mapper has changed."""
    index = ints(np.flatnonzero(changed))
    columns: dict[str, Any] = {"_row": ints(rows[changed].astype(np.int64))}
    for (name,), column in outs.items():
        texts = batch.member(name).texts if batch.lines else batch.table[name]
        columns[column] = texts.take(index)
    return pa.table(columns).cast(schema).drop_null()  # missing texts are computed again
