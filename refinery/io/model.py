"""Input files and the shards that they are cut into: data only."""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from refinery.common.key_fields import left_out
from refinery.io.read_options import Options, option
from refinery.storage.urls import is_url

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa


# The path of a field, such as ("meta", "body").
Keys = tuple[str, ...]

# Key and value of each, and whether the value is an integer.
Partitions = tuple[tuple[str, str | None, bool], ...]


# Reason why a field is in no key of results.
_BY_CONTENT = "the content digest of the bytes covers it"
# Path and format of a table in memory.
_IN_MEMORY = ("dataset", "arrow")


@dataclass(frozen=True)
class Source:
    """One input file.

    format: jsonl (values on lines), json (an array, or values over several lines), csv, tsv, parquet, arrow or text
    (the file is one sample). compression: gzip, zstd or None. suffix: lower case, with that of the compression. size:
    bytes on disk. dataset: number of its input, from 0. table: the samples, when they are not in a file.
    version: of an object at a URL, see `object_versions`. reader: Python file of a user's format; "" for formats of refinery. partitions: fields of all its samples, from the names of folders.
    texts: keys of the fields that the recipe names as text, which are read as text. options: how the recipe wants it read.
    """

    path: str = field(metadata=left_out("a place"))
    format: str
    compression: str | None
    suffix: str
    size: int = field(metadata=left_out(_BY_CONTENT))
    dataset: int = field(default=0, metadata=left_out("the number of the input, not of the shard"))
    table: pa.Table | None = field(default=None, compare=False, repr=False, metadata=left_out(_BY_CONTENT))
    version: str = field(default="", metadata=left_out(_BY_CONTENT))
    partitions: Partitions = ()
    texts: tuple[Keys, ...] = ()
    options: Options = ()
    reader: str = field(default="", metadata=left_out("a place; the code is among the side files of programs"))

    def option(self, name: str, default: Any) -> Any:
        """An option of reading that the recipe sets, or the default."""
        return option(self.options, name, default)

    def state(self) -> tuple[str, int, int | str]:
        """Path, size, and time of change (ns) or the object's version; they differ after a change. Raises OSError."""
        if is_url(self.path):
            return self.path, self.size, self.version
        stat = os.stat(self.path)
        return self.path, stat.st_size, stat.st_mtime_ns

    @staticmethod
    def of_table(table: pa.Table) -> Source:
        """A source of samples in memory."""
        return Source(*_IN_MEMORY, None, "", table.nbytes, 0, table)


def handed_over(inputs: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether the samples of a run were handed over in Python. inputs: as a manifest lists them."""
    return any((item["path"], item["format"]) == _IN_MEMORY for item in inputs)


@dataclass(frozen=True)
class RemovedIn:
    """Removed samples of a shard in a file of numbers, see `workers.match_keys`: its name in the store, and first and end.

    digest: of the numbers in the shard.
    """

    name: str
    first: int
    end: int
    digest: str


@dataclass(frozen=True)
class Part:
    """Results of earlier stages for a shard.

    source: the file of the samples; None: the samples are unchanged and read from the input. picked: ascending positions
    of the remaining samples in the file. numbers, line_numbers: of every sample in the file, its number
    and its line in the shard; unused without a file. tables: Parquet files with `_row` and further columns of samples.

    Between stages no sample is listed: `picked` is None, and `workers.worker.fetched` finds the samples where the shard
    runs. rows: name in the store of the numbers and lines that the last stage has left. of_file: of those in the file, where
    numbers and line_numbers are None. removed: numbers in the shard that the deduplicator after it has removed, ascending;
    None where they are in a file, see `removed_in`. only: numbers to read in place of the remaining ones. only_in: name in the store of a numpy file with such numbers.
    verbatim: no line of the input has a repeated key, so none need be looked for.
    """

    source: Source | None
    picked: np.ndarray | None = None
    numbers: np.ndarray | None = None
    line_numbers: np.ndarray | None = None
    tables: tuple[str, ...] = ()
    rows: str = ""
    of_file: str = ""
    removed: np.ndarray | None = None
    removed_in: RemovedIn | None = None
    only: np.ndarray | None = None
    only_in: str = ""
    verbatim: bool = False


@dataclass(frozen=True)
class Shard:
    """A piece of the input that a worker processes at once.

    index: 0 and up in the order of the input. sources: one file, or several whole ones. start, end: bytes of a JSON
    Lines file (the shard owns the lines that start there; the cuts need not fall between lines), of the text of a CSV
    file or JSON array (between samples), or rows of tables; end -1 is the end. Of compressed JSON Lines they are bytes
    of the compressed file (see `shared_decompression.Cursor`). rows_of: number of samples of each of several files, if
    known. lines: samples are carried as JSON lines, whatever the file's format. schema: of
    typed samples. size: approximate bytes of the input; the shards' sizes add up to the sources'. only: ascending numbers
    of the rows that are samples of this run, if not all are; rows are then counted anew, from 0. share: of these, a share
    chosen by content, counted anew, see `sampling`. first: of these, the number of the first ones. part: results of earlier
    stages, which are then read instead of the input; numbers, lines and files stay those of the input.
    """

    index: int
    sources: tuple[Source, ...] = field(metadata=left_out("in keys by their own fields"))
    start: int = 0
    end: int = field(default=-1, metadata=left_out(_BY_CONTENT))
    lines: bool = True
    schema: pa.Schema | None = None
    size: int = field(default=0, metadata=left_out("approximate, for planning"))
    only: np.ndarray | None = field(default=None, compare=False, repr=False)
    share: float | None = None
    first: int | None = None
    part: Part | None = field(
        default=None, compare=False, repr=False, metadata=left_out("has a key of its own: that of the stage before")
    )
    rows_of: tuple[int, ...] = field(default=(), compare=False, repr=False, metadata=left_out(_BY_CONTENT))

    @property
    def source(self) -> Source:
        """The shard's file; the first of several files."""
        return self.sources[0]

    @property
    def starts_file(self) -> bool:
        """True if its lines are counted from a file's first line."""
        return self.start == 0

    def path_of(self, row: int) -> str:
        """The file of row `row` of the shard; the first of several files whose row numbers are unknown."""
        return self.sources[bisect_right(list(accumulate(self.rows_of[:-1])), row)].path


@dataclass(frozen=True)
class Written:
    """One file of the result: rows as counted in it, bytes on disk. version: of an object at a URL, see `object_versions`."""

    path: str
    rows: int
    bytes: int
    version: str = ""
