"""Content digest of a shard's bytes, independent of the file's place, name and age."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from refinery.common.digest import Digest, digest_of_file, digest_of_stream
from refinery.common.key_fields import canonical
from refinery.errors import DataError
from refinery.io.model import Shard, Source
from refinery.io.open import open_source
from refinery.io.readers.registry import reader_of
from refinery.storage.file_digests import can_be_trusted, file_digest
from refinery.storage.object_versions import changed_at
from refinery.storage.urls import is_url, real_places

# Bytes that are read at a time of files that are read together.
_ROOM = 256 << 10


def content_of(shard: Shard) -> str:
    """A digest of the bytes that are read for a shard. Raises DataError when they cannot be read."""
    try:
        return _content(shard)
    except OSError as error:
        raise DataError(f"{shard.source.path}: {error.strerror or error}") from error


def is_lines(shard: Shard) -> bool:
    """True if exactly the bytes that are read are the shard's content."""
    source = shard.source
    return len(shard.sources) == 1 and reader_of(source).cut_anywhere and source.compression is None and shard.end >= 0


def _content(shard: Shard) -> str:
    source = shard.source
    if len(shard.sources) > 1:
        return _together(shard.sources)
    if source.table is not None:
        return _of_table(source.table.slice(shard.start, shard.end - shard.start))
    if is_lines(shard):
        return _of_lines(shard)
    if is_url(source.path):
        return f"{_of_object(source)} {shard.start} {shard.end}"
    if reader_of(source).has_footer and shard.end >= 0:
        return _of_row_groups(source, shard.start, shard.end)
    return f"{file_digest(source.path)} {shard.start} {shard.end}"


def how_cut(shard: Shard) -> list[Any]:
    """Further facts that decide how the bytes are read: all fields that are not left out of keys.

    Of the start counts only whether it is a file's. Equal files of a shard count once.
    """
    own = canonical(replace(shard, start=int(shard.start != 0)), _plain)
    files = [_how_read(source) for source in shard.sources]
    return [own, files[:1] if all(file == files[0] for file in files) else files]


def _how_read(source: Source) -> list[Any]:
    reader = reader_of(source)
    texts = () if reader.lines or reader.one_sample else source.texts  # these do not look at the texts
    return [canonical(replace(source, texts=texts), _plain), reader.one_sample]


def _plain(value: Any) -> str:
    """The digest of a schema, or of the numbers of rows."""
    if isinstance(value, pa.Schema):
        return hashlib.sha256(value.serialize().to_pybytes()).hexdigest()
    if isinstance(value, np.ndarray):
        return _of_bytes(value)
    raise TypeError(f"{type(value).__name__} has no form in keys")


def stamp_of(shard: Shard) -> tuple[str, int]:
    """Digest of the files' status (sizes, times, inodes), and the last time of change (ns); "" and 0 for tables."""
    if shard.source.table is not None:
        return "", 0
    stamps: list[tuple[Any, ...]] = []
    real = real_places()
    for source in shard.sources:
        if is_url(source.path):
            stamps.append((source.path, source.size, changed_at(source.version), 0, source.version, 0))
            continue
        stat = os.stat(source.path)
        times = (stat.st_mtime_ns, stat.st_ctime_ns)
        stamps.append((real(source.path), stat.st_size, *times, stat.st_ino, stat.st_dev))
    text = json.dumps([stamps, shard.start, shard.end, len(shard.sources)])
    changed = max(max(times[2], times[3]) for times in stamps)
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest(), changed


def _of_lines(shard: Shard) -> str:
    """Digest of the lines that the shard owns."""
    from refinery.io.readers.read_buffer import LineRange

    stream = LineRange(shard.source, shard.start, shard.end)
    try:
        return digest_of_stream(stream).hexdigest()
    finally:
        stream.close()


def _of_row_groups(source: Source, start: int, end: int) -> str:
    """Digest of the row groups that hold the rows, of the rows' places in them, and of the columns."""
    import pyarrow.parquet as pq

    digest, first = Digest(), 0
    try:
        metadata = pq.read_metadata(source.path)
    except pa.ArrowException as error:
        raise DataError(f"{source.path}: {error}") from error
    digest.update(str(metadata.schema).encode())
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        if first + group.num_rows > start and first < end:
            place = max(start - first, 0), min(end - first, group.num_rows), group.num_rows
            digest.update(f"{place} {_of_range(source.path, *_place(group))}".encode())
        first += group.num_rows
    return digest.hexdigest()


def _place(group: Any) -> tuple[int, int]:
    """First and last offset of a row group's bytes."""
    begins, ends = [], []
    for number in range(group.num_columns):
        column = group.column(number)
        places = [place for place in (column.dictionary_page_offset, column.data_page_offset) if place]
        begins.append(min(places))
        ends.append(min(places) + column.total_compressed_size)
    return (min(begins), max(ends)) if begins else (0, 0)


def _of_range(path: str, start: int, end: int) -> str:
    return digest_of_file(path, start, end).hexdigest()


def _together(sources: Sequence[Source]) -> str:
    """Digest of several whole files in their order."""
    combined, room = hashlib.blake2b(digest_size=16), bytearray(_ROOM)
    for source in sources:
        if is_url(source.path):
            combined.update(f"{_of_object(source)}\n".encode())
            continue
        digest = digest_of_file(source.path, room=room)
        combined.update(f"{digest.size} {digest.hexdigest()}\n".encode())
    return combined.hexdigest()


def _of_object(source: Source) -> str:
    """The store's version of an object, with its URL where the version holds for this object alone; the digest of
    its bytes without a version, or with a timestamp too recent to trust.
    """
    if not can_be_trusted(changed_at(source.version)):
        with open_source(source) as stream:
            return digest_of_stream(stream).hexdigest()
    return f"{source.size} {source.version}" + (f" {source.path}" if source.version[1:2] == ":" else "")


def _of_table(table: pa.Table) -> str:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table.combine_chunks())
    return _of_bytes(sink.getvalue())


def _of_bytes(data: Any) -> str:
    digest = Digest()
    digest.update(data)
    return digest.hexdigest()
