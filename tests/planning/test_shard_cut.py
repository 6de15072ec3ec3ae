"""Size of shards: by the input, and by the cores of this machine or of the cluster."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import refinery
from refinery.execution.open import open_recipe
from refinery.inspect.explain import planned
from refinery.io.model import Source
from refinery.io.sources import cut, find
from refinery.io.splitting import expanded
from refinery.operators import Library
from refinery.planning.pipeline import prepare
from refinery.planning.plan import Plan
from refinery.planning.settings import PlanSettings
from refinery.planning.shard_cut import Capacity, shard_cut
from tests.runs import exported, rows, settings, texts, write_lines

MB = 1_000_000


def source(size: int, path: str = "in.jsonl") -> Source:
    return Source(path, "jsonl", None, ".jsonl", size)


def shards(size: int, capacity: Capacity | None, workers: int = 2, **keys: Any) -> tuple[int, int, str]:
    """Number of shards of an input, bytes of the largest, and the reason."""
    recipe, _ = open_recipe(settings(Path("no"), ["clean_ip_mapper"], work_dir="no", **keys), need_inputs=False)
    found = shard_cut(replace(PlanSettings.of(recipe, Library()).cut, workers=workers), [source(size)], capacity)
    pieces = cut([source(size)], found.size)
    return len(pieces), max(piece.size for piece in pieces), found.described(pieces)


@pytest.mark.parametrize(
    ("size", "cores", "count"),
    [
        (369 * MB, 2, 12),  # six for each core
        (369 * MB, 4, 24),
        (369 * MB, 64, 24),  # none below 16 MB
        (369 * MB, 1000, 24),
        (200_000 * MB, 640, 3840),
        (1_000_000 * MB, 640, 7813),  # none above shard_size
        (1_000_000 * MB, 1280, 7813),
        (5 * MB, 64, 1),
    ],
)
def test_a_cluster_shapes_shards(size: int, cores: int, count: int) -> None:
    for workers in (1, 2, 64):  # whatever the machine of the driver has
        found, largest, _ = shards(size, Capacity(cores, 2), workers)
        assert abs(found - count) <= 1 and largest <= 128 * MB
        assert largest >= min(size, 15 * MB)


def test_four_to_eight_for_each_core_where_sizes_allow() -> None:
    for cores in (1, 3, 16, 100, 640):
        for each in (100 * MB, 300 * MB, 760 * MB):
            assert 4 <= shards(each * cores, Capacity(cores, 1))[0] / cores <= 8


def test_the_reason_is_said() -> None:
    said = [
        shards(size * MB, Capacity(cores, nodes))[2]
        for size, cores, nodes in ((369, 2, 1), (369, 64, 4), (10**6, 640, 4))
    ]
    assert said[0] == "369.0 MB in 12 shards of at most 30.8 MB: 6 for each of 2 cores of the cluster's 1 node"
    assert said[1].endswith(
        "none is smaller than 16.0 MB, though 6 for each of 64 cores of the cluster's 4 nodes would be"
    )
    assert said[2].endswith(
        "none is larger than shard_size (128.0 MB); more than 6 for each of 640 cores of the cluster's 4 nodes"
    )
    assert shards(400 * MB, None)[2] == "400.0 MB in 24 shards of at most 16.7 MB: 12 for each of 2 workers"
    assert shards(400 * MB, None, shard_size=9 * MB)[2].endswith("more than 12 for each of 2 workers")


@pytest.mark.parametrize("count", [1, 3, 7, 100])
def test_a_number_of_shards(count: int) -> None:
    for capacity in (None, Capacity(64, 4)):
        found, _, why = shards(369 * MB, capacity, override_num_blocks=count, shard_size=5 * MB)
        assert found == count and why.endswith(f"override_num_blocks asks for {count}")


def groups_of(folder: Path, count: int, rows: int = 1000) -> list[Source]:
    """A Parquet file of groups of about 140 kB of text that compresses well."""
    table = pa.table({"text": [f"page {number} " + "of many words " * 10 for number in range(count * rows)]})
    pq.write_table(table, folder / "in.parquet", row_group_size=rows, use_dictionary=False)
    return find([folder / "in.parquet"])[0]


def ends(sources: list[Source], size: int, whole: int | None = MB) -> list[int]:
    """The rows at which shards end."""
    return [shard.end for shard in cut(sources, size, whole=whole)]


def test_groups_of_rows_stay_whole_but_for_the_last_ones(tmp_path: Path) -> None:
    sources = groups_of(tmp_path, 20)
    assert expanded(sources[0]) > 4 * sources[0].size
    found = ends(sources, expanded(sources[0]) // 24)
    assert found[:16] == list(range(1000, 17_000, 1000))  # of the last groups each is more than a fourth of the rest
    assert len(found) > 20 and set(range(1000, 20_001, 1000)) <= set(found)


def test_few_groups_are_cut(tmp_path: Path) -> None:
    sources = groups_of(tmp_path, 1)
    assert len(ends(sources, expanded(sources[0]) // 24)) == 8
    assert len(ends(sources, MB)) == 1  # a shard may be as large


def test_groups_above_the_limit_are_cut_wherever_they_are(tmp_path: Path) -> None:
    sources = groups_of(tmp_path, 20)
    size = expanded(sources[0]) // 40
    assert len(ends(sources, size, whole=None)) == 40 and len(ends(sources, size)) < 30


def test_a_number_of_shards_of_compressed_groups(tmp_path: Path) -> None:
    groups_of(tmp_path, 10)
    for count in (5, 10, 20):
        keys: dict[str, Any] = {"dataset_path": tmp_path / "in.parquet", "override_num_blocks": count}
        assert len(plan_of(tmp_path, **keys).shards) == count


def test_shards_of_groups_do_not_depend_on_workers(tmp_path: Path) -> None:
    groups_of(tmp_path, 10)
    keys: dict[str, Any] = {"dataset_path": tmp_path / "in.parquet", "shard_size": 200_000}
    found = []
    for np in (1, 3):
        run = refinery.run(settings(tmp_path, ["clean_ip_mapper"], np=np, work_dir=tmp_path / "run", **keys))
        found.append(sorted(rows(run, "shards", 'start, "end"')))
    assert len(found[0]) > 3 and found[0] == found[1]


def plan_of(folder: Path, **keys: Any) -> Plan:
    return prepare(*open_recipe(settings(folder, ["clean_ip_mapper"], **keys)))


def test_rows_do_not_depend_on_the_number(tmp_path: Path) -> None:
    write_lines(tmp_path / "in.jsonl", texts([f"page {number} of many" for number in range(500)]))
    runs = [
        refinery.run(
            settings(tmp_path, ["clean_ip_mapper"], override_num_blocks=count, np=2, work_dir=tmp_path / str(count))
        )
        for count in (1, 5, 13)
    ]
    assert [rows(run, "shards", "count(*)") for run in runs] == [[(1,)], [(5,)], [(13,)]]
    assert all(exported(run) == exported(runs[0]) for run in runs)


def test_another_number_than_asked_for_is_noted(tmp_path: Path) -> None:
    write_lines(tmp_path / "in.jsonl", texts(["a", "b"]))
    prepared = plan_of(tmp_path, override_num_blocks=1000)
    [note] = [note for note in prepared.notes if "override_num_blocks" in note]
    assert note.startswith(f"override_num_blocks: 1000 shards are asked for, there are {len(prepared.shards)}: ")
    assert not plan_of(tmp_path, override_num_blocks=2).notes


def test_the_plan_shows_shards_and_the_reason(tmp_path: Path) -> None:
    write_lines(tmp_path / "in.jsonl", texts(["a few words"] * 50))
    first = next(planned(plan_of(tmp_path, override_num_blocks=4), False))
    assert first.startswith("input: ") and "in 4 shards of at most" in first and "asks for 4" in first
