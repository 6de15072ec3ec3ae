"""docs/statistics.md on files and merging: its entry, its options and its Python are as it says."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import duckdb

from refinery.cli.main import merge_stats
from refinery.stats import write_files
from refinery.stats.moments import moments_sql
from tests.conftest import ROOT

PAGE = (ROOT / "docs" / "statistics.md").read_text("utf-8")


def section(heading: str) -> str:
    _, _, after = PAGE.partition(f"\n## {heading}\n")
    assert after
    return after.partition("\n## ")[0]


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


def write(folder: Path, values: list[float]) -> str:
    """One statistic of these values, as a file."""
    with duckdb.connect() as con:
        con.execute(
            "CREATE TABLE given AS SELECT 'summary' AS \"group\", 'summary' AS key, 'length' AS stat, unnest(?::DOUBLE[]) AS value",
            [values],
        ).fetchall()
        [path] = write_files(con, f"({moments_sql('given')})", folder, 0)
    return Path(path).read_text("utf-8")


def test_entry(tmp_path: Path) -> None:
    [entry] = blocks(section("Files"), "json")
    assert json.loads(write(tmp_path, [1.0, 2.0, 3.0])) == json.loads(entry)


def test_options() -> None:
    named = set(re.findall(r"--[a-z][a-z-]+", section("Merging")))
    assert named == {name for option in merge_stats.params for name in option.opts if name.startswith("--")}


def test_python(tmp_path: Path) -> None:
    write(tmp_path / "outputs" / "by_group" / "stats", [1.0, 2.0, 3.0])
    merging, metric, moments = blocks(section("Merging"), "python")
    environ = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))}
    for code, said in ((merging, "1 1 1\n['one', 'two']"), (metric, "5 "), (moments, "41666500.0")):
        done = subprocess.run(
            [sys.executable, "-c", code], cwd=tmp_path, env=environ, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        assert said in done.stdout
