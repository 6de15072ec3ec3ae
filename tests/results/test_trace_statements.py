"""A trace of few rows takes few statements, and gives each row what one of its own would."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from refinery.kernels.core.arrow import of_records
from refinery.results import trace
from refinery.workers.worker import Worker
from tests.runs import refine

STEPS: list[Any] = [{"whitespace_normalization_mapper": None}, {"text_length_filter": {"min_len": 25}}]


def traced(folder: Path) -> list[dict[str, Any]]:
    samples = [{"id": i, "text": f"number\u2003{i} " + "x" * (i % 40)} for i in range(200)]
    run = refine(folder, samples, STEPS, shard_size=1000, np=2, open_tracer=True, trace_num=40)
    return [json.loads(record) for (record,) in run.sql("SELECT record FROM trace ORDER BY step, _row").fetchall()]


def test_rows_of_many_shards_are_replayed_by_one_statement(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    statements: list[int] = []
    real = Worker.replay_all

    def counted(self: Worker, places: Any) -> Any:
        over = self.connection.over
        monkeypatch.setattr(
            self.connection, "over", lambda sql, given: statements.append(len(given)) or over(sql, given)
        )
        yield from real(self, places)

    with monkeypatch.context() as patch:
        patch.setattr(Worker, "replay_all", counted)
        together = traced(tmp_path / "together")
    assert len(statements) == 1 and statements[0] > 40
    with monkeypatch.context() as patch:
        patch.setattr(trace, "_SHARDS", 1)
        patch.setattr(trace, "_SORTED", 0)
        apart = traced(tmp_path / "apart")
    assert together == apart and len(together) == 80


def test_records_are_what_pyarrow_makes_of_them() -> None:
    schema = pa.schema([("n", pa.int32()), ("t", pa.large_string()), ("b", pa.large_binary()), ("m", pa.int64())])
    records = [
        {"n": 1, "t": "grüße", "b": b"\xff\0", "m": -(2**60)},
        {"n": None, "t": None, "b": b""},
        {"n": -3, "t": ""},
    ]
    for given in (records, records[:0], records[1:2]):
        found = of_records(given, schema)
        found.validate(full=True)
        assert found.equals(pa.Table.from_pylist(given, schema))
