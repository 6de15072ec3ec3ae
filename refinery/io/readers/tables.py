"""Tables: Parquet, Arrow (Feather), and tables in memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from refinery.io.model import Shard, Source
from refinery.io.pieces import row_ranges
from refinery.io.readers.model import Cut, CutRequest, Reader

if TYPE_CHECKING:
    import pyarrow as pa

    from refinery.io.batch import Batch
    from refinery.io.limits import ReadLimits


class Table(Reader):
    """Rows with columns of declared types."""

    opaque = by_rows = cheap = True

    def batches(self, shard: Shard, limits: ReadLimits) -> Iterator[Batch]:
        """The rows of the shard, with the columns of its schema."""
        from refinery.io.readers.typed import read_table

        assert shard.schema is not None
        return read_table(shard.source, shard.start, shard.end, shard.schema, limits)

    def schema(self, source: Source) -> pa.Schema:
        """Columns with types that DuckDB knows; fields that the recipe names as text are text."""
        from refinery.io.readers.table_files import known_columns
        from refinery.io.text_columns import with_texts

        return with_texts(known_columns(source), source.texts)

    def cut(self, source: Source, request: CutRequest) -> Cut:
        """Ranges of rows along the groups of rows."""
        from refinery.io.readers.table_files import row_groups

        return Cut(row_ranges(source, row_groups(source), request))

    def count(self, shard: Shard) -> int:
        """The range of rows."""
        return shard.end - shard.start


class ParquetReader(Table):
    """Parquet files; of objects at URLs only the needed parts are read."""

    name = title = "parquet"
    recipe_names = ("parquet",)
    suffixes = frozenset({".parquet"})
    has_footer = True
    script = "io/rows_of_parquet.sql"


class Query(Table):
    """The rows of a query over a database, which are in memory when the files are looked for."""

    name = "sql"
    options = frozenset({"query"})


class Arrow(Table):
    """Arrow files and streams, and tables in memory."""

    name = title = "arrow"
    suffixes = frozenset({".arrow", ".feather"})
    script = "io/rows_of_table.sql"
