"""Files that refinery writes, read and merged by datatrove itself.

In the tests' own environment where datatrove is installed, else by the python that the variable DATATROVE names.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import duckdb
import pytest

from refinery.stats import StatsMerger, write_files
from refinery.stats.moments import moments_sql
from tests.conftest import ROOT

READ = """
import json, sys
from pathlib import Path
from datatrove.pipeline.stats import StatsMerger
from datatrove.utils.stats import MetricStats, MetricStatsDict

folder, merged = map(Path, sys.argv[1:])
for _ in StatsMerger(str(folder), str(merged)).run([], 0, 1):
    raise SystemExit("rows out of nothing")
found = {}
for path in sorted(folder.rglob("*.json")):
    read = MetricStatsDict.from_dict(json.loads(path.read_text()))
    found[path.relative_to(folder).as_posix()] = {
        key: [one.n, one.total, one.mean, one.min, one.max, one.variance, one.unit] for key, one in read.items()
    }
for leaf in sorted({path.parent for path in folder.rglob("*.json")}):
    total = MetricStatsDict()
    for path in sorted(leaf.glob("*.json")):
        total = total + MetricStatsDict.from_dict(json.loads(path.read_text()))
    found[leaf.relative_to(folder).as_posix()] = {
        key: [one.n, one.total, one.mean, one.min, one.max, one.variance, one.unit] for key, one in total.items()
    }
print(json.dumps(found))
"""

VALUES = {
    ("zeros", 0): [0.0] * 10,
    ("zeros", 1): [1.0],
    ("counts", 0): [3.0, 5.0, 8.0],
    ("counts", 1): [1.0],
    ("ratios", 0): [0.25, 0.5, 0.125],
    ("ratios", 1): [0.0, 0.0],
    ("ones", 0): [1.0, 1.0, 1.0],
    ("ones", 1): [1.0, 1.0],
    ("mean of one", 0): [0.0, 2.0],
    ("mean of one", 1): [1.0, 0.5, 1.5],
    ("negative", 0): [-1.0, 1.0],
    ("negative", 1): [-4.0],
    ("not finite", 0): [float("nan"), float("inf")],
    ("not finite", 1): [2.0, 3.0],
}


@pytest.fixture(scope="module")
def datatrove() -> str:
    """A python that has datatrove."""
    python = os.environ.get("DATATROVE") or (sys.executable if find_spec("datatrove") else "")
    if not python:
        pytest.skip("datatrove is not installed; DATATROVE=path/to/python names an environment that has it")
    return python


@pytest.fixture
def partials(tmp_path: Path) -> Path:
    """The values above as two ranks write them."""
    with duckdb.connect() as con:
        for rank in range(2):
            con.execute(
                'CREATE OR REPLACE TABLE given ("group" VARCHAR, key VARCHAR, stat VARCHAR, value DOUBLE)'
            ).fetchall()
            rows = [("g", key, "s", value) for (key, of), values in VALUES.items() if of == rank for value in values]
            con.executemany("INSERT INTO given VALUES (?, ?, ?, ?)", rows).fetchall()
            write_files(con, f"({moments_sql('given')})", tmp_path / "in", rank)
    return tmp_path / "in"


def ask(datatrove: str, partials: Path, merged: Path) -> dict[str, dict[str, list[Any]]]:
    """n, total, mean, min, max, variance and unit of each key as datatrove reads them: of each file, and of both added."""
    done = subprocess.run(
        [datatrove, "-c", READ, str(partials), str(merged)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.strip().split("\n")[-1])


def expected(values: list[float]) -> list[Any]:
    n, total = len(values), sum(values)
    mean = total / n
    variance = sum((value - mean) ** 2 for value in values) / (n - 1) if n > 1 else 0.0
    return [n, total, mean, min(values), max(values), variance]


def finite(values: list[float]) -> list[float]:
    return [value for value in values if abs(value) < 1e300]


def test_datatrove_reads_what_we_write(datatrove: str, partials: Path, tmp_path: Path) -> None:
    found = ask(datatrove, partials, tmp_path / "theirs")
    for (key, rank), values in VALUES.items():
        *numbers, unit = found[f"g/s/{rank:05d}.json"][key]
        if finite(values):
            assert numbers == pytest.approx(expected(finite(values)), rel=1e-12, abs=1e-300)
        else:
            assert numbers[:3] == [0, 0, 0]
        assert unit == "task"


def test_datatrove_adds_it_up_rightly(datatrove: str, partials: Path, tmp_path: Path) -> None:
    """Also where a part is all zeros or has no value: what it writes of such parts itself it would lose."""
    found = ask(datatrove, partials, tmp_path / "theirs")["g/s"]
    for key in {key for key, _ in VALUES}:
        values = [value for (name, _), some in VALUES.items() if name == key for value in finite(some)]
        assert found[key][:6] == pytest.approx(expected(values), rel=1e-12, abs=1e-300), key


def test_merged_files_agree(datatrove: str, partials: Path, tmp_path: Path) -> None:
    """Its merge of our files and ours say the same; it reads our metric.json rightly too."""
    ask(datatrove, partials, tmp_path / "theirs")
    StatsMerger(partials, tmp_path / "ours").merge()
    ours = json.loads((tmp_path / "ours/g/s/metric.json").read_bytes())
    theirs = json.loads((tmp_path / "theirs/g/s/metric.json").read_bytes())
    assert ours.keys() == theirs.keys()
    for key, entry in theirs.items():
        if not isinstance(entry, dict):  # its form of a total of zero
            assert ours[key]["total"] == entry == 0
            continue
        implied = {"variance": 0.0, "min": ours[key]["mean"], "max": ours[key]["mean"]}
        for name in ("total", "n", "mean", "variance", "min", "max"):
            if name in entry:
                assert (implied | ours[key])[name] == pytest.approx(entry[name], rel=1e-12), (key, name)
    read = ask(datatrove, tmp_path / "ours", tmp_path / "again")["g/s/metric.json"]
    for key in {key for key, _ in VALUES}:
        values = [value for (name, _), some in VALUES.items() if name == key for value in finite(some)]
        assert read[key][:6] == pytest.approx(expected(values), rel=1e-12, abs=1e-300), key


PIPELINE = """
import json, sys
from pathlib import Path

try:
    import tldextract, tokenizers  # of the blocks of datatrove that measure
    from refinery.stats import StatsMerger
except ImportError as error:
    sys.exit(f"SKIP: {error}")
from datatrove.data import Document
from datatrove.executor import LocalPipelineExecutor
from datatrove.pipeline.stats import DocStats, StatsMerger as TheirMerger

def passed_on(data, rank, world_size):
    Path(sys.argv[1], f"rank_{rank}").write_text(json.dumps([document.id for document in data]))
    return []

def main(folder):
    documents = [Document(text=f"Page {i}. " * (i + 1), id=str(i)) for i in range(20)]
    measure = [documents, DocStats(f"{folder}/in", groups_to_compute=["summary", "histogram"])]
    first = LocalPipelineExecutor(pipeline=measure, tasks=2, logging_dir=f"{folder}/log1")
    ours = [documents[:3], StatsMerger(f"{folder}/in", f"{folder}/ours"), passed_on]
    LocalPipelineExecutor(pipeline=ours, tasks=2, logging_dir=f"{folder}/log2", depends=first).run()
    theirs = [TheirMerger(f"{folder}/in", f"{folder}/theirs")]
    LocalPipelineExecutor(pipeline=theirs, tasks=2, logging_dir=f"{folder}/log3").run()

if __name__ == "__main__":
    main(sys.argv[1])
"""


def test_a_block_of_a_real_pipeline(datatrove: str, tmp_path: Path) -> None:
    """A pipeline of two tasks measures, ours merges as its own block does, and documents pass through."""
    script = tmp_path / "pipeline.py"
    script.write_text(PIPELINE, encoding="utf-8")
    environment = os.environ | {"PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "ignore"}
    done = subprocess.run(
        [datatrove, str(script), str(tmp_path)], capture_output=True, text=True, check=False, env=environment
    )
    if "SKIP: " in done.stderr:
        pytest.skip(f"the environment of datatrove cannot import refinery: {done.stderr.strip()}")
    assert done.returncode == 0, done.stderr
    ours, theirs = (
        {path.relative_to(tmp_path / name).as_posix(): json.loads(path.read_bytes()) for path in found}
        for name in ("ours", "theirs")
        if (found := sorted((tmp_path / name).rglob("metric.json")))
    )
    assert len(ours) > 10 and ours.keys() == theirs.keys()
    for name, keys in theirs.items():
        assert ours[name].keys() == keys.keys()
        for key, entry in keys.items():
            total = entry["total"] if isinstance(entry, dict) else entry
            assert ours[name][key]["total"] == pytest.approx(total), (name, key)
    for rank in range(2):
        assert json.loads((tmp_path / f"rank_{rank}").read_text()) == ["0", "1", "2"]
    assert f"StatsMerger('{tmp_path}/in'" in done.stderr  # as the log names the block


POOL = """
import sys
from pathlib import Path

try:
    from refinery.stats import StatsMerger
except ImportError as error:
    sys.exit(f"SKIP: {error}")
from datatrove.executor import LocalPipelineExecutor
from datatrove.pipeline.base import PipelineStep

if __name__ == "__main__":
    folder, method, log = sys.argv[1:]
    merger = StatsMerger(f"{folder}/in", f"{folder}/out", remove_input=True)
    assert isinstance(merger, PipelineStep), type(merger).__mro__
    stats = LocalPipelineExecutor([merger], tasks=2, workers=2, logging_dir=log, start_method=method).run()
    print(stats.stats[0].time_stats.n)
"""


@pytest.mark.parametrize("method", ["forkserver", "spawn", "fork"])
def test_a_step_in_a_pool_of_processes(datatrove: str, tmp_path: Path, method: str) -> None:
    """Each process merges its share and ends, and a damaged file ends the pipeline with its name."""
    (tmp_path / "pool.py").write_text(POOL, encoding="utf-8")
    for leaf in "abcd":
        (tmp_path / "in/g" / leaf).mkdir(parents=True)
        for rank in range(2):
            (tmp_path / "in/g" / leaf / f"{rank:05d}.json").write_text('{"k": {"total": 3, "n": 2, "mean": 1.5}}')
    (tmp_path / "in/g/d/00001.json").write_text('{"k": ')

    def pipeline(log: str) -> subprocess.CompletedProcess[str]:
        command = [datatrove, str(tmp_path / "pool.py"), str(tmp_path), method, str(tmp_path / log)]
        environment = os.environ | {"PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "ignore"}
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, env=environment, stdin=subprocess.DEVNULL, timeout=600
        )
        if "SKIP: " in done.stderr:
            pytest.skip(f"the environment of datatrove cannot import refinery: {done.stderr.strip()}")
        return done

    failed = pipeline("first")
    assert failed.returncode == 1 and f"DataError: {tmp_path}/in/g/d/00001.json: damaged JSON" in failed.stderr
    (tmp_path / "in/g/d/00001.json").write_text('{"k": 1}')
    done = pipeline("second")
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[-1] == "2"  # tasks whose time the step has tracked
    totals = {
        path.parent.name: json.loads(path.read_bytes())["k"]["total"] for path in tmp_path.rglob("out/g/*/metric.json")
    }
    assert totals == {"a": 6, "b": 6, "c": 6, "d": 4} and not list((tmp_path / "in").rglob("*.json"))
