"""JSON that is not on lines: an array, or values over several lines, each made one line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from refinery.io.model import Shard, Source
from refinery.io.pieces import between
from refinery.io.readers.model import Cut, CutRequest, Reader

if TYPE_CHECKING:
    from refinery.io.batch import Batch
    from refinery.io.limits import ReadLimits


class JsonValues(Reader):
    """An array of objects, or objects one after another. Files are found as JSON Lines; their first values decide."""

    name = "json"
    compressed = lines = hints = True
    family = "jsonl"
    script = "io/rows_of_values.sql"
    script_line = r"regexp_replace(CAST(json AS VARCHAR), '[ \t\r]*\n[ \t\r]*', '', 'g')"

    def batches(self, shard: Shard, limits: ReadLimits) -> Iterator[Batch]:
        """The values between two cuts."""
        from refinery.io.readers.json_lines import read_values

        return read_values(shard.source, shard.start, shard.end, limits)

    def cut(self, source: Source, request: CutRequest) -> Cut:
        """Pieces between values, for which the file is read once."""
        if not request.large:
            return super().cut(source, request)
        from refinery.io.limits import ReadLimits
        from refinery.io.readers.json_lines import value_cuts

        return Cut(between(source, *value_cuts(source, request.size, ReadLimits())))
