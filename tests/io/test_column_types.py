"""Types of columns that DuckDB or Parquet does not know: read as others, or refused with the column."""

import json
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import refinery
from refinery.errors import DataError
from refinery.io.convert import Converter
from refinery.io.layouts import plain, plain_type
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
    "half": (pa.array([np.float16(1.5), None], pa.float16()), pa.float32()),
    "view": (pa.array(["a", None], pa.string_view()), pa.large_string()),
    "runs": (pa.RunEndEncodedArray.from_arrays([2], pa.array(["a"])), pa.string()),
    "list": (pa.array([[1], None], pa.list_view(pa.int32())), pa.large_list(pa.int32())),
    "inside": (
        pa.array([[{"d": Decimal("1.5"), "m": {"k": np.float16(1.5)}}], None],
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


def _dictionary(values: pa.Array) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, None], pa.uint32()), values)


_OVERLAPPING = pa.ListViewArray.from_arrays(
    pa.array([4, 0, 2, 99], pa.int32()),
    pa.array([2, 3, 1, 77], pa.int32()),
    pa.array(range(6)),
    mask=pa.array([False, False, False, True]),
)
_RUNS = pa.RunEndEncodedArray.from_arrays([1, 4], pa.array([["a"], None], pa.list_view(pa.string())))
ODD = {
    "views that overlap": _OVERLAPPING,
    "large views": pa.array([[1], None, [], [3]], pa.large_list_view(pa.int32())),
    "views in views": pa.array([[[1], [2, None]], None, [], [[3], None]], pa.list_view(pa.list_view(pa.int8()))),
    "views in a struct": pa.array([{"a": [1]}, None, {"a": None}, {}], pa.struct([("a", pa.list_view(pa.int8()))])),
    "views in a map": pa.array([[("k", ["a"])], None, [], [("k", [])]], pa.map_(pa.string(), pa.list_view(pa.string()))),
    "views in fixed lists": pa.array([[["a"]], None, [[]], [None]], pa.list_(pa.list_view(pa.string_view()), 1)),
    "a dictionary with a null": _dictionary(pa.array(["u", None, "w"])),
    "a dictionary of views": _dictionary(pa.array(["u", None, "w"], pa.string_view())),
    "dictionaries in lists": pa.ListArray.from_arrays(pa.array([0, 1, 2, 3, 4]).cast("int32"), _dictionary(pa.array([1, None, 3]))),
    "dictionaries in a struct": pa.StructArray.from_arrays([_dictionary(pa.array(["u", None, "w"]))], ["c"]),
    "runs of views": _RUNS,
    "runs in lists": pa.ListArray.from_arrays(
        pa.array([0, 1, 2, 3, 4]).cast("int32"), pa.RunEndEncodedArray.from_arrays([2, 4], ["a", "b"])
    ),
    "structs of nulls": pa.array([{"a": None}] * 4),
}  # fmt: skip


@pytest.mark.parametrize("name", list(ODD))
def test_values_of_odd_layouts_stay_wherever_they_are_cut(name: str) -> None:
    array = ODD[name]
    for start in range(len(array) + 1):
        for piece in (array.slice(start), array.slice(0, start), array.slice(start, 1)):
            found = plain(piece)
            found.validate(full=True)
            assert found.to_pylist() == piece.to_pylist()
            assert found.type == plain_type(array.type)


def test_odd_layouts_are_exported_from_python_as_tables_and_as_streams(tmp_path: Path) -> None:
    columns = dict(ODD)
    if int(pa.__version__.split(".")[0]) < 26:  # it cannot read the NULLs of such lists that it has written to Parquet
        del columns["views in fixed lists"]
    table = pa.table({"text": ["one", "two", "three", "four"], **columns})
    mixed = pa.concat_tables([table.slice(1), table.slice(0, 1)])
    for dataset in (mixed, iter(mixed.to_batches())):
        run = refinery.run(
            {"export_path": str(tmp_path / "k.parquet"), "process": ["whitespace_normalization_mapper"]},
            dataset=dataset,
        )
        kept = run.to_arrow()
        assert {name: kept[name].to_pylist() for name in mixed.column_names} == mixed.to_pydict()


WIDER = {
    "numbers with and without a sign": (pa.array([2**64 - 1], pa.uint64()), pa.array([-1])),
    "nulls in a struct": (pa.array([{"a": None}]), pa.array([{"a": 0.5, "b": "c"}])),
    "nulls in a list": (pa.array([[None]]), pa.array([[{"a": 1}]])),
    "nulls and a dictionary": (pa.nulls(1), pa.array(["a"]).dictionary_encode()),
    "large integers and small ones": (pa.array([Decimal(2**100)], pa.decimal128(38, 0)), pa.array([1])),
}


@pytest.mark.parametrize("name", list(WIDER))
@pytest.mark.parametrize("turned", [False, True])
def test_files_whose_types_differ_keep_all_values(tmp_path: Path, name: str, turned: bool) -> None:
    columns = WIDER[name][:: -1 if turned else 1]
    for number, column in enumerate(columns):
        pq.write_table(pa.table({"text": ["a"], "x": column}), tmp_path / f"{number}.parquet")
    tables = [batch.table for shard in cut(find([tmp_path])[0]) for batch in read(shard)]
    rows = pa.concat_tables(tables)["x"].to_pylist()
    for row, column in zip(rows, columns, strict=True):
        [wanted] = column.to_pylist()
        assert row == wanted or {name: value for name, value in row.items() if value is not None} == {
            name: value for name, value in wanted.items() if value is not None
        }


def test_decimals_beside_floating_numbers_are_refused_as_they_would_be_rounded(tmp_path: Path) -> None:
    pq.write_table(
        pa.table({"text": ["a"], "x": pa.array([Decimal(2**100)], pa.decimal128(38, 0))}), tmp_path / "a.parquet"
    )
    pq.write_table(pa.table({"text": ["a"], "x": [0.5]}), tmp_path / "b.parquet")
    with pytest.raises(DataError, match=r"column 'x' is decimal128\(38, 0\) in .*a.parquet, but double in .*b.parquet"):
        cut(find([tmp_path])[0])


@pytest.mark.parametrize("value", ["0.5", "7", "true", "xyz"])
def test_a_csv_column_without_a_value_fits_any_type_of_other_files(tmp_path: Path, value: str) -> None:
    (tmp_path / "a.csv").write_text("text,score\na b,\n")
    (tmp_path / "b.csv").write_text(f"text,score\nc d,{value}\n")
    own = cut(find([tmp_path / "b.csv"])[0])[0].schema
    shards = cut(find([tmp_path])[0])
    assert own is not None and shards[0].schema == own
    rows = [row for shard in shards for batch in read(shard) for row in batch.table["score"].to_pylist()]
    assert rows[0] is None and str(rows[1]).lower() == value
