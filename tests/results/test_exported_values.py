"""Values of JSON lines in exported tables, and in tables for Python, are those that Python reads from the lines."""

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import refinery
from refinery.common.connections import connect
from refinery.common.field_profile import InputProfile
from refinery.execution.ray.export import export_part, profile_part
from refinery.io.batch import LINE
from refinery.io.field_scan import FieldScan
from refinery.io.json_columns import JsonColumns
from refinery.io.writers.export import export
from refinery.kernels.core.arrow import texts
from refinery.workers.executor import TaskPlace
from tests.examples import share_of

_EDGES = [
    0,
    1,
    -1,
    2**53 + 1,
    2**63 - 1,
    2**63,
    2**64 - 1,
    2**64,
    -(2**63),
    -(2**63) - 1,
    10**38 - 1,
    10**38,
    -(10**40),
]
_SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.sampled_from(["", "x", "é", "1", '"', "null"]),
    st.sampled_from(_EDGES),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([0.5, 0.1, -0.0, 1e300, 1e23, 123456789.123456789]),
)
_VALUES = st.recursive(
    _SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b", "A", "c d"]), inner, max_size=3)
    ),
    max_leaves=6,
)
# Few different values for each field: rare and late ones among many of one type.
_LINES = st.lists(st.lists(_VALUES, min_size=1, max_size=3), min_size=2, max_size=2).flatmap(
    lambda pools: st.lists(
        st.fixed_dictionaries(
            {}, optional={name: st.sampled_from(pool) for name, pool in zip("fg", pools, strict=True)}
        ),
        min_size=1,
        max_size=8,
    )
)


def same(value: Any, exported: Any) -> bool:
    """True for an exported value that is the value of JSON: exactly, or as its text."""
    if value is None:
        return exported is None
    if isinstance(exported, str):
        return value == exported or _same_json(value, exported)
    if isinstance(value, bool) or isinstance(exported, bool):
        return value is exported
    if isinstance(value, dict):
        return isinstance(exported, dict) and all(same(value.get(k), exported.get(k)) for k in {*value, *exported})
    if isinstance(value, list):
        return isinstance(exported, list) and len(value) == len(exported) and all(map(same, value, exported))
    if isinstance(value, float) and isinstance(exported, Decimal):
        return Decimal(str(value)) == exported
    return bool(value == exported)


def _same_json(value: Any, text: str) -> bool:
    try:
        return bool(json.loads(text) == value)
    except ValueError:
        return False


def columns_of(lines: list[str]) -> JsonColumns:
    scan = FieldScan(None)
    scan.see(texts(pa.array(lines)))
    return JsonColumns.of(scan.profile())


@settings(max_examples=share_of(300), deadline=None)
@given(_LINES)
def test_values_of_columns_are_those_of_python(samples: list[dict[str, Any]]) -> None:
    lines = [json.dumps(sample) for sample in samples]
    columns = columns_of(lines)
    with connect(threads=1) as con:
        rows = columns.table(con, pa.table({LINE: pa.array(lines, pa.large_string())})).to_pylist()
    assert len(rows) == len(samples)
    for sample, row in zip(samples, rows, strict=True):
        assert all(same(sample.get(name), value) for name, value in row.items()), (sample, row)
        assert set(sample) <= set(row)
    assert dict(columns_of(lines[::-1]).types).keys() == columns.types.keys()


def run_of(folder: Path, samples: list[Any], export_path: str, **keys: Any) -> refinery.Run:
    folder.mkdir(exist_ok=True)
    (folder / "in.jsonl").write_text("".join(json.dumps(sample) + "\n" for sample in samples))
    recipe = {"dataset_path": str(folder / "in.jsonl"), "export_path": str(folder / export_path)}
    return refinery.run({**recipe, "process": ["whitespace_normalization_mapper"], **keys})


# Values of fields, most of them equal, and the type of the column.
LATE: dict[str, tuple[list[Any], str | None]] = {
    "beyond_64_bits": ([5] * 21_000 + [2**70, -1], "decimal128(38, 0)"),
    "without_a_sign": ([5] * 21_001 + [2**64 - 1], "uint64"),
    "beside_a_fraction": ([2**60 + 1] * 21_001 + [0.5], "decimal128(20, 1)"),
    "of_another_type": ([2**60 + 1] * 21_000 + ["n/a", {"a": 1}], "string"),
    "of_a_late_key": ([{"a": 1}] * 21_000 + [{"b": 2**63}, None], "struct<a: int64, b: uint64>"),
    "null_everywhere": ([None] * 21_002, "null"),
}
DEEP: dict[str, tuple[list[Any], str | None]] = {"deep": ([json.loads('{"a":' * 300 + "1" + "}" * 300)], None)}


@pytest.mark.parametrize("columns", [LATE, DEEP], ids=["late", "deep"])
def test_late_values_are_exported_exactly_with_one_type_for_all(
    tmp_path: Path, columns: dict[str, tuple[list[Any], str | None]]
) -> None:
    every = zip(*(values for values, _ in columns.values()), strict=True)
    samples = [{"text": "a", **dict(zip(columns, values, strict=True))} for values in every]
    for number, path in enumerate(["k.jsonl", "k.parquet"]):
        run = run_of(tmp_path / str(number), samples, path)
        table = run.to_arrow()
        for name, (values, kind) in columns.items():
            assert kind is None or str(table.schema.field(name).type) == kind
            assert all(map(same, values, table[name].to_pylist())), name
            if path == "k.parquet":
                assert pq.read_table(run.outputs[0]).schema.field(name).type == table.schema.field(name).type
                texts_of_json = name in ("of_another_type", "deep")
                assert any(f"'{name}' is text of JSON" in note for note in run.warnings) == texts_of_json
            elif name != "deep":
                assert all(map(same, values, [row[0] for row in run.to_duckdb().project(name).fetchall()])), name


def test_large_identifiers_stay_exact_in_frames_of_pandas_beside_nulls(tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    run = run_of(
        tmp_path, [{"text": "a", "id": 2**60 + 1}, {"text": "b", "id": None}, {"text": "c", "id": 2**63 - 1}], "k.jsonl"
    )
    found = run.to_pandas()["id"]
    assert [int(value) for value in found if value == value and value is not None] == [2**60 + 1, 2**63 - 1]


def test_exports_of_two_months_are_read_together_whatever_is_null_in_one(tmp_path: Path) -> None:
    values: list[Any] = [0.5, 7, 2**70, "x", True, {"a": {"b": 1}}, [1], [{"a": 1}], {"a": [None, "x"]}]
    fields = {f"v{number}": value for number, value in enumerate(values)}
    nulls = {name: _nulls(value) for name, value in fields.items()}
    jan = run_of(tmp_path / "jan", [{"text": "a b", **nulls}], "k.parquet")
    feb = run_of(tmp_path / "feb", [{"text": "c d", **fields}], "k.parquet")
    inputs = [str(run.outputs[0]) for run in (jan, feb)]
    recipe = {"dataset_path": inputs, "export_path": str(tmp_path / "k.jsonl")}
    whole = refinery.run({**recipe, "process": ["whitespace_normalization_mapper"]})
    first, second = map(json.loads, Path(str(whole.outputs[0])).read_text().splitlines())
    for name, value in fields.items():
        assert same(value, second[name]) and first[name] in (None, nulls[name]), name


def _nulls(value: Any) -> Any:
    """None, or in a struct or list."""
    if isinstance(value, dict):
        return {name: None for name in value}
    return [None] if isinstance(value, list) else None


@pytest.mark.parametrize("steps", [[], ["document_deduplicator"]])
def test_a_table_without_samples_has_the_columns_of_the_input(tmp_path: Path, steps: list[Any]) -> None:
    samples = [{"text": "a b", "x": 1}, {"text": "c", "y": {"z": [2**63]}}]
    run = run_of(tmp_path, samples, "k.parquet", process=[*steps, {"text_length_filter": {"min_len": 1000}}])
    schema = pq.read_schema(run.outputs[0])
    assert run.counts.kept == 0
    assert {field.name: str(field.type) for field in schema} == {
        "text": "string",
        "x": "int64",
        "y": "struct<z: list<element: uint64>>",
    }


def test_parts_of_one_export_have_the_columns_of_all_parts(tmp_path: Path) -> None:
    for number, line in enumerate(['{"a": 1}', '{"a": 0.5, "b": null}', '{"b": "x"}']):
        (tmp_path / f"{number}.jsonl").write_text(line + "\n")
    parts = [str(tmp_path / f"{number}.jsonl") for number in range(3)]
    written = export(parts, str(tmp_path / "k.parquet"), "parquet", 1)
    assert len(written) == 3
    assert {str(pq.read_schema(item.path)) for item in written} == {
        str(pa.schema([("a", pa.float64()), ("b", pa.string())]))
    }


def test_parts_that_tasks_of_a_cluster_write_have_the_columns_of_all_parts(tmp_path: Path) -> None:
    lines = ['{"a": 1, "n": null}', '{"a": 18446744073709551616}', '{"b": "x"}']
    whole = InputProfile()
    for number, line in enumerate(lines):
        (tmp_path / f"{number}.jsonl").write_text(line + "\n")
        whole.merge(
            InputProfile.of_plain(json.loads(profile_part(TaskPlace(str(tmp_path), None, ""), f"{number}.jsonl")))
        )
    profile, folder = json.dumps(whole.plain()), str(tmp_path / "kept")
    for number in range(len(lines)):
        export_part(
            TaskPlace(str(tmp_path), None, ""), profile, f"{number}.jsonl", folder, f"{number}.parquet", "parquet", True
        )
    schema = pa.schema([("a", pa.decimal128(38, 0)), ("n", pa.null()), ("b", pa.string())])
    tables = [pq.read_table(tmp_path / "kept" / f"{number}.parquet") for number in range(len(lines))]
    assert all(table.schema.equals(schema) for table in tables)
    assert [table["a"].to_pylist() for table in tables] == [[1], [2**64], [None]]
