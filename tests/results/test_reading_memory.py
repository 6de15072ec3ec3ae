"""Memory of commands that read a finished run: by memory_limit, or by the memory there is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pytest

from refinery.inspect.diff.diff import compare
from refinery.results import reading_memory
from refinery.results.open_tables import open_tables
from tests.runs import refine, texts

STEPS: list[Any] = [{"text_length_filter": {"min_len": 2}}]


def limit_of(con: duckdb.DuckDBPyConnection) -> str:
    return con.sql("SELECT current_setting('memory_limit')").fetchall()[0][0]


def test_the_limit_of_the_run_counts(tmp_path: Path) -> None:
    run = refine(tmp_path, texts(["a", "bb"]), STEPS, memory_limit="400MB")
    with open_tables(run.work_dir / "refinery.duckdb") as con:
        assert limit_of(con) == "381.4 MiB"


@pytest.mark.parametrize(
    ("there", "limit"),
    [(1_000_000_000, "572.2 MiB"), (3_000_000_000, "1023.9 MiB"), (40_000_000_000, "9.3 GiB")],
)
def test_without_one_it_is_a_share_of_the_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, there: int, limit: str
) -> None:
    monkeypatch.setattr(reading_memory, "memory", lambda: there)
    monkeypatch.setattr(reading_memory, "share_of_memory", lambda workers: there * 3 // 5)
    with duckdb.connect() as con:
        reading_memory.limit_memory(con)
        assert limit_of(con) == limit
        [(place,)] = con.sql("SELECT current_setting('temp_directory')").fetchall()
        assert Path(place).parent == Path(reading_memory.spill_place())


def test_diff_has_the_least_limit_of_both_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    one = refine(tmp_path / "one", texts(["a", "bb"]), STEPS, memory_limit="400MB")
    other = refine(tmp_path / "other", texts(["a", "bb"]), STEPS, memory_limit="300MB")
    monkeypatch.setattr("refinery.inspect.diff.diff._compared", lambda con, *_: seen.append(limit_of(con)))
    compare(one.work_dir, other.work_dir)
    assert seen == ["286.1 MiB"]
