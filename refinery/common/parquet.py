"""Parquet files that are read whole."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from refinery.common.lazy import pq

if TYPE_CHECKING:
    import pyarrow as pa


def table_of(path: str | os.PathLike[str], columns: Sequence[str] | None = None) -> pa.Table:
    """The rows of one file. Raises OSError or pyarrow.ArrowException if it cannot be read.

    `pyarrow.parquet.read_table` imports pandas where that is installed, which takes longer than a small run.
    """
    with pq.ParquetFile(path) as file:
        return file.read(None if columns is None else list(columns))
