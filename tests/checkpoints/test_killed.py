"""A run that is killed, at whatever moment, and run again leaves what an undisturbed one leaves."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from refinery.api import Run
from refinery.results.database import Counts
from tests.checkpoints.forks import Forks
from tests.runs import content, write_lines
from tests.sampling import sampled

STEPS: list[Any] = [
    {"clean_email_mapper": None},
    {"words_num_filter": {"min_num": 8}},
    {"document_minhash_deduplicator": {"num_permutations": 64, "jaccard_threshold": 0.7}},
    {"clean_links_mapper": None},
    {"text_length_filter": {"min_len": 60, "max_len": 400}},
]
# Written from tables, put together from parts, and written by all shards together.
KINDS = ("parquet", "json", "jsonl")
FEW, MANY = 32_000, 16_000  # bytes of a shard, for few shards and for many


@pytest.fixture(scope="module")
def forks() -> Iterator[Forks]:
    found = Forks()
    yield found
    found.close()


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Some hundred samples with copies, addresses, links and lines that are none."""
    dice = random.Random(4)
    words = [f"word{k}" for k in range(300)]
    known: list[str] = []
    lines: list[Any] = []
    for k in range(500):
        if known and dice.random() < 0.3:
            text = dice.choice(known) + dice.choice(["", " once more"])
        else:
            text = " ".join(dice.choices(words, k=dice.randint(4, 60))) + f" a{k % 9}@b.com http://x.y/{k}"
            known.append(text)
        lines.append({"id": k, "text": text} if k % 90 else '{"id": 1, "text": ')
    path = write_lines(tmp_path_factory.mktemp("killed") / "in.jsonl", lines)
    good = [line for line in lines if isinstance(line, dict)]
    pq.write_table(pa.Table.from_pylist(good), path.with_suffix(".parquet"), row_group_size=60)
    return path


def recipe(samples: Path, folder: Path, kind: str, size: int) -> dict[str, Any]:
    return {
        "dataset_path": str(samples.with_suffix(".parquet") if kind == "parquet" else samples),
        "export_path": str(folder / f"out.{kind}"),
        "work_dir": str(folder / "run"),
        "np": 2,
        "shard_size": size,
        "open_tracer": True,
        "trace_num": 3,
        "process": STEPS,
    }


def left(folder: Path) -> tuple[Any, bytes, list[str]]:
    """Tables, export, and the names of all other files but logs."""
    [export] = [path for path in folder.glob("out.*")]
    run = Run(folder / "run", folder / "run" / "refinery.duckdb", (export,), Counts(0, 0, 0, 0), (), 0.0, 0)
    names = sorted(
        str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file() and "log" not in path.parts
    )
    return content(run), export.read_bytes(), names


@dataclass(frozen=True)
class Undisturbed:
    """Cost of a run, in seconds and operations on files, and its results."""

    seconds: float
    operations: int
    left: tuple[Any, bytes, list[str]]


@pytest.fixture(scope="module")
def undisturbed(
    tmp_path_factory: pytest.TempPathFactory, forks: Forks, samples: Path
) -> Callable[[str, int], Undisturbed]:
    """Cost and results of an undisturbed run, by format and size of shards."""

    @cache
    def run(kind: str, size: int) -> Undisturbed:
        folder = tmp_path_factory.mktemp(kind)
        answer = forks.run(recipe(samples, folder, kind, size))
        assert answer["code"] == 0 and answer["reused"][0] == 0 and answer["reused"][1] > (12 if size == MANY else 6)
        found = left(folder)
        assert len(found[0]["quarantine"]) == (0 if kind == "parquet" else 6) and len(found[0]["clusters"]) > 50
        return Undisturbed(answer["seconds"], answer["operations"], found)

    return run


def asked_kill(share: float, clock: bool, whole: Undisturbed) -> dict[str, Any]:
    """When to kill a run that has done this share of its work: by the clock, or by what it does to files."""
    return {"kill": share * whole.seconds} if clock else {"at": 1 + int(share * whole.operations)}


@pytest.mark.parametrize(("moments", "clock", "size"), sampled([(2, False, FEW), (30, True, MANY)]))
def test_killed_at_any_moment(
    moments: int,
    clock: bool,
    size: int,
    tmp_path: Path,
    forks: Forks,
    samples: Path,
    undisturbed: Callable[[str, int], Undisturbed],
) -> None:
    dice = random.Random(11)
    reused = []
    for moment in range(moments):
        kind = KINDS[moment % len(KINDS)]
        whole = undisturbed(kind, size)
        expected = whole.left
        folder = tmp_path / str(moment)
        folder.mkdir()
        asked = recipe(samples, folder, kind, size)
        forks.run(asked, **asked_kill((moment + dice.uniform(0.02, 1.0)) / moments, clock, whole))
        answer = forks.run(asked)
        assert answer["code"] == 0, moment
        found = left(folder)
        for table, rows in expected[0].items():
            assert found[0][table] == rows, (moment, table)
        assert found[1:] == expected[1:], moment
        reused.append(answer["reused"][0])
    assert sum(count > 0 for count in reused) > moments // 4  # others were killed before a shard was done
    assert len(set(reused)) > min(3, moments // 4)


@pytest.mark.parametrize(
    ("shares", "clock", "size"), sampled([((0.4, 0.6), False, FEW), ((0.4, 0.45, 0.5, 0.55, 0.6), True, MANY)])
)
def test_killed_again_and_again(
    shares: tuple[float, ...],
    clock: bool,
    size: int,
    tmp_path: Path,
    forks: Forks,
    samples: Path,
    undisturbed: Callable[[str, int], Undisturbed],
) -> None:
    """One run gets to its end in steps, each of which ends a little later than the one before."""
    asked = recipe(samples, tmp_path, "jsonl", size)
    whole = undisturbed("jsonl", size)
    for share in shares:
        forks.run(asked, **asked_kill(share, clock, whole))
    assert forks.run(asked)["code"] == 0
    assert left(tmp_path) == whole.left
