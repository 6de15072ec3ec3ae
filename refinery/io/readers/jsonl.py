"""JSON Lines: each line is a sample, carried as it stands in the file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from refinery.io.model import Shard, Source
from refinery.io.pieces import even
from refinery.io.readers.model import Cut, CutRequest, Reader, ShardFields

if TYPE_CHECKING:
    from refinery.io.batch import Batch
    from refinery.io.limits import ReadLimits


class JsonLinesReader(Reader):
    """One JSON object per line; shards are cut anywhere, compressed or not."""

    name = "jsonl"
    recipe_names: tuple[str, ...] = ("jsonl", "json", "jsonl.gz", "jsonl.zst")
    title = "jsonl, json (also .gz and .zst)"
    suffixes = frozenset({".jsonl", ".json", ".ndjson"})
    compressed = lines = shaped = cut_anywhere = cheap = hints = True
    script = "io/rows_of_lines.sql"

    def batches(self, shard: Shard, limits: ReadLimits) -> Iterator[Batch]:
        """The lines that start in the shard's bytes."""
        from refinery.io.readers.json_lines import read_lines

        return read_lines(shard.source, shard.start, shard.end, limits)

    def joined(self, shard: Shard, limits: ReadLimits) -> Iterator[Batch] | None:
        """The lines of files that are not compressed, and whose folders give them no fields."""
        from refinery.io.readers.json_lines import read_joined

        plain = not any(source.compression or source.partitions or source.options for source in shard.sources)
        return read_joined(shard.sources, limits) if plain else None

    def cut(self, source: Source, request: CutRequest) -> Cut:
        """Even parts of the bytes; the file need not be read."""
        if source.compression is None:
            return Cut(even(source, 0, source.size, source.size, -(-source.size // request.size)))
        return Cut(_packed(source, request.size)) if request.large else super().cut(source, request)


def _packed(source: Source, size: int) -> Iterator[ShardFields]:
    """Even parts of the compressed bytes."""
    from refinery.io.readers.shared_decompression import expansion

    pieces = list(even(source, 0, source.size, source.size, int(-(-source.size * expansion(source) // size))))
    yield from pieces[:-1]
    yield pieces[-1]._replace(end=-1)  # with any bytes after the compressed data
