"""Statistics files: `{group}/{stat}/{rank:05d}.json` of each worker, `{group}/{stat}/metric.json` of all of them.

A file is one JSON object, key -> entry (see `refinery.stats.entries`). Layout and entries are datatrove's.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

import pyarrow as pa

from refinery.common.lazy import duckdb, pc
from refinery.compiler.templates import template
from refinery.errors import OutputError
from refinery.operators import read_sql
from refinery.stats.placing import replacing
from refinery.stats.topk import TopKConfig
from refinery.storage.urls import is_url

MERGED = "metric.json"
_LONGEST = 200  # bytes of a folder's name; file systems allow 255


def write_files(
    con: duckdb.DuckDBPyConnection,
    relation: str,
    folder: str | os.PathLike[str],
    rank: int | None = None,
    top_k: TopKConfig | None = None,
) -> list[str]:
    """Write moments as statistics files below `folder`, a path or a URL; returns the paths, by group and statistic.

    relation: a table, a view or a query in brackets for FROM, with the columns "group", key, stat, n,
    mean, m2, min, max, total, nans, infinities (see `refinery.stats.moments`), one row for each (group, key, stat); the keys of a
    file are in the order of its rows. rank: the worker's number, 0 to 99,999, as the file's name; None: all workers' metric.json.
    top_k: the groups of which only some keys are written, most samples first.

    n is the number of finite values; "nans" and "infinities" count the others where there are any, which
    datatrove ignores. Existing files are replaced, each at once. Raises OutputError when they cannot be written.
    """
    name = _file_name(rank)
    groups = list(top_k.top_k_groups) if top_k else []
    sql = template(read_sql("stats/write_entries.sql")).render(
        relation=relation, top_groups=groups, top_k=top_k.top_k if top_k else 0, unit="'task'", placed=False
    )
    write, written = _writing(os.fspath(folder)), []
    for group, stat, pieces in contents(con.sql(sql)):
        written.append(write(f"{folder_name(group)}/{folder_name(stat)}/{name}", pieces))
    return written


def file_paths(con: duckdb.DuckDBPyConnection, relation: str, rank: int | None = None) -> list[str]:
    """Paths, below the folder, of the files that `write_files` writes of a relation."""
    pairs = con.sql(f'SELECT DISTINCT "group", stat FROM {relation} ORDER BY ALL').fetchall()
    return [f"{folder_name(group)}/{folder_name(stat)}/{_file_name(rank)}" for group, stat in pairs]


def _file_name(rank: int | None) -> str:
    """The name of a worker's file, or of all workers' (None). Raises OutputError for a rank above five digits."""
    if rank is not None and not 0 <= rank <= 99_999:
        raise OutputError(f"rank {rank} has no file name of five digits")
    return MERGED if rank is None else f"{rank:05d}.json"


def _writing(folder: str) -> Callable[[str, Iterator[bytes]], str]:
    """A function that writes one file of the folder whole and returns its full name."""
    if is_url(folder):
        from refinery.stats.remote import RemoteFolder

        return RemoteFolder(folder).write_named

    def write(path: str, pieces: Iterator[bytes]) -> str:
        target = Path(folder) / path
        with replacing(target) as file:
            file.writelines(pieces)
        return str(target)

    return write


def placed_entries(relation: str) -> str:
    """The SELECT of a merge's files, of moments with their place in the file (`_place`, from 1) and a `unit`."""
    return template(read_sql("stats/write_entries.sql")).render(
        relation=relation, top_groups=[], top_k=0, unit="unit", placed=True
    )


def folder_name(name: str) -> str:
    """A group or a statistic as a folder's name; characters that a folder's name cannot hold are %2F, as in URLs.

    Two names never share a folder; a very long name is cut and ends in a digest of the whole.
    """
    quoted = re.sub(r"[%/\\\x00-\x1f\x7f]|^\.", _percent, name) or "%"
    if len(quoted.encode()) <= _LONGEST:
        return quoted
    digest = hashlib.sha256(name.encode()).hexdigest()[:16]
    return quoted.encode()[: _LONGEST - 18].decode(errors="ignore") + "%-" + digest


def _percent(match: re.Match[str]) -> str:
    return f"%{ord(match[0]):02X}"


def contents(entries: duckdb.DuckDBPyRelation) -> Iterator[tuple[str, str, Iterator[bytes]]]:
    """Files of the rows of `write_entries.sql`: group, statistic and pieces of the content, to be consumed in order."""
    runs = _runs(entries.to_arrow_reader(10_000))
    run = next(runs, None)
    while run is not None:
        group, stat, _ = run
        rest: list[tuple[str, str, bytes] | None] = [run]
        yield group, stat, _same_file(runs, rest)
        run = rest[0]


def _same_file(runs: Iterator[tuple[str, str, bytes]], rest: list[tuple[str, str, bytes] | None]) -> Iterator[bytes]:
    """Pieces of one file; puts the first run of the next file, or None, into `rest`."""
    first = rest[0]
    assert first is not None
    run: tuple[str, str, bytes] | None = first
    while run is not None and run[:2] == first[:2]:
        yield run[2]
        run = next(runs, None)
        rest[0] = run
    yield b"}"


def _runs(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[str, str, bytes]]:
    """Neighbouring rows of one file, their lines as one piece: the bytes of a column as they lie in memory."""
    for batch in batches:
        rows = batch.num_rows
        if not rows:
            continue
        group, stat, lines = (batch.column(name) for name in ("group", "stat", "line"))
        # Not by `Table.group_by`: for it pyarrow imports its data set reader, and with it pandas.
        other = pc.or_(*(pc.not_equal(column.slice(1), column.slice(0, rows - 1)) for column in (group, stat)))
        starts = [0, *(at + 1 for at in pc.indices_nonzero(other).to_pylist()), rows]
        for start, end in pairwise(starts):
            yield group[start].as_py(), stat[start].as_py(), _bytes(lines.slice(start, end - start))


def _bytes(texts: pa.StringArray) -> bytes:
    """All texts of an array, one after another."""
    width = 8 if pa.types.is_large_string(texts.type) else 4
    offsets = memoryview(texts.buffers()[1]).cast("q" if width == 8 else "i")
    start, end = offsets[texts.offset], offsets[texts.offset + len(texts)]
    return texts.buffers()[2].slice(start, end - start).to_pybytes()
