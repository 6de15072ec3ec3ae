"""`refinery refilter` on recipes with deduplicators: what stands before the change is taken as it was found."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.dedup.test_stages import STEPS as STAGES
from tests.dedup.test_stages import documents
from tests.inspect.refilter.refiltered import prepared, same_as_fresh
from tests.sampling import sampled


@pytest.fixture(scope="module")
def staged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return prepared(tmp_path_factory.mktemp("staged"), documents(), STAGES, shard_size=2500)


STAGED: list[dict[str, Any]] = [
    {"process.11.where": "text_len_7 + text_len_2 > 8", "open_tracer": True},
    {"process.11.where": "text_len_7 + text_len_2 > 20"},
    {"process.6.frequency_threshold": 2},
    {"process.7.min_len": 4},
]


@pytest.mark.parametrize("changes", sampled(STAGED, every=2))
def test_deduplicators_before_and_after(staged: Path, tmp_path: Path, changes: dict[str, Any]) -> None:
    found = same_as_fresh(staged, tmp_path, changes)
    step = int(next(iter(changes)).split(".")[1])
    after = {6: 6, 7: 8}.get(step)
    assert (f"step {after}, " in found.notes[0]) == (after is not None)


def test_tables_as_input(tmp_path: Path) -> None:
    steps = [*STAGES[:4], {"sql_filter": {"where": "text_len > 5"}}]
    recipe = prepared(tmp_path, documents(), steps, "parquet", export_path=tmp_path / "run" / "out.parquet")
    assert same_as_fresh(recipe, tmp_path, {"process.5.where": "text_len > 8"}).again == 0
