"""An index compares keys of runs whose fields have other types, by value."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import refinery


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def kept(name: str, path: str) -> list[int]:
    """Numbers of the samples of a run that no earlier run has."""
    step = {"key_deduplicator": {"key": "v", "index": "index"}}
    recipe = {"dataset_path": path, "export_path": f"{name}/kept.jsonl", "project_name": name, "process": [step]}
    refinery.run(recipe)
    return [json.loads(line)["n"] for line in Path(f"{name}/kept.jsonl").read_text(encoding="utf-8").splitlines()]


def of_lines(name: str, *values: str) -> list[int]:
    lines = [f'{{"text": "a", "n": {at}, "v": {value}}}\n' for at, value in enumerate(values)]
    Path(f"{name}.jsonl").write_text("".join(lines), encoding="utf-8")
    return kept(name, f"{name}.jsonl")


def test_keys_of_other_types_are_compared_by_value() -> None:
    assert of_lines("integers", "1", "9007199254740993") == [0, 1]
    assert of_lines("fractions", "1.0", "2.5") == [1]
    assert of_lines("decimals", "9007199254740993", "9007199254740992", "0.5") == [1, 2]
    assert of_lines("mixed", "1", '"x"', "2.50") == [1]
    assert of_lines("texts", '"1"', '"x"') == [0]
    assert of_lines("large", "18446744073709551616", "1") == [0]
    assert of_lines("objects", '{"a": 1}', '{"a": 1, "b": null}') == [0]
    assert of_lines("other objects", '{"c": 2, "a": 1}', '{"a": 1.0}') == [0]
    assert of_lines("nulls", "null", "null") == [0, 1]
    pq.write_table(pa.table({"text": ["a", "a"], "n": [0, 1], "v": pa.array([2.5, 3.5])}), "table.parquet")
    assert kept("table", "table.parquet") == [1]
