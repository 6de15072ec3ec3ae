"""Databases of runs are read by DuckDB 1.4, tables and views."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import refinery
from refinery.execution import table_maker
from refinery.results.materialise import materialise
from tests.results.test_many import RECIPES, samples
from tests.runs import settings, write_lines

# Where `make test` installs it.
OLD = Path(sys.prefix) / "old-duckdb"
_READ = """
import json, sys
sys.path.insert(0, sys.argv[1])
import duckdb
assert duckdb.__version__.startswith("1."), duckdb.__version__
con = duckdb.connect(sys.argv[2], read_only=True)
names = con.execute("SELECT table_name FROM information_schema.tables ORDER BY 1").fetchall()
print(json.dumps({name: len(con.execute(f'SELECT * FROM "{name}"').fetchall()) for name, in names}))
"""


def rows_of_old(database: Path) -> dict[str, int]:
    """Numbers of rows of all tables and views, as the old DuckDB reads them."""
    if not (OLD / "duckdb").is_dir():
        assert not os.environ.get("CI"), f"{OLD} is missing: `make .venv/old-duckdb` installs it"
        pytest.skip("no old DuckDB here: `make .venv/old-duckdb` installs it")
    command = [sys.executable, "-S", "-c", _READ, str(OLD), str(database)]
    found: dict[str, int] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return found


def rows_of(run: refinery.Run) -> dict[str, int]:
    names = [name for (name,) in run.sql("SELECT table_name FROM information_schema.tables ORDER BY 1").fetchall()]
    return {name: run.sql(f'SELECT count(*) FROM "{name}"').fetchall()[0][0] for name in names}


@pytest.mark.parametrize("in_parts", [False, True])
def test_an_old_duckdb_reads_all_tables_and_views(
    in_parts: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if in_parts:
        monkeypatch.setattr(table_maker, "HERE", -1)
        monkeypatch.setattr(table_maker, "SIZE", 40)
    write_lines(tmp_path / "in.jsonl", [*samples(), "not json"])
    keys: dict[str, Any] = {"shard_size": 1_400, "open_tracer": True, "trace_num": 20}
    run = refinery.run(settings(tmp_path, next(iter(RECIPES.values())), work_dir=tmp_path / "work", **keys))
    found = rows_of_old(run.database)
    assert found == rows_of(run) and found["row_outcomes"] > 100 and len(found) > 10
    copy = materialise(tmp_path / "work", str(tmp_path / "copy.duckdb"))
    assert {name: count for name, count in rows_of_old(Path(copy)).items() if name != "table_parts"} == {
        name: count for name, count in found.items() if name != "table_parts"
    }
