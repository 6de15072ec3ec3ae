"""Read a shard's samples in batches, whatever its format."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from refinery.io.batch import BadSample, Batch, in_vectors
from refinery.io.line_errors import explain_json
from refinery.io.model import Part, Shard
from refinery.io.partitions import with_columns
from refinery.io.readers.json_lines import ReadLimits, read_lines, read_values
from refinery.io.readers.multi_file import read_packed
from refinery.io.readers.partition_fields import with_fields
from refinery.io.readers.parts import left

__all__ = ["BadSample", "Batch", "count_rows", "explain_json", "read"]


def read(
    shard: Shard,
    batch_bytes: int = 8 << 20,
    rows: int = 8192,
    max_line: int = 1 << 30,
    check: bool = True,
    carry: Sequence[str] = (),
    whole: bool = False,
) -> Iterator[Batch]:
    """The samples of a shard in order, at least one batch, with memory for a batch and the longest line.

    batch_bytes, rows: limits of a batch; one larger sample is a batch. max_line: a longer line, or
    text file, is a BadSample. check: lines that are no JSON objects are BadSamples too (NaN and Infinity are accepted,
    as in Python and Data-Juicer). carry: columns of the tables of earlier stages to add. whole: the batch keeps the samples
    that earlier stages have removed, and lists the positions of the others: nothing is copied then. Raises
    DataError when a file cannot be read at all, or is not of the format of its name.
    """
    of_a_run = shard.part is not None and shard.part.source is not None
    limits = ReadLimits(
        batch_bytes, rows, max_line, check and shard.part is None, shard.part is not None, repeated=not of_a_run
    )
    of_files = shard.sources if shard.source.format == "text" else shard.sources[:1]
    origins = tuple(source.suffix for source in of_files)
    if shard.part is not None and shard.part.source is not None:
        batches = left(_batches(_file_of(shard.part, shard), limits), shard.part, carry, whole)
    else:
        batches = _batches(shard, limits)
        if shard.only is not None:
            batches = _only(batches, shard.only)
        if shard.part is not None:
            batches = left(batches, shard.part, carry, whole)
    batch = None
    for batch in batches:
        yield replace(batch, table=in_vectors(batch.table), origins=origins)
    if batch is None:
        empty = Batch.empty(shard.lines)
        if shard.schema is not None and not shard.lines:
            empty.table = shard.schema.empty_table()
        yield replace(empty, origins=origins)


def _file_of(part: Part, shard: Shard) -> Shard:
    """A part's file as a shard of its own."""
    assert part.source is not None and part.numbers is not None
    return Shard(shard.index, (part.source,), 0, -1 if shard.lines else len(part.numbers), shard.lines)


def count_rows(shard: Shard) -> int:
    """Exact number of samples of a shard, good or bad."""
    if shard.only is not None:
        return len(shard.only)
    kind = shard.source.format
    if kind != "text" and len(shard.sources) > 1 and shard.end < 0:
        return sum(count_rows(replace(shard, sources=(source,))) for source in shard.sources)
    if kind in ("parquet", "arrow"):
        return shard.end - shard.start
    if kind == "text":
        return len(shard.sources)
    if kind in ("csv", "tsv"):
        from refinery.io.readers.delimited import count_records

        return count_records(shard.source, shard.start, shard.end, ReadLimits())
    return sum(len(batch.rows) + len(batch.bad) for batch in _batches(shard, ReadLimits(check=False, repeated=False)))


def _only(batches: Iterator[Batch], only: np.ndarray) -> Iterator[Batch]:
    """The rows of these numbers, counted anew."""
    for batch in batches:
        bad = [
            replace(bad, row=int(place))
            for bad, place in zip(batch.bad, np.searchsorted(only, [bad.row for bad in batch.bad]), strict=True)
            if place < len(only) and only[place] == bad.row
        ]
        place = np.searchsorted(only, batch.rows)
        index = np.flatnonzero(np.isin(batch.rows, only))
        part = batch.take(index)
        yield replace(part, rows=place[index], bad=bad)


def _batches(shard: Shard, limits: ReadLimits) -> Iterator[Batch]:
    source = shard.source
    if len(shard.sources) > 1 and source.format != "text":
        yield from read_packed(shard, limits, _batches)
    elif source.format in ("jsonl", "json"):
        reader = read_lines if source.format == "jsonl" else read_values
        for batch in reader(source, shard.start, shard.end, limits):
            yield with_fields(batch, source.partitions) if source.partitions and len(batch) else batch
    elif shard.lines:
        from refinery.io.convert import Converter

        with Converter() as converter:
            for batch in _typed(shard, limits):
                yield converter.as_lines(batch)
    else:
        yield from _typed(shard, limits)


def _typed(shard: Shard, limits: ReadLimits) -> Iterator[Batch]:
    from refinery.io.conform import conform
    from refinery.io.readers.delimited import read_csv
    from refinery.io.readers.typed import read_table, read_texts
    from refinery.io.schema import schema_of

    source = shard.source
    if source.format == "text":
        for batch in read_texts(shard.sources, limits):
            table = with_columns(batch.table, source.partitions)
            yield replace(
                batch,
                table=table if shard.schema is None else conform(table, shard.schema, source.path, source.partitions),
            )
        return
    schema = shard.schema if shard.schema is not None else schema_of(source)
    if source.format in ("csv", "tsv"):
        yield from read_csv(source, shard.start, shard.end, schema, limits)
    else:
        yield from read_table(source, shard.start, shard.end, schema, limits)
