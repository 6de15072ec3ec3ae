"""Reading good samples of every format."""

import csv
import gzip
import io
import json
import pickle
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refinery.io.batch import Batch
from refinery.io.layouts import plain_table
from refinery.io.model import Shard, Source
from refinery.io.readers.read import count_rows, read
from refinery.io.sources import cut, find
from tests.examples import share_of


def batches(path: Path, shard_size: int = 1 << 30, **options: int) -> list[Batch]:
    shards = [pickle.loads(pickle.dumps(shard)) for shard in cut(find([path])[0], shard_size)]
    found = []
    for shard in shards:
        of_shard = list(read(shard, **options))
        rows = sorted(row for batch in of_shard for row in [*batch.rows.tolist(), *(bad.row for bad in batch.bad)])
        assert rows == list(range(count_rows(shard)))
        assert len(of_shard) >= 1
        assert all(len(part) <= 2048 for batch in of_shard for part in batch.table.to_batches())
        found += of_shard
    return found


def raws(path: Path, shard_size: int = 1 << 30, **options: int) -> list[bytes]:
    return [batch.raw(i) for batch in batches(path, shard_size, **options) for i in range(len(batch))]


def rows_of(path: Path, **options: int) -> list[dict]:
    return [batch.sample(i) for batch in batches(path, **options) for i in range(len(batch))]


LINES = st.lists(
    st.tuples(st.text(alphabet="aé\\u", max_size=30), st.sampled_from(["\n", "\r\n", "\n\n", "\n \t\n", " \n"])),
    max_size=30,
)


@settings(max_examples=share_of(150))
@given(
    LINES, st.booleans(), st.booleans(), st.integers(1, 400), st.sampled_from([1, 5000]), st.sampled_from([1, 3, 8192])
)
def test_lines_are_read_once_whatever_the_cuts(
    tmp_path_factory: pytest.TempPathFactory, parts: list, mark: bool, last: bool, shard: int, block: int, rows: int
) -> None:
    path = tmp_path_factory.getbasetemp() / "lines.jsonl"
    lines = [json.dumps({"text": text}, ensure_ascii=False).encode() for text, _ in parts]
    content = b"".join(line + end.encode() for line, (_, end) in zip(lines, parts, strict=True))
    content = content if last else content.rstrip(b"\r\n \t")
    path.write_bytes((b"\xef\xbb\xbf" if mark else b"") + content)
    assert raws(path, shard, batch_bytes=block, rows=rows) == lines


@pytest.mark.parametrize("size", range(4090, 4103))
@pytest.mark.parametrize("end", [b"", b"\n"])
def test_the_last_line_may_end_where_the_buffer_does(tmp_path: Path, size: int, end: bytes) -> None:
    path = tmp_path / "a.jsonl"
    for lines in ([b'{"a":1}', b'{"b":"' + b"x" * (size - 16) + b'"}'], [b'{"b":"' + b"x" * (size - 8) + b'"}']):
        path.write_bytes(b"\n".join(lines) + end)
        assert raws(path, batch_bytes=4096) == lines
        assert raws(path, 100, batch_bytes=4096) == lines
    path.with_suffix(".json").write_bytes(b"[" + b",".join(lines) + b"]" + end)
    assert raws(path.with_suffix(".json"), batch_bytes=4096) == lines
    path.with_suffix(".csv").write_bytes(b"text\n" + b"x" * (size - 5) + end)
    assert len(rows_of(path.with_suffix(".csv"), batch_bytes=4096)[0]["text"]) == size - 5


def test_line_numbers_count_blank_lines_and_add_up_over_shards(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"a":1}\n\n{"a":2}\n \nbroken\n{"a":3}\n\n\n')
    for size in (1000, 12, 3):
        before, found, bad = 0, [], []
        for shard in cut(find([path])[0], size):
            for batch in read(shard):
                found += [before + batch.line_number(i) for i in range(len(batch))]
                bad += [before + b.line for b in batch.bad]
            before += batch.lines_seen
        assert (found, bad, before) == ([1, 3, 6], [5], 8)


def test_a_line_keeps_its_bytes(tmp_path: Path) -> None:
    line = b'  {"b":2.50, "c":123456789012345678901234567890,"a":"\\u00e9\\/"}\t\r\n'
    (tmp_path / "a.jsonl").write_bytes(line)
    [batch] = batches(tmp_path / "a.jsonl")
    assert batch.lines and batch.table["_line"].to_pylist() == [line.decode()]
    assert batch.suffixes() == [".jsonl"]


@pytest.mark.parametrize("form", ["array", "pretty array", "values", "pretty values", "lines", "lines in an array"])
@pytest.mark.parametrize("pack", [False, True])
def test_every_shape_of_json(tmp_path: Path, form: str, pack: bool) -> None:
    samples = [{"text": f"a\n{k} [{{\\", "meta": {"k": [k, None]}} for k in range(50)]
    text = {
        "array": json.dumps(samples),
        "pretty array": json.dumps(samples, indent=4),
        "values": "".join(json.dumps(sample, indent=None) + "\n" for sample in samples),
        "pretty values": "\n".join(json.dumps(sample, indent=1) for sample in samples),
        "lines": "\n".join(map(json.dumps, samples)),
        "lines in an array": "[" + ",\n".join(map(json.dumps, samples)) + "]\n",
    }[form]
    path = tmp_path / ("a.json.gz" if pack else "a.json")
    path.write_bytes(gzip.compress(text.encode()) if pack else text.encode())
    assert rows_of(path) == samples
    assert rows_of(path, batch_bytes=1, rows=7) == samples


def test_a_single_object_over_several_lines(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{\n  "text": "x",\n  "n": [1,\n 2]\n}')
    assert raws(tmp_path / "a.json") == [b'{"text": "x","n": [1,2]}']


def test_nothing_but_blanks_is_no_sample(tmp_path: Path) -> None:
    for content in (b"", b"\n", b" \n\t\r\n", b"\xef\xbb\xbf", b"[]", b"[\n]\n"):
        (tmp_path / "a.json").write_bytes(content)
        [batch] = batches(tmp_path / "a.json")
        assert batch.lines and len(batch) == 0 and not batch.bad and batch.table.column_names == ["_line"]


@pytest.mark.parametrize("codec", ["gzip", "zstd"])
def test_concatenated_compressed_files_are_one(tmp_path: Path, codec: str) -> None:
    suffix = {"gzip": ".gz", "zstd": ".zst"}[codec]
    parts = [pa.Codec(codec).compress(b'{"a":%d}\n' % k, asbytes=True) for k in range(3)]
    path = tmp_path / f"a.jsonl{suffix}"
    path.write_bytes(b"".join(parts))
    assert rows_of(path) == [{"a": 0}, {"a": 1}, {"a": 2}]


def test_batches_are_bounded(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps({"text": "x" * (k % 100)}) + "\n" for k in range(5000)))
    found = batches(path, batch_bytes=10_000, rows=50)
    assert max(len(batch) for batch in found) == 50
    assert max(batch.table.nbytes for batch in found) < 11_000
    assert sum(len(batch) for batch in found) == 5000


def test_what_was_read_stays_when_reading_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    lines = [b'{"k":%d}' % k if k % 3 else b"broken" for k in range(2000)]
    path.write_bytes(b"\n".join(lines))
    assert raws(path, batch_bytes=4096, rows=10) == [line for line in lines if line != b"broken"]


def test_rows_can_be_taken_from_a_batch(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(b'{"k":0}\nbroken\n{"k":1}\n{"k":2}\n')
    [batch] = batches(tmp_path / "a.jsonl")
    for index in ([0, 2], [1, 2], [], [2]):
        part = batch.take(np.array(index, np.int64))
        assert [part.sample(i)["k"] for i in range(len(part))] == index
        assert part.rows.tolist() == [[0, 2, 3][i] for i in index]
        assert [part.line_number(i) for i in range(len(part))] == [[1, 3, 4][i] for i in index]
        assert part.bad == []


# Tables

RICH = pa.table(
    {
        "text": pa.array(["a", None, "漢"], pa.large_string()),
        "n": pa.array([1, 2**40, None], pa.int64()),
        "small": pa.array([1, 2, 3], pa.int8()),
        "f": pa.array([0.5, None, 1e300]),
        "yes": [True, None, False],
        "when": pa.array([datetime(2024, 1, 2, 3, 4, 5, 60), None, datetime(1970, 1, 1)], pa.timestamp("us")),
        "there": pa.array([datetime(2024, 1, 2, tzinfo=UTC), None, None], pa.timestamp("ms", "UTC")),
        "day": [date(2024, 1, 2), None, None],
        "tags": pa.array([["x", None], [], None], pa.list_(pa.string())),
        "meta": pa.array([{"a": {"b": [1, 2]}, "t": None}, None, {"a": None, "t": datetime(2024, 1, 1)}]),
        "price": pa.array([Decimal("1.50"), None, None], pa.decimal128(10, 2)),
        "kind": pa.array(["p", "q", "p"]).dictionary_encode(),
        "raw": pa.array([b"\xff", None, b""], pa.binary()),
        "pairs": pa.array([[("k", 1)], None, []], pa.map_(pa.string(), pa.int32())),
    }
)


@pytest.mark.parametrize("suffix", ["parquet", "arrow", "memory"])
def test_types_of_tables_are_kept(tmp_path: Path, suffix: str) -> None:
    if suffix == "parquet":
        pq.write_table(RICH, tmp_path / "a.parquet")
    elif suffix == "arrow":
        with pa.ipc.new_file(str(tmp_path / "a.arrow"), RICH.schema) as writer:
            writer.write_table(RICH)
    sources = [Source.of_table(RICH)] if suffix == "memory" else find([tmp_path])[0]
    [shard] = cut(sources)
    [batch] = read(shard)
    assert batch.table.equals(RICH)
    assert batch.table.schema == shard.schema
    assert batch.rows.tolist() == [0, 1, 2]
    part = Shard(0, shard.sources, 1, 2, False, shard.schema)
    assert [found.table for found in read(part)] == [RICH.slice(1, 1)]


def test_a_frame_of_views_becomes_texts() -> None:
    table = pa.table({"text": pa.array(["a", "b"], pa.string_view())}).replace_schema_metadata({"pandas": "{}"})
    [shard] = cut([Source.of_table(plain_table(table))])
    [batch] = read(shard)
    assert batch.table.schema == pa.schema([("text", pa.large_string())]) and batch.table.schema.metadata is None


def test_batches_of_a_table_are_bounded(tmp_path: Path) -> None:
    texts = ["x" * (10 if k != 700 else 300_000) for k in range(3000)]
    pq.write_table(pa.table({"text": texts}), tmp_path / "a.parquet", row_group_size=1000)
    found = batches(tmp_path / "a.parquet", batch_bytes=5000)
    assert [text for batch in found for text in batch.table["text"].to_pylist()] == texts
    assert sorted(batch.table.nbytes for batch in found)[-2] < 6000
    assert max(len(batch) for batch in batches(tmp_path / "a.parquet", rows=100)) == 100


def test_an_empty_table_has_its_columns(tmp_path: Path) -> None:
    pq.write_table(pa.table({"text": pa.array([], pa.string()), "n": pa.array([], pa.int8())}), tmp_path / "a.parquet")
    [batch] = batches(tmp_path / "a.parquet")
    assert str(batch.table.schema) == "text: string\nn: int8"


def test_mixed_formats_become_lines(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"text":"j", "n":2.50}\n')
    (tmp_path / "b.csv").write_text('text,n\n"c ""q""",7\n')
    (tmp_path / "c.md").write_text("m\n")
    pq.write_table(RICH, tmp_path / "d.parquet")
    found = []
    for shard in cut(find([tmp_path / name for name in ("a.jsonl", "b.csv", "c.md", "d.parquet")])[0]):
        assert shard.lines
        found += [json.loads(line) for batch in read(shard) for line in batch.table["_line"].to_pylist()]
    assert found[:3] == [{"text": "j", "n": 2.5}, {"text": 'c "q"', "n": 7}, {"text": "m\n"}]
    assert found[3] == {
        "text": "a",
        "n": 1,
        "small": 1,
        "f": 0.5,
        "yes": True,
        "when": "2024-01-02T03:04:05.000060",
        "there": "2024-01-02T00:00:00+00:00",
        "day": "2024-01-02",
        "tags": ["x", None],
        "meta": {"a": {"b": [1, 2]}, "t": None},
        "price": 1.5,
        "kind": "p",
        "raw": "\\xFF",
        "pairs": {"k": 1},
    }
    assert found[5]["meta"] == {"a": None, "t": "2024-01-01T00:00:00"}


# Texts


def test_a_text_file_is_a_sample(tmp_path: Path) -> None:
    contents = {"a.txt": b"one\r\ntwo\rthree\n", "b.py": b"", "c.md": "\ufeffé".encode()}
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    [batch] = batches(tmp_path)
    assert batch.table["text"].to_pylist() == ["one\ntwo\nthree\n", "", "\ufeffé"]
    assert batch.suffixes() == [".txt", ".py", ".md"]
    assert batch.take(np.array([0, 2])).suffixes() == [".txt", ".md"]
    assert batch.line_numbers.tolist() == [1, 1, 1]
    assert [len(found) for found in batches(tmp_path, batch_bytes=5)] == [1, 2]


# CSV


CELL = st.text(alphabet='ab,"\n\r\t é', max_size=8)


@settings(max_examples=share_of(150))
@given(
    st.lists(st.tuples(CELL, CELL, CELL), max_size=12),
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.sampled_from([csv.QUOTE_ALL, csv.QUOTE_MINIMAL]),
    st.sampled_from([4096, 1 << 20]),
    st.booleans(),
)
def test_csv_is_read_as_it_was_written(
    tmp_path_factory: pytest.TempPathFactory, rows: list, end: str, quoting: int, block: int, tabs: bool
) -> None:
    path = tmp_path_factory.getbasetemp() / ("a.tsv" if tabs else "a.csv")
    text = io.StringIO(newline="")
    if any(char in cell for row in rows for cell in row for char in "\r\n"):
        quoting = csv.QUOTE_ALL  # the writer would leave some line ends bare
    rows = [("x" + one, two, three) for one, two, three in rows]  # no blank records
    writer = csv.writer(text, delimiter="\t" if tabs else ",", lineterminator=end, quoting=quoting)
    writer.writerows([("one", "two", "three"), *rows])
    path.write_bytes(text.getvalue().encode())
    assert [tuple(row.values()) for row in rows_of(path, batch_bytes=block)] == [
        tuple(c or None for c in r) for r in rows
    ]


@pytest.mark.parametrize(
    ("cells", "kind", "values"),
    [
        ("1,-2,+3, 4 ", "int64", [1, -2, 3, 4]),
        ("1,,NA,null", "int64", [1, None, None, None]),
        ("1,2.5,nan,1e3", "double", [1.0, 2.5, None, 1000.0]),
        ("inf,-inf,.5,5.", "double", [float("inf"), float("-inf"), 0.5, 5.0]),
        ("True,FALSE,true,", "bool", [True, False, True, None]),
        ("007,8", "string", ["007", "8"]),
        ("99999999999999999999,1", "string", ["99999999999999999999", "1"]),
        ("9007199254740993,1.5", "string", ["9007199254740993", "1.5"]),
        ("1,x", "string", ["1", "x"]),
        ("1,True", "string", ["1", "True"]),
        ("2024-01-01,", "string", ["2024-01-01", None]),
        (",,", "null", [None, None, None]),
        ("NA,null,None", "string", ["NA", "null", "None"]),
        ("NA,x", "string", ["NA", "x"]),
        ("1_000,0x1", "string", ["1_000", "0x1"]),
    ],
)
def test_types_of_csv_columns(tmp_path: Path, cells: str, kind: str, values: list) -> None:
    path = tmp_path / "a.csv"
    path.write_text("text,v\n" + "".join(f"t,{cell}\n" for cell in cells.split(",")))
    [batch] = batches(path)
    assert str(batch.table.schema.field("v").type) == kind
    assert batch.table["v"].to_pylist() == values


def test_types_of_csv_are_those_of_all_rows_and_files(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("text,v\n" + "t,1\n" * 5000 + "t,end\n")
    assert rows_of(tmp_path / "a.csv", batch_bytes=4096, rows=100)[-1] == {"text": "t", "v": "end"}
    (tmp_path / "a.csv").write_text("text,v\nt,1\n")
    (tmp_path / "b.tsv").write_text("v\ttext\tw\n1.5\tt\tx\n")
    assert rows_of(tmp_path) == [{"text": "t", "v": 1.0, "w": None}, {"text": "t", "v": 1.5, "w": "x"}]


@pytest.mark.parametrize("content", ["text,v\n", "text,v", "\ufefftext,v\n\n \n"])
def test_a_csv_of_a_header_alone(tmp_path: Path, content: str) -> None:
    (tmp_path / "a.csv").write_text(content)
    [batch] = batches(tmp_path / "a.csv")
    assert len(batch) == 0 and str(batch.table.schema) == "text: null\nv: null"


def test_names_of_csv_columns(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('a,a,,"b ""c""\nd",a.1\n1,2,3,4,5\n')
    assert list(rows_of(tmp_path / "a.csv")[0]) == ["a", "a.1", "Unnamed: 2", 'b "c"\nd', "a.1.1"]


_DOCS = [{"text": f"doc {number}"} for number in range(5)]
_ARRAY, _PRETTY = json.dumps(_DOCS), json.dumps(_DOCS, indent=2)
_OBJECTS = "\n".join(map(json.dumps, _DOCS))


@pytest.mark.parametrize(
    ("suffix", "texts"),
    [
        (".json", [_ARRAY, _ARRAY]),
        (".json", [_PRETTY, _PRETTY, _PRETTY]),
        (".jsonl", [_ARRAY, _OBJECTS, _PRETTY]),
        (".json", [_OBJECTS, _ARRAY, _OBJECTS]),
        (".json", [_OBJECTS, _PRETTY]),
        (".jsonl", ["[]", _ARRAY, "[ ]", _ARRAY]),
    ],
)
def test_all_arrays_and_objects_of_a_file_are_read_whatever_the_cuts(
    tmp_path: Path, suffix: str, texts: list[str]
) -> None:
    path, content = tmp_path / f"a{suffix}", "\n".join(texts)
    wanted = _DOCS * sum(text in (_ARRAY, _PRETTY, _OBJECTS) for text in texts)
    path.write_text(content)
    for size, block in ((1 << 30, 1 << 20), (1, 40), (100, 1 << 20)):
        found = batches(path, size, batch_bytes=block)
        assert [batch.sample(i) for batch in found for i in range(len(batch))] == wanted
        assert not [bad for batch in found for bad in batch.bad]
    packed = tmp_path / f"b{suffix}.gz"
    packed.write_bytes(gzip.compress(content.encode()))
    assert rows_of(packed) == wanted
