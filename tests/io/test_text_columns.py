"""Text fields whose column is of another type: bytes and CSV values are read as text, all others are refused beforehand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import refinery
from refinery.errors import RecipeError
from tests.runs import settings, write_lines
from tests.sampling import sampled

UPPER = [{"sql_mapper": {"text": "upper(text)"}}]
DAYS = "n,text\n1,2024-01-01\n2,07\n3,true\n4,1.50\n5,\n"


def kept(run: Any) -> list[dict[str, Any]]:
    return [json.loads(line) for path in run.outputs for line in Path(path).read_text(encoding="utf-8").splitlines()]


def by_script(recipe: dict[str, Any], folder: Path) -> bytes:
    """Output of a recipe's script."""
    target = folder / "by_script" / "out.jsonl"
    target.parent.mkdir()
    duckdb.connect().execute(refinery.compile({**recipe, "export_path": str(target)})).fetchall()
    return target.read_bytes()


@pytest.mark.parametrize("beside", [pytest.param(False, marks=pytest.mark.long), True])
def test_the_text_of_a_csv_file_is_text(tmp_path: Path, beside: bool) -> None:
    (tmp_path / "in.csv").write_text(DAYS, encoding="utf-8")
    inputs = [str(tmp_path / "in.csv")]
    if beside:
        inputs.append(str(write_lines(tmp_path / "more.jsonl", [{"n": 6, "text": "x"}])))
    recipe = settings(tmp_path, UPPER, dataset_path=inputs)
    texts = ["2024-01-01", "07", "TRUE", "1.50", *(["X"] if beside else [])]
    found = kept(refinery.run(recipe))
    assert [row["text"] for row in found if row["text"]] == texts
    assert found[0]["n"] == 1  # other columns have the types of their values
    assert [json.loads(line)["text"] for line in by_script(recipe, tmp_path).splitlines()][:4] == texts[:4]


BYTES = [pa.binary(), pa.large_binary(), pa.binary_view(), pa.dictionary(pa.int8(), pa.binary())]


@pytest.mark.parametrize(
    ("kind", "beside"), sampled(((kind, beside) for kind in BYTES for beside in (False, True)), every=3)
)
def test_bytes_are_read_as_text(tmp_path: Path, kind: pa.DataType, beside: bool) -> None:
    values = pa.array(["schön".encode(), b"\xff", b"plain", None], pa.binary())
    column = values.dictionary_encode() if pa.types.is_dictionary(kind) else pa.array(values.to_pylist(), kind)
    table = pa.table({"text": column, "raw": pa.array([b"\xfe"] * 4)})
    if beside:
        table = table.drop_columns("raw")
        write_lines(tmp_path / "more.jsonl", [{"text": "x"}])
    if pa.types.is_dictionary(kind) or kind == pa.binary_view():
        with pa.ipc.new_file(tmp_path / "in.arrow", table.schema) as writer:
            writer.write_table(table)
    else:
        pq.write_table(table, tmp_path / "in.parquet")
    inputs = [str(next(tmp_path.glob(pattern))) for pattern in ("in.*", "more.jsonl") if list(tmp_path.glob(pattern))]
    run = refinery.run(settings(tmp_path, UPPER, dataset_path=inputs))
    assert [row["text"] for row in kept(run)] == ["SCHÖN", "PLAIN", *(["X"] if beside else [])]
    with duckdb.connect(str(tmp_path / "run" / "refinery.duckdb"), read_only=True) as con:
        errors = dict(con.execute("SELECT _row, error FROM quarantine").fetchall())
    assert list(errors) == [1, 3] and "invalid UTF-8: byte 0xff" in errors[1]


def test_bytes_within_a_struct_and_in_a_script(tmp_path: Path) -> None:
    schema = pa.schema([("title", pa.string()), ("meta", pa.struct([("body", pa.binary()), ("n", pa.int64())]))])
    rows = [{"title": "x", "meta": {"body": "schön".encode(), "n": 1}}]
    pq.write_table(pa.Table.from_pylist(rows, schema), tmp_path / "in.parquet")
    recipe = settings(tmp_path, UPPER, dataset_path=tmp_path / "in.parquet", text_keys="meta.body")
    recipe["process"] = [{"sql_mapper": {"text": "upper(text)"}}]
    run = refinery.run(recipe)
    assert kept(run) == [{"title": "x", "meta": {"body": "SCHÖN", "n": 1}}]
    assert json.loads(by_script(recipe, tmp_path)) == kept(run)[0]


OTHER = [
    (kind, step, beside)
    for kind in (pa.int64(), pa.float64(), pa.list_(pa.string()), pa.struct([("a", pa.string())]))
    for step in (False, True)
    for beside in (False, True)
]


@pytest.mark.parametrize(("kind", "step", "beside"), sampled(OTHER))
def test_other_types_are_refused_before_the_run(tmp_path: Path, kind: pa.DataType, step: bool, beside: bool) -> None:
    table = pa.table({"text": ["a"], "other": pa.array([None], kind), "body": ["b"]})
    pq.write_table(table, tmp_path / "in.parquet")
    inputs = [str(tmp_path / "in.parquet")]
    if beside:
        inputs.append(str(write_lines(tmp_path / "more.jsonl", [{"text": "x", "other": "text here", "body": "y"}])))
    recipe = settings(tmp_path, UPPER, dataset_path=inputs)
    if step:
        recipe["process"] = [{"whitespace_normalization_mapper": {"text_key": "other"}}]
    else:
        recipe["text_keys"] = "other"
    with pytest.raises(RecipeError) as error:
        refinery.run(recipe)
    assert (
        f"in.parquet: column 'other' is {pq.read_schema(tmp_path / 'in.parquet').field('other').type}, not text. Fields of text there: text, "
        in str(error.value)
    )
    assert "body" in str(error.value) and not (tmp_path / "run").exists()


def test_lines_of_another_type_are_refused_where_all_are(tmp_path: Path) -> None:
    long = '{"text": "a", "meta": {"body": "b"}, "n": 1' + "0" * 5000 + "}"
    write_lines(tmp_path / "in.jsonl", [long, {"text": "a", "meta": {"body": "b"}, "n": 2}])
    for key, kind in {"meta": "an object", "n": "a number"}.items():
        with pytest.raises(
            RecipeError, match=f"field '{key}' is {kind} in all of .* Fields of text there: text, meta.body"
        ):
            refinery.run(settings(tmp_path, UPPER, text_keys=key))
    write_lines(tmp_path / "in.jsonl", [{"text": {"a": 1}}, {"text": "a"}])
    run = refinery.run(settings(tmp_path, UPPER))
    assert kept(run) == [{"text": "A"}]
