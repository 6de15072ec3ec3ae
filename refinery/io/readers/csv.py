"""CSV and TSV: records with a header, types found by reading all rows of a file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from refinery.io.model import Shard, Source
from refinery.io.pieces import between
from refinery.io.read_options import DELIMITED, codec_of
from refinery.io.readers.model import Cut, CutRequest, Reader

if TYPE_CHECKING:
    import pyarrow as pa

    from refinery.io.batch import Batch
    from refinery.io.limits import ReadLimits
    from refinery.io.readers.delimited import Dialect


class Delimited(Reader):
    """Records whose values are separated by one character."""

    compressed = inferred = hints = True
    options = DELIMITED
    family = "csv"
    script = "io/rows_of_records.sql"

    def __init__(self, name: str, delimiter: str) -> None:
        self.name, self.delimiter = name, delimiter
        self.title, self.recipe_names = name, (name,)
        self.script_delimiter = "E'\\t'" if delimiter == "\t" else f"'{delimiter}'"
        self.suffixes = frozenset({f".{name}"})

    def dialect(self, source: Source) -> Dialect:
        """The marks and the header of a file."""
        from refinery.io.readers.delimited import Dialect

        return Dialect(
            source.option("delimiter", self.delimiter),
            source.option("quote", '"'),
            source.option("header", True),
            tuple(source.option("columns", ())),
            source.option("encoding", "utf-8"),
        )

    def batches(self, shard: Shard, limits: ReadLimits) -> Iterator[Batch]:
        """The records between two cuts, with the columns of the shard's schema."""
        from refinery.io.readers.delimited import read_csv

        assert shard.schema is not None
        return read_csv(shard.source, self.dialect(shard.source), shard.start, shard.end, shard.schema, limits)

    def schema(self, source: Source) -> pa.Schema:
        """Columns by the header, types by all rows."""
        from refinery.io.readers.delimited import survey

        return survey(source, self.dialect(source))[0]

    def cut(self, source: Source, request: CutRequest) -> Cut:
        """Pieces between records, for which the file is read once; that finds its schema as well.

        A file of another encoding is one piece: places of its text are no places in it.
        """
        if not request.large or codec_of(source.option("encoding", "utf-8")):
            return super().cut(source, request)
        from refinery.io.readers.delimited import survey

        schema, cuts, total = survey(source, self.dialect(source), request.size, request.workers)
        return Cut(between(source, cuts, total), schema)

    def count(self, shard: Shard) -> int:
        """Number of records, found without their values."""
        from refinery.io.limits import ReadLimits
        from refinery.io.readers.delimited import count_records

        return count_records(shard.source, self.dialect(shard.source), shard.start, shard.end, ReadLimits())
