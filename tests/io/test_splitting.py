"""However a file is cut, its pieces give what the whole file gives: the same samples, the same bad ones, the same lines."""

from __future__ import annotations

import gzip
import io
import json
import random
import threading
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refinery.errors import DataError
from refinery.io.batch import BadSample
from refinery.io.model import Shard, Source
from refinery.io.readers import shared_decompression
from refinery.io.readers.read import count_rows, read
from refinery.io.sources import cut, find
from tests.sampling import sampled

WHOLE = 1 << 40


def samples_of(shards: Sequence[Shard], order: Sequence[int] | None = None) -> tuple[list[bytes], list[BadSample], int]:
    """Good samples and bad ones with the lines and rows counted through the file; the lines of all shards."""
    found = {}
    for k in order or range(len(shards)):
        good, bad, seen = [], [], 0
        for batch in read(shards[k], batch_bytes=5000):
            good += [(int(row), batch.raw(i)) for i, row in enumerate(batch.rows.tolist())]
            bad += batch.bad
            seen = max(seen, batch.lines_seen)
        assert sorted([row for row, _ in good] + [item.row for item in bad]) == list(range(count_rows(shards[k])))
        found[k] = good, bad, seen
    rows = lines = 0
    all_good: list[bytes] = []
    all_bad: list[BadSample] = []
    for k in range(len(shards)):
        good, bad, seen = found[k]
        all_good += [raw for _, raw in good]
        all_bad += [BadSample(item.row + rows, item.line + lines, item.raw, item.error) for item in bad]
        rows, lines = rows + len(good) + len(bad), lines + seen
    return all_good, all_bad, lines


def same(path: Path, size: int, least: int = 2) -> None:
    """Whole and in pieces, a file gives the same."""
    [source] = find([path])[0]
    whole, pieces = cut([source], WHOLE), cut([source], size, workers=2)
    assert len(whole) == 1 and len(pieces) >= least
    assert sum(shard.size for shard in pieces) == source.size
    assert samples_of(pieces) == samples_of(whole)
    assert all(shard.schema == whole[0].schema for shard in pieces)


def packed(data: bytes, codec: str, parts: int = 1) -> bytes:
    pieces = [data[len(data) * k // parts : len(data) * (k + 1) // parts] for k in range(parts)]
    return b"".join(pa.Codec(codec).compress(piece, asbytes=True) for piece in pieces)


_NOISE = dict(enumerate(4 * "abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXY äöüß漢"))


def noise(dice: random.Random, size: int) -> str:
    """Text that does not compress well."""
    return dice.randbytes(size).decode("latin-1").translate(_NOISE)


@cache
def json_lines(seed: int, count: int = 700) -> bytes:
    dice = random.Random(seed)
    found = []
    for k in range(count):
        text = noise(dice, dice.choice([0, 10, 100, 2000]))
        found.append(json.dumps({"id": k, "text": text}, ensure_ascii=False))
        found += dice.choices([[], [""], ["broken"], ["\r"]], [90, 3, 3, 3])[0]
    return "\n".join(found).encode()


# Compressed lines


@pytest.fixture(autouse=True)
def small_units(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_decompression, "UNIT", 10_000)
    monkeypatch.setattr(shared_decompression, "_IN_MEMORY", 5_000)
    monkeypatch.setattr(shared_decompression, "_GRACE", 0.01)


@pytest.mark.parametrize(
    ("codec", "parts"),
    sampled(((codec, parts) for parts, codec in ((1, "gzip"), (1, "zstd"), (5, "gzip"), (5, "zstd"))), every=3),
)
def test_compressed_lines(tmp_path: Path, codec: str, parts: int) -> None:
    path = tmp_path / {"gzip": "a.jsonl.gz", "zstd": "a.jsonl.zst"}[codec]
    for size, end in ((10_000, b""), (100_000, b"\n"), (300_000, b"\n\n")):
        path.write_bytes(packed(json_lines(parts) + end, codec, parts))
        same(path, size)


@pytest.mark.parametrize("order", ["backwards", "even first", "shuffled"])
def test_pieces_may_be_asked_for_in_any_order(tmp_path: Path, order: str) -> None:
    path = tmp_path / "a.jsonl.zst"
    path.write_bytes(packed(json_lines(7), "zstd"))
    shards = cut(find([path])[0], 50_000)
    numbers = list(range(len(shards)))
    numbers.sort(
        key={"backwards": lambda k: -k, "even first": lambda k: k % 2, "shuffled": lambda k: k * 7 % 11}[order]
    )
    assert len(shards) > 6
    assert samples_of(shards, numbers) == samples_of(cut(find([path])[0], WHOLE))


def test_a_piece_that_is_left_early_does_not_disturb_the_next(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(packed(json_lines(8), "gzip"))
    shards = cut(find([path])[0], 100_000)
    for shard in shards:
        next(iter(read(shard, batch_bytes=5000)))
    assert samples_of(shards) == samples_of(cut(find([path])[0], WHOLE))


@pytest.mark.parametrize("ahead", [20_000, 1 << 30])
def test_threads_share_one_decompression(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ahead: int) -> None:
    monkeypatch.setattr(shared_decompression, "_AHEAD", ahead)
    monkeypatch.setattr(shared_decompression, "_GRACE", 10.0)
    made: list[int] = []
    decoder = shared_decompression.Decoder

    def counted(source: Source) -> shared_decompression.Decoder:
        made.append(threading.get_ident())
        return decoder(source)

    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(packed(json_lines(9, 2000), "gzip"))
    shards = cut(find([path])[0], 100_000)
    whole = samples_of(cut(find([path])[0], WHOLE))[0]
    monkeypatch.setattr(shared_decompression, "Decoder", counted)
    found: dict[int, list[bytes]] = {}
    left = iter(range(len(shards)))
    lock = threading.Lock()

    def work() -> None:
        while True:
            with lock:  # pieces are taken in order
                k = next(left, -1)
                if k < 0:
                    return
                batches = read(shards[k], batch_bytes=5000)
                first = next(batches)
            rest = [first, *batches]
            found[k] = [batch.raw(i) for batch in rest for i in range(len(batch))]

    threads = [threading.Thread(target=work) for _ in range(4)]
    with shared_decompression.relayed():
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert [raw for k in range(len(shards)) for raw in found[k]] == whole
    assert len(made) == 1


@pytest.mark.parametrize(
    ("codec", "cut_off"),
    sampled(((codec, cut_off) for codec in ("gzip", "zstd") for cut_off in (1, 20_000, 120_000)), every=4),
)
def test_damage_is_told_once(tmp_path: Path, codec: str, cut_off: int) -> None:
    data = packed(json_lines(3), codec)
    path = tmp_path / {"gzip": "a.jsonl.gz", "zstd": "a.jsonl.zst"}[codec]
    path.write_bytes(data[:-cut_off])
    same(path, 40_000)
    path.write_bytes(data[: len(data) // 2] + b"\xff" * 3000 + data[len(data) // 2 + 3000 :])
    same(path, 40_000)
    path.write_bytes(data + b"junk" * 50)
    same(path, 40_000)


def test_a_line_longer_than_many_pieces(tmp_path: Path) -> None:
    dice = random.Random(1)
    texts = [noise(dice, size) for size in (10, 900_000, 10, 10, 300_000, 5)]
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(packed("\n".join(json.dumps({"text": text}) for text in texts).encode(), "gzip"))
    same(path, 40_000, 20)


# CSV

FIELDS = st.sampled_from(
    [
        "a",
        "1",
        "",
        '"q, q"',
        '"two\nlines"',
        '"a\r\nb ""c"""',
        '"never closed',
        'in"side',
        "é漢",
        "\x00",
        "x" * 3000,
        "2.5",
    ]
)
ENDS = st.sampled_from(["\n", "\r\n", "\r", "\n\n", "\n \n"])


@settings(max_examples=40)
@given(
    st.lists(st.tuples(st.lists(FIELDS, min_size=1, max_size=5), ENDS), min_size=5, max_size=60),
    st.booleans(),
    st.booleans(),
    st.sampled_from([1, 6000, 20_000]),
)
def test_hostile_csv_in_pieces(
    tmp_path_factory: pytest.TempPathFactory, rows: list, mark: bool, pack: bool, size: int
) -> None:
    path = tmp_path_factory.getbasetemp() / ("a.csv.gz" if pack else "a.csv")
    text = "text,n,m\n" + "".join(",".join(row) + end for row, end in rows)
    content = (b"\xef\xbb\xbf" if mark else b"") + text.encode()
    path.write_bytes(packed(content, "gzip") if pack else content)
    same(path, size, 1)


@pytest.mark.parametrize("name", sampled(["a.tsv", "a.csv", "a.csv.gz", "a.csv.zst"], every=2))
def test_csv_with_lines_in_quotes(tmp_path: Path, name: str) -> None:
    dice = random.Random(2)
    mark = "\t" if ".tsv" in name else ","
    rows = ["text", "n", "x"], *([f'"{noise(dice, 50)}\n""{k}"""', f"{k}", f"{k / 2}"] for k in range(3000))
    data = "\n".join(mark.join(row) for row in rows).encode()
    codec = {"gz": "gzip", "zst": "zstd"}.get(name.rpartition(".")[2])
    (tmp_path / name).write_bytes(packed(data, codec) if codec else data)
    same(tmp_path / name, 20_000, 6)
    [first, *_] = cut(find([tmp_path / name])[0], 20_000)
    assert str(first.schema) == "text: string\nn: int64\nx: double"


def test_types_of_csv_do_not_depend_on_the_cuts(tmp_path: Path) -> None:
    wide = "t" * 200
    for last, kind in (("1.5", "string"), ("12", "int64"), ("True", "string")):
        rows = [f"{wide},{9007199254740993 + k}" for k in range(500)] + [f"{wide},{last}"]
        (tmp_path / "a.csv").write_text("text,v\n" + "\n".join(rows))
        for size in (1, 30_000, WHOLE):
            assert str(cut(find([tmp_path / "a.csv"])[0], size)[0].schema.field("v").type) == kind


# JSON

ELEMENTS = st.sampled_from(
    ['{"a":1}', '{"a":"]}{["}', '{\n    "a": [1,\n 2]\n  }', '{"a":"2}', '{"a":tru}', '{"a":2,', "5", '"x"', "", "}"]
    + ['{"a":"' + "y" * 2500 + '"}', "\n", '{"a":"\\""}']
)
BETWEEN = st.sampled_from([",", ",\n", ", ", ",\n  ", "\n", " "])


@settings(max_examples=50)
@given(
    st.lists(st.tuples(ELEMENTS, BETWEEN), min_size=5, max_size=80),
    st.sampled_from([("[", "]"), ("[\n  ", "\n]"), ("", ""), ("[", ""), ("[\n", "]\n{}")]),
    st.booleans(),
    st.sampled_from([1, 5000]),
)
def test_hostile_json_in_pieces(
    tmp_path_factory: pytest.TempPathFactory, parts: list, around: tuple[str, str], pack: bool, size: int
) -> None:
    path = tmp_path_factory.getbasetemp() / ("b.json.gz" if pack else "b.json")
    text = around[0] + "".join(value + between for value, between in parts) + around[1]
    path.write_bytes(packed(text.encode(), "gzip") if pack else text.encode())
    same(path, size, 1)


def test_a_cut_where_the_file_ends_is_none(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(b'[{"a":1},{"a":2,,]')
    same(path, 1, 1)


def test_a_cut_within_a_line_does_not_make_a_column(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    wide = b'{"a":"' + b"x" * 5000 + b'"}'
    path.write_bytes(b"[" + wide + b" " + b'{"a":"2},\n{"a":1}]')
    same(path, 1, 2)
    path.write_bytes(b"[" + wide + b", " + wide + b' {"a":1},\n{"a":"2},\n{"a":1}]')
    same(path, 1, 2)


@pytest.mark.parametrize(
    ("name", "indent"),
    sampled(((name, indent) for name in ("a.json", "a.json.gz", "a.json.zst") for indent in (None, 2)), every=5),
)
def test_arrays_are_cut_between_values(tmp_path: Path, indent: int | None, name: str) -> None:
    dice = random.Random(4)
    samples = [{"text": noise(dice, 80), "n": {"k": [k, "]},{"]}} for k in range(2000)]
    data = json.dumps(samples, indent=indent).encode()
    codec = {"gz": "gzip", "zst": "zstd"}.get(name.rpartition(".")[2])
    (tmp_path / name).write_bytes(packed(data, codec) if codec else data)
    same(tmp_path / name, 15_000, 8)
    good = samples_of(cut(find([tmp_path / name])[0], 15_000))[0]
    assert [json.loads(raw) for raw in good] == samples


# Many small files


def many(folder: Path, form: str, count: int) -> list[dict]:
    """Files of a few samples each; all samples in order."""
    folder.mkdir()
    expected = []
    for k in range(count):
        rows = [{"text": f"text {k} {i}", "n": i} for i in range(1 + k % 4 if form == "csv" else k % 4)]
        expected += rows
        path = folder / f"{k:04}.{form}"
        if form in ("parquet", "arrow"):
            table = pa.Table.from_pylist(rows, pa.schema([("text", pa.string()), ("n", pa.int64())]))
            if form == "parquet":
                pq.write_table(table, path)
            else:
                with pa.ipc.new_file(str(path), table.schema) as writer:
                    writer.write_table(table)
            continue
        text = io.StringIO()
        if form == "csv":
            text.write("text,n\n" + "".join(f"{row['text']},{row['n']}\n" for row in rows))
        elif form == "json":
            json.dump(rows, text)
        else:
            text.write("\n".join(map(json.dumps, rows)))
        content = text.getvalue().encode()
        path.write_bytes(gzip.compress(content) if form.endswith(".gz") else content)
    return expected


@pytest.mark.parametrize("form", ["jsonl", "jsonl.gz", "json", "csv", "parquet", "arrow"])
def test_small_files_are_read_together(tmp_path: Path, form: str) -> None:
    expected = many(tmp_path / "files", form, 24)
    sources = find([tmp_path / "files"])[0]
    for size, most in ((1 << 20, 1), (160_000, 5), (100, 1000)):
        shards = cut(sources, size)
        assert len(shards) <= most
        found = [batch.sample(i) for shard in shards for batch in read(shard) for i in range(len(batch))]
        assert found == expected
        assert sum(map(count_rows, shards)) == len(expected)
        if form != "arrow":  # an empty one counts for nothing
            assert sum(shard.size for shard in shards) == sum(source.size for source in sources)


def test_samples_of_small_files_keep_their_places(tmp_path: Path) -> None:
    for k, content in enumerate(['{"a":1}\n\n{"a":2}', "", "broken\n", '\n{"a":3}\n[]', '{"a":4}']):
        (tmp_path / f"{k}.jsonl").write_text(content)
    [shard] = cut(find([tmp_path])[0])
    [batch] = read(shard)
    numbers = [Path(source.path).stem for source in shard.sources]
    places = [(numbers[file], line) for file, line in zip(batch.files, batch.line_numbers, strict=True)]
    assert list(zip(batch.rows.tolist(), places, strict=True)) == [
        (0, ("0", 1)),
        (1, ("0", 3)),
        (3, ("3", 2)),
        (5, ("4", 1)),
    ]
    assert [(b.row, numbers[b.file], b.line, b.raw) for b in batch.bad] == [(2, "2", 1, b"broken"), (4, "3", 3, b"[]")]
    known = Shard(0, shard.sources, rows_of=(2, 0, 1, 2, 1))
    assert [Path(known.path_of(row)).stem for row in range(6)] == ["0", "0", "2", "3", "3", "4"]


PIECES = st.sampled_from(
    [
        b'{"a":1}',
        b'{"a":1,"a":2}',
        b'{"t":"\xc3\xa4"}',
        b'{"t":"\xff"}',
        b"broken",
        b"[]",
        b" ",
        b"\r",
        b"\n",
        b"\n",
        b"\xef\xbb\xbf",
    ]
)


@settings(deadline=None, max_examples=150)
@given(contents=st.lists(st.lists(PIECES, max_size=6).map(b"".join), min_size=2, max_size=6))
def test_files_read_as_one_stream_give_what_each_gives(
    tmp_path_factory: pytest.TempPathFactory, contents: list[bytes]
) -> None:
    folder = tmp_path_factory.mktemp("files")
    for k, content in enumerate(contents):
        (folder / f"{k}.jsonl").write_bytes(content)
    sources = [replace(source, format="jsonl") for source in find([*sorted(folder.iterdir())])[0]]
    for rows in (1, 8192):
        good: list[tuple[int, int, bytes]] = []
        bad: list[tuple[int, int, bytes, str]] = []
        for file, source in enumerate(sources):
            for batch in read(Shard(0, (source,)), rows=rows):
                good += [(file, batch.line_number(i), batch.raw(i)) for i in range(len(batch))]
                bad += [(file, item.line, item.raw, item.error) for item in batch.bad]
        together = list(read(Shard(0, tuple(sources)), rows=rows))
        assert [
            (int(batch.files[i]), batch.line_number(i), batch.raw(i))  # type: ignore[index]
            for batch in together
            for i in range(len(batch))
        ] == good
        assert [(item.file, item.line, item.raw, item.error) for batch in together for item in batch.bad] == bad
        numbers = [int(row) for batch in together for row in batch.rows] + [
            b.row for batch in together for b in batch.bad
        ]
        assert sorted(numbers) == list(range(len(good) + len(bad)))


def test_a_file_of_another_encoding_among_small_ones_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"a":1}\n')
    (tmp_path / "b.jsonl").write_bytes(b'\xff\xfe{\0"\0')
    with pytest.raises(DataError, match=r"b\.jsonl: the file is UTF-16, not UTF-8"):
        list(read(Shard(0, tuple(find([tmp_path / "a.jsonl", tmp_path / "b.jsonl"])[0]))))


def test_other_kinds_are_not_put_together(tmp_path: Path) -> None:
    for name in ("a.jsonl", "b.jsonl", "c.json", "d.jsonl"):
        (tmp_path / name).write_text('{"a":1}\n')
    assert [len(shard.sources) for shard in cut(find([tmp_path])[0])] == [2, 1, 1]
    assert len(cut(find([tmp_path / "a.jsonl", tmp_path / "b.jsonl"])[0])) == 2  # two data sets
    assert len(cut([Source.of_table(pa.table({"a": [1]}))] * 2)) == 2
