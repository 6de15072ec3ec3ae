"""Export as JSON Lines, plain or compressed."""

from __future__ import annotations

from refinery.io.model import Written
from refinery.io.writers.model import ExportJob, Writer


class JsonLinesWriter(Writer):
    """One JSON object per line."""

    copy_options = "FORMAT json"

    def __init__(self, compression: str | None = None) -> None:
        self.compression = compression
        self.plain_lines = compression is None
        behind = f".{compression}" if compression else ""
        self.name = f"jsonl{behind}"
        self.part_suffix = f"json{behind}"  # as Data-Juicer names its parts
        self.copy_compression = f", COMPRESSION {_CODECS[compression]}" if compression else ""

    def is_shared(self, lines: bool) -> bool:
        """Lines behind lines are lines, compressed frames behind frames too."""
        return lines

    def join(self, job: ExportJob) -> list[Written]:
        """Write the lines of the parts one after another."""
        from refinery.io.writers.lines import join_lines

        return join_lines(job, self.name, frames=self.compression is not None)


_CODECS = {"gz": "gzip", "zst": "zstd"}
