"""The tables `files`, rows of each input file, `lines`, their lines, `passed_over`, what is no sample there, and `table_parts`, files of tables."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from refinery.io.model import Shard
from refinery.io.readers.registry import reader_of
from refinery.kernels.core.arrow import ints, of_texts
from refinery.workers.tasks import ShardResult


def file_table(shards: Sequence[Shard], results: Sequence[ShardResult]) -> pa.Table:
    """A row for each input file, in the order of the input: `file`, `first_row`, `rows`.

    shards, results: of the first stage.
    """
    files: list[str] = []
    rows: list[int] = []
    for shard, result in zip(shards, results, strict=True):
        if reader_of(shard.source).one_sample:
            files += [source.path for source in shard.sources]
            rows += [1] * len(shard.sources)
        elif len(shard.sources) > 1:
            files += [source.path for source in shard.sources]
            rows += result.rows_of or [0] * len(shard.sources)
        elif files and shard.start > 0 and files[-1] == shard.source.path:
            rows[-1] += result.rows
        else:
            files.append(shard.source.path)
            rows.append(result.rows)
    counts = np.array(rows, np.int64)
    return pa.table({"file": of_texts(files), "first_row": ints(np.cumsum(counts) - counts), "rows": ints(counts)})


def line_table(shards: pa.Table, results: Sequence[ShardResult]) -> pa.Table:
    """A row for each distance between the numbers and the lines of samples: `first_row`, `line_offset`.

    shards: the table of this name. results: of the first stage.
    """
    firsts: list[int] = []
    offsets: list[int | None] = []
    for first, lines, result in zip(
        shards["first_row"].to_pylist(), shards["first_line"].to_pylist(), results, strict=True
    ):
        for row, offset in (result.line_offsets or [(0, None)]) if result.rows else ():
            firsts.append(first + row)
            offsets.append(None if offset is None else offset + lines - first)
    return pa.table({"first_row": ints(np.array(firsts, np.int64)), "line_offset": _ints_or_null(offsets)})


def _ints_or_null(values: Sequence[int | None]) -> pa.Array:
    """Integers, from numpy: for a list of Python, Arrow imports pandas, which takes longer than a small run."""
    numbers = np.array([value or 0 for value in values], np.int64)
    known = np.packbits(np.array([value is not None for value in values], bool), bitorder="little")
    return pa.Array.from_buffers(pa.int64(), len(values), [pa.py_buffer(known), pa.py_buffer(numbers)])


def passed_over_table(results: Sequence[ShardResult]) -> pa.Table:
    """A row for each shard and kind of what was passed over in its files: `shard`, `kind`, `number`. results: of the first stage."""
    rows = [(result.shard, kind, number) for result in results for kind, number in result.passed_over]
    shards, numbers = (ints(np.array([row[at] for row in rows], np.int64)) for at in (0, 2))
    return pa.table({"shard": shards, "kind": of_texts([row[1] for row in rows]), "number": numbers})


def part_table(parts: Sequence[tuple[str, str, int, int]]) -> pa.Table:
    """The table `table_parts`. parts: table, path or URL, rows and bytes of each; none where the database holds all rows."""
    rows, sizes = (ints(np.array([part[at] for part in parts], np.int64)) for at in (2, 3))
    names, paths = of_texts([part[0] for part in parts]), of_texts([part[1] for part in parts])
    return pa.table({"name": names, "path": paths, "rows": rows, "bytes": sizes})
