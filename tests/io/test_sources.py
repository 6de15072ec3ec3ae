"""Discovery of input files, their order, and their cuts into shards."""

import gzip
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from refinery.errors import DataError
from refinery.io.mixture import choose, sample, sample_numbers
from refinery.io.model import Source
from refinery.io.readers.read import count_rows, read
from refinery.io.sources import carrier, cut, find

LINE = b'{"text":"a"}\n'


def make(folder: Path, **files: bytes) -> Path:
    for name, content in files.items():
        path = folder / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder


def put(folder: Path, files: dict[str, bytes]) -> Path:
    return make(folder, **{name.replace("/", "__"): content for name, content in files.items()})


def found(folder: Path, *inputs: object, **options: object) -> list[str]:
    sources, _ = find(list(inputs), **options)
    return [str(Path(source.path).relative_to(folder)) for source in sources]


def test_a_folder_gives_its_files_sorted_and_says_what_it_passed_over(tmp_path: Path) -> None:
    names = ["b.jsonl", "a.json", "sub/c.parquet", "sub/.hidden/d.jsonl", ".e.jsonl", "_SUCCESS", "f.log", "g"]
    put(tmp_path, dict.fromkeys(names, LINE))
    pq.write_table(pa.table({"text": ["x"]}), tmp_path / "sub" / "c.parquet")
    sources, notes = find([str(tmp_path)])
    assert [Path(source.path).name for source in sources] == ["a.json", "b.jsonl"]
    assert notes == [
        f"{tmp_path}: skipped: 1 .log, of no known format, 3 hidden, a marker or a README, 1 parquet (most are "
        "jsonl, and a folder is read as one format; name the others to read them), 1 without suffix, of no known format"
    ]


def test_inputs_keep_their_order_and_number(tmp_path: Path) -> None:
    put(tmp_path, dict.fromkeys(["b.jsonl", "a.jsonl", "d/x.jsonl", "d/y.txt"], LINE))
    assert found(tmp_path, tmp_path / "b.jsonl", tmp_path / "a.jsonl") == ["b.jsonl", "a.jsonl"]
    assert found(tmp_path, str(tmp_path / "*.jsonl")) == ["a.jsonl", "b.jsonl"]
    assert found(tmp_path, str(tmp_path / "*")) == ["a.jsonl", "b.jsonl", "d/x.jsonl"]
    assert found(tmp_path, str(tmp_path / "**" / "*.jsonl")) == ["a.jsonl", "b.jsonl", "d/x.jsonl"]
    assert found(tmp_path, tmp_path, suffixes=["jsonl"]) == ["a.jsonl", "b.jsonl", "d/x.jsonl"]
    assert found(tmp_path, tmp_path, suffixes=".TXT") == ["d/y.txt"]
    sources, _ = find([tmp_path / "b.jsonl", tmp_path / "d" / "y.txt", tmp_path / "d"])
    assert [source.dataset for source in sources] == [0, 1, 2]


@dataclass
class Input:
    path: str
    format: str | None


def test_a_format_can_be_said(tmp_path: Path) -> None:
    put(tmp_path, {"a.data": LINE, "b.txt": LINE, "c.log": b"x\ty\n1\t2\n"})
    formats = {"a.data": "json", "b.txt": "jsonl.gz", "c.log": "tsv"}
    sources, _ = find([Input(str(tmp_path / name), form) for name, form in formats.items()])
    assert [source.format for source in sources] == ["jsonl", "jsonl", "tsv"]
    sources, _ = find([Input(str(tmp_path / "b.txt"), None), Input(str(tmp_path / "a.data"), "txt")])
    assert [source.format for source in sources] == ["text", "text"]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("data/docs.json", "no such file or folder. Did you mean 'docs.jsonl'?"),
        ("dta/docs.jsonl", "has no 'dta'. Did you mean 'data'?"),
        ("data/*.csv", "no file matches the pattern"),
        ("data/a.log", "files with suffix '.log' cannot be read. Rename it if it is one of: jsonl"),
        ("data/a.pdf", "Extract its text to a .txt file first"),
        ("data/a.jsonl.lz4", "files with suffix '.lz4' cannot be read. Unpack it first"),
        ("data/a.gz", "Name it by what it holds, such as a.jsonl.gz"),
        ("data/plain.jsonl.gz", "the name says gzip, but it holds no gzip data. Drop '.gz' from its name"),
        ("nodriver://bucket/a.jsonl", "nodriver://bucket: Protocol not known: nodriver"),
        ("empty", "no file to read"),
        ("data/bad.parquet", "no readable parquet file"),
        ("data/bad.arrow", "no readable arrow file"),
    ],
)
def test_what_cannot_be_read_is_refused_with_the_cure(tmp_path: Path, name: str, said: str) -> None:
    files = ["docs.jsonl", "a.log", "a.pdf", "a.jsonl.lz4", "a.gz", "plain.jsonl.gz", "bad.parquet", "bad.arrow"]
    put(tmp_path, {f"data/{file}": LINE for file in files})
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError) as error:
        cut(find([name if "://" in name else str(tmp_path / name)])[0])
    assert said in str(error.value)


def test_compression_is_told_by_the_bytes(tmp_path: Path) -> None:
    put(tmp_path, {"a.jsonl": gzip.compress(LINE), "b.jsonl.gz": gzip.compress(LINE)})
    put(tmp_path, {"c.jsonl.zst": pa.Codec("zstd").compress(LINE, asbytes=True)})
    sources, _ = find([tmp_path])
    assert [(source.compression, source.suffix) for source in sources] == [
        ("gzip", ".jsonl"),
        ("gzip", ".jsonl.gz"),
        ("zstd", ".jsonl.zst"),
    ]


def test_a_data_set_saved_by_datasets_is_read_without_its_notes(tmp_path: Path) -> None:
    put(tmp_path, dict.fromkeys(["dataset_info.json", "state.json"], b"{}"))
    table = pa.table({"text": ["a", "b"]})
    with pa.ipc.new_stream(str(tmp_path / "data-00000-of-00001.arrow"), table.schema) as writer:
        writer.write_table(table)
    [shard] = cut(find([tmp_path])[0])
    assert [batch.table["text"].to_pylist() for batch in read(shard)] == [["a", "b"]]


@pytest.mark.parametrize(
    ("formats", "expected"),
    [
        (["parquet", "parquet"], "typed"),
        (["csv", "tsv"], "typed"),
        (["text"], "typed"),
        (["parquet", "csv"], "lines"),
        (["text", "jsonl"], "lines"),
        (["jsonl", "json"], "lines"),
    ],
)
def test_carrier(formats: list[str], expected: str) -> None:
    assert carrier([Source("x", form, None, "", 1) for form in formats]) == expected


def test_a_link_to_its_own_parent_is_followed_once(tmp_path: Path) -> None:
    put(tmp_path, {"d/a.jsonl": LINE})
    (tmp_path / "d" / "loop").symlink_to(tmp_path)
    assert found(tmp_path, tmp_path) == ["d/a.jsonl"]


# Cutting


def test_the_shards_of_a_file_cover_it_once(tmp_path: Path) -> None:
    put(tmp_path, {"a.jsonl": LINE * 100, "b.jsonl.gz": gzip.compress(LINE), "c.json": b"[{}]"})
    shards = cut(find([tmp_path])[0], 500)
    assert [shard.index for shard in shards] == list(range(5))
    assert [(shard.start, shard.end) for shard in shards[:3]] == [(0, 433), (433, 866), (866, 1300)]
    assert [shard.starts_file for shard in shards] == [True, False, False, True, True]
    assert sum(shard.size for shard in shards) == sum(shard.source.size for shard in (shards[0], *shards[3:]))


def test_small_texts_share_a_shard(tmp_path: Path) -> None:
    put(tmp_path, {f"{k}.txt": b"x" * 10 for k in range(5)})
    shards = cut(find([tmp_path])[0], 25)
    assert [len(shard.sources) for shard in shards] == [2, 2, 1]
    assert shards[1].path_of(1) == str(tmp_path / "3.txt")
    assert sum(shard.size for shard in shards) == 50


@pytest.mark.parametrize("size", [1, 300, 2_000, 10**9])
def test_row_ranges_cover_a_table(tmp_path: Path, size: int) -> None:
    table = pa.table({"id": range(100), "text": ["some text " * (k % 7) for k in range(100)]})
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=30)
    shards = cut(find([tmp_path])[0], size)
    ranges = [(shard.start, shard.end) for shard in shards]
    assert ranges[0][0] == 0 and ranges[-1][1] == 100
    assert all(one[1] == two[0] for one, two in zip(ranges, ranges[1:], strict=False))
    assert sum(shard.size for shard in shards) == shards[0].source.size
    ids = [i for shard in shards for batch in read(shard) for i in batch.table["id"].to_pylist()]
    assert ids == list(range(100))
    assert [count_rows(shard) for shard in shards] == [end - start for start, end in ranges]


def test_files_whose_types_do_not_fit_are_named(tmp_path: Path) -> None:
    pq.write_table(pa.table({"text": ["a"], "n": pa.array([1], pa.int32())}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"text": ["a"], "n": pa.array([1], pa.int64()), "m": [1]}), tmp_path / "b.parquet")
    shards = cut(find([tmp_path])[0])
    assert str(shards[0].schema) == "text: string\nn: int64\nm: int64"
    rows = [{"text": "a", "n": 1, "m": None}, {"text": "a", "n": 1, "m": 1}]
    assert [row for shard in shards for batch in read(shard) for row in batch.table.to_pylist()] == rows
    assert [row for shard in cut(find([tmp_path])[0], 1) for row in next(read(shard)).table.to_pylist()] == rows
    pq.write_table(pa.table({"text": ["a"], "n": ["x"]}), tmp_path / "c.parquet")
    with pytest.raises(DataError, match=r"column 'n' is int32 in .*a\.parquet, but string in .*c\.parquet"):
        cut(find([tmp_path])[0])


def test_structs_grow_together(tmp_path: Path) -> None:
    pq.write_table(pa.table({"m": [{"a": 1}], "d": pa.array(["x"]).dictionary_encode()}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"m": [{"b": "y"}], "d": ["z"]}), tmp_path / "b.parquet")
    rows = [row for shard in cut(find([tmp_path])[0]) for row in next(read(shard)).table.to_pylist()]
    assert rows == [{"m": {"a": 1, "b": None}, "d": "x"}, {"m": {"a": None, "b": "y"}, "d": "z"}]


# Mixtures


def test_numbers_of_samples_are_data_juicers() -> None:
    assert sample_numbers([1, 1, 1], 10) == [4, 4, 2]
    assert sample_numbers([0.3, 0.7], 100) == [30, 70]
    assert sample_numbers([1, 0, 1], 1) == [1, 0, 0]
    # recorded: random_sample of 50 rows, seed 42
    assert choose(50, 7).tolist() == [5, 20, 25, 27, 39, 47, 49]
    assert choose(3, 7).tolist() == [0, 1, 2]


def test_a_mixture_takes_the_chosen_rows_of_each_data_set(tmp_path: Path) -> None:
    lines = [b'{"id":%d}\n' % k for k in range(50)]
    put(tmp_path, {"a.jsonl": b"".join(lines[:3] + [b"broken\n"] + lines[4:])})
    put(tmp_path, {f"t/{k:02}.txt": b"%d" % k for k in range(20)})
    shards = cut(find([tmp_path / "a.jsonl", tmp_path / "t"])[0], 100)
    chosen, notes = sample(shards, [0.9, 0.1], 50, workers=2)
    wanted = choose(50, 45)
    assert sum(map(count_rows, chosen)) == 50 and notes == []
    ids, rows, bad = [], [], 0
    for shard in chosen:
        numbers = []
        for batch in read(shard, batch_bytes=50):
            bad += len(batch.bad)
            numbers += batch.rows.tolist() + [b.row for b in batch.bad]
            ids += [batch.sample(i).get("id") for i in range(len(batch)) if shard.source.format == "jsonl"]
        rows.append(sorted(numbers))
    assert [row for row in rows] == [list(range(count_rows(shard))) for shard in chosen]
    assert ids == [k for k in wanted if k != 3] and bad == int(3 in wanted)
    assert [shard.index for shard in chosen] == list(range(len(chosen)))
    short, notes = sample(shards, [0, 1], 30)
    assert sum(map(count_rows, short)) == 20
    assert notes == ["data set 2 has 20 samples where its weight asks for 30"]
    assert sample(shards, [1, 1], None)[0] == shards
    with pytest.raises(DataError, match="weight 0"):
        sample(shards, [0, 0], 5)
    assert np.array_equal(wanted, np.sort(wanted))
