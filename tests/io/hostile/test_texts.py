"""Texts that are none, in tables, CSV and text files: their rows are set apart, the others read."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from refinery.errors import DataError
from tests.io.hostile.everything import read_all


def broken(values: list[bytes | None]) -> pa.Array:
    """A column of type string whose bytes nobody checked."""
    array = pa.array(values, pa.binary())
    return pa.Array.from_buffers(pa.string(), len(array), array.buffers(), array.null_count)


def test_rows_with_broken_texts_are_set_apart(tmp_path: Path) -> None:
    plain = pa.array([b"a", b"b\xff", b"c", None, b"e", b"f"])
    nested = pa.ListArray.from_arrays([0, 1, 1, 2, 3, 4, 4], broken([b"x", b"\xed\xa0\x80", b"y", b"z"]))
    split = broken([b"\xc3", b"\xa9", b"ok", b"ok", b"ok", b"ok"])  # together one character, apart none
    inner = pa.StructArray.from_arrays([broken([b"s"] * 4 + [b"\xc0\x80", b"s"])], ["t"])
    cases = {
        "text": (broken(plain.to_pylist()), [1]),
        "nested": (nested, [2]),
        "split": (split, [0, 1]),
        "inner": (inner, [4]),
    }
    for name, (column, wrong) in cases.items():
        table = pa.table({"id": range(6), name: column})
        pq.write_table(table, tmp_path / "a.parquet")
        good, bad = read_all(tmp_path / "a.parquet")
        assert [sample["id"] for sample in good] == [k for k in range(6) if k not in wrong]
        assert [(b.row, b.line) for b in bad] == [(k, k + 1) for k in wrong]
        assert all(name in b.error and "invalid UTF-8" in b.error for b in bad)
    pq.write_table(pa.table({"text": cases["text"][0]}), tmp_path / "a.parquet")
    assert read_all(tmp_path / "a.parquet")[1][0].raw == b'{"text": "b\xff"}'


@pytest.mark.parametrize(
    ("content", "good", "bad"),
    [
        (b"text,n\na,1\nb,2,3\nc,3\n", [("a", 1), ("c", 3)], [(3, b"b,2,3", "3 fields, but 2 columns")]),
        (b"text,n\na,1\nb\nc,3\n", [("a", 1), ("b", None), ("c", 3)], []),
        (b"text,n\na,1\nb\xff,2\nc,3\n", [("a", 1), ("c", 3)], [(3, b"b\xff,2", "invalid UTF-8")]),
        (b'text,n\na,1\nb,"2\nc,3\n', [("a", 1), ("c", 3)], [(3, b'b,"2', "never closed")]),
        (b'text,n\n"a\nb",1\n\n  \n"c""d"e,2', [("a\nb", 1), ('c"de', 2)], []),
        (b'text,n\na"b,1\n"a" b,2\n', [('a"b', 1), ("a b", 2)], []),
        (b"text,n\r\na\x00b,1\r\n", [("a\0b", 1)], []),
        (b"\xef\xbb\xbftext,n\na,1\n", [("a", 1)], []),
    ],
)
def test_hostile_csv(tmp_path: Path, content: bytes, good: list, bad: list) -> None:
    (tmp_path / "a.csv").write_bytes(content)
    samples, found = read_all(tmp_path / "a.csv", batch_bytes=1)
    assert [(sample["text"], sample["n"]) for sample in samples] == good
    assert [(b.line, b.raw) for b in found] == [(line, raw) for line, raw, _ in bad]
    assert all(error in b.error for b, (_, _, error) in zip(found, bad, strict=True))


def test_a_csv_with_a_long_document_and_many_columns(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('text,n\n"' + "line one\n" * 200_000 + '",1\nx,2\n')
    good, bad = read_all(tmp_path / "a.csv", batch_bytes=10_000)
    assert bad == [] and [len(sample["text"]) for sample in good] == [1_800_000, 1]
    (tmp_path / "a.csv").write_text(",".join(f"c{k}" for k in range(6_000)) + "\n" + "x," * 5_999 + "1\n")
    good, bad = read_all(tmp_path / "a.csv")
    assert bad == [] and len(good[0]) == 6_000 and good[0]["c5999"] == 1


def test_a_header_that_is_none_is_refused(tmp_path: Path) -> None:
    for content in (b"te\xffxt\nx\n", b'"text\nx\n'):
        (tmp_path / "a.csv").write_bytes(content)
        with pytest.raises(DataError, match="the first line cannot be the header"):
            read_all(tmp_path / "a.csv")


def test_text_files_that_are_no_text(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"fine")
    (tmp_path / "b.txt").write_bytes(b"line\nbad \xff\n")
    (tmp_path / "c.txt").write_bytes(b"x" * 3000)
    good, bad = read_all(tmp_path, max_line=2000)
    assert good == [{"text": "fine"}]
    assert [(b.row, b.line, b.error) for b in bad] == [
        (1, 2, "invalid UTF-8: byte 0xff at position 10 (invalid start byte)"),
        (2, 1, "a text of 3000 bytes is longer than the limit"),
    ]
