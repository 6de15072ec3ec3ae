"""Writing parts and putting them together to the files of a recipe."""

import errno
import gzip
import json
import os
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from refinery.errors import OutputError
from refinery.io.model import Source
from refinery.io.readers.read import read
from refinery.io.sources import cut, find
from refinery.io.writers import lines as exporting
from refinery.io.writers import tables
from refinery.io.writers.export import export, stats_path, write_stats
from refinery.io.writers.export_files import names
from refinery.io.writers.write import PartWriter
from tests.io.readers.test_read import RICH

SAMPLES = [{"id": k, "text": f'text {k} "é"\n', "meta": {"body": f"b{k}", "n": [k, 0.5]}} for k in range(100)]
KINDS = ("jsonl", "jsonl.gz", "jsonl.zst", "json", "parquet")


def parts_of_lines(
    tmp_path: Path, samples: list[dict] = SAMPLES, size: int = 3000, compression: str | None = None
) -> list[Path]:
    """Every sample, a part for each shard."""
    source = tmp_path / "input.jsonl"
    source.write_text("".join(json.dumps(sample, ensure_ascii=False) + "\n" for sample in samples), encoding="utf-8")
    return write_parts(tmp_path, find([source])[0], size, compression)


def parts_of_table(tmp_path: Path, table: pa.Table, rows: int = 1) -> list[Path]:
    parts = []
    for k, at in enumerate(range(0, len(table), rows)):
        parts += write_parts(tmp_path / f"p{k}", [Source.of_table(table.slice(at, rows))], 1 << 30)
    return parts


def write_parts(folder: Path, sources: list[Source], size: int, compression: str | None = None) -> list[Path]:
    parts = []
    for shard in cut(sources, size):
        with PartWriter(folder / "parts" / f"{shard.index:05d}", shard.lines, compression) as writer:
            for batch in read(shard):
                writer.write(batch, np.arange(len(batch)))
        assert writer.path is not None
        parts.append(writer.path)
    return parts


def load(path: str | Path) -> list[dict]:
    raw = Path(path).read_bytes()
    name = str(path)
    if name.endswith(".parquet"):
        return pq.read_table(path).to_pylist()
    if name.endswith(".gz"):
        raw = gzip.decompress(raw)
    if name.endswith(".zst"):
        raw = pa.CompressedInputStream(pa.BufferReader(raw), "zstd").read()
    if name.endswith(".json"):
        return json.loads(raw)
    return [json.loads(line) for line in raw.decode().split("\n")[:-1]]


# Parts


def read_one(path: Path, content: bytes) -> Any:
    path.write_bytes(content)
    [shard] = cut(find([path])[0])
    [batch] = read(shard)
    return batch


def test_kept_lines_are_written_as_they_were(tmp_path: Path) -> None:
    batch = read_one(tmp_path / "a.jsonl", b'{"a":1.50} \r\n\n{"a" :2}\nbroken\n{"a":3}')
    with PartWriter(tmp_path / "out" / "00000", True) as writer:
        writer.write(batch, np.array([0, 2]))
        writer.write(batch, np.array([], np.int64))
        writer.write(batch, np.array([1]))
        assert writer.path is None and list((tmp_path / "out").glob("0*")) == []
    assert writer.path == tmp_path / "out" / "00000.jsonl"
    assert writer.path.read_bytes() == b'{"a":1.50}\n{"a":3}\n{"a" :2}\n'
    assert (writer.rows, writer.bytes) == (3, 28)
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["00000.jsonl"]


def test_changed_texts_and_extra_members(tmp_path: Path) -> None:
    batch = read_one(
        tmp_path / "a.jsonl", b'{"text":"x","meta":{"t":"y"}}\n{"text":"z", "s":{"old":1}}\n{"text":"w"}\n'
    )
    with PartWriter(tmp_path / "p", True) as writer:
        replaced = {("text",): pa.array(["X\n", None], pa.large_string()), ("meta", "t"): pa.array([None, "T"])}
        extra = {"s": pa.array(['{"n": 1}', '{"n": 2}'])}
        writer.write(batch, np.array([0, 1]), replaced, extra)
    assert load(writer.path) == [
        {"text": "X\n", "meta": {"t": "y"}, "s": {"n": 1}},
        {"text": "z", "s": {"n": 2}, "meta": {"t": "T"}},
    ]
    assert writer.path.read_text().startswith('{"text":"X\\n","meta":{"t":"y"}, "s": {"n": 1}}\n')


@pytest.mark.parametrize("compression", ["gz", "zst"])
def test_parts_can_be_compressed(tmp_path: Path, compression: str) -> None:
    parts = parts_of_lines(tmp_path, compression=compression)
    assert len(parts) > 2 and all(part.name.endswith(f".jsonl.{compression}") for part in parts)
    assert [sample for part in parts for sample in load(part)] == SAMPLES


def test_a_part_that_fails_leaves_nothing(tmp_path: Path) -> None:
    batch = read_one(tmp_path / "a.jsonl", b'{"a":1}\n')
    with pytest.raises(RuntimeError), PartWriter(tmp_path / "out" / "p", True) as writer:
        writer.write(batch, np.array([0]))
        raise RuntimeError
    assert writer.path is None and list((tmp_path / "out").iterdir()) == []


def test_a_part_without_rows_is_there(tmp_path: Path) -> None:
    batch = read_one(tmp_path / "a.jsonl", b'{"a":1}\n')
    with PartWriter(tmp_path / "p", True) as writer:
        writer.write(batch, np.array([], np.int64))
    assert writer.path.read_bytes() == b""
    [shard] = cut([Source.of_table(RICH)])
    [batch] = read(shard)
    with PartWriter(tmp_path / "q", False) as writer:
        writer.write(batch, np.array([], np.int64))
    assert pq.read_table(writer.path).equals(RICH.slice(0, 0))


def test_tables_keep_their_types(tmp_path: Path) -> None:
    [shard] = cut([Source.of_table(RICH)])
    [batch] = read(shard)
    with PartWriter(tmp_path / "p", False) as writer:
        stats = pa.array([{"n": 1}, {"n": 2}])
        writer.write(batch, np.array([0, 2]), {("text",): pa.array([None, "new"])}, {"__dj__stats__": stats})
    table = pq.read_table(writer.path)
    expected = RICH.take([0, 2]).set_column(0, "text", pa.array(["a", "new"], pa.large_string()))
    assert table.drop_columns("__dj__stats__").equals(expected)
    assert table["__dj__stats__"].to_pylist() == [{"n": 1}, {"n": 2}]


def test_a_text_inside_a_struct_is_replaced(tmp_path: Path) -> None:
    table = pa.table(
        {"meta": [{"body": {"t": "a"}, "n": 1}, {"body": None, "n": 2}, None, {"body": {"t": "d"}, "n": 4}]}
    )
    [shard] = cut([Source.of_table(table)])
    [batch] = read(shard)
    with PartWriter(tmp_path / "p", False) as writer:
        writer.write(batch, np.array([0, 1, 2, 3]), {("meta", "body", "t"): pa.array(["A", None, None, None])})
    assert pq.read_table(writer.path).schema.equals(table.schema)
    assert load(writer.path)[0] == {"meta": {"body": {"t": "A"}, "n": 1}}
    assert load(writer.path)[1:] == table.to_pylist()[1:]


def test_a_text_in_a_dictionary_is_replaced(tmp_path: Path) -> None:
    table = pa.table({"text": pa.array(["a", "b", "a"]).dictionary_encode()})
    [shard] = cut([Source.of_table(table)])
    [batch] = read(shard)
    with PartWriter(tmp_path / "p", False) as writer:
        writer.write(batch, np.arange(3), {("text",): pa.array([None, "B", None])})
    assert [row["text"] for row in load(writer.path)] == ["a", "B", "a"]


# Files


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("compression", [None, pytest.param("gz", marks=pytest.mark.long), "zst"])
def test_lines_in_every_kind_of_file(tmp_path: Path, kind: str, compression: str | None) -> None:
    parts = parts_of_lines(tmp_path, compression=compression)
    target = tmp_path / "new" / "folder" / f"res.{kind}"
    [written] = export(parts, str(target), kind, 0, True)
    assert (written.path, written.rows, written.bytes) == (str(target), 100, target.stat().st_size)
    assert load(target) == SAMPLES
    assert [path.name for path in target.parent.iterdir()] == [f"res.{kind}"]


@pytest.mark.parametrize("kind", KINDS)
def test_tables_in_every_kind_of_file(tmp_path: Path, kind: str) -> None:
    table = pa.Table.from_pylist(SAMPLES)
    parts = parts_of_table(tmp_path, table, 30)
    [written] = export(parts, str(tmp_path / f"res.{kind}"), kind, 0, False)
    assert written.rows == 100 and load(written.path) == SAMPLES
    if kind == "parquet":
        assert pq.read_schema(written.path).equals(table.schema)


def test_tables_keep_their_types_in_the_end(tmp_path: Path) -> None:
    [written] = export(parts_of_table(tmp_path, RICH, 2), str(tmp_path / "res.parquet"), "parquet", 0, False)
    assert pq.read_table(written.path).equals(RICH)


def test_plain_lines_are_the_same_bytes(tmp_path: Path) -> None:
    parts = parts_of_lines(tmp_path)
    export(parts, str(tmp_path / "res.jsonl"), "jsonl")
    assert (tmp_path / "res.jsonl").read_bytes() == (tmp_path / "input.jsonl").read_bytes()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("lines", "compression"), [(True, None), pytest.param(True, "zst", marks=pytest.mark.long), (False, None)]
)
def test_several_files(tmp_path: Path, kind: str, lines: bool, compression: str | None) -> None:
    if lines:
        parts = parts_of_lines(tmp_path, compression=compression)
    else:
        parts = parts_of_table(tmp_path, pa.Table.from_pylist(SAMPLES), 30)
    written = export(parts, str(tmp_path / "out" / f"res.{kind}"), kind, 2500, lines, in_parallel=True)
    count = len(written)
    assert 2 < count < 10
    assert [Path(w.path).name for w in written] == [f"res-{k:02}-of-{count:02}.{kind}" for k in range(count)]
    assert [sample for w in written for sample in load(w.path)] == SAMPLES
    assert [w.rows for w in written] == [len(load(w.path)) for w in written]
    assert min(w.rows for w in written) > 0


@pytest.mark.parametrize("size", [1, 10, 50, 60, 61, 62, 1 << 40])
def test_cuts_fall_between_lines(tmp_path: Path, size: int) -> None:
    samples = [{"k": k, "x": "y" * (k % 50 * 10)} for k in range(40)]
    written = export(parts_of_lines(tmp_path, samples, 100), str(tmp_path / "r.jsonl"), "jsonl", size)
    assert [sample for w in written for sample in load(w.path)] == samples
    assert len(written) <= 40 and min(w.rows for w in written) > 0
    assert size < 1 << 40 or len(written) == 1


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [0, 100])
def test_nothing_kept_is_an_empty_file(tmp_path: Path, kind: str, size: int) -> None:
    for lines, parts in ((True, parts_of_lines(tmp_path, [])), (False, parts_of_table(tmp_path, RICH.slice(0, 1), 1))):
        if not lines:
            pq.write_table(RICH.slice(0, 0), parts[0])
        [written] = export(parts, str(tmp_path / f"res.{kind}"), kind, size, lines)
        assert written.rows == 0 and load(written.path) == []
        assert Path(written.path).name == (f"res-00-of-01.{kind}" if size else f"res.{kind}")
    assert export([], str(tmp_path / f"none.{kind}"), kind, 0, True)[0].rows == 0


def test_names_are_data_juicers() -> None:
    assert names("a/res.jsonl", "jsonl") == ["a/res.jsonl"]
    assert names("a/res.jsonl", "jsonl", 2) == ["a/res-00-of-02.jsonl", "a/res-01-of-02.jsonl"]
    assert names("a/res.jsonl.gz", "jsonl.gz", 12)[11] == "a/res-011-of-012.jsonl.gz"
    assert names("a/res.data", "parquet", 1) == ["a/res-00-of-01.parquet"]
    assert stats_path("a/res.jsonl") == "a/res_stats.jsonl"
    assert stats_path("a.jsonl/res.jsonl.zst") == "a.jsonl/res_stats.jsonl"
    assert stats_path("a/res") == "a/res_stats.jsonl"


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_statistics_in_tables_are_no_texts(tmp_path: Path, kind: str) -> None:
    parts = []
    for k, stats in enumerate(([], ['{"n":1,"r":null}'], ['{"n":2,"r":0.5}'])):
        [shard] = cut([Source.of_table(RICH.select(["small"]).slice(0, len(stats)))])
        [batch] = read(shard)
        with PartWriter(tmp_path / f"{k}", False) as writer:
            writer.write(batch, np.arange(len(stats)), {}, {"__dj__stats__": pa.array(stats, pa.string())})
        parts.append(writer.path)
    [written] = export(parts, str(tmp_path / f"res.{kind}"), kind, 0, False)
    assert load(written.path) == [
        {"small": 1, "__dj__stats__": {"n": 1, "r": None}},
        {"small": 1, "__dj__stats__": {"n": 2, "r": 0.5}},
    ]


def test_types_of_columns_are_those_of_all_lines(tmp_path: Path) -> None:
    samples = [
        {"i": 1, "f": 1, "mixed": 1, "d": "2024-01-01", "big": 1, "s": {"a": 1}, "l": [], "n": None, "b": True, "u": 1},
        {
            "i": -5,
            "f": 0.5,
            "mixed": "x",
            "d": None,
            "big": 2**63,
            "s": {"b": [1.5]},
            "l": [{"z": 1}],
            "e": {},
            "u": -1,
        },
        {"i": None, "mixed": {"k": [1]}, "big": 0, "s": None, "l": None, "b": None, "u": 2**63},
    ]
    parts = parts_of_lines(tmp_path, samples, 1)
    assert len(parts) > 3
    [written] = export(parts, str(tmp_path / "res.parquet"), "parquet")
    table = pq.read_table(written.path)
    assert {field.name: str(field.type) for field in table.schema} == {
        "i": "int64",
        "f": "double",
        "mixed": "string",
        "d": "string",
        "big": "uint64",
        "s": "struct<a: int64, b: list<element: double>>",
        "l": "list<element: struct<z: int64>>",
        "n": "null",
        "b": "bool",
        "u": "decimal128(38, 0)",
        "e": "string",
    }
    rows = table.to_pylist()
    assert [row["mixed"] for row in rows] == ["1", '"x"', '{"k":[1]}']
    assert [row["big"] for row in rows] == [1, 2**63, 0]
    assert [row["u"] for row in rows] == [1, -1, 2**63]
    assert [row["s"] for row in rows] == [{"a": 1, "b": None}, {"a": None, "b": [1.5]}, None]
    assert [row["l"] for row in rows] == [[], [{"z": 1}], None]


def test_names_that_differ_in_case_alone(tmp_path: Path) -> None:
    samples = [{"id": 1, "ID": "x", "m": {"a": [1], "A": None}, "j": 1}, {"Id": 0.5, "id": 2, "j": "s"}]
    [written] = export(parts_of_lines(tmp_path, samples), str(tmp_path / "res.parquet"), "parquet")
    assert load(written.path) == [
        {"id": 1, "ID": "x", "m": '{"a":[1],"A":null}', "j": "1", "Id": None},
        {"id": 2, "ID": None, "m": None, "j": '"s"', "Id": 0.5},
    ]


def test_too_many_fields_for_columns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "_MOST_COLUMNS", 200)
    samples = [{f"k{k}": 1 for k in range(201)}]
    with pytest.raises(OutputError, match="201 different fields, too many for columns. Export them as jsonl"):
        export(parts_of_lines(tmp_path, samples), str(tmp_path / "res.parquet"), "parquet")


def test_an_unknown_kind_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="'parqet' cannot be written.*Did you mean 'parquet'"):
        export([], str(tmp_path / "res.parqet"), "parqet")


def test_a_place_that_cannot_be_written_to_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match=r"res\.jsonl: cannot be written: File exists. A part of the path is a file"):
        export([], str(tmp_path / "file" / "res.jsonl"), "jsonl")
    (tmp_path / "res.jsonl").mkdir()
    with pytest.raises(OutputError, match=r"res\.jsonl: cannot be written: Is a directory. It is a folder"):
        export([], str(tmp_path / "res.jsonl"), "jsonl")
    with pytest.raises(OutputError, match="cannot be written"), PartWriter(tmp_path / "file" / "p", True):
        raise AssertionError("nothing can be opened there")


def test_a_full_disk_leaves_no_half_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parts = parts_of_lines(tmp_path)
    (tmp_path / "res.jsonl").write_text("old")

    class Full:
        def __init__(self, path: Path) -> None:
            self._file = open(path, "wb")

        def write(self, data: bytes) -> None:
            self._file.write(data[:10])
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        def close(self) -> None:
            self._file.close()

    monkeypatch.setattr(exporting, "open_output", lambda path, suffix: Full(path))
    with pytest.raises(OutputError, match=r"res\.jsonl: cannot be written: No space left on device. Free some space"):
        export(parts, str(tmp_path / "res.jsonl"), "jsonl")
    assert (tmp_path / "res.jsonl").read_text() == "old"
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


def test_statistics_stand_beside_the_samples(tmp_path: Path) -> None:
    with duckdb.connect() as con:
        con.execute(
            """
            CREATE TABLE stats AS SELECT * FROM (
              VALUES (0, true, 5, 0.25::DOUBLE), (1, false, 1, NULL), (2, true, 7, 0.1)
            ) AS found(_row, kept, text_len, "alnum ratio")
            """
        ).fetchall()
        written = write_stats(con, str(tmp_path / "o'ut" / "res.jsonl"), ["text_len", "alnum ratio"])
    assert written.path == str(tmp_path / "o'ut" / "res_stats.jsonl") and written.rows == 2
    assert load(written.path) == [
        {"__dj__stats__": {"text_len": 5, "alnum ratio": 0.25}},
        {"__dj__stats__": {"text_len": 7, "alnum ratio": 0.1}},
    ]
