"""WARC and WET: archives of web pages, each response or conversion record a sample."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from refinery.io.model import Shard, Source
from refinery.io.readers.model import Cut, CutRequest, Reader

if TYPE_CHECKING:
    import pyarrow as pa

    from refinery.io.batch import Batch
    from refinery.io.limits import ReadLimits


class Warc(Reader):
    """Records of web archives; files whose records are gzip members, and plain ones, are cut between records."""

    name = "warc"
    recipe_names = ("warc",)
    title = "warc, wet"
    suffixes = frozenset({".warc", ".wet"})
    compressed = hints = True
    needs = ("fastwarc", "resiliparse")
    extra = "web"

    def batches(self, shard: Shard, limits: ReadLimits) -> Iterator[Batch]:
        """The samples of the records that begin between two cuts."""
        from refinery.io.readers.warc_rows import read_records

        assert shard.schema is not None
        return read_records(shard.source, shard.start, shard.end, shard.schema, limits)

    def schema(self, source: Source) -> pa.Schema:
        """The same columns for every archive."""
        from refinery.io.readers.warc_rows import COLUMNS

        return COLUMNS

    def cut(self, source: Source, request: CutRequest) -> Cut:
        """Pieces between records."""
        if not request.large:
            return super().cut(source, request)
        from refinery.io.readers.warc_archive import pieces

        return Cut(pieces(source, request.size))
