"""The export that shards write together: the same bytes whatever order they end in, errors instead of waiting for ever."""

from __future__ import annotations

import gzip
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refinery.errors import OutputError
from refinery.io.batch import LINE, Batch
from refinery.io.writers import shared_file
from refinery.io.writers.shared_file import SharedFile, share
from refinery.io.writers.write import PartWriter
from tests.examples import share_of


def lines_batch(lines: list[str]) -> Batch:
    count = len(lines)
    return Batch(True, pa.table({LINE: pa.array(lines, pa.string())}), np.arange(count), np.arange(1, count + 1))


def table_batch(table: pa.Table) -> Batch:
    return Batch(False, table, np.arange(len(table)), np.arange(1, len(table) + 1))


def open_shared(folder: Path, kind: str) -> SharedFile:
    (folder / "aside").mkdir(exist_ok=True)
    return SharedFile(str(folder / f"out.{kind}"), kind, folder / "aside")


def write(output: SharedFile, index: int, batches: list[Batch], lines: bool = True, packed: str | None = None) -> None:
    with PartWriter("unused", lines, packed, output.piece(index)) as writer:
        for batch in batches:
            writer.write(batch, np.arange(len(batch)))


def test_which_exports_are_shared(tmp_path: Path) -> None:
    path = str(tmp_path / "out.jsonl")
    made = share(path, "jsonl", 0, True, tmp_path)
    assert made is not None
    made.discard()
    assert share(path, "jsonl", 1000, True, tmp_path) is None
    assert share(path, "json", 0, True, tmp_path) is None
    assert share(path, "parquet", 0, True, tmp_path) is None
    assert share(path, "jsonl", 0, False, tmp_path) is None
    assert list(tmp_path.iterdir()) == []


@settings(max_examples=60)
@given(
    sizes=st.lists(st.lists(st.integers(0, 40), max_size=4), min_size=1, max_size=8),
    data=st.data(),
)
def test_the_order_of_ending_does_not_matter(tmp_path_factory: pytest.TempPathFactory, sizes, data) -> None:
    """Two threads, shards begun in order; how long each takes is drawn."""
    folder = tmp_path_factory.mktemp("shared")
    target = folder / "out.jsonl"
    texts = [[[f'{{"text": "{k} {i} {j}"}}\n' for j in range(n)] for i, n in enumerate(b)] for k, b in enumerate(sizes)]
    order = data.draw(st.permutations(range(len(texts))))
    output = open_shared(folder, "jsonl")
    pieces = [output.piece(k) for k in range(len(texts))]
    for k in order:  # nothing here is above what may be held, so none waits
        with PartWriter("unused", True, None, pieces[k]) as writer:
            for batch in texts[k]:
                writer.write(lines_batch(batch), np.arange(len(batch)))
    [written] = output.finish()
    expected = "".join(line for shard in texts for batch in shard for line in batch)
    assert target.read_text() == expected
    assert (written.rows, written.bytes) == (expected.count("\n"), len(expected))
    assert sorted(path.name for path in folder.iterdir()) == ["aside", "out.jsonl"]


@pytest.mark.parametrize("order", [(0, 1, 2, 3, 4), (4, 3, 2, 1, 0), (2, 0, 4, 1, 3)])
def test_what_is_held_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, order: tuple[int, ...]) -> None:
    """Data beyond the memory limit goes to files, which are removed afterwards; the export is the same."""
    monkeypatch.setattr(shared_file, "_HELD_BY_ONE", 100)
    monkeypatch.setattr(shared_file, "_HELD_BY_ALL", 250)
    texts = [[f'{{"text": "{k} {i} {"x" * (k * 7 % 90)}"}}\n' for i in range(k + 3)] for k in range(5)]
    output = open_shared(tmp_path, "jsonl")
    writers = {k: PartWriter("unused", True, None, output.piece(k)) for k in range(5)}
    aside = set()
    for writer in writers.values():
        writer.__enter__()
    for i in range(7):  # all shards at the same time, a line each
        for k in order:
            if i < len(texts[k]):
                writers[k].write(lines_batch([texts[k][i]]), np.arange(1))
                assert writers[k]._file._shard.held <= 100
    for k in order:
        aside |= {path.name for path in (tmp_path / "aside").iterdir()}
        writers[k].__exit__(None, None)
        assert output._held <= 250
    assert output.finish()[0].rows == sum(map(len, texts))
    assert (tmp_path / "out.jsonl").read_text() == "".join(line for shard in texts for line in shard)
    assert aside and list((tmp_path / "aside").iterdir()) == []


def test_threads_write_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_file, "_HELD_BY_ONE", 300)
    monkeypatch.setattr(shared_file, "_HELD_BY_ALL", 500)
    texts = [[f'{{"text": "{k} {i} {"x" * (k * 7 % 90)}"}}\n' for i in range(20)] for k in range(40)]
    output = open_shared(tmp_path, "jsonl")
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda k: write(output, k, [lines_batch([line]) for line in texts[k]]), range(40)))
    output.finish()
    assert (tmp_path / "out.jsonl").read_text() == "".join(line for shard in texts for line in shard)


def test_a_shard_that_fails_writes_nothing(tmp_path: Path) -> None:
    output = open_shared(tmp_path, "jsonl")
    with pytest.raises(ValueError, match="broken"), PartWriter("unused", True, None, output.piece(0)):
        raise ValueError("broken")
    write(output, 1, [lines_batch(['{"text": "waits for ever"}\n'])])
    output.discard()
    assert [path.name for path in tmp_path.iterdir()] == ["aside"]


def test_a_full_disk_is_told_with_the_exports_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    output = open_shared(tmp_path, "jsonl")
    monkeypatch.setattr("os.pwrite", full)
    with pytest.raises(OutputError, match=r"out\.jsonl: cannot be written: No space left.*Free some space"):
        write(output, 0, [lines_batch(['{"text": "a"}\n'])])
    output.discard()


def test_compressed_frames_are_one_file(tmp_path: Path) -> None:
    output = open_shared(tmp_path, "jsonl.gz")
    for k in (1, 0, 2):
        write(output, k, [lines_batch([f'{{"text": "{k}"}}\n'])] if k != 1 else [], packed="gz")
    [written] = output.finish()
    assert gzip.decompress((tmp_path / "out.jsonl.gz").read_bytes()) == b'{"text": "0"}\n{"text": "2"}\n'
    assert written.rows == 2


def test_nothing_to_write(tmp_path: Path) -> None:
    for kind in ("jsonl", "jsonl.gz", "jsonl.zst", "parquet"):
        [written] = open_shared(tmp_path, kind).finish()
        assert written.rows == 0
    assert (tmp_path / "out.jsonl").read_bytes() == b""
    assert gzip.decompress((tmp_path / "out.jsonl.gz").read_bytes()) == b""
    assert pq.read_table(tmp_path / "out.parquet").num_rows == 0


COLUMNS = pa.table(
    {
        "text": pa.array(["a", "größer", "", None, "x" * 5000] * 7, pa.large_string()),
        "n": pa.array([1, None, 3, 2**60, -5] * 7),
        "when": pa.array([0, 1, 2, 3, None] * 7, pa.timestamp("us", "UTC")),
        "nested": pa.array([{"a": [1, 2], "b": None}, None, {"a": [], "b": "y"}, {"a": None, "b": ""}, None] * 7),
        "dict": pa.array(["p", "q", "p", None, "q"] * 7).dictionary_encode(),
        "flag": pa.array([True, False, None, True, True] * 7),
    }
)


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (3, 1, 0, 2)])
def test_parquet_is_joined_by_its_footers(tmp_path: Path, order: tuple[int, ...]) -> None:
    target = tmp_path / "out.parquet"
    output = open_shared(tmp_path, "parquet")
    cuts = [(0, 10), (10, 10), (10, 12), (12, 35)]
    pieces = [output.piece(k) for k in range(4)]
    for k in order:
        with PartWriter("unused", False, None, pieces[k]) as writer:
            batch = table_batch(COLUMNS.slice(cuts[k][0], cuts[k][1] - cuts[k][0]))
            writer.write(batch, np.arange(len(batch)))
    [written] = output.finish()
    assert written.rows == 35
    assert pq.read_table(target).equals(COLUMNS)
    metadata = pq.read_metadata(target)
    assert [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)] == [10, 2, 23]
    other = duckdb.sql(f"SELECT text, n, nested.b FROM '{target}'").fetchall()
    assert other == [
        (text, n, nested and nested["b"])
        for text, n, nested in zip(*(COLUMNS[c].to_pylist() for c in ("text", "n", "nested")), strict=True)
    ]


def test_shards_with_other_types_are_written_anew(tmp_path: Path) -> None:
    target = tmp_path / "out.parquet"
    output = open_shared(tmp_path, "parquet")
    for k, values in enumerate(([None, None], [1.5, 2.5])):
        table = pa.table({"text": ["a", "b"], "score": pa.array(values)})
        write(output, k, [table_batch(table)], lines=False)
    [written] = output.finish()
    assert written.rows == 4
    assert pq.read_table(target)["score"].to_pylist() == [None, None, 1.5, 2.5]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["aside", "out.parquet"]


LINES = st.lists(
    st.sampled_from(
        ['{"text": "a"}\n', '{"text": "b" } \n', ' {"text": "c"}\n', '{"text": "d"}\r\n', '{"text": "e"}\t\n']
    ),
    min_size=1,
    max_size=60,
)


@settings(max_examples=share_of(150))
@given(lines=LINES, clean=st.booleans(), data=st.data())
def test_lines_that_stay_as_they_are(tmp_path_factory: pytest.TempPathFactory, lines, clean, data) -> None:
    """Lines written in runs or one by one keep leading blanks, lose trailing ones, and end with one line feed."""
    lines = [f'{{"n": {k}}}\n' for k in range(len(lines))] if clean else lines
    removed = data.draw(st.sets(st.integers(0, len(lines) - 1), max_size=data.draw(st.sampled_from([1, 5, 60]))))
    keep = np.array([k for k in range(len(lines)) if k not in removed], np.int64)
    base = tmp_path_factory.mktemp("lines") / "part"
    with PartWriter(base, True) as writer:
        writer.write(lines_batch(lines), keep)
    assert Path(f"{base}.jsonl").read_bytes().decode() == "".join(lines[k].rstrip() + "\n" for k in keep)
    assert writer.rows == len(keep)
