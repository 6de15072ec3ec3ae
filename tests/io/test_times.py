"""Times that the formats of a run cannot hold are refused, with file and column."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import refinery
from refinery.errors import DataError
from tests.runs import settings

STEPS = ["clean_email_mapper"]
SECONDS = pa.timestamp("s")


def table(kind: pa.DataType, value: Any) -> pa.Table:
    return pa.table({"text": ["hello world"], "at": pa.array([value], kind)})


@pytest.mark.parametrize("name", ["out.jsonl", pytest.param("out.parquet", marks=pytest.mark.long)])
@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (SECONDS, 2**62),
        (pa.timestamp("s", "UTC"), -(2**62)),
        (pa.list_(SECONDS), [2**62]),
        (pa.struct([("then", pa.large_list(SECONDS))]), {"then": [0, 2**62]}),
    ],
    ids=str,
)
def test_a_time_beyond_parquet(tmp_path: Path, kind: pa.DataType, value: Any, name: str) -> None:
    path = tmp_path / "in.arrow"
    plain = table(kind, value)
    with pa.ipc.new_file(path, plain.schema) as writer:
        writer.write_table(plain)
    recipe = settings(tmp_path, STEPS, dataset_path=path, export_path=tmp_path / "run" / name)
    with pytest.raises(DataError, match="in.arrow: column 'at' holds a time that Parquet cannot.*Correct"):
        refinery.run(recipe)
    with pytest.raises(DataError, match="column 'at' holds a time that Parquet cannot"):
        refinery.run(settings(tmp_path, STEPS, export_path=tmp_path / "run" / name), dataset=plain)


def test_a_year_beyond_json_lines(tmp_path: Path) -> None:
    deep = table(pa.list_(pa.timestamp("ms")), [2**55])
    with pytest.raises(DataError, match="column 'at' holds a time that JSON lines cannot.*export as Parquet"):
        refinery.run(settings(tmp_path, STEPS), dataset=deep)
    assert refinery.run(settings(tmp_path, STEPS, export_path=tmp_path / "o.parquet"), dataset=deep).counts.kept == 1
    assert refinery.run(settings(tmp_path, STEPS), dataset=table(SECONDS, 0), overwrite=True).counts.kept == 1
