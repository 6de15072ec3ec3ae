"""`adaptive_batch_size`: batches and shards that fit the samples and the memory; the results are the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import refinery
from refinery.compiler.layers import Layers
from refinery.compiler.model import Chain
from refinery.planning import sizes
from refinery.planning.sizes import BATCH, ROWS, Sizes, batch_sizes, shard_bytes, sizes_within
from refinery.workers.facts import ComputedFacts
from tests.runs import content, exported, refine, settings, texts

MB = 1 << 20
STEPS: list[Any] = [
    {"clean_email_mapper": None},
    {"words_num_filter": {"min_num": 2}},
    {"sql_mapper": {"text": "upper(text)"}},
    {"text_length_filter": {"min_len": 9}},
]


def chain(versions: int) -> Chain:
    found = Chain([], Layers(set()), "", [], [], {}, {}, {}, {}, set(), set())
    found.changes += [None] * versions  # type: ignore[list-item]
    return found


@pytest.mark.parametrize(
    ("row", "versions", "limit", "workers", "expected"),
    [
        (100.0, 2, 4 << 30, 1, (16 * MB, 1 << 17)),  # short rows: as many as are planned for at little cost
        (1000.0, 2, 4 << 30, 1, (16 * MB, 16 * MB // 1000)),
        (100_000.0, 2, 256 * MB, 1, (8 * MB, 8 * MB // 100_000)),  # a share of the memory for four versions
        (100_000.0, 6, 256 * MB, 2, (2 * MB, 2 * MB // 100_000)),
        (9e6, 6, 16 * MB, 2, (MB, 1)),  # never so little that planning is what takes the time
    ],
)
def test_batches(row: float, versions: int, limit: int, workers: int, expected: tuple[int, int]) -> None:
    found = batch_sizes(row, [chain(0), chain(versions)], limit, workers)
    assert (found.bytes, found.rows) == expected


def test_batches_of_samples_that_were_not_measured_fit_a_small_memory_limit() -> None:
    assert sizes_within([chain(0), chain(2)], 4 << 30, 2) == Sizes()
    assert sizes_within([chain(0), chain(2)], 256 * MB, 2) == Sizes(4 * MB)


def test_what_is_not_known_is_not_adapted(monkeypatch: pytest.MonkeyPatch) -> None:
    assert batch_sizes(None, [chain(1)], None, 2) == Sizes(BATCH, ROWS)
    assert shard_bytes(None, 77, 10, None, 2) == 77
    monkeypatch.setattr(sizes, "share_of_memory", lambda workers: 800 * MB // workers)
    assert batch_sizes(1e6, [chain(8)], None, 2).bytes == 5 * MB


def test_shards_of_short_rows_are_smaller() -> None:
    assert shard_bytes(10.0, 128 * MB, 30, 1 << 30, 2) < shard_bytes(100.0, 128 * MB, 30, 1 << 30, 2) < 128 * MB
    assert shard_bytes(10_000.0, 128 * MB, 30, 1 << 30, 2) == 128 * MB
    assert shard_bytes(1.0, 128 * MB, 30, 1 << 20, 2) == 4 * MB


@pytest.mark.parametrize(("length", "count"), [(3, 9000), (15_000, 40)])
def test_the_same_results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, length: int, count: int) -> None:
    samples: list[Any] = texts(f"mail me{n}@example.org or {n % 7 * 'word '}" * (length // 3) for n in range(count))
    samples.insert(5, "no json")
    plain = refine(tmp_path, samples, STEPS)
    batches: list[int] = []
    attempt = ComputedFacts.attempt

    def counted(self: ComputedFacts, batch: Any, *rest: Any) -> Any:
        batches.append(len(batch))
        return attempt(self, batch, *rest)

    monkeypatch.setattr(ComputedFacts, "attempt", counted)
    keys: dict[str, Any] = {"adaptive_batch_size": True, "memory_limit": "64MB", "use_cache": False}
    run = refinery.run(settings(tmp_path, STEPS, work_dir=tmp_path / "other", np=2, **keys))
    assert exported(run) == exported(plain)
    assert content(run, "shards") == content(plain, "shards")
    assert run.warnings == plain.warnings
    assert max(batches) > ROWS if length == 3 else max(batches) < 10
