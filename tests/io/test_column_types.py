"""Types of columns that DuckDB or Parquet does not know: read as others, or refused with the column."""

import json
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest

from refinery.errors import DataError
from refinery.io.convert import Converter
from refinery.io.readers.read import read
from refinery.io.sources import cut, find


def tables(path: Path, column: pa.Array) -> Path:
    table = pa.table({"text": ["one", "two"], "x": column})
    with pa.ipc.new_file(str(path), table.schema) as writer:
        writer.write_table(table)
    return path


SMALL = pa.array([Decimal("1.50"), None], pa.decimal256(10, 2))
READ_AS = {
    "decimal": (SMALL, pa.decimal128(10, 2)),
    "half": (pa.array([1.5, None], pa.float16()), pa.float32()),
    "view": (pa.array(["a", None], pa.string_view()), pa.large_string()),
    "runs": (pa.RunEndEncodedArray.from_arrays([2], pa.array(["a"])), pa.string()),
    "list": (pa.array([[1], None], pa.list_view(pa.int32())), pa.large_list(pa.int32())),
    "inside": (
        pa.array([[{"d": Decimal("1.5"), "m": {"k": 1.5}}], None],
                 pa.list_(pa.struct([("d", pa.decimal256(9, 1)), ("m", pa.map_(pa.string(), pa.float16()))]))),
        pa.list_(pa.struct([("d", pa.decimal128(9, 1)), ("m", pa.map_(pa.string(), pa.float32()))])),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", list(READ_AS))
def test_types_that_duckdb_does_not_know_are_read_as_others(tmp_path: Path, name: str) -> None:
    column, kind = READ_AS[name]
    path = tables(tmp_path / "a.arrow", column)
    [shard] = cut(find([path])[0])
    [batch] = read(shard)
    assert batch.table.schema.field("x").type == kind
    assert batch.table["x"].to_pylist() == column.to_pylist()


REFUSED = {
    "is decimal256(50, 2), which DuckDB has no type for": pa.array([Decimal("1.50"), None], pa.decimal256(50, 2)),
    "which DuckDB has no type for. Write it as a struct": pa.UnionArray.from_sparse(
        pa.array([0, 1], pa.int8()), [pa.array([1, 2]), pa.array(["a", "b"])]
    ),
    "which Parquet cannot hold": pa.array([(1, 2, 3), None], pa.month_day_nano_interval()),
    "has the time zone 'Nowhere/X'": pa.array([1, None], pa.timestamp("us", "Nowhere/X")),
    "'x' is struct<>, which Parquet cannot hold": pa.array([{}, None], pa.struct([])),
    "two fields named 'a'": pa.StructArray.from_arrays([pa.array([1, 2]), pa.array([3, 4])], ["a", "a"]),
    "column 'x.d' is decimal256(50, 1)": pa.array([{"d": 1}, None], pa.struct([("d", pa.decimal256(50, 1))])),
}


@pytest.mark.parametrize("said", list(REFUSED))
def test_types_that_nothing_holds_are_refused(tmp_path: Path, said: str) -> None:
    path = tables(tmp_path / "a.arrow", REFUSED[said])
    with pytest.raises(DataError) as error:
        cut(find([path])[0])
    assert str(error.value).startswith(str(path)) and said in str(error.value)


def test_a_map_with_a_key_twice_is_written_the_same_whatever_stands_beside_it() -> None:
    pairs = [[("a", 1)], [("a", 1), ("a", 2)], None, [("b", 3)]]
    table = pa.table({"x": pa.array(pairs, pa.map_(pa.string(), pa.int32())), "d": pa.array([Decimal("1.5")] * 4)})
    with Converter() as converter:
        whole = converter.lines(table).to_pylist()
        assert whole == [line for k in range(4) for line in converter.lines(table.slice(k, 1)).to_pylist()]
    assert [json.loads(line)["x"] for line in whole] == [{"a": 1}, {"a": 2}, None, {"b": 3}]
