"""Inputs at URLs: an S3 server on this machine, and a driver that keeps objects in memory; read as files are."""

from __future__ import annotations

import gzip
import json
import os
import threading
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import fsspec
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest

from refinery.errors import DataError
from refinery.io import objects
from refinery.io.content_digest import content_of, stamp_of
from refinery.io.model import Shard, Source
from refinery.io.open import open_source
from refinery.io.readers import read_buffer
from refinery.io.readers.read import count_rows, read
from refinery.io.sources import cut, find
from refinery.storage import drivers, object_stream, object_versions, retries
from tests.s3 import make_bucket, s3_server
from tests.sampling import named

ROWS = [{"id": i, "text": f"word {i} " * (i % 40 + 1), "n": i / 2} for i in range(1200)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files of every format, in a folder and one below it."""
    home = tmp_path_factory.mktemp("files")
    lines = "".join(json.dumps(row) + "\n" for row in ROWS)
    broken = lines.replace('{"id": 700,', "{", 1)
    table = pa.Table.from_pylist(ROWS)
    (home / "below").mkdir()
    (home / "a.jsonl").write_text(broken)
    (home / "b.jsonl.gz").write_bytes(gzip.compress(lines.encode()))
    (home / "c.json").write_text("[\n" + lines.rstrip().replace("\n", ",\n") + "\n]\n")
    (home / "below" / "d.jsonl.zst").write_bytes(pa.Codec("zstd").compress(lines.encode(), asbytes=True))
    pq.write_table(table, home / "e.parquet", row_group_size=300)
    pc.write_csv(table, home / "f.csv")
    with pa.ipc.new_stream(str(home / "g.arrow"), table.schema) as writer:
        writer.write_table(table, 400)
    for number in range(12):
        (home / "below" / f"{number:02}.txt").write_text(f"text {number}\r\nof two lines")
    (home / "_SUCCESS").write_text("")
    return home


@pytest.fixture(scope="module")
def bucket(folder: Path) -> Iterator[str]:
    with s3_server():
        url = make_bucket("inputs")
        upload(f"{url}/data", folder)
        yield f"{url}/data"


def upload(url: str, folder: Path, below: str = "") -> None:
    """below: the only file or folder that is put there."""
    fs, root = fsspec.url_to_fs(url)
    for path in folder.rglob("*"):
        if path.is_file() and path.relative_to(folder).as_posix().startswith(below):
            fs.pipe_file(f"{root}/{path.relative_to(folder)}", path.read_bytes())


@pytest.fixture
def memory(folder: Path, request: pytest.FixtureRequest) -> str:
    url = f"memory://{request.node.name.partition('[')[0]}"
    upload(url, folder)
    return url


def samples_of(shards: list[Shard]) -> list[Any]:
    found: list[Any] = []
    for shard in shards:
        for batch in read(shard, 1 << 16):
            found += [(shard.index, batch.raw(i), int(batch.rows[i]), batch.line_number(i)) for i in range(len(batch))]
            found += [(shard.index, bad.raw, bad.row, bad.line, bad.error) for bad in batch.bad]
    return found


NAMES = ("a.jsonl", "b.jsonl.gz", "c.json", "below/d.jsonl.zst", "e.parquet", "f.csv", "g.arrow", "below/")


# Read in parts that its shards choose, as a stream, at places that its footer names, and many at once; every other
# format is read in one of these ways, and `test_any_driver_will_do` reads all of them.
WAYS = named({name: name for name in NAMES}, "a.jsonl", "b.jsonl.gz", "e.parquet", "below/")


@pytest.mark.parametrize("size", [60_000, pytest.param(1 << 30, marks=pytest.mark.long)])
@pytest.mark.parametrize("name", WAYS)
def test_objects_give_what_files_give(folder: Path, bucket: str, name: str, size: int) -> None:
    here, there = (cut(find([f"{place}/{name}"])[0], size, 2) for place in (folder, bucket))
    assert [(s.start, s.end, s.size, len(s.sources)) for s in here] == [
        (s.start, s.end, s.size, len(s.sources)) for s in there
    ]
    assert samples_of(here) == samples_of(there)
    assert [count_rows(shard) for shard in here] == [count_rows(shard) for shard in there]


@pytest.mark.parametrize("asked", ["", "/", "/*.jsonl*", "/**/*.txt", "/below/", "/*", "/below/0[1-3].txt"])
def test_folders_and_patterns_mean_the_same_objects(folder: Path, bucket: str, asked: str) -> None:
    here, there = (find([f"{place}{asked}"]) for place in (folder, bucket))
    assert [os.path.relpath(source.path, folder) for source in here[0]] == [
        source.path.removeprefix(f"{bucket}/") for source in there[0]
    ]
    assert [replace(source, path="") for source in here[0]] == [
        replace(source, path="", version="") for source in there[0]
    ]
    assert [note.partition(": ")[2] for note in here[1]] == [note.partition(": ")[2] for note in there[1]]
    assert len({source.version for source in there[0]}) == len(there[0])


def test_a_shard_asks_for_its_own_bytes_alone(bucket: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    fetch = object_stream.Stream._fetch
    monkeypatch.setattr(object_stream, "_FIRST", 4096)
    monkeypatch.setattr(object_stream, "MOST", 16384)
    monkeypatch.setattr(read_buffer, "_STEP", 4096)

    def counted(self: object_stream.Stream, start: int, end: int) -> bytes:
        asked.append(end - start)
        return fetch(self, start, end)

    monkeypatch.setattr(object_stream.Stream, "_fetch", counted)
    shards = cut(find([f"{bucket}/a.jsonl"])[0], 60_000)
    assert len(shards) > 3
    samples_of(shards[1:2])
    assert shards[1].size <= sum(asked) <= shards[1].size + 4 * 4096 and max(asked) <= 16384


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("s3://no-such-bucket/x.jsonl", "there is no bucket 'no-such-bucket'"),
        ("{}/a.json", "there is no such object or folder. Did you mean 'a.jsonl'?"),
        ("{}/belwo/x.txt", "inputs/data has no 'belwo'. Did you mean 'below'?"),
        ("{}/*.tsv", "no object matches the pattern"),
        ("{}/_SUCCESS", "files with suffix '(none)' cannot be read"),
        ("nodriver://x/y.jsonl", "Protocol not known: nodriver"),
    ],
)
def test_what_is_not_there_is_said_with_the_cure(bucket: str, url: str, said: str) -> None:
    with pytest.raises(DataError) as error:
        find([url.format(bucket)])
    assert said in str(error.value)


def test_no_access_is_no_missing_object(bucket: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(*_: Any, **__: Any) -> Any:
        raise PermissionError("Forbidden")

    monkeypatch.setattr(drivers.located(bucket)[0], "info", denied)
    with pytest.raises(
        DataError, match=r"a.jsonl: no access \(Forbidden\). The driver takes credentials from the environment"
    ):
        find([f"{bucket}/a.jsonl"])


def test_all_inputs_that_cannot_be_read_are_told_of_at_once(bucket: str) -> None:
    class Input:
        def __init__(self, path: str, line: int) -> None:
            self.path, self.format, self.line = path, None, line

    with pytest.raises(DataError) as error:
        find([Input(f"{bucket}/x.jsonl", 3), Input(f"{bucket}/a.jsonl", 4), Input("gone.jsonl", 5)], recipe="r.yaml")
    first, second = str(error.value).splitlines()
    assert first.startswith(f"r.yaml:3: {bucket}/x.jsonl: there is no such") and second.startswith("r.yaml:5: gone")


@pytest.mark.parametrize("name", WAYS)
def test_an_object_that_has_changed_since_it_was_found_is_not_read(folder: Path, bucket: str, name: str) -> None:
    url = make_bucket("changing-" + name.strip("/").replace("/", "-"))
    upload(url, folder, name)
    shards = cut(find([f"{url}/{name}"])[0], 60_000)
    before = [stamp_of(shard) for shard in shards]
    objects.mapped.cache_clear()
    fs, target = fsspec.url_to_fs(shards[-1].sources[-1].path)
    content = fs.cat_file(target)
    fs.pipe_file(target, content[:-1] + bytes([content[-1] ^ 1]))
    with pytest.raises(DataError, match="has changed since the start of the run"):
        samples_of(shards[-1:])
    now = find([f"{url}/{name}"])[0]
    assert stamp_of(replace(shards[-1], sources=tuple(now[-len(shards[-1].sources) :])))[0] != before[-1][0]


def test_lines_have_the_content_of_a_file_and_others_that_of_their_version(folder: Path, bucket: str) -> None:
    here, there = (cut(find([f"{place}/a.jsonl"])[0], 60_000) for place in (folder, bucket))
    assert [content_of(shard) for shard in here] == [content_of(shard) for shard in there]
    for name in ("b.jsonl.gz", "e.parquet", "below/"):
        upload(f"{bucket}-again", folder, name)
        one, other = (cut(find([f"{place}/{name}"])[0], 60_000) for place in (bucket, f"{bucket}-again"))
        assert [content_of(shard) for shard in one] == [content_of(shard) for shard in other]
        assert [stamp_of(shard)[0] for shard in one] != [stamp_of(shard)[0] for shard in other]


@pytest.mark.parametrize("name", NAMES)
def test_any_driver_will_do(folder: Path, memory: str, name: str) -> None:
    here, there = (cut(find([f"{place}/{name}"])[0], 60_000) for place in (folder, memory))
    assert samples_of(here) == samples_of(there)
    assert there[0].source.path.startswith(memory)
    assert there[0].source.version.startswith("t:")  # this driver gives only a time


class Ranges(SimpleHTTPRequestHandler):
    """A web server that serves parts of files, with a tag that identifies their version."""

    def do_HEAD(self) -> None:
        self.answer(b"")

    def do_GET(self) -> None:
        self.answer(None)

    def answer(self, body: bytes | None) -> None:
        path = Path(self.translate_path(self.path))
        if not path.is_file():
            self.send_error(404)
            return
        content, asked = path.read_bytes(), self.headers.get("Range")
        start, end = 0, len(content)
        if asked:
            first, last = asked.removeprefix("bytes=").split("-")
            start, end = int(first), min(end, int(last) + 1)
        self.send_response(206 if asked else 200)
        headers = {"Content-Length": end - start, "Accept-Ranges": "bytes", "ETag": f'"{len(content)}"'}
        headers |= {"Content-Range": f"bytes {start}-{end - 1}/{len(content)}"} if asked else {}
        for name, value in headers.items():
            self.send_header(name, str(value))
        self.end_headers()
        self.wfile.write(content[start:end] if body is None else body)

    def log_message(self, *_: Any) -> None:
        """Nothing is said."""


def test_a_web_server_will_do(folder: Path) -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Ranges, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        for name in ("a.jsonl", "b.jsonl.gz", "e.parquet"):
            here, there = (cut(find([f"{place}/{name}"])[0], 60_000) for place in (folder, url))
            assert samples_of(here) == samples_of(there)
        assert there[0].source.version == f"o:{(folder / 'e.parquet').stat().st_size}"
        with pytest.raises(DataError, match="none.jsonl: there is no such file"):
            find([f"{url}/none.jsonl"])
    finally:
        server.shutdown()
        server.server_close()


def test_what_a_driver_raises_is_no_damage_to_compressed_data(memory: str, monkeypatch: pytest.MonkeyPatch) -> None:
    [shard] = cut(find([f"{memory}/b.jsonl.gz"])[0])

    class Failing:
        def __init__(self, file: Any) -> None:
            self._file, self.left = file, 1

        def seek(self, at: int) -> None:
            self._file.seek(at)

        def read(self, count: int) -> bytes:
            self.left -= 1
            if self.left < 0:
                raise ConnectionResetError("the line went dead")
            return bytes(self._file.read(count // 8) if self.left else self._file.read(count))

        def close(self) -> None:
            self._file.close()

    monkeypatch.setattr(object_stream, "_FIRST", 1024)
    monkeypatch.setattr(retries, "_PAUSES", ())
    opened = objects.open_exactly
    monkeypatch.setattr(objects, "open_exactly", lambda source: Failing(opened(source)))
    with pytest.raises(DataError, match="b.jsonl.gz: cannot be read: the line went dead"):
        samples_of([shard])


def test_versions_are_of_contents_where_the_store_tells_them() -> None:
    assert object_versions.version_of({"ETag": '"abc"', "LastModified": "now"}, "s3://b/c") == "abc"
    assert (
        object_versions.version_of({"ETag": '"abc"'}, "https://b/c") == "o:abc"
    )  # another file there may have it, too
    assert object_versions.version_of({"etag": "x", "md5Hash": "y"}, "gs://b/c") == "y"
    assert (
        object_versions.version_of({"mtime": 12.5}, "file:///c") == "t:12"
        and object_versions.changed_at("t:12") == 12_000_000_000
    )
    assert object_versions.version_of({"size": 1}, "x://c") == "" and object_versions.changed_at(
        ""
    ) > object_versions.changed_at("t:9")
    assert object_versions.changed_at("abc") == object_versions.changed_at("o:abc") == 0


def test_small_objects_are_fetched_beside_one_another(bucket: str, monkeypatch: pytest.MonkeyPatch) -> None:
    sources, _ = find([f"{bucket}/below/"], suffixes=[".txt"])
    fetched: list[str] = []
    whole = objects._whole

    def counted(source: Source) -> bytes:
        fetched.append(source.path)
        return whole(source)

    monkeypatch.setattr(objects, "_whole", counted)
    given = objects.one_by_one(sources)
    first = next(given)
    with open_source(first) as file:
        assert file.read() == b"text 0\r\nof two lines"
    assert [source.path for source in given] == [source.path for source in sources[1:]]
    assert sorted(fetched) == sorted(source.path for source in sources)


@pytest.mark.parametrize("asked", ["", "/*/*.parquet", "/lang=en/", "/lang=en/*.parquet"])
def test_folders_at_urls_are_one_format_and_no_tables(tmp_path: Path, asked: str) -> None:
    for lang in ("en", "de"):
        (tmp_path / f"lang={lang}").mkdir()
        pq.write_table(pa.table({"text": [lang]}), tmp_path / f"lang={lang}" / "0.parquet")
    (tmp_path / "README.md").write_text("# page")
    (tmp_path / "notes.txt").write_text("one")
    url = f"memory://{tmp_path.name}"
    upload(url, tmp_path)
    rows = [[row for shard in cut(find([f"{place}{asked}"])[0]) for batch in read(shard) for row in batch.table.to_pylist()]
            for place in (tmp_path, url)]  # fmt: skip
    assert rows[0] == rows[1] and len(rows[0]) == (1 if "en" in asked else 2)
    assert ("lang" in rows[0][0]) == ("en" not in asked)
    fsspec.filesystem("memory").pipe_file(f"/{tmp_path.name}/_delta_log/0.json", b"{}")
    with pytest.raises(DataError, match="is a Delta table"):
        find([f"{url}{asked}"])
