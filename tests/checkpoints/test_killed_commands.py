"""Commands beside `run`, and ways to run beside the usual one, killed before each of their operations on files.

What was there before is whole afterwards, and the next run leaves what an undisturbed one leaves.
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from refinery.storage.run_folder import RunDir
from tests.checkpoints.forks import Forks
from tests.runs import settings, texts, write_lines
from tests.sampling import named
from tests.soak.machine import left

STEPS: list[Any] = [
    {"clean_links_mapper": None},
    {"document_deduplicator": None},
    {"text_length_filter": {"min_len": 14}},
]
SAMPLES = texts(f"text {k % 60} " + "x" * (k % 9) + " http://a.b/c" * (k % 4 == 0) for k in range(120))
# Operations at which each command is killed: one of them, or many and the first and the last one.
some = pytest.mark.parametrize("some", [1, pytest.param(12, marks=pytest.mark.long)])


@pytest.fixture(scope="module")
def forks() -> Iterator[Forks]:
    found = Forks()
    yield found
    found.close()


def asked(folder: Path, source: Path, **keys: Any) -> dict[str, Any]:
    suffix = keys.pop("suffix", "jsonl")
    places = {"export_path": folder / f"out.{suffix}", "work_dir": folder / "run", "dataset_path": source}
    return settings(folder, STEPS, np=2, shard_size=2500, open_tracer=True, trace_num=3, **places, **keys)


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("source") / "in.jsonl"
    write_lines(path, [*SAMPLES, "broken"])
    pq.write_table(pa.Table.from_pylist(SAMPLES), path.with_suffix(".parquet"), row_group_size=20)
    return path


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory, forks: Forks, source: Path) -> Path:
    """A folder with a finished run, to be copied."""
    folder = tmp_path_factory.mktemp("finished")
    answer = forks.run(asked(folder, source))
    assert answer["code"] == 0, answer["error"]
    return folder


def moments(count: int, some: int) -> Sequence[int]:
    """Numbers of operations: one of them, or the first, the last and some between."""
    assert count > 1
    ends = {1, count} if some > 1 else set()
    return sorted({*ends, *random.Random(count).sample(range(1, count + 1), min(some, count))})


@some
def test_gc(some: int, tmp_path: Path, forks: Forks, finished: Path, source: Path) -> None:
    """Freeing is over with the next command, and a run does not use what is left of half of it."""
    whole = tmp_path / "whole"
    shutil.copytree(finished, whole)
    answer = forks.command(["gc", str(whole)])
    assert answer["code"] == 0
    for at in moments(answer["operations"], some):
        folder = tmp_path / str(at)
        shutil.copytree(finished, folder)
        before = left(folder)
        assert forks.command(["gc", str(folder)], at=at)["code"] == -9
        assert left(folder) == before  # results are not touched
        assert forks.run(asked(folder, source))["code"] == 0
        assert left(folder) == before


@pytest.mark.long
@some
def test_report(some: int, tmp_path: Path, forks: Forks, finished: Path) -> None:
    """A page is there whole or not at all; what a kill leaves in the run's own folder goes with the next run."""
    whole = tmp_path / "whole"
    shutil.copytree(finished, whole)
    answer = forks.command(["report", str(whole / "run")])
    assert answer["code"] == 0, answer["error"]
    page = RunDir(whole / "run").report
    names = _names(whole)
    for at in moments(answer["operations"], some):
        folder = tmp_path / str(at)
        shutil.copytree(finished, folder)
        before = left(folder)
        assert forks.command(["report", str(folder / "run")], at=at)["code"] == -9
        assert not RunDir(folder / "run").report.exists() or RunDir(folder / "run").report.read_text().endswith(">\n")
        assert forks.command(["report", str(folder / "run")])["code"] == 0
        unfinished = {str(path.relative_to(folder)) for path in RunDir(folder / "run").unfinished()}
        assert left(folder) == before and {*_names(folder)} - unfinished == {*names}
        assert len(RunDir(folder / "run").report.read_text()) > len(page.read_text()) // 2


def _names(folder: Path) -> list[str]:
    return sorted(
        str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file() and "log" not in path.parts
    )


@pytest.mark.parametrize(
    "keys",
    named(
        {
            "use_cache": {"use_cache": False},
            "parquet": {"suffix": "parquet", "workers": "threads"},
            "parquet-columns": {"suffix": "parquet", "workers": "threads", "columns": True},
            "gzip-stats": {"suffix": "jsonl.gz", "keep_stats_in_res_ds": True},
        },
        "use_cache",
    ),
)
@some
def test_ways_to_run(some: int, tmp_path: Path, forks: Forks, source: Path, keys: dict[str, Any]) -> None:
    """Runs that keep nothing afterwards, or write Parquet by threads, are gone on with as all others."""
    keys = dict(keys)
    read = source.with_suffix(".parquet") if keys.pop("columns", False) else source
    fresh = tmp_path / "fresh"
    answer = forks.run(asked(fresh, read, **keys))
    assert answer["code"] == 0, answer["error"]
    expected = left(fresh), _names(fresh)
    for at in moments(answer["operations"], some):
        folder = tmp_path / str(at)
        # Threads take turns, so a run may have an operation less than the one before: it ends then.
        assert forks.run(asked(folder, read, **keys), at=at)["code"] in (-9, 0)
        answer = forks.run(asked(folder, read, **keys))
        assert answer["code"] == 0, (at, answer["error"])
        assert (left(folder), _names(folder)) == expected, at
