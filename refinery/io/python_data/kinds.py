"""Kinds of `dataset=`: tables in memory, and everything that is read once, as a stream of tables or of dicts.

Libraries are recognised by the module of the object's class, so none of them is imported.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pyarrow as pa

from refinery.common.lazy import duckdb
from refinery.errors import DataError
from refinery.io.layouts import plain_table
from refinery.io.python_data.frames import from_lazy_polars, from_pandas, from_polars

_ROWS = 8192  # rows of a batch that another library is asked for
_KINDS = (
    "an Arrow table, batch or reader, a DuckDB relation, a pandas or polars frame, a datasets.Dataset or "
    "IterableDataset, a ray.data.Dataset, or an iterable of dicts or Arrow batches"
)


def is_ray_dataset(dataset: Any) -> bool:
    """True for a `ray.data.Dataset`."""
    return type(dataset).__module__.startswith("ray.data") and hasattr(dataset, "iter_internal_ref_bundles")


def in_memory(dataset: Any) -> pa.Table | None:
    """The table of a dataset whose samples are in memory already, or mapped from a file; None for a stream.

    Raises DataError for a frame whose columns have no types of Arrow.
    """
    table = _in_memory(dataset)
    return None if table is None else plain_table(table)


def _in_memory(dataset: Any) -> pa.Table | None:
    if _is_column(dataset):
        cure = "Make a table of it: pyarrow.table({'text': ...})"
        raise DataError(f"a dataset must be {_KINDS}, not {type(dataset).__name__}, which is one column. {cure}")
    if isinstance(dataset, pa.Table):
        return dataset
    if isinstance(dataset, pa.RecordBatch):
        return pa.Table.from_batches([dataset])
    if _is_pandas(dataset):
        return from_pandas(dataset)
    if _library(dataset) == "polars" and hasattr(dataset, "to_arrow"):
        return from_polars(dataset)
    if _library(dataset) == "datasets" and getattr(dataset, "_indices", True) is None:
        table: pa.Table = dataset.data.table
        return table
    return None


def tables_of(dataset: Any) -> Iterator[pa.Table] | None:
    """The tables of a dataset that has a schema; None for an iterable of samples. Raises DataError for anything else."""
    tables = _tables_of(dataset)
    return None if tables is None else map(plain_table, tables)


def _tables_of(dataset: Any) -> Iterator[pa.Table] | None:
    library = _library(dataset)
    if isinstance(dataset, duckdb.DuckDBPyRelation):
        return _of_batches(dataset.to_arrow_reader(_ROWS))
    if library == "polars":
        return from_lazy_polars(dataset)
    if library == "datasets" and getattr(dataset, "features", None) is not None:
        return map(_as_table, dataset.with_format("arrow").iter(_ROWS))
    if hasattr(dataset, "__arrow_c_stream__"):
        return _of_batches(pa.RecordBatchReader.from_stream(dataset))
    if isinstance(dataset, (str, bytes, Mapping)) or not isinstance(dataset, Iterable):
        cure = "A folder or file is named by dataset_path" if isinstance(dataset, (str, bytes)) else ""
        cure = "Name one of its splits, or make a table: pyarrow.table(...)" if isinstance(dataset, Mapping) else cure
        raise DataError(f"a dataset must be {_KINDS}, not {type(dataset).__name__}" + (f". {cure}" if cure else ""))
    return None


def first_items(dataset: Any, rows: int) -> Iterator[Any]:
    """The tables or samples of a stream, up to the one with the last of so many rows. Raises DataError as `tables_of`."""
    tables = tables_of(dataset)
    for item in dataset if tables is None else tables:
        yield item
        rows -= as_table(item).num_rows if is_batch(item) else 1
        if rows <= 0:
            return


def as_table(item: Any) -> pa.Table:
    """An item of an iterable of batches as a table. Raises DataError for one that is none."""
    return plain_table(_as_table(item))


def _as_table(item: Any) -> pa.Table:
    if isinstance(item, pa.Table):
        return item
    if isinstance(item, pa.RecordBatch):
        return pa.Table.from_batches([item])
    if _is_pandas(item):
        return from_pandas(item)
    if _library(item) == "polars" and hasattr(item, "to_arrow"):
        return from_polars(item)
    if hasattr(item, "__arrow_c_stream__"):
        return pa.table(item)
    raise DataError(f"dataset: after Arrow batches the iterable gave {type(item).__name__}, which is none")


def is_batch(item: Any) -> bool:
    """True for an item of many samples."""
    return not _is_column(item) and (
        isinstance(item, (pa.Table, pa.RecordBatch)) or _is_pandas(item) or hasattr(item, "__arrow_c_stream__")
    )


def _is_column(item: Any) -> bool:
    """True for one column of values: an array of Arrow, a Series of pandas or polars."""
    return isinstance(item, (pa.Array, pa.ChunkedArray)) or (
        type(item).__name__ == "Series" and _library(item) in ("pandas", "polars")
    )


def _library(dataset: Any) -> str:
    return type(dataset).__module__.partition(".")[0]


def _is_pandas(dataset: Any) -> bool:
    return hasattr(dataset, "iloc")


def _of_batches(reader: Any) -> Iterator[pa.Table]:
    yield reader.schema.empty_table()  # for the columns, if there is no batch
    for batch in reader:
        yield pa.Table.from_batches([batch])
