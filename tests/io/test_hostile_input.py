"""Input that is damaged, odd or huge: read, set apart with its place, or refused; nothing else is lost."""

import gzip
import json
import subprocess
import sys
import zlib
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from refinery.errors import DataError
from refinery.io.batch import BadSample
from refinery.io.convert import Converter
from refinery.io.readers.delimited import _Reader
from refinery.io.readers.json_lines import ReadLimits
from refinery.io.readers.read import count_rows, read
from refinery.io.sources import cut, find

GOOD = [b'{"text": "one"}', b'{"text": "two"}']


def read_all(path: Path, shard_size: int = 1 << 30, **options: int) -> tuple[list, list[BadSample]]:
    """Good samples, and bad ones with the lines counted through the file."""
    good, bad, lines = [], [], 0
    for shard in cut(find([path])[0], shard_size):
        rows = []
        seen = 0
        for batch in read(shard, **options):
            good += [batch.sample(i) for i in range(len(batch))]
            bad += [BadSample(b.row, b.line + lines, b.raw, b.error) for b in batch.bad]
            rows += [*batch.rows.tolist(), *(b.row for b in batch.bad)]
            seen = max(seen, batch.lines_seen)
        assert sorted(rows) == list(range(count_rows(shard)))
        lines += seen
    return good, bad


BROKEN = [
    (b'{"text": "cut', "malformed JSON: unterminated string starting at column 10"),
    (b'{"text": "x",}', "malformed JSON: expecting property name enclosed in double quotes at column 14"),
    (b'{"text": "x"}{"text": "y"}', "malformed JSON: extra data at column 14"),
    (b"{'text': 'x'}", "malformed JSON: expecting property name enclosed in double quotes at column 2"),
    (b"plain text", "malformed JSON: expecting value at column 1"),
    (b"[1, 2]", "no sample: an array, not an object"),
    (b'"text"', "no sample: a string, not an object"),
    (b"17", "no sample: a number, not an object"),
    (b"null", "no sample: null, not an object"),
    (b"NaN", "no sample: a number, not an object"),
    (b'{"text": "\xff"}', "invalid UTF-8: byte 0xff at position 11 (invalid start byte)"),
    (b'{"text": "\xc0\xaf"}', "invalid UTF-8: byte 0xc0 at position 11 (invalid start byte)"),
    (b'{"text": "\xed\xa0\x80"}', "invalid UTF-8: byte 0xed at position 11 (invalid continuation byte)"),
    (b'{"text": "\xf4\x90\x80\x80"}', "invalid UTF-8: byte 0xf4 at position 11 (invalid continuation byte)"),
    (b'{"text": "\xe6\xbc"}', "invalid UTF-8: byte 0xe6 at position 11 (invalid continuation byte)"),
    (b'{"text": "\\ud800"}', "malformed JSON: unpaired surrogate \\ud800 at column 11"),
    (b'{"text": "\\ude00\\ud83d"}', "malformed JSON: unpaired surrogate \\ude00 at column 11"),
    (b'{"text": "a\x00b"}', "malformed JSON: invalid control character at column 12"),
    (b'{"text": "a\tb"}', "malformed JSON: invalid control character at column 12"),
    (b"\x00\x00\x00", "malformed JSON: expecting value at column 1"),
    (b'{"a": ' + b"[" * 2000 + b"]" * 2000 + b"}", "malformed JSON: nested more than 500 levels deep"),
    (b'{"n": ' + b"9" * 5000 + b"x}", None),
    (b"\xef\xbb\xbf{}", None),
]


@pytest.mark.parametrize(("line", "error"), BROKEN)
@pytest.mark.parametrize("size", [1 << 30, 7])
def test_a_broken_line_is_set_apart_alone(tmp_path: Path, line: bytes, error: str | None, size: int) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"\n".join([GOOD[0], b"", line, GOOD[1]]))
    if size == 7 and len(line) > 100:
        size = 1000
    good, [bad] = read_all(path, size)
    assert good == [{"text": "one"}, {"text": "two"}]
    assert (bad.line, bad.raw) == (3, line)
    assert bad.error == (error or bad.error) and bad.error.startswith(
        ("malformed JSON: ", "no sample: ", "invalid UTF-8: ")
    )


def test_broken_lines_at_both_ends(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"\xff\n" + GOOD[0] + b"\n{")
    good, bad = read_all(path)
    assert good == [{"text": "one"}]
    assert [(b.row, b.line, b.raw) for b in bad] == [(0, 1, b"\xff"), (2, 3, b"{")]


def test_odd_but_valid_lines_are_samples(tmp_path: Path) -> None:
    lines = [
        "{}",
        '{"text": null}',
        '{"text": 5}',
        '{"text": ["x"]}',
        '{"x": NaN, "y": -Infinity}',
        '{"text": "a\\u0000b"}',
    ]
    lines += [
        '{"text": "\\ud83d\\ude00"}',
        '\t{ "text" : "x" } ',
        '{"text": "\x7f\u2028\x85"}',
        '{"n": 1e999}',
        '{"":{}}',
    ]
    lines += ['{"text": 1}', '{"text": "x"}', '{"text": {"a": 1}}']  # a column whose type changes
    (tmp_path / "a.jsonl").write_text("\n".join(lines), encoding="utf-8", newline="")
    good, bad = read_all(tmp_path / "a.jsonl")
    assert bad == [] and len(good) == len(lines)
    assert good[5] == {"text": "a\0b"} and good[8] == {"text": "\x7f\u2028\x85"}


def test_a_number_of_thousands_of_digits(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(b'{"n": ' + b"9" * 5000 + b', "m": 7}')
    assert read_all(tmp_path / "a.jsonl") == ([{"n": "9" * 5000, "m": 7}], [])


def test_a_million_fields(tmp_path: Path) -> None:
    wide = json.dumps({f"k{i}": i for i in range(1_000_000)})
    (tmp_path / "a.jsonl").write_bytes(GOOD[0] + b"\n" + wide.encode() + b"\n" + GOOD[1])
    good, bad = read_all(tmp_path / "a.jsonl")
    assert bad == [] and [len(sample) for sample in good] == [1, 1_000_000, 1]


@pytest.mark.parametrize("head", [b"\xff\xfe", b"\xfe\xff", b"\xff\xfe\x00\x00", b"\x00\x00\xfe\xff"])
def test_other_encodings_are_named(tmp_path: Path, head: bytes) -> None:
    (tmp_path / "a.jsonl").write_bytes(head + '{"text": "x"}'.encode("utf-16-le"))
    with pytest.raises(DataError, match=r"a\.jsonl: the file is UTF-(16|32), not UTF-8. Convert it: iconv -f UTF"):
        read_all(tmp_path / "a.jsonl")


@pytest.mark.parametrize("name", ["a.jsonl", "a.json", "a.csv", "a.txt", "a.jsonl.gz"])
def test_an_empty_file_has_no_samples(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"")
    if name == "a.jsonl.gz":
        (tmp_path / name).write_bytes(gzip.compress(b""))
    good, bad = read_all(tmp_path / name)
    assert (good, bad) == ([{"text": ""}] if name == "a.txt" else [], [])


# Long lines


def test_a_line_above_the_limit_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    long = b'{"text": "' + b"x" * 100_000 + b'"}'
    path.write_bytes(b"\n".join([GOOD[0], long, GOOD[1], long]))
    good, bad = read_all(path, batch_bytes=5000, max_line=20_000)
    assert good == [{"text": "one"}, {"text": "two"}]
    assert [(b.row, b.line) for b in bad] == [(1, 2), (3, 4)]
    assert bad[0].error == "a line of 100013 bytes is longer than the limit" and long.startswith(bad[0].raw)
    for size in (50_000, 100_030):
        good, bad = read_all(path, size, batch_bytes=5000, max_line=20_000)
        assert (len(good), [b.line for b in bad]) == (2, [2, 4])


def test_a_document_of_100_megabytes(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    text = "some text\\n" * 10_000_000
    path.write_text(f'{{"text": "one"}}\n{{"text": "{text}"}}\n{{"text": "two"}}\n')
    good, bad = read_all(path, 16 << 20)
    assert bad == [] and [len(sample["text"]) for sample in good] == [3, 100_000_000, 3]
    path.with_suffix(".json").write_bytes(b"[" + path.read_bytes().strip().replace(b"}\n", b"},\n") + b"]")
    good, bad = read_all(path.with_suffix(".json"))
    assert bad == [] and [len(sample["text"]) for sample in good] == [3, 100_000_000, 3]


_PEAK = """
import resource, sys
from refinery.io.readers.read import read
from refinery.io.sources import cut, find
def rows(path):
    return sum(len(batch) for shard in cut(find([path])[0], 1 << 40) for batch in read(shard))
rows(sys.argv[1])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(rows(sys.argv[2]), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.parametrize("name", ["a.jsonl", "a.json", "a.jsonl.gz", "a.parquet"])
def test_memory_does_not_grow_with_the_file(tmp_path: Path, name: str) -> None:
    for folder, count in (("small", 1_000), ("large", 100_000)):
        (tmp_path / folder).mkdir()
        path = tmp_path / folder / name
        lines = [json.dumps({"id": k, "text": f"{k} " * 400}) for k in range(count)]
        text = "[" + ",\n".join(lines) + "]" if name == "a.json" else "\n".join(lines)
        if name == "a.parquet":
            table = pa.table({"text": [f"{k} " * 400 for k in range(count)]})
            pq.write_table(table, path, row_group_size=count, compression="zstd")
        else:
            path.write_bytes(gzip.compress(text.encode(), 1) if name.endswith("gz") else text.encode())
    arguments = [sys.executable, "-c", _PEAK, *(str(tmp_path / folder / name) for folder in ("small", "large"))]
    found = subprocess.run(arguments, capture_output=True, text=True, check=True).stdout.split()
    assert int(found[0]) == 100_000
    assert int(found[1]) < 120_000, f"{int(found[1]) / 1000} MB more for 250 MB of text"


# JSON that is no lines


@pytest.mark.parametrize(
    ("text", "good", "bad"),
    [
        ('[{"a":1},\n{"a":2,\n{"a":3},\n{"a":4}]', [1, 3, 4], [(2, '{"a":2,', "never ends")]),
        ('[\n  {"a":1},\n  {"a":"2},\n  {"a":3}\n]', [1, 3], [(3, '{"a":"2},', "never ends")]),
        ('[{"a":1}, {"a":tru}, 5, {"a":3}]', [1, 3], [(1, '{"a":tru}', "expecting value"), (1, "5", "not an object")]),
        ('[{"a":1},\n{"a":2}', [1, 2], [(2, "", "not closed")]),
        ('[{"a":1}] {"a":2}', [1], [(1, '{"a":2}', "after the end")]),
        ('[{"a":1},\n{"a":', [1], [(2, '{"a":', "never ends; what follows")]),
        ('[{"a":1}}, {"a":2}]', [1, 2], [(1, "}", "expecting value")]),
        ('[{"a":1} {"a":2},,{"a":3}]', [1, 2, 3], []),
        ('{\n "a": 1\n}\n{\n "a": 2,\n}\n{\n "a": 3\n}', [1, 3], [(4, '{"a": 2,}', "expecting property name")]),
    ],
)
def test_what_is_wrong_in_an_array_is_set_apart(tmp_path: Path, text: str, good: list, bad: list) -> None:
    (tmp_path / "a.json").write_text(text)
    for block in (1 << 20, 1):
        samples, found = read_all(tmp_path / "a.json", batch_bytes=block)
        assert [sample["a"] for sample in samples] == good
        assert [(b.line, b.raw.decode()) for b in found] == [(line, raw) for line, raw, _ in bad]
        assert all(error in b.error for b, (_, _, error) in zip(found, bad, strict=True))


def test_many_broken_elements_take_no_long_time(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("[" + ",\n".join(['{"a":1,'] * 3000 + ["5"] * 3000) + "]")
    good, bad = read_all(tmp_path / "a.json")
    assert good == [] and len(bad) >= 3000


# Damaged files


@pytest.mark.parametrize("codec", ["gzip", "zstd"])
@pytest.mark.parametrize("cut_off", [1, 200])
def test_what_stands_before_the_damage_is_read(tmp_path: Path, codec: str, cut_off: int) -> None:
    rng = np.random.default_rng(1)
    lines = [json.dumps({"text": str(rng.integers(1 << 60, size=20).tolist())}) for _ in range(2000)]
    whole = pa.Codec(codec).compress("\n".join(lines).encode(), asbytes=True)
    path = tmp_path / {"gzip": "a.jsonl.gz", "zstd": "a.jsonl.zst"}[codec]
    path.write_bytes(whole[:-cut_off])
    good, [bad] = read_all(path)
    assert [json.dumps(sample) for sample in good] == lines[: len(good)]
    assert len(good) > (1990 if codec == "gzip" else 1000)
    assert bad.line == len(good) + 1 and bad.error.startswith("the compressed data is damaged after ")


@pytest.mark.parametrize("junk", [b"junk", b"\0" * 100 + b"x", b"x" + b"\0" * 100, b"\x1f\x8b" + b"\0" * 20])
def test_junk_after_compressed_data_is_reported(tmp_path: Path, junk: bytes) -> None:
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(GOOD[0] + b"\n") + junk)
    good, [bad] = read_all(tmp_path / "a.jsonl.gz")
    assert good == [{"text": "one"}] and "damaged after 16 bytes" in bad.error
    assert "Copy or download the file again; `gzip -t` tests it" in bad.error


@pytest.mark.parametrize("zeros", [1, 2, 100, 3 << 20])
@pytest.mark.parametrize("size", [1 << 30, 1000])
def test_zeros_after_gzip_data_are_passed_over(tmp_path: Path, zeros: int, size: int) -> None:
    rows = b"".join(b'{"text": "%d"}\n' % k for k in range(5000))
    packed = gzip.compress(rows[: len(rows) // 2]) + gzip.compress(rows[len(rows) // 2 :])
    (tmp_path / "a.jsonl.gz").write_bytes(packed + bytes(zeros))
    good, bad = read_all(tmp_path / "a.jsonl.gz", size)
    assert [row["text"] for row in good] == [str(k) for k in range(5000)] and bad == []
    damaged = bytearray(packed)
    damaged[-6] ^= 1  # of the checksum
    (tmp_path / "a.jsonl.gz").write_bytes(bytes(damaged) + bytes(zeros))
    good, [error] = read_all(tmp_path / "a.jsonl.gz", size)
    assert len(good) > 2400 and "incorrect data check" in error.error and "gzip -t" in error.error


def frame(content: bytes) -> bytes:
    return pa.Codec("zstd").compress(content, asbytes=True)


SKIPPED = (0x184D2A53).to_bytes(4, "little") + (5).to_bytes(4, "little") + b"hello"


def test_zstd_of_many_frames_is_read(tmp_path: Path) -> None:
    one, two = frame(GOOD[0] + b"\n"), frame(GOOD[1] + b"\n")
    stream = pa.BufferOutputStream()
    with pa.CompressedOutputStream(stream, "zstd") as packer:  # a frame that does not know its size
        packer.write(GOOD[1] + b"\n")
    unknown = stream.getvalue().to_pybytes()
    whole = [SKIPPED + one + two, one + SKIPPED + two, one + two + SKIPPED, SKIPPED * 2 + one + SKIPPED + unknown]
    for content in (*whole, one + frame(b"") + two, SKIPPED + frame(GOOD[0] + b"\n" + GOOD[1] + b"\n")):
        for name in ("a.jsonl.zst", "a.jsonl"):
            (tmp_path / name).write_bytes(content)
            assert read_all(tmp_path / name) == ([{"text": "one"}, {"text": "two"}], [])
    (tmp_path / "a.jsonl.zst").write_bytes(one + b"junk")
    good, [bad] = read_all(tmp_path / "a.jsonl.zst")
    assert good == [{"text": "one"}] and "zstd -t" in bad.error


@pytest.mark.parametrize("dictionary", [True, False])
def test_a_page_with_a_wrong_checksum_is_refused(tmp_path: Path, dictionary: bool) -> None:
    path = tmp_path / "a.parquet"
    table = pa.table({"text": [f"word{k % 7}" for k in range(100)]})
    pq.write_table(table, path, write_page_checksum=True, compression="none", use_dictionary=dictionary)
    assert len(read_all(path)[0]) == 100
    raw = bytearray(path.read_bytes())
    raw[raw.index(b"word3") + 4] ^= 1
    path.write_bytes(bytes(raw))
    with pytest.raises(DataError, match=r"a\.parquet: reading failed after row \d+: .*CRC.*copy or download it again"):
        read_all(path)


def test_a_damaged_start_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(GOOD[0])[:9] + b"\xff" * 50)
    with pytest.raises(DataError, match=r"a\.jsonl\.gz: the compressed data is damaged after 0 bytes"):
        read_all(tmp_path / "a.jsonl.gz")


def test_a_damaged_table_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"text": [f"{k}" * 50 for k in range(10_000)]}), path, row_group_size=1000)
    raw = bytearray(path.read_bytes())
    raw[len(raw) // 2 : len(raw) // 2 + 2000] = b"\xff" * 2000
    path.write_bytes(bytes(raw))
    with pytest.raises(DataError, match=r"a\.parquet: reading failed after row \d+"):
        read_all(path)


def test_a_file_that_vanishes_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(GOOD[0])
    [shard] = cut(find([path])[0])
    path.unlink()
    with pytest.raises(DataError, match=r"a\.jsonl: No such file"):
        list(read(shard))


# Texts in tables that are none


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
    (tmp_path / "a.csv").write_text('text,n\n"' + "line one\n" * 1_000_000 + '",1\nx,2\n')
    good, bad = read_all(tmp_path / "a.csv", batch_bytes=10_000)
    assert bad == [] and [len(sample["text"]) for sample in good] == [9_000_000, 1]
    (tmp_path / "a.csv").write_text(",".join(f"c{k}" for k in range(20_000)) + "\n" + "x," * 19_999 + "1\n")
    good, bad = read_all(tmp_path / "a.csv")
    assert bad == [] and len(good[0]) == 20_000 and good[0]["c19999"] == 1


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


# Small files that hold much


def bomb(path: Path, head: bytes, tail: bytes, megabytes: int) -> None:
    """A compressed file whose text has a line of this many megabytes."""
    packer = zlib.compressobj(6, wbits=31)
    zeros = bytes(1 << 20)
    parts = [packer.compress(head), *(packer.compress(zeros) for _ in range(megabytes)), packer.compress(tail)]
    path.write_bytes(b"".join(parts) + packer.flush())


_READ = """
import json, resource, sys
from refinery.io.readers.read import read
from refinery.io.sources import cut, find
limit, good, bad = 8 << 20, 0, []
next(read(cut(find([sys.argv[1]])[0])[0]), None)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for shard in cut(find([sys.argv[2]])[0], 8 << 20):
    for batch in read(shard, 1 << 20, max_line=limit):
        good += len(batch)
        bad += [(item.error, len(item.raw)) for item in batch.bad]
print(json.dumps([good, bad, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024]))
"""


@pytest.mark.parametrize(
    ("name", "head", "tail", "good"),
    [
        ("a.jsonl.gz", b'{"a":"one"}\n{"a":"', b'"}\n{"a":"two"}\n', 2),
        ("a.json.gz", b'[{"a":"one"},\n{"a":"', b'"},\n{"a":"two"}]\n', 1),
    ],
)
def test_a_bomb_costs_no_more_than_the_limit(tmp_path: Path, name: str, head: bytes, tail: bytes, good: int) -> None:
    bomb(tmp_path / name, head, tail, 200)
    assert (tmp_path / name).stat().st_size < 300_000
    (tmp_path / "small").mkdir()
    bomb(tmp_path / "small" / name, head, tail, 1)
    command = [sys.executable, "-c", _READ, str(tmp_path / "small" / name), str(tmp_path / name)]
    read, [(error, kept)], grown = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    assert read == good
    assert "longer than" in error and kept <= 16 << 20
    assert grown < 60, f"{grown} MB more for a line of 200 MB with a limit of 8 MB"


def test_a_csv_line_above_the_limit_is_passed_over(tmp_path: Path) -> None:
    bomb(tmp_path / "a.csv.gz", b"text,n\na,1\n", b",2\nb,3\n", 3)
    good, [bad] = read_all(tmp_path / "a.csv.gz", batch_bytes=5000, max_line=1 << 20)
    assert good == [{"text": "a", "n": "1"}, {"text": "b", "n": "3"}] or good == [
        {"text": "a", "n": 1},
        {"text": "b", "n": 3},
    ]
    assert (bad.row, bad.line, bad.error) == (1, 3, f"a line of {(3 << 20) + 3} bytes is longer than the limit")
    bomb(tmp_path / "a.csv.gz", b"", b"\n", 3)
    with pytest.raises(DataError, match="the first line cannot be the header: it is longer than 1000"):
        _Reader(find([tmp_path / "a.csv.gz"])[0][0], ReadLimits(line=1000, batch_bytes=5000))


# Types of columns


def tables(path: Path, column: pa.Array) -> Path:
    table = pa.table({"text": ["one", "two"], "x": column})
    with pa.ipc.new_file(str(path), table.schema) as writer:
        writer.write_table(table)
    return path


SMALL = pa.array([Decimal("1.50"), None], pa.decimal256(10, 2))
READ_AS = {
    "decimal": (SMALL, pa.decimal128(10, 2)),
    "half": (pa.array([1.5, None], pa.float16()), pa.float32()),
    "view": (pa.array(["a", None], pa.string_view()), pa.large_string()),
    "runs": (pa.RunEndEncodedArray.from_arrays([2], pa.array(["a"])), pa.string()),
    "list": (pa.array([[1], None], pa.list_view(pa.int32())), pa.large_list(pa.int32())),
    "inside": (
        pa.array([[{"d": Decimal("1.5"), "m": {"k": 1.5}}], None],
                 pa.list_(pa.struct([("d", pa.decimal256(9, 1)), ("m", pa.map_(pa.string(), pa.float16()))]))),
        pa.list_(pa.struct([("d", pa.decimal128(9, 1)), ("m", pa.map_(pa.string(), pa.float32()))])),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", list(READ_AS))
def test_types_that_duckdb_does_not_know_are_read_as_others(tmp_path: Path, name: str) -> None:
    column, kind = READ_AS[name]
    path = tables(tmp_path / "a.arrow", column)
    [shard] = cut(find([path])[0])
    [batch] = read(shard)
    assert batch.table.schema.field("x").type == kind
    assert batch.table["x"].to_pylist() == column.to_pylist()


REFUSED = {
    "is decimal256(50, 2), which DuckDB has no type for": pa.array([Decimal("1.50"), None], pa.decimal256(50, 2)),
    "which DuckDB has no type for. Write it as a struct": pa.UnionArray.from_sparse(
        pa.array([0, 1], pa.int8()), [pa.array([1, 2]), pa.array(["a", "b"])]
    ),
    "which Parquet cannot hold": pa.array([(1, 2, 3), None], pa.month_day_nano_interval()),
    "has the time zone 'Nowhere/X'": pa.array([1, None], pa.timestamp("us", "Nowhere/X")),
    "'x' is struct<>, which Parquet cannot hold": pa.array([{}, None], pa.struct([])),
    "two fields named 'a'": pa.StructArray.from_arrays([pa.array([1, 2]), pa.array([3, 4])], ["a", "a"]),
    "column 'x.d' is decimal256(50, 1)": pa.array([{"d": 1}, None], pa.struct([("d", pa.decimal256(50, 1))])),
}


@pytest.mark.parametrize("said", list(REFUSED))
def test_types_that_nothing_holds_are_refused(tmp_path: Path, said: str) -> None:
    path = tables(tmp_path / "a.arrow", REFUSED[said])
    with pytest.raises(DataError) as error:
        cut(find([path])[0])
    assert str(error.value).startswith(str(path)) and said in str(error.value)


def test_a_map_with_a_key_twice_is_written_the_same_whatever_stands_beside_it() -> None:
    pairs = [[("a", 1)], [("a", 1), ("a", 2)], None, [("b", 3)]]
    table = pa.table({"x": pa.array(pairs, pa.map_(pa.string(), pa.int32())), "d": pa.array([Decimal("1.5")] * 4)})
    with Converter() as converter:
        whole = converter.lines(table).to_pylist()
        assert whole == [line for k in range(4) for line in converter.lines(table.slice(k, 1)).to_pylist()]
    assert [json.loads(line)["x"] for line in whole] == [{"a": 1}, {"a": 2}, None, {"b": 3}]


@pytest.mark.parametrize(
    ("head", "said"),
    [
        (b"PAR1....PAR1", "holds Parquet, not jsonl. Rename it to .parquet"),
        (b"ARROW1\0\0", "holds Arrow, not jsonl. Rename it to .arrow"),
        (b"PK\x03\x04..", "holds zip, not jsonl. Unpack it first"),
        (b"\xfd7zXZ\0", "holds xz, not jsonl. Unpack it first"),
    ],
)
def test_another_format_under_the_name_of_lines_is_refused(tmp_path: Path, head: bytes, said: str) -> None:
    (tmp_path / "a.jsonl").write_bytes(head)
    with pytest.raises(DataError, match=said):
        find([tmp_path / "a.jsonl"])
