"""Write the kept samples of one shard: JSON lines with new values set into them, or a table."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from refinery import kernels
from refinery.common.fields import NamedFields
from refinery.common.lazy import pc
from refinery.errors import OutputError
from refinery.io.batch import LINE, Batch
from refinery.io.model import Keys
from refinery.io.text_columns import is_plain_text
from refinery.io.writers.field_choice import FieldChoice
from refinery.io.writers.set_fields import plain_texts, set_members
from refinery.kernels.core.arrow import ints, texts

SUFFIXES = {"gz": ".gz", "gzip": ".gz", "zst": ".zst", "zstd": ".zst", "lz4": ".lz4"}
_CODECS: dict[str, tuple[str, int | None]] = {".gz": ("gzip", 4), ".zst": ("zstd", 3), ".lz4": ("lz4", None)}
_FRAME = 4 << 20
# Runs of neighbouring lines that are shorter than this on average are copied together before they are written.
_LINES_OF_A_RUN = 8
# Rows of a table are encoded together up to this many bytes.
ROW_GROUP = 32 << 20


class ShardStream(Protocol):
    """One shard's bytes of a file that several shards write (see `shared_file`)."""

    @property
    def target(self) -> str:
        """The file that the bytes become a part of."""

    @property
    def size(self) -> int:
        """Bytes written so far."""

    def count(self, rows: int) -> None:
        """Count `rows` more samples in the written bytes."""

    def write_table(self, file: Any) -> None:
        """Add a complete Parquet file."""

    def close(self) -> None:
        """End the shard's bytes."""


class PartWriter:
    """Writes a part to a temporary name; the part gets its own name when it is complete.

    base: the part's path without suffix. lines: the samples are JSON lines (else a table, written as Parquet).
    compression: gz, zst or lz4, of JSON lines; parts one after another are then one valid file. Tables have it too,
    by default lz4. into: a piece of a file that shards write together, to write to instead of a file. After the end, `path`
    (None with `into`), its `suffix`, `rows` and `bytes` (of the file) describe the result. Raises OutputError when
    writing fails. fields: those of the samples that are written, and their names; all by default.
    """

    def __init__(
        self,
        base: str | os.PathLike[str],
        lines: bool,
        compression: str | None = None,
        into: ShardStream | None = None,
        fields: NamedFields = (),
    ) -> None:
        self._fields = FieldChoice(fields) if fields else None
        self.suffix = (".jsonl" + SUFFIXES.get(compression or "", "")) if lines else ".parquet"
        self._final = Path(f"{os.fspath(base)}{self.suffix}")
        self._aside = self._final.with_name(f".{self._final.name}.{os.getpid()}.tmp")
        self._lines = lines
        self._codec = _CODECS[SUFFIXES[compression]][0] if compression else "lz4"
        self._into = into
        if into is not None:
            self._final = Path(into.target)
        self._memory: Any = None
        self._file: Any = None
        self._table: Any = None
        self._pending: list[pa.Table] = []
        self.path: Path | None = None
        self.rows = 0
        self.bytes = 0

    def __enter__(self) -> PartWriter:
        if self._into is not None:
            self._file = compressing(self._into, self.suffix) if self._lines else None
            return self
        with writing(self._final):
            self._final.parent.mkdir(parents=True, exist_ok=True)
            if self._lines:
                self._file = open_output(self._aside, self.suffix)
        return self

    def __exit__(self, kind: object, error: BaseException | None, *_: object) -> None:
        if self._into is not None:
            self._end_piece(self._into, error)
            return
        with writing(self._final):
            if kind is None and self._pending:
                self._flush()
            if self._table is not None:
                self._table.close()
            if self._file is not None:
                self._file.close()
            if kind is not None or (self._file is None and self._table is None):  # failed, or a table without rows
                self._aside.unlink(missing_ok=True)
                return
            self.bytes = self._aside.stat().st_size
            os.replace(self._aside, self._final)
            self.path = self._final

    def _end_piece(self, piece: ShardStream, failed: BaseException | None) -> None:
        if failed is not None:
            return
        if self._pending:
            self._flush()
        if self._table is not None:
            self._table.close()
            piece.write_table(self._memory.getvalue())
        (piece if self._file is None else self._file).close()
        self.bytes = piece.size

    def write(
        self,
        batch: Batch,
        keep: np.ndarray,
        replaced: Mapping[Keys, pa.Array | pa.ChunkedArray] | None = None,
        extra: Mapping[str, pa.Array | pa.ChunkedArray] | None = None,
    ) -> None:
        """Write the samples at positions `keep` of a batch.

        replaced: new texts of fields, one per kept sample, NULL where the field stays. extra: further columns, one
        value per kept sample: JSON text (NULL: none); for tables also an array of another type, written as it is.
        """
        with writing(self._final):
            if self._lines:
                self._write_lines(batch, keep, replaced or {}, extra or {})
            else:
                self._write_table(batch.table, keep, replaced or {}, extra or {})
        self.rows += len(keep)

    def _write_lines(self, batch: Batch, keep: np.ndarray, replaced: Mapping, extra: Mapping) -> None:
        changes = [(keys, values, True) for keys, values in replaced.items() if values.null_count < len(values)]
        changes += [((name,), values, False) for name, values in extra.items() if values.null_count < len(values)]
        if not changes and self._fields is None and self._copy_runs(batch, keep):
            return
        if not changes:
            changes = [(("",), pa.nulls(len(keep), pa.string()), True)]
        column, rows = batch.table[LINE], np.asarray(keep, np.int64)
        data, offsets = np.zeros(0, np.uint8), np.zeros(1, np.int64)
        for i, (keys, values, quote) in enumerate(changes):
            spans = batch.known_spans(keys) if i == 0 else None
            data, offsets = set_members(column, rows, keys, values, quote, spans)
            if i + 1 < len(changes):
                column, rows = _large(data, offsets), np.arange(len(rows))
        self._put(data if self._fields is None else self._fields.of_lines((data, offsets))[0])

    def _copy_runs(self, batch: Batch, keep: np.ndarray) -> bool:
        """Write lines without copying them; False (nothing is written) if there are many gaps between them."""
        lines = texts(plain_texts(batch.table[LINE]))
        ends = np.empty((len(keep) // _LINES_OF_A_RUN + 1, 2), np.int64)
        runs = kernels.json.jsonsplice.runs(lines.data, lines.offsets, np.asarray(keep, np.int64), ends)
        for start, end in ends[: max(0, runs)].tolist():
            self._put(lines.data[start:end])
        return runs >= 0

    def _put(self, data: np.ndarray) -> None:
        if len(data):
            self._file.write(memoryview(data.data))
        if self._into is not None:
            self._into.count(int(kernels.text.lines.count_lines(data, 0, len(data))))

    def _write_table(self, table: pa.Table, keep: np.ndarray, replaced: Mapping, extra: Mapping) -> None:
        whole = len(keep) == len(table) and (np.asarray(keep) == np.arange(len(table))).all()
        kept = table if whole else table.take(ints(np.asarray(keep, np.int64)))
        for keys, values in replaced.items():
            at = kept.schema.get_field_index(keys[0])
            if at < 0:
                kept = kept.append_column(keys[0], values)
            elif values.null_count < len(values):
                field = kept.schema.field(at)
                kept = kept.set_column(at, field, _replace(kept.column(at), keys[1:], values, field.type))
        for name, values in extra.items():
            at = kept.schema.get_field_index(name)
            values = _parsed(values) if is_plain_text(values.type) else values
            kept = kept.append_column(name, values) if at < 0 else kept.set_column(at, name, values)
        self._pending.append(kept if self._fields is None else self._fields.of_table(kept))
        if sum(piece.nbytes for piece in self._pending) >= ROW_GROUP:
            self._flush()

    def _flush(self) -> None:
        table = pa.concat_tables(self._pending, promote_options="permissive")
        if self._table is None and self._into is None:
            self._table = parquet_writer(self._aside, table.schema, self._codec)
        elif self._table is None:
            self._memory = pa.BufferOutputStream()
            self._table = parquet_writer(self._memory, table.schema, "zstd", lasting=True)
        if len(table):
            schema = self._table.schema
            table = table if table.schema.equals(schema) else table.cast(schema)
            self._table.write_table(table, row_group_size=len(table))
            if self._into is not None:
                self._into.count(len(table))
        self._pending = []


def _parsed(values: pa.Array | pa.ChunkedArray) -> pa.Array:
    """JSON texts as their values; fields that are null everywhere become numbers."""
    array = pa.array(json.loads("[" + ",".join(text or "null" for text in values.to_pylist()) + "]"))
    if not pa.types.is_struct(array.type):
        return array
    fields = [f.with_type(pa.float64()) if pa.types.is_null(f.type) else f for f in array.type]
    return array.cast(pa.struct(fields))


def _large(data: np.ndarray, offsets: np.ndarray) -> pa.Array:
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.large_string(), len(offsets) - 1, buffers, 0)


def _replace(column: pa.ChunkedArray, keys: Sequence[str], values: Any, kind: pa.DataType) -> pa.ChunkedArray:
    """The column with its texts, or those of a field inside its structs, replaced where `values` is not NULL."""
    column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if isinstance(column, pa.ChunkedArray):
        column = column.chunk(0) if column.num_chunks else pa.nulls(0, kind)
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    if not keys:
        plain = column.cast(kind.value_type) if pa.types.is_dictionary(kind) else column
        return pc.if_else(pc.is_valid(values), values.cast(plain.type), plain).cast(kind)
    if not pa.types.is_struct(kind):
        raise ValueError(f"{keys[0]!r} is no field of a column of type {kind}")
    fields = {field.name: child for field, child in zip(kind, column.flatten(), strict=True)}
    fields[keys[0]] = _replace(fields[keys[0]], keys[1:], values, kind.field(keys[0]).type)
    return pa.StructArray.from_arrays(list(fields.values()), fields=list(kind), mask=pc.is_null(column))


def parquet_writer(path: Any, schema: pa.Schema, compression: str, lasting: bool = False) -> Any:
    """A writer, to a path or a stream, without dictionaries and statistics for texts, which seldom repeat.

    lasting: the file is an export. Its pages then end where contents decide it, so that stores which keep equal chunks once
    (as the Hub does) upload little of a changed export, and it has a page index, so that readers can skip pages.
    """
    import pyarrow.parquet as pq

    small = [f.name for f in schema if not is_plain_text(f.type) and not pa.types.is_nested(f.type)] or False
    more = {"use_content_defined_chunking": True, "write_page_index": True} if lasting else {}
    return pq.ParquetWriter(path, schema, compression=compression, use_dictionary=small, write_statistics=small, **more)


class _Compressed:
    """A file of compressed frames, each of some megabytes; an empty file holds an empty frame."""

    def __init__(self, file: Any, codec: str, level: int | None) -> None:
        self._codec = pa.Codec(codec, compression_level=level)
        self._file = file
        self._pending = bytearray()
        self._any = False

    def write(self, data: memoryview | bytes) -> None:
        """Add bytes."""
        self._pending += data
        if len(self._pending) >= _FRAME:
            self._flush()

    def _flush(self) -> None:
        self._file.write(self._codec.compress(pa.py_buffer(self._pending)))
        self._pending = bytearray()
        self._any = True

    def close(self) -> None:
        """Write the remaining bytes and close the file."""
        try:
            if self._pending or not self._any:
                self._flush()
        finally:
            self._file.close()


def open_output(path: Path, suffix: str) -> Any:
    """A file to write bytes to, compressed by its suffix; closing it closes the file below, too."""
    return compressing(open(path, "wb"), suffix)


def compressing(file: Any, suffix: str) -> Any:
    """A writer to an open file that compresses by the suffix."""
    for end, (codec, level) in _CODECS.items():
        if suffix.endswith(end):
            return _Compressed(file, codec, level)
    return file


@contextmanager
def writing(path: str | os.PathLike[str]) -> Iterator[None]:
    """Turn the operating system's errors into OutputError, naming the file and the cure."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        cures = {
            errno.ENOSPC: "Free some space, or set export_path and work_dir to another disk",
            errno.EDQUOT: "Free some space, or set export_path and work_dir to another disk",
            errno.EACCES: "Choose a place that you may write to",
            errno.EPERM: "Choose a place that you may write to",
            errno.EROFS: "Choose a place that you may write to",
            errno.EEXIST: "A part of the path is a file; choose another",
            errno.ENOTDIR: "A part of the path is a file; choose another",
            errno.EISDIR: "It is a folder; name a file in it",
            errno.ENOENT: "It was removed while it was written, or its folder was. Run the same command again",
        }
        cure = cures.get(error.errno or 0)
        raise OutputError(f"{os.fspath(path)}: cannot be written: {reason}{f'. {cure}' if cure else ''}") from error
