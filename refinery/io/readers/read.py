"""Read a shard's samples in batches, whatever its format."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from refinery.io.batch import BadSample, Batch, in_vectors
from refinery.io.limits import ReadLimits
from refinery.io.line_errors import explain_json
from refinery.io.model import Part, Shard
from refinery.io.readers.chats import with_texts_of_chats
from refinery.io.readers.multi_file import read_packed
from refinery.io.readers.partition_fields import with_fields
from refinery.io.readers.parts import left
from refinery.io.readers.registry import reader_of
from refinery.io.sampling import chosen_by_content, first_rows

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
    repeated = not of_a_run and (shard.part is None or not shard.part.verbatim)
    limits = ReadLimits(batch_bytes, rows, max_line, check and shard.part is None, shard.part is not None, repeated)
    if shard.share is not None and not of_a_run:  # every stage must choose the same samples, so it must read the same
        limits = replace(limits, check=True, known=False, repeated=True)
    of_files = shard.sources if reader_of(shard.source).one_sample else shard.sources[:1]
    origins = tuple(source.suffix for source in of_files)
    if shard.part is not None and shard.part.source is not None:
        batches = left(_batches(_file_of(shard.part, shard), limits), shard.part, carry, whole)
    else:
        batches = _batches(shard, limits)
        if shard.only is not None:
            batches = _only(batches, shard.only)
        if shard.share is not None:
            batches = chosen_by_content(batches, shard.share)
        if shard.first is not None:
            batches = first_rows(batches, shard.first)
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
    if shard.first is not None:
        return shard.first  # there are as many, see `input_part`
    if shard.share is not None:
        return sum(len(batch.rows) + len(batch.bad) for batch in read(shard))
    if shard.only is not None:
        return len(shard.only)
    reader = reader_of(shard.source)
    if not reader.one_sample and len(shard.sources) > 1 and shard.end < 0:
        return sum(count_rows(replace(shard, sources=(source,))) for source in shard.sources)
    known = reader.count(shard)
    if known is not None:
        return known
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
    source, reader = shard.source, reader_of(shard.source)
    if len(shard.sources) > 1 and not reader.one_sample:
        yield from reader.joined(shard, limits) or read_packed(shard, limits, _batches)
    elif reader.lines:
        for batch in reader.batches(shard, limits):
            batch = with_fields(batch, source.partitions) if source.partitions and len(batch) else batch
            yield with_texts_of_chats(batch, source)
    elif shard.lines:
        from refinery.io.convert import Converter

        with Converter() as converter:
            for batch in reader.batches(_with_schema(shard), limits):
                yield with_texts_of_chats(converter.as_lines(batch), source)
    else:
        yield from reader.batches(_with_schema(shard), limits)


def _with_schema(shard: Shard) -> Shard:
    """The shard with the columns of its file, if it names none."""
    if shard.schema is not None or reader_of(shard.source).one_sample:
        return shard
    from refinery.io.schema import schema_of

    return replace(shard, schema=schema_of(shard.source))
