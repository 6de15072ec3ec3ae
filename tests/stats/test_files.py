"""Statistics files: what is written of a relation of moments, and how it is read again."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refinery.errors import OutputError
from refinery.stats.files import folder_name, write_files
from refinery.stats.topk import TopKConfig
from tests.examples import share_of

COLUMNS = (
    '"group" VARCHAR, key VARCHAR, stat VARCHAR, n BIGINT, mean DOUBLE, m2 DOUBLE, min DOUBLE, max DOUBLE, total DOUBLE, '
    "nans BIGINT, infinities BIGINT"
)


def moments(con: duckdb.DuckDBPyConnection, rows: list[tuple[Any, ...]]) -> str:
    con.execute(f"CREATE OR REPLACE TABLE given ({COLUMNS})").fetchall()
    con.executemany(f"INSERT INTO given VALUES ({', '.join('?' * 11)})", rows).fetchall()
    return "given"


def count(group: str, key: str, stat: str, n: int) -> tuple[Any, ...]:
    """A key with n samples of value 1."""
    return (group, key, stat, n, 1.0, 0.0, 1.0, 1.0, float(n), 0, 0)


def test_layout_and_entries(tmp_path: Path) -> None:
    with duckdb.connect() as con:
        rows = [
            ("summary", "summary", "length", 3, 2.0, 2.0, 1.0, 3.0, 6.0, 0, 0),
            ("summary", "summary", "zeros", 10, 0.0, 0.0, 0.0, 0.0, 0.0, 0, 0),
            ("source", 'a "b"\n\u00e9', "length", 1, 0.1, 0.0, 0.1, 0.1, 0.1, 2, 1),
            ("source", "", "length", 0, None, None, None, None, None, 4, 0),
        ]
        written = write_files(con, moments(con, rows), tmp_path, rank=7)
    assert [str(Path(path).relative_to(tmp_path)) for path in written] == [
        "source/length/00007.json",
        "summary/length/00007.json",
        "summary/zeros/00007.json",
    ]
    entries = {
        path.parent.relative_to(tmp_path).as_posix(): json.loads(path.read_text()) for path in map(Path, written)
    }
    spread = {"variance": 1.0, "std_dev": 1.0, "min": 1.0, "max": 3.0}
    assert entries["summary/length"] == {"summary": {"total": 6.0, "n": 3, "mean": 2.0, **spread, "unit": "task"}}
    assert entries["summary/zeros"] == {"summary": {"total": 0.0, "n": 10, "mean": 0.0, "unit": "task"}}
    one = {"total": 0.1, "n": 1, "mean": 0.1, "unit": "task", "nans": 2, "infinities": 1}
    assert entries["source/length"]['a "b"\n\u00e9'] == one
    nothing = entries["source/length"][""]
    assert (nothing["n"], nothing["total"], nothing["nans"]) == (0, 0.0, 4)
    assert nothing["min"] == -nothing["max"] == math.nextafter(math.inf, 0)
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and str(path) not in written]


def test_merged_name_and_replacing(tmp_path: Path) -> None:
    with duckdb.connect() as con:
        for n in (1, 2):
            [path] = write_files(con, moments(con, [count("summary", "summary", "s", n)]), tmp_path)
            assert json.loads(Path(path).read_text())["summary"]["n"] == n
    assert Path(path).name == "metric.json"


def test_keys_keep_the_order_of_rows_and_top_k_that_of_n(tmp_path: Path) -> None:
    keys = [("b", 2), ("d", 3), ("a", 2), ("c", 5), ("e", 1)]
    with duckdb.connect() as con:
        rows = [count(group, key, stat, n) for stat in ("s", "t") for group in ("x", "fqdn") for key, n in keys]
        source = moments(con, rows)
        found = {}
        for path in write_files(con, source, tmp_path, 0, TopKConfig(["fqdn"], 3)):
            found[Path(path).parent.relative_to(tmp_path).as_posix()] = list(json.loads(Path(path).read_text()))
    assert found["x/s"] == found["x/t"] == ["b", "d", "a", "c", "e"]
    assert found["fqdn/s"] == found["fqdn/t"] == ["c", "d", "b"]


def test_large_files_are_whole(tmp_path: Path) -> None:
    """More rows than a batch holds, files that begin in the middle of one."""
    with duckdb.connect() as con:
        con.execute(
            "CREATE TABLE given AS SELECT 'g' || (i % 2) AS \"group\", 'k' || i AS key, 's' || (i % 3) AS stat, 1::BIGINT AS n, "
            "i::DOUBLE AS mean, 0::DOUBLE AS m2, i::DOUBLE AS min, i::DOUBLE AS max, i::DOUBLE AS total, 0::BIGINT AS nans, "
            "0::BIGINT AS infinities FROM range(60_000) r(i)"
        ).fetchall()
        written = write_files(con, "given", tmp_path, 1)
    assert len(written) == 6
    entries = [json.loads(Path(path).read_text()) for path in written]
    assert [len(file) for file in entries] == [10_000] * 6
    assert all(entry["total"] == float(key[1:]) for file in entries for key, entry in file.items())


@pytest.mark.parametrize("rank", [-1, 100_000])
def test_rank_must_have_five_digits(rank: int, tmp_path: Path) -> None:
    with duckdb.connect() as con, pytest.raises(OutputError, match="five digits"):
        write_files(con, moments(con, [count("g", "k", "s", 1)]), tmp_path, rank)


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "g").write_text("in the way")
    with duckdb.connect() as con, pytest.raises(OutputError, match="cannot be written"):
        write_files(con, moments(con, [count("g", "k", "s", 1)]), tmp_path, 0)


@settings(max_examples=share_of(200))
@given(st.sets(st.text(max_size=300), max_size=5))
def test_names_of_folders(names: set[str]) -> None:
    folders = {folder_name(name) for name in names}
    assert len(folders) == len(names)
    for folder in folders:
        assert folder not in ("", ".", "..") and "/" not in folder and "\0" not in folder
        assert len(folder.encode(errors="surrogatepass")) <= 255


def test_negative_top_k() -> None:
    with pytest.raises(ValueError, match="negative"):
        TopKConfig(["fqdn"], -1)
