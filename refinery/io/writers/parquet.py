"""Export as Parquet."""

from __future__ import annotations

from collections.abc import Sequence

from refinery.io.model import Written
from refinery.io.writers.model import ExportJob, Writer


class ParquetWriter(Writer):
    """A table with one row per sample."""

    name = "parquet"
    in_parallel = True
    part_suffix = "parquet"
    layout = "columns"
    copy_options = "FORMAT parquet, COMPRESSION zstd"

    @property
    def lead(self) -> bytes:
        """The four bytes with which every Parquet file begins."""
        from refinery.io.writers.parquet_footer import MAGIC

        return MAGIC

    def is_shared(self, lines: bool) -> bool:
        """Row groups of tables follow each other; lines become columns when all of them are known."""
        return not lines

    def tail(self, footers: Sequence[tuple[int, bytes]]) -> bytes | None:
        """One footer for the row groups of all shards; None if their columns differ."""
        from refinery.io.writers.parquet_footer import join

        return join(list(footers))

    def join(self, job: ExportJob) -> list[Written]:
        """Write the parts as tables with the columns of all of them."""
        from refinery.io.writers.tables import export_parquet

        return export_parquet(job)
