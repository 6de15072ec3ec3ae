"""Downloads from a server on this machine: whole, interrupted, changed in between, refused, wrong."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from refinery.assets.fetch import Download, fetch
from refinery.errors import DataError, OutputError
from tests.kernels.models.fasttext_writer import Recipe as FastText
from tests.kernels.models.fasttext_writer import model as fasttext_model
from tests.sampling import named

DATA = bytes(range(256)) * 20_000
DIGEST = hashlib.sha256(DATA).hexdigest()


class Server:
    """A server of one file that understands ranges. drops: bytes after which it closes each of the next connections."""

    def __init__(self) -> None:
        self.data, self.tag, self.drops = DATA, '"one"', list[int]()
        self.status, self.length, self.ranges = 200, True, True
        self.named = ""  # what it says in place of the length
        self.asked: list[str | None] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.answer(self)

            def log_message(self, *_: Any) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.http.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}/table.dat"

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        asked = handler.headers.get("Range")
        self.asked.append(asked)
        if self.status != 200:
            handler.send_error(self.status)
            return
        start = int(asked.removeprefix("bytes=").rstrip("-")) if asked and self.ranges else 0
        start = start if handler.headers.get("If-Range") == self.tag else 0
        body = self.data[start:]
        if start and not body:
            handler.send_response(416)
            handler.send_header("Content-Range", f"bytes */{len(self.data)}")
            handler.end_headers()
            return
        handler.send_response(206 if start else 200)
        if start:
            handler.send_header("Content-Range", f"bytes {start}-{len(self.data) - 1}/{len(self.data)}")
        if self.length:
            handler.send_header("Content-Length", self.named or str(len(body)))
        handler.send_header("ETag", self.tag)
        handler.end_headers()
        handler.wfile.write(body[: self.drops.pop(0)] if self.drops else body)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    found = Server()
    yield found
    found.http.shutdown()
    found.http.server_close()


def got(server: Server, target: Path, digest: str = "") -> str:
    return fetch(Download(server.url, target, digest), wait=0)


def left(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_file_is_put_in_place_when_it_is_whole(server: Server, tmp_path: Path) -> None:
    target, said = tmp_path / "new" / "table.dat", list[tuple[int, int | None]]()
    digest = fetch(Download(server.url, target, DIGEST), lambda done, whole: said.append((done, whole)))
    assert digest == DIGEST and target.read_bytes() == DATA and left(target.parent) == ["table.dat"]
    assert said[-1] == (len(DATA), len(DATA)) and len(said) > 3


def test_a_connection_that_drops_is_continued(server: Server, tmp_path: Path) -> None:
    server.drops = [1_000_000, 2_000_000]
    assert got(server, tmp_path / "table.dat") == DIGEST
    assert server.asked == [None, "bytes=1000000-", "bytes=3000000-"]


def test_an_interrupted_download_goes_on_with_the_next_command(server: Server, tmp_path: Path) -> None:
    server.drops = [700_000, 0, 0, 0, 0, 0]
    with pytest.raises(DataError, match="700,000 bytes are there, and the same command continues"):
        got(server, tmp_path / "table.dat")
    assert not (tmp_path / "table.dat").exists()
    server.asked.clear()
    server.drops.clear()
    assert got(server, tmp_path / "table.dat") == DIGEST
    assert server.asked == ["bytes=700000-"] and left(tmp_path) == ["table.dat"]


@pytest.mark.parametrize("ranges", [True, False])
def test_a_file_that_changed_in_between_is_loaded_anew(server: Server, tmp_path: Path, ranges: bool) -> None:
    server.drops = [700_000, 0, 0, 0, 0, 0]
    with pytest.raises(DataError):
        got(server, tmp_path / "table.dat")
    server.drops.clear()
    server.data, server.tag, server.ranges = DATA[::-1], '"two"', ranges
    got(server, tmp_path / "table.dat")
    assert (tmp_path / "table.dat").read_bytes() == DATA[::-1]


def test_a_whole_part_is_not_loaded_again(server: Server, tmp_path: Path) -> None:
    server.drops = [len(DATA)]
    (tmp_path / "table.dat.part").write_bytes(DATA)
    (tmp_path / "table.dat.part.json").write_text('{"tag": "\\"one\\""}')
    assert got(server, tmp_path / "table.dat") == DIGEST and server.asked == [f"bytes={len(DATA)}-"]


def test_a_source_without_a_length(server: Server, tmp_path: Path) -> None:
    server.length = False
    assert got(server, tmp_path / "table.dat") == DIGEST


@pytest.mark.parametrize("length", ["abc", "-5", "5, 5", "1e3"])
def test_a_length_that_is_no_number_is_named(server: Server, tmp_path: Path, length: str) -> None:
    server.named, server.data = length, b"x"
    with pytest.raises(DataError, match=f"the server names '{length}' as the number of bytes"):
        got(server, tmp_path / "table.dat")
    assert left(tmp_path) == []


PAGE = b"\n<!DOCTYPE html><html><body>Sign in to go on</body></html>"
LFS = b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 131266198\n"
SENTENCEPIECE = b"\x0a\x03\x0a\x01a\x12\x00\x1a\x00"  # a piece, settings without entries
# By the name of an asset: contents that are not it, and what the message says of them.
UNSOUND = {
    "a page": ("lid.176.bin", PAGE, "is a page of HTML"),
    "a page as JSON": ("tokenizer.json", PAGE, "is a page of HTML"),
    "a page as a table": ("table.dat", PAGE, "is a page of HTML"),
    "a pointer": ("en.sp.model", LFS, "is a pointer of Git LFS"),
    "half a list": ("stopwords.json", b'{"en": ["a", "the"', "is no whole JSON file"),
    "another file": ("lid.176.ftz", b"PK\3\4", "begins neither as a model of fastText"),
    "half a classifier": ("lid.176.bin", fasttext_model(FastText())[:-7], "is no whole model of fastText"),
    "half of KenLM": (
        "en.arpa.bin",
        b"mmap lm http://kheafield.com/code format version 5\n\0",
        "is no whole model of KenLM",
    ),
    "half of SentencePiece": ("en.sp.model", SENTENCEPIECE[:-2], "is no whole model of SentencePiece"),
    "nothing": ("table.dat", b"", "is empty"),
}


@pytest.mark.parametrize(("name", "content", "said"), named(UNSOUND, "half a classifier", "a page", "half a list"))
def test_what_is_not_the_asset_does_not_get_its_name(
    server: Server, tmp_path: Path, name: str, content: bytes, said: str
) -> None:
    server.data, server.length = content, False
    with pytest.raises(DataError, match=rf"what the server has sent {said}.*nothing of it is kept"):
        got(server, tmp_path / name)
    assert left(tmp_path) == []


@pytest.mark.parametrize(
    ("name", "content"),
    [("lid.176.bin", fasttext_model(FastText())), ("en.sp.model", SENTENCEPIECE), ("tokenizer.json", b"{}")],
)
def test_whole_assets_get_their_names(server: Server, tmp_path: Path, name: str, content: bytes) -> None:
    server.data, server.length = content, False
    got(server, tmp_path / name)
    assert (tmp_path / name).read_bytes() == content


def test_other_bytes_than_the_locked_ones_are_not_kept(server: Server, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=f"has sha256 {DIGEST}, but assets.lock says {'0' * 64}; nothing of it is kept"):
        got(server, tmp_path / "table.dat", "0" * 64)
    assert left(tmp_path) == []


@pytest.mark.parametrize(("status", "asked"), [(404, 1), (403, 1), (503, 5)])
def test_a_refusal_names_the_address_and_the_answer(server: Server, tmp_path: Path, status: int, asked: int) -> None:
    server.status = status
    with pytest.raises(DataError, match=rf"{server.url}: cannot be loaded: the server answers {status}"):
        got(server, tmp_path / "table.dat")
    assert len(server.asked) == asked and left(tmp_path) == []


def test_a_server_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with pytest.raises(DataError, match="cannot be loaded: .*refused"):
        fetch(Download("http://127.0.0.1:9/x", tmp_path / "x"), wait=0)


def test_a_folder_that_cannot_be_written(server: Server, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="file: "):
        got(server, tmp_path / "file" / "table.dat")


def test_two_downloads_of_one_file_do_not_mix(server: Server, tmp_path: Path) -> None:
    import fcntl

    with open(tmp_path / "table.dat.part", "ab") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(OutputError, match="another process loads this file"):
            got(server, tmp_path / "table.dat")
