"""Broken and odd lines of JSON: each is set apart alone with its place, or read."""

import gzip
import json
from pathlib import Path

import pytest

from refinery.errors import DataError
from tests.io.hostile.everything import GOOD, read_all

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


@pytest.mark.parametrize("count", [100_000, pytest.param(1_000_000, marks=pytest.mark.long)])
def test_very_many_fields(tmp_path: Path, count: int) -> None:
    wide = json.dumps({f"k{i}": i for i in range(count)})
    (tmp_path / "a.jsonl").write_bytes(GOOD[0] + b"\n" + wide.encode() + b"\n" + GOOD[1])
    good, bad = read_all(tmp_path / "a.jsonl")
    assert bad == [] and [len(sample) for sample in good] == [1, count, 1]


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
