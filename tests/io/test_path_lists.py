"""Lists of paths of a crawl: read in their order, from a web server, a bucket or a folder."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

import refinery
from refinery.errors import DataError
from refinery.io.path_lists import PREFIX, paths_in
from refinery.io.sources import find
from refinery.recipe.input_config import InputConfig
from tests.runs import exported
from tests.s3 import make_bucket, s3_server
from tests.web_archives import members, page, record

NAMES = ["crawl-data/X/warc/b.warc.gz", "crawl-data/X/warc/a.warc.gz"]


@pytest.fixture
def crawl(tmp_path: Path) -> Path:
    home = tmp_path / "crawl"
    for number, name in enumerate(NAMES):
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(members([record("warcinfo", b"x"), *(page(10 * number + n) for n in range(3))]))
    (home / "warc.paths.gz").write_bytes(gzip.compress("\n".join(NAMES).encode() + b"\n\n"))
    (home / "warc.paths").write_text("\n".join(NAMES))
    return home


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def server(crawl: Path) -> Iterator[str]:
    """A web server with the crawl."""
    pytest.importorskip("aiohttp", reason="the driver of http is not installed; the extra remote brings it")
    running = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(crawl)))
    thread = threading.Thread(target=running.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{running.server_port}/"
    running.shutdown()
    thread.join()


def ids_of(tmp_path: Path, path: str, prefix: str) -> list[str]:
    source = {"path": path, "prefix": prefix}
    steps = [{"text_length_filter": {"min_len": 0}}]
    run = refinery.run({"dataset": source, "export_path": str(tmp_path / "o.jsonl"), "np": 2, "process": steps})
    assert [name.rpartition("/crawl-data/")[2] for (name,) in run.sql("SELECT file FROM files").fetchall()] == [
        name.removeprefix("crawl-data/") for name in NAMES
    ]
    return [sample["id"] for sample in exported(run)]


WANTED = [f"<urn:{n}>" for n in (0, 1, 2, 10, 11, 12)]


@pytest.mark.parametrize("name", ["warc.paths", "warc.paths.gz"])
def test_of_a_folder(tmp_path: Path, crawl: Path, name: str) -> None:
    assert ids_of(tmp_path, str(crawl / name), f"{crawl}/") == WANTED


def test_of_a_web_server(tmp_path: Path, crawl: Path, server: str) -> None:
    assert ids_of(tmp_path, f"{server}warc.paths.gz", server) == WANTED
    assert ids_of(tmp_path, str(crawl / "warc.paths"), server) == WANTED


def test_of_a_bucket(tmp_path: Path, crawl: Path) -> None:
    import fsspec

    with s3_server():
        url = make_bucket("crawl")
        fs, root = fsspec.url_to_fs(url)
        for path in [*NAMES, "warc.paths"]:
            fs.pipe_file(f"{root}/{path}", (crawl / path).read_bytes())
        assert ids_of(tmp_path, f"{url}/warc.paths", f"{url}/") == WANTED


def test_paths_and_their_prefix(tmp_path: Path) -> None:
    (tmp_path / "wet.paths").write_text(" a/b.wet.gz \n\ns3://x/c.wet.gz\n/d.wet\n")
    assert PREFIX == "https://data.commoncrawl.org/"
    assert paths_in(str(tmp_path / "wet.paths"), PREFIX) == [f"{PREFIX}a/b.wet.gz", "s3://x/c.wet.gz", "/d.wet"]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "the list names no file"),
        (b"\n \n", "the list names no file"),
        (b"a\0b\n", ":1: 'a\\\\x00b' is no path"),
        (b"\xff\xfe", "the list is not UTF-8"),
        (b"\x1f\x8b\x08junk", "the list is damaged"),
        (b"missing.warc.gz", "missing.warc.gz"),
        (b"notes.pdf", "Extract its text"),
    ],
)
def test_what_is_wrong_with_a_list(tmp_path: Path, content: bytes, said: str) -> None:
    (tmp_path / "warc.paths").write_bytes(content)
    with pytest.raises(DataError, match=said):
        find([InputConfig(str(tmp_path / "warc.paths"), options=(("prefix", f"{tmp_path}/"),))])
