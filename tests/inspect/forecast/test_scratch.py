"""Scratch files are laid out like the input, and what workers decompress again is counted."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from refinery.inspect.forecast.reading import is_measured, largest_bytes, page_bytes, reading_again, reading_alone
from refinery.inspect.forecast.sampled import Sample, sample, size_of
from refinery.inspect.forecast.scratch import ScratchCut
from refinery.io.model import Shard
from refinery.io.sources import cut, search

ROWS = 4000


@pytest.fixture
def shards(tmp_path: Path) -> list[Shard]:
    texts = [f"text {number} " * 20 for number in range(ROWS)]
    path = tmp_path / "data.parquet"
    pq.write_table(pa.table({"text": texts}), path, row_group_size=1000, compression="gzip", use_dictionary=False)
    return cut(search([str(path)])[0], 8000)


def drawn_from(shards: list[Shard], folder: Path, pieces: ScratchCut) -> Sample:
    folder.mkdir()
    sources = [shards[0].source]
    return sample(sources, shards, 0.5, size_of(sources, shards), folder, pieces)


def test_parquet_has_groups_for_each_shard_and_the_compression_of_the_input(
    shards: list[Shard], tmp_path: Path
) -> None:
    drawn = drawn_from(shards, tmp_path / "scratch", ScratchCut(2, 6, 0.1))
    [source] = drawn.sources
    metadata = pq.read_metadata(source.path)
    column = metadata.row_group(0).column(0)
    groups = [metadata.row_group(number).num_rows for number in range(metadata.num_row_groups)]
    assert groups == [shard.end - shard.start for shard in drawn.shards] and column.compression == "GZIP"
    assert not any("DICT" in name for name in column.encodings)
    assert metadata.num_rows == len(drawn.groups) == drawn.shards[-1].end
    assert len(drawn.shards) == 8 and drawn.first == 2
    assert 0.07 < drawn.shards[1].end / metadata.num_rows < 0.13  # the share of the first ones
    assert [shard.start for shard in drawn.shards[1:]] == [shard.end for shard in drawn.shards[:-1]]
    assert sum(shard.size for shard in drawn.shards) == source.size


def test_groups_of_a_shard_are_no_larger_than_those_of_the_input(shards: list[Shard], tmp_path: Path) -> None:
    [source] = drawn_from(shards, tmp_path / "scratch", ScratchCut(1, 1, 0.0)).sources
    assert [pq.read_metadata(source.path).row_group(number).num_rows for number in range(2)] == [1000, 1000]


def test_a_group_in_pieces_is_decompressed_by_each_worker(shards: list[Shard]) -> None:
    whole = largest_bytes([Shard(0, shards[0].sources, 0, 1000, lines=False)])

    def pieces(*cuts: int) -> list[Shard]:
        return [
            Shard(index, shards[0].sources, start, end, lines=False)
            for index, (start, end) in enumerate(zip(cuts, cuts[1:], strict=False))
        ]

    def groups(workers: int, *cuts: int) -> float:
        return reading_again(pieces(*cuts), workers, lambda source: 1.0) / whole

    assert groups(2, 0, 1000, 2000, 3000, ROWS) == groups(2, 0, ROWS) == 0
    assert groups(2, 0, 500, 1000, ROWS) == pytest.approx(1, rel=0.01)
    assert groups(2, 0, 300, 600, 1000, ROWS) == pytest.approx(1, rel=0.01)
    assert groups(3, 0, 300, 600, 1000, ROWS) == pytest.approx(2, rel=0.01)
    assert groups(1, 0, 300, 600, 1000, ROWS) == 0


def test_tasks_that_read_a_shard_each_decompress_its_groups(shards: list[Shard]) -> None:
    def read(*bounds: tuple[int, int]) -> float:
        pieces = [Shard(index, shards[0].sources, *ends, lines=False) for index, ends in enumerate(bounds)]
        return reading_alone(pieces, lambda source: 1.0)

    group = read((0, 1000))
    assert read((0, 500), (500, 1000)) == 2 * group and read((300, 301)) == group
    assert read((0, -1)) == read((0, ROWS)) == pytest.approx(4 * group, rel=0.1)
    assert read((999, 1001)) == read((0, 2000)) == pytest.approx(2 * group, rel=0.1)


def test_the_largest_shard_and_page_of_parquet_are_known(shards: list[Shard]) -> None:
    halves, whole = ([Shard(0, shards[0].sources, 0, end, lines=False)] for end in (ROWS // 2, ROWS))
    assert is_measured(whole) and largest_bytes([*halves, *whole]) == largest_bytes(whole)
    assert largest_bytes(halves) == pytest.approx(largest_bytes(whole) / 2, rel=0.05)
    last = pq.read_metadata(shards[0].source.path).row_group(3)  # its numbers are the longest
    assert (
        page_bytes(whole, whole) == page_bytes(whole) == pytest.approx(last.column(0).total_uncompressed_size, rel=0.15)
    )


def test_files_of_lines_are_not_decompressed(tmp_path: Path) -> None:
    path = tmp_path / "data.jsonl"
    path.write_text('{"text": "a"}\n' * 50)
    shards = cut(search([str(path)])[0], 100)
    assert reading_again(shards, 2, lambda source: 1.0) == 0.0
    assert not is_measured(shards) and page_bytes(shards) == 0
    assert largest_bytes(shards) == path.stat().st_size / len(shards)
