"""The protocol of an input format: what `refinery/io/readers/registry.py` registers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from importlib.util import find_spec
from typing import TYPE_CHECKING, NamedTuple

from refinery.common.extras import lacks
from refinery.io.model import Shard, Source

if TYPE_CHECKING:
    import pyarrow as pa

    from refinery.io.batch import Batch
    from refinery.io.limits import ReadLimits

# A group of rows stays whole if the rest of the input has so many groups of its size, and has as many as there are shards for every six
# of the whole input: two of each worker's twelve, and one for each core of a cluster.
_LEAST_LEFT, _SIZES_LEFT = 4, 6


class ShardFields(NamedTuple):
    """Fields of a shard, of the same names."""

    sources: tuple[Source, ...]
    start: int
    end: int
    size: int
    rows_of: tuple[int, ...] = ()


class CutRequest(NamedTuple):
    """Request for the pieces of one file.

    size: approximate bytes of a piece. workers: threads that may read the file for it. large: the file is above the size. whole: most
    bytes of a group of rows that is not cut. total: bytes of all files; left: of those from this file on.
    """

    size: int
    workers: int
    large: bool
    whole: int
    total: int
    left: int

    def uncut(self, before: int) -> int:
        """Most bytes of a group of rows that is not cut. before: bytes of the file before the group.

        A cut group is decompressed by several workers. A whole one at the end leaves workers without work. So groups are cut that
        have a large share of the bytes that are left: of few groups many, of many groups the last ones. The share follows from the sizes
        alone, so another number of workers cuts an input in the same way.
        """
        share = min(1 / _LEAST_LEFT, _SIZES_LEFT * self.size / max(1, self.total))
        return max(self.size, min(self.whole, int(share * (self.left - before))))


class Cut(NamedTuple):
    """The pieces of one file. schema: of the file, if it had to be read for the cuts."""

    pieces: Iterator[ShardFields]
    schema: pa.Schema | None = None


class Reader(ABC):
    """An input format. Methods raise DataError for a file that cannot be read.

    name: of the format of a `Source`. recipe_names: values of `format` in a recipe's `dataset`. suffixes: of files, lower
    case. compressed: files with `.gz` or `.zst` behind the suffix are read. lines: samples are JSON lines as read; others
    are typed. family: name of the format that files are read together with in a folder. title: in messages.

    opaque: the file's first bytes are not looked at. shaped: the first values decide between this format and another of
    its family. foreign: the first bytes may be those of another binary format. one_sample: a file is one sample.
    cut_anywhere: bytes [start, end) of an uncompressed file are the lines that start there. by_rows: `start` and `end` of
    a shard are rows. has_footer: a footer lists columns and groups of rows. cheap: reading an uncompressed file again
    costs less than writing its samples for the next stage. inferred: types of columns are found by reading all rows.
    script: the template of `refinery sql` that reads files; "" if no SQL can. script_line: the
    expression there for a sample as one line. hints: a wrong format can be seen by the
    first bytes. needs: modules that reading imports; extra: of pyproject.toml, that brings them. options: of a source in a recipe
    that it follows.
    """

    name = ""
    recipe_names: tuple[str, ...] = ()
    suffixes: frozenset[str] = frozenset()
    compressed = False
    lines = False
    family = ""
    title = ""
    opaque = False
    shaped = False
    foreign = True
    one_sample = False
    cut_anywhere = False
    by_rows = False
    has_footer = False
    cheap = False
    inferred = False
    script = ""
    script_line = "line"
    hints = False
    needs: tuple[str, ...] = ()
    extra = ""
    options: frozenset[str] = frozenset()

    @abstractmethod
    def batches(self, shard: Shard, limits: ReadLimits) -> Iterator[Batch]:
        """The samples of a shard of one file; of several where a file is one sample."""

    def joined(self, shard: Shard, limits: ReadLimits) -> Iterator[Batch] | None:
        """The samples of several small files, read as one stream; None where files are read one by one."""
        return None

    def schema(self, source: Source) -> pa.Schema:
        """The columns of a file; none for an empty file. Formats of lines have no columns."""
        raise NotImplementedError

    def cut(self, source: Source, request: CutRequest) -> Cut:
        """The pieces of one file: by default the whole file."""
        return Cut(iter([ShardFields((source,), 0, -1, source.size)]))

    def count(self, shard: Shard) -> int | None:
        """Number of samples of a shard of one file; None if only reading the batches counts them."""
        return None

    def lacking(self) -> str:
        """The message that a library is missing, with the cure; "" if all are there."""
        missing = next((module for module in self.needs if find_spec(module) is None), "")
        return lacks(f"reading {self.name}", self.extra, ImportError(name=missing)) if missing else ""

    def code(self) -> str:
        """Path of the Python file of a reader that is none of refinery's; "" for the others."""
        return ""
