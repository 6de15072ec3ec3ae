"""Tables of a corpus' state: the last file with a row has its values."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refinery.corpus import levels
from refinery.corpus.incremental import segments
from refinery.corpus.incremental.seals import DamagedState, Seal, Seals
from refinery.corpus.incremental.segments import Segments
from tests.examples import share_of

CHANGES = st.lists(st.dictionaries(st.integers(0, 40), st.integers(0, 9), max_size=20), max_size=9)


@given(changes=CHANGES, wanted=st.sets(st.integers(0, 45)), forgotten=st.sets(st.integers(0, 45), max_size=5))
@settings(max_examples=share_of(200), deadline=None)
def test_rows_have_their_last_values(
    tmp_path_factory: Any, changes: list[dict[int, int]], wanted: set[int], forgotten: set[int]
) -> None:
    folder = Path(tmp_path_factory.mktemp("table"))
    table, group, each = Segments(folder, Seals(folder, {}), ("texts",)), segments.GROUP, levels.EACH
    segments.GROUP, levels.EACH = 3, 2
    try:
        last: dict[int, int] = {}
        for number, values in enumerate(changes):
            last |= values
            rows = np.array(sorted(values), np.int64)
            own = pa.table({"_row": rows, "value": [values[row] for row in rows.tolist()]})
            table.append(number, own, texts=pa.table({"text": [str(values[row]) for row in rows.tolist()]}))
            table.merge(number)
        assert len(table.files) < 3 + len(changes) // 4
        table.forget(np.array(sorted(forgotten), np.int64))
        last = {row: value for row, value in last.items() if row not in forgotten}
    finally:
        segments.GROUP, levels.EACH = group, each
    rows = np.array(sorted(wanted), np.int64)
    assert table.known(rows).tolist() == [row in last for row in rows.tolist()]
    there = sorted(wanted & last.keys())
    assert table.take(rows).to_pylist() == [{"_row": row, "value": last[row]} for row in there]
    if last:
        assert table.take(rows, of="texts")["text"].to_pylist() == [str(last[row]) for row in there]
        assert table.take(rows, ["value"])["value"].to_pylist() == [last[row] for row in there]


def test_all_lines_of_a_row_are_merged_where_all_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(levels, "EACH", 2)
    seals = Seals(tmp_path, {})
    every, last = Segments(tmp_path / "every", seals, every=True), Segments(tmp_path / "last", seals)
    for table in (every, last):
        for number, row in enumerate([[1, 1, 3], [1, 2]]):
            table.append(number, pa.table({"_row": np.array(row, np.int64), "at": [number] * len(row)}))
            table.merge(number)
        assert [file.name for file in table.files] == ["000001.parquet"]
    assert pq.read_table(every.files[0]).to_pydict() == {"_row": [1, 1, 1, 2, 3], "at": [0, 0, 1, 1, 0]}
    assert pq.read_table(last.files[0]).to_pydict() == {"_row": [1, 2, 3], "at": [1, 1, 0]}


def flip(path: Path, at: int) -> None:
    """Change one byte of a file in its place."""
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)


def test_only_what_is_read_is_compared_with_its_seal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segments, "GROUP", 4)
    known: dict[str, Seal] = {}
    rows = np.arange(12)
    Segments(tmp_path, Seals(tmp_path, known)).append(0, pa.table({"_row": rows, "at": rows * 3}))
    [(name, seal)] = known.items()
    assert (len(seal.ends), seal.size) == (4, (tmp_path / name).stat().st_size)
    flip(tmp_path / name, seal.ends[1] - 20)  # in the second of three groups
    table = Segments(tmp_path, Seals(tmp_path, known))
    assert table.take(np.array([1, 9]))["at"].to_pylist() == [3, 27]
    for reads in (
        lambda: table.take(np.array([1, 5])),
        lambda: table.known(np.array([5])),
        lambda: table.forget(np.array([1])),
        lambda: list(table.rows_by_file()),
        table.names,
    ):
        with pytest.raises(DamagedState, match="other contents"):
            reads()
    flip(tmp_path / name, seal.ends[1] - 20)
    assert table.take(np.array([5]))["at"].to_pylist() == [15]
    flip(tmp_path / name, seal.ends[2] + 20)  # in what describes the groups
    with pytest.raises(DamagedState, match="other contents"):
        Segments(tmp_path, Seals(tmp_path, known)).take(np.array([1]))
    with pytest.raises(DamagedState, match="no file of the state"):
        Segments(tmp_path, Seals(tmp_path, {})).names()
