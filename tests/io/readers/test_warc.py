"""Web archives: records of every kind and condition, in every compression, cut anywhere."""

from __future__ import annotations

import gzip
import random
import zlib
from pathlib import Path
from typing import Any

import brotli
import fsspec
import pyarrow as pa
import pytest

import refinery
from refinery.errors import DataError
from refinery.io.readers import model
from refinery.io.readers.passed_over import counted
from refinery.io.readers.read import read
from refinery.io.sources import cut, find
from refinery.results.open_tables import open_tables
from tests.commands import command
from tests.io.hostile.everything import read_all
from tests.runs import exported, rows
from tests.s3 import make_bucket, s3_server
from tests.web_archives import http, members, page, record

RNG = random.Random(7)
KINDS = ["warcinfo", "request", "metadata", "revisit", "resource", "continuation"]
MIXED = [
    page(n, bytes(RNG.choices(b"ab <>\n", k=RNG.randint(0, 900)))) if n % 3 else record(KINDS[n // 3 % 6], b"x: y", n)
    for n in range(300)
]
TEXTS = [n for n in range(300) if n % 3]


def packed(name: str, records: list[bytes]) -> bytes:
    joined = b"".join(records)
    if name == "a.warc":
        return joined
    if name == "a.warc.gz":
        return members(records)
    if name == "whole.warc.gz":
        return gzip.compress(joined)
    return b"".join(pa.compress(one, "zstd", asbytes=True) for one in records)


def ids(samples: list[dict[str, Any]]) -> list[int]:
    return [int(sample["id"].removeprefix("<urn:").rstrip(">")) for sample in samples]


@pytest.mark.parametrize("name", ["a.warc", "a.warc.gz", "whole.warc.gz", "a.warc.zst"])
@pytest.mark.parametrize("size", [1 << 30, 20_000, 1_000])
def test_the_same_samples_however_the_file_is_packed_and_cut(tmp_path: Path, name: str, size: int) -> None:
    (tmp_path / name).write_bytes(packed(name, MIXED))
    with counted() as passed:
        good, bad = read_all(tmp_path / name, size)
    assert ids(good) == TEXTS and not bad
    assert {kind: count // 2 for kind, count in passed.items()} == {  # read_all reads, and counts
        f"{kind} records": sum(n % 3 == 0 and KINDS[n // 3 % 6] == kind for n in range(300)) for kind in KINDS
    }
    shards = len(cut(find([tmp_path / name])[0], size))
    assert shards > 5 if name in ("a.warc", "a.warc.gz") and size == 1_000 else shards >= 1


def test_columns_of_a_page_and_of_a_text(tmp_path: Path) -> None:
    body = "<meta charset=utf-8>\u00e9".encode()
    response = page(1, body, headers="content-type: Text/HTML; Charset=UTF-8", status="HTTP/1.1 404 Not Found")
    (tmp_path / "a.warc").write_bytes(response + record("conversion", "t\u00e9xt".encode(), 2))
    good, bad = read_all(tmp_path / "a.warc")
    same = {"date": "2026-01-02T03:04:05Z", "charset": "utf-8", "charset_detected": "utf-8", "replaced": 0}
    same |= {"truncated": None}
    html = {"status": 404, "content_type": "text/html", "payload_type": "text/html", "charset_declared": "utf-8"}
    text = {"status": None, "content_type": "text/plain", "payload_type": "text/plain", "charset_declared": None}
    assert not bad and good == [
        {"text": body.decode(), "id": "<urn:1>", "url": "https://a.example/1", "record_type": "response"}
        | {"payload_digest": "sha1:1", **same, **html},
        {"text": "t\u00e9xt", "id": "<urn:2>", "url": "https://a.example/2", "record_type": "conversion"}
        | {"payload_digest": "sha1:2", **same, **text},
    ]


HTML = b"<html>hello world</html>" * 40
RAW = zlib.compressobj(9, zlib.DEFLATED, -15)
RAW_DEFLATE = RAW.compress(HTML) + RAW.flush()
CHUNKS = b"%x;name=value\r\n%s\r\n0\r\nTrailer: 1\r\n\r\n" % (len(HTML), HTML)
ZIPPED = gzip.compress(HTML, mtime=0)  # names of tests are made of it, so it has no time


@pytest.mark.parametrize(
    ("headers", "body"),
    [
        ("Content-Encoding: gzip", ZIPPED),
        ("content-encoding: X-GZIP", ZIPPED),
        ("Content-Encoding: gzip", ZIPPED + b"junk"),
        ("Content-Encoding: gzip, gzip", gzip.compress(ZIPPED, mtime=0)),
        ("Content-Encoding: deflate", zlib.compress(HTML)),
        ("Content-Encoding: deflate", RAW_DEFLATE),
        ("Content-Encoding: br", brotli.compress(HTML)),
        ("Content-Encoding: zstd", pa.compress(HTML, "zstd", asbytes=True)),
        ("Transfer-Encoding: chunked", CHUNKS),
        ("Transfer-Encoding: chunked\r\nContent-Encoding: gzip", b"%x\r\n%s\r\n0\r\n\r\n" % (len(ZIPPED), ZIPPED)),
        ("Transfer-Encoding: chunked", HTML),  # decoded by the crawler
        ("Content-Encoding: gzip", HTML),
        ("Content-Encoding: br", HTML),
        ("Content-Encoding: deflate", HTML),
        ("Content-Encoding: utf-8", HTML),
    ],
)
def test_bodies_are_decoded(tmp_path: Path, headers: str, body: bytes) -> None:
    (tmp_path / "a.warc").write_bytes(page(1, body, headers=headers))
    [sample], bad = read_all(tmp_path / "a.warc")
    assert (sample["text"], sample["truncated"], bad) == (HTML.decode(), None, [])


@pytest.mark.parametrize(
    ("headers", "body"),
    [
        ("Content-Encoding: gzip", gzip.compress(bytes(RNG.choices(b"abcdef", k=90_000)), mtime=0)[:-9_000]),
        ("Transfer-Encoding: chunked", b"ffff\r\n" + b"a" * 900),
    ],
)
def test_a_body_that_breaks_off_is_marked(tmp_path: Path, headers: str, body: bytes) -> None:
    (tmp_path / "a.warc").write_bytes(page(1, body, headers=headers))
    [sample], _ = read_all(tmp_path / "a.warc")
    assert sample["truncated"] == "body" and len(sample["text"]) >= 900


UNREADABLE = {
    "its HTTP header cannot be read": record("response", http(b"", headers="X: " + "y" * (2 << 20))),
    "its block is no HTTP response": record("response", b"no response"),
    "no valid gzip data": page(1, b"\x1f\x8b" + b"x" * 99, headers="Content-Encoding: gzip"),
    "no valid br data": page(1, b"\x01\x02\x03" * 9, headers="Content-Encoding: br"),
    "the length of a chunk is b'zz": page(1, b"1\r\na\r\nzz\r\n", headers="Transfer-Encoding: chunked"),
}


@pytest.mark.parametrize("error", UNREADABLE)
@pytest.mark.parametrize("name", ["a.warc", "a.warc.gz"])
def test_a_payload_that_cannot_be_read_costs_its_record(tmp_path: Path, name: str, error: str) -> None:
    (tmp_path / name).write_bytes(packed(name, [page(1), UNREADABLE[error], page(3)]))
    good, [bad] = read_all(tmp_path / name)
    place = len(packed(name, [page(1)]))
    assert ids(good) == [1, 3] and error in bad.error and f"<urn:1> at byte {place}" in bad.error and bad.line == 2


BLOCK = http(b"<html>page 2")
DAMAGED = {
    "too long": record("response", BLOCK, 2, length=len(BLOCK) + 30),
    "too short": record("response", BLOCK, 2, length=len(BLOCK) - 5),
    "negative": record("response", BLOCK, 2, length=-5),
    "no length": record("response", BLOCK, 2).replace(b"Content-Length", b"X-Length"),
    "no record": b"\x00\xffgarbage\r\n\r\n",
    "huge header": record("response", BLOCK, 2, more=f"X: {'y' * (2 << 20)}\r\n"),
    "beyond the end": record("response", BLOCK, 2, length=99_999),
    "huge": record("response", BLOCK, 2, length=1 << 40),
}


@pytest.mark.parametrize("name", ["a.warc", "a.warc.gz", "a.warc.zst"])
@pytest.mark.parametrize("kind", [kind for kind in DAMAGED if kind != "huge"])
def test_a_damaged_record_is_one_row_of_quarantine(tmp_path: Path, name: str, kind: str) -> None:
    """Where nothing but the lengths show records, a wrong one costs no other record."""
    records = [page(0), page(1), DAMAGED[kind], page(3), page(4)]
    (tmp_path / name).write_bytes(packed(name, records))
    good, bad = read_all(tmp_path / name)
    before = (
        1 if kind == "no record" and name != "a.warc.gz" else None
    )  # bytes are lost behind that record, perhaps its own
    assert ids(good) == [n for n in (0, 1, 3, 4) if n != before]
    assert len(bad) == 1


def test_a_length_beyond_the_end_of_the_file(tmp_path: Path) -> None:
    """In a file of members the next member shows the end of the record; elsewhere nothing does."""
    for name in ("a.warc", "a.warc.gz"):
        (tmp_path / name).write_bytes(packed(name, [page(1), DAMAGED["huge"], page(3)]))
        good, [bad] = read_all(tmp_path / name)
        assert ids(good) == ([1, 3] if name == "a.warc.gz" else [1])
        assert ("but it has at most" if name == "a.warc.gz" else "cut off") in bad.error


@pytest.mark.parametrize("cut_off", [1, 5, 30, 150])
@pytest.mark.parametrize("name", ["a.warc", "a.warc.gz", "whole.warc.gz", "a.warc.zst"])
def test_a_cut_off_record_is_not_read(tmp_path: Path, name: str, cut_off: int) -> None:
    data = packed(name, [page(1), page(2), page(3)])
    if name == "a.warc":
        cut_off += 4  # the empty lines behind a record
    (tmp_path / name).write_bytes(data[:-cut_off])
    good, [bad] = read_all(tmp_path / name)
    if name == "whole.warc.gz":  # of one checksum for all
        assert ids(good) == [1, 2, 3][: len(good)]
    else:
        assert ids(good) == [1, 2]
    assert "cut off" in bad.error or "data is damaged" in bad.error


@pytest.mark.parametrize("place", [4, 30, 60, -3])
def test_a_damaged_member_costs_itself(tmp_path: Path, place: int) -> None:
    parts = [gzip.compress(page(n, bytes(RNG.choices(b"abcdefghij", k=500)))) for n in range(9)]
    broken = bytearray(parts[4])
    broken[place] ^= 0xFF
    if place == 4:  # the time in the header, which nothing protects
        broken[0] = 1
    (tmp_path / "a.warc.gz").write_bytes(b"".join([*parts[:4], bytes(broken), *parts[5:]]))
    for size in (1 << 30, 1_000):
        good, [bad] = read_all(tmp_path / "a.warc.gz", size)
        assert ids(good) == [0, 1, 2, 3, 5, 6, 7, 8]
        assert f"at byte {sum(map(len, parts[:4]))}" in bad.error


def test_padding_between_members_is_no_damage(tmp_path: Path) -> None:
    (tmp_path / "a.warc.gz").write_bytes(b"\0\0".join(gzip.compress(page(n)) for n in range(3)) + b"\0" * 999)
    good, bad = read_all(tmp_path / "a.warc.gz")
    assert ids(good) == [0, 1, 2] and not bad


def test_an_archive_in_an_archive_is_not_cut(tmp_path: Path) -> None:
    """A record stores an archive as it is; a cut there would make samples of what one page holds."""
    inner = gzip.compress(page(77, bytes(RNG.choices(range(256), k=40_000))))
    stored = zlib.compressobj(0, zlib.DEFLATED, 31)
    outer = stored.compress(page(5, inner * 3, headers="Content-Type: application/gzip")) + stored.flush()
    (tmp_path / "a.warc.gz").write_bytes(gzip.compress(page(1)) + outer + gzip.compress(page(9)))
    good, bad = read_all(tmp_path / "a.warc.gz")
    assert ids(good) == [1, 5, 9] and not bad and good[1]["payload_type"] == "application/gzip"
    with pytest.raises(DataError, match="within a record that seems to hold an archive itself. Set shard_size above"):
        read_all(tmp_path / "a.warc.gz", 100_000)


@pytest.mark.parametrize("content", [b"", b"\n\n", b"\0" * 5000, b"{}\n" * 2000, bytes(range(256)) * 99])
def test_files_that_are_no_archives(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.warc").write_bytes(content)
    good, bad = read_all(tmp_path / "a.warc")
    assert not good and len(bad) == bool(content.strip())
    assert all("no record begins here" in one.error for one in bad)


def test_records_without_url_with_bare_line_feeds_and_of_unknown_types(tmp_path: Path) -> None:
    block = http(b"<html>page 1").replace(b"\r\n", b"\n")
    bare = record("response", block).replace(b"\r\n", b"\n")
    nameless = page(2).replace(b"WARC-Target-URI", b"X")
    other = record("snapshot", b"x", 3)
    (tmp_path / "a.warc").write_bytes(
        bare + nameless + other + page(4).replace(b"https://a.example/4", b"<http://x y/>")
    )
    with counted() as passed:
        good, bad = read_all(tmp_path / "a.warc")
    assert not bad and [sample["url"] for sample in good] == ["https://a.example/1", None, "http://x y/"]
    assert good[0]["text"] == "<html>page 1" and set(passed) == {"snapshot records"}


def test_payloads_that_are_no_text(tmp_path: Path) -> None:
    bodies = [b"%PDF-1.4 x", b"\x89PNG\r\n\x1a\n\0\0", bytes(range(256)) * 9, b"\0\x01\x02" * 9, b"<svg>", b'{"a": 1}']
    types = ["application/pdf", "text/html", "image/x", "text/html", "image/svg+xml", "application/json"]
    pages = [page(n, b, headers=f"Content-Type: {t}") for n, (b, t) in enumerate(zip(bodies, types, strict=True))]
    (tmp_path / "a.warc").write_bytes(b"".join(pages))
    good, _ = read_all(tmp_path / "a.warc")
    assert [sample["text"] for sample in good] == ["", "", "", "", "<svg>", '{"a": 1}']
    assert [sample["charset"] for sample in good] == [None] * 4 + ["utf-8"] * 2
    assert [sample["payload_type"] for sample in good][:2] == ["application/pdf", "image/png"]


def test_nul_characters_stay(tmp_path: Path) -> None:
    (tmp_path / "a.warc").write_bytes(page(1, b"<html>a\0b</html>"))
    run = refinery.run(recipe(tmp_path / "a.warc", tmp_path))
    assert exported(run)[0]["text"] == "<html>a\0b</html>"


def recipe(path: Path, tmp_path: Path) -> dict[str, Any]:
    step = {"text_length_filter": {"min_len": 3}}
    return {"dataset_path": str(path), "export_path": str(tmp_path / "run" / "out.jsonl"), "np": 2, "process": [step]}


def test_a_run_accounts_for_every_record(tmp_path: Path) -> None:
    """Two files, of which one ends within a record; what is no sample is counted by kind, also after a second run."""
    home = tmp_path / "crawl"
    home.mkdir()
    (home / "a.warc.gz").write_bytes(members(MIXED))
    (home / "b.warc.wet.gz").write_bytes(members([record("warcinfo", b"x"), record("conversion", b"a text", 2)])[:-9])
    for again in (False, True):
        run = refinery.run({**recipe(home, tmp_path), "shard_size": 20_000})
        assert (run.counts.read, run.counts.quarantined) == (len(TEXTS) + 1, 1)
        passed = rows(run, "passed_over", "kind, sum(number)", "kind != '' GROUP BY kind ORDER BY kind")
        assert dict(passed) == {"warcinfo records": 18, **{f"{kind} records": n for kind, n in _numbers().items()}}
        [(file, error)] = rows(run, "quarantine", "file, error")
        assert file == str(home / "b.warc.wet.gz") and error.startswith(
            "the record is cut off: the file ends within it"
        )
        assert any("no samples, and passed over: 18 warcinfo records" in line for line in run.warnings)
        assert any("could not be read to its end" in line for line in run.warnings)
        assert bool(run.sql("SELECT sum(reused) FROM shards").fetchall()[0][0]) == again


def _numbers() -> dict[str, int]:
    return {kind: sum(n % 3 == 0 and KINDS[n // 3 % 6] == kind for n in range(300)) for kind in KINDS[1:]}


def test_a_missing_library_is_an_error_before_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.warc").write_bytes(page(1))
    monkeypatch.setattr(model, "find_spec", lambda name: None)
    with pytest.raises(
        DataError, match=r"reading warc needs the Python package 'fastwarc'.*pip install .*'fastwarc>=2'"
    ):
        find([tmp_path / "a.warc"])


def test_commands_on_a_run_over_an_archive(tmp_path: Path) -> None:
    """A row is read again where it stands, and a run with other bounds knows what was passed over."""
    (tmp_path / "a.warc.gz").write_bytes(members(MIXED))
    run = refinery.run({**recipe(tmp_path / "a.warc.gz", tmp_path), "shard_size": 20_000, "np": 1})
    row = run.sql("SELECT _row FROM ledger ORDER BY _row DESC LIMIT 1").fetchall() or [(150,)]
    code, said = command("why", str(row[0][0]), "--run", str(run.work_dir))
    assert code == 0 and f"a.warc.gz:{TEXTS[row[0][0]] + 1}" in said
    again = tmp_path / "again"
    bound = ["--set", "process.text_length_filter.min_len=400"]
    code, said = command(
        "refilter", str(run.work_dir), *bound, "--work-dir", str(again), "--export", str(again / "k.jsonl")
    )
    assert code == 0, said
    with open_tables(again / "refinery.duckdb") as con:
        assert con.execute("SELECT sum(number) FROM passed_over").fetchall() == [(100,)]


def test_an_archive_beside_lines(tmp_path: Path) -> None:
    (tmp_path / "a.warc.gz").write_bytes(members(MIXED[:4]))
    (tmp_path / "b.jsonl").write_text('{"text": "line", "id": "x"}\n')
    places = {"dataset_path": [str(tmp_path / "a.warc.gz"), str(tmp_path / "b.jsonl")]}
    run = refinery.run({**recipe(tmp_path, tmp_path), **places, "process": [{"text_length_filter": {"min_len": 0}}]})
    assert [sample["id"] for sample in exported(run)] == ["<urn:1>", "<urn:2>", "x"]


def test_archives_in_a_bucket(tmp_path: Path) -> None:
    """Objects are cut and read as files are; they are not downloaded whole for a shard."""
    with s3_server():
        url = make_bucket("archives")
        fs, root = fsspec.url_to_fs(url)
        for name in ("a.warc", "a.warc.gz", "a.warc.zst"):
            fs.pipe_file(f"{root}/{name}", packed(name, MIXED))
            good = []
            shards = cut(find([f"{url}/{name}"])[0], 20_000)
            for shard in shards:
                for batch in read(shard):
                    good += [batch.sample(i) for i in range(len(batch))]
                    assert not batch.bad
            assert ids(good) == TEXTS and (len(shards) > 3) == (name == "a.warc.gz")
