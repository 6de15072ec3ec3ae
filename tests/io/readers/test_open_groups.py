"""A group of rows in pieces: every piece has its rows, in whatever order, and a worker decompresses the group once."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from refinery.errors import DataError
from refinery.io.model import Shard
from refinery.io.readers import typed
from refinery.io.readers.open_groups import Group, GroupReader, open_groups
from refinery.io.readers.read import read
from refinery.io.readers.shared_decompression import relayed
from refinery.io.sources import cut, find
from tests.sampling import sampled

ROWS, GROUP = 4000, 2000


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[Group]:
    """Groups that readers are opened for."""
    found: list[Group] = []

    class Counted(GroupReader):
        def __init__(self, file: Any, group: Group, step: int) -> None:
            found.append(group)
            super().__init__(file, group, step)

    monkeypatch.setattr(typed, "GroupReader", Counted)
    return found


def pieces(folder: Path, page: int = 1 << 20) -> list[Shard]:
    """Two groups, each in several pieces."""
    table = pa.table({"id": range(ROWS), "text": [f"some text {number} " * 9 for number in range(ROWS)]})
    pq.write_table(table, folder / "a.parquet", row_group_size=GROUP, data_page_size=page, use_dictionary=False)
    return cut(find([folder / "a.parquet"])[0], 60_000)


def ids(shards: Sequence[Shard]) -> list[int]:
    return [row for shard in shards for batch in read(shard, 5000) for row in batch.table["id"].to_pylist()]


@pytest.mark.parametrize(("order", "page"), sampled([(o, p) for p in (1 << 20, 1000) for o in range(4)], every=2))
def test_pieces_have_their_rows_in_any_order(tmp_path: Path, order: int, page: int) -> None:
    shards = pieces(tmp_path, page)
    assert len(shards) > 8
    numbers = sorted(range(len(shards)), key=lambda k: (k, -k, k % 2, k * 7 % 11)[order])
    found = {number: ids([shards[number]]) for number in numbers}
    assert [row for number in range(len(shards)) for row in found[number]] == list(range(ROWS))


def test_one_reader_for_the_pieces_of_a_group(tmp_path: Path, opened: list[Group]) -> None:
    with relayed():
        assert ids(pieces(tmp_path)) == list(range(ROWS))
    assert [group.number for group in opened] == [0, 1]


def test_a_reader_for_each_worker(tmp_path: Path, opened: list[Group]) -> None:
    shards, found = pieces(tmp_path), {}
    left, lock = iter(range(len(shards))), threading.Lock()

    def work() -> None:
        while True:
            with lock:
                k = next(left, -1)
            if k < 0:
                return
            found[k] = ids([shards[k]])

    threads = [threading.Thread(target=work) for _ in range(3)]
    with relayed():
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert [row for k in range(len(shards)) for row in found[k]] == list(range(ROWS))
    assert len(opened) <= 3 * 2


def test_nothing_stays_open_after_a_run(tmp_path: Path, opened: list[Group]) -> None:
    shards = pieces(tmp_path)
    with relayed():
        ids(shards[:1])
    ids(shards[1:2])
    assert len(opened) == 2
    open_groups.close()


def test_a_piece_that_is_left_early_is_read_anew(tmp_path: Path, opened: list[Group]) -> None:
    shards = pieces(tmp_path)
    with relayed():
        for _ in range(2):
            batches = read(shards[0], 5000)
            next(batches)
            batches.close()  # type: ignore[attr-defined]
        assert ids(shards) == list(range(ROWS))
    assert len(opened) == 4


def test_a_file_that_is_written_anew_is_read_anew(tmp_path: Path) -> None:
    shards = pieces(tmp_path)
    with relayed():
        ids(shards[:1])
        path = Path(shards[0].source.path)
        table = pq.read_table(path)
        pq.write_table(table.set_column(0, "id", [pa.array(range(1, ROWS + 1))]), path, row_group_size=GROUP)
        os.utime(path, (1, 1))
        assert ids(shards[1:2])[0] == shards[1].start + 1


def test_damage_names_the_row(tmp_path: Path) -> None:
    shards = pieces(tmp_path, 1000)
    path = Path(shards[0].source.path)
    content = bytearray(path.read_bytes())
    place = pq.read_metadata(path).row_group(0).column(1)
    middle = place.data_page_offset + place.total_compressed_size // 2
    content[middle : middle + 200] = b"\xff" * 200
    path.write_bytes(content)
    damaged = [replace(shard, sources=tuple(find([path])[0])) for shard in shards]
    with pytest.raises(DataError, match=r"a\.parquet: reading failed after row \d{1,3}: (?s:.)*damaged"):
        ids(damaged)
