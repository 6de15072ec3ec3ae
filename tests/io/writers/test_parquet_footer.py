"""Footers of Parquet files, read, joined and written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from refinery.io.writers import parquet_footer

COLUMNS = pa.table(
    {
        "text": pa.array(["a", "größer", "", None, "x" * 5000] * 7, pa.large_string()),
        "when": pa.array([0, 1, 2, 3, None] * 7, pa.timestamp("us", "UTC")),
        "nested": pa.array([{"a": [1, 2], "b": None}, None, {"a": [], "b": "y"}, {"a": None, "b": ""}, None] * 7),
        "dict": pa.array(["p", "q", "p", None, "q"] * 7).dictionary_encode(),
        "flag": pa.array([True, False, None, True, True] * 7),
    }
)


@pytest.mark.parametrize("options", [{}, {"write_page_index": True}, {"version": "1.0", "use_dictionary": False}])
def test_a_footer_is_read_and_written_as_it_is(tmp_path: Path, options: dict[str, Any]) -> None:
    path = tmp_path / "one.parquet"
    pq.write_table(COLUMNS.replace_schema_metadata({"k": "v" * 300}), path, row_group_size=4, **options)
    file = path.read_bytes()
    body, footer = parquet_footer.split(memoryview(file))
    assert file[:4] + bytes(body) + bytes(footer) == file
    assert parquet_footer.join([(4, bytes(footer))]) == bytes(footer)
    both = parquet_footer.join([(4, bytes(footer)), (4 + len(body), bytes(footer))])
    assert both is not None
    twice = tmp_path / "two.parquet"
    twice.write_bytes(parquet_footer.MAGIC + bytes(body) * 2 + both)
    once = pq.read_table(path)
    assert pq.read_table(twice).equals(pa.concat_tables([once, once]))


def test_files_with_other_columns_are_not_joined() -> None:
    parts = [(4, footer_of(table)) for table in (COLUMNS, COLUMNS.drop_columns("flag"))]
    assert parquet_footer.join(parts) is None and parquet_footer.join([]) is None


def footer_of(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink)
    return bytes(parquet_footer.split(memoryview(sink.getvalue()))[1])
