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

DATA = bytes(range(256)) * 20_000
DIGEST = hashlib.sha256(DATA).hexdigest()


class Server:
    """A server of one file that understands ranges. drops: bytes after which it closes each of the next connections."""

    def __init__(self) -> None:
        self.data, self.tag, self.drops = DATA, '"one"', list[int]()
        self.status, self.length, self.ranges = 200, True, True
        self.asked: list[str | None] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.answer(self)

            def log_message(self, *_: Any) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.http.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}/model.bin"

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
            handler.send_header("Content-Length", str(len(body)))
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
    target, said = tmp_path / "new" / "model.bin", list[tuple[int, int | None]]()
    digest = fetch(Download(server.url, target, DIGEST), lambda done, whole: said.append((done, whole)))
    assert digest == DIGEST and target.read_bytes() == DATA and left(target.parent) == ["model.bin"]
    assert said[-1] == (len(DATA), len(DATA)) and len(said) > 3


def test_a_connection_that_drops_is_continued(server: Server, tmp_path: Path) -> None:
    server.drops = [1_000_000, 2_000_000]
    assert got(server, tmp_path / "model.bin") == DIGEST
    assert server.asked == [None, "bytes=1000000-", "bytes=3000000-"]


def test_an_interrupted_download_goes_on_with_the_next_command(server: Server, tmp_path: Path) -> None:
    server.drops = [700_000, 0, 0, 0, 0, 0]
    with pytest.raises(DataError, match="700,000 bytes are there, and the same command continues"):
        got(server, tmp_path / "model.bin")
    assert not (tmp_path / "model.bin").exists()
    server.asked.clear()
    server.drops.clear()
    assert got(server, tmp_path / "model.bin") == DIGEST
    assert server.asked == ["bytes=700000-"] and left(tmp_path) == ["model.bin"]


@pytest.mark.parametrize("ranges", [True, False])
def test_a_file_that_changed_in_between_is_loaded_anew(server: Server, tmp_path: Path, ranges: bool) -> None:
    server.drops = [700_000, 0, 0, 0, 0, 0]
    with pytest.raises(DataError):
        got(server, tmp_path / "model.bin")
    server.drops.clear()
    server.data, server.tag, server.ranges = DATA[::-1], '"two"', ranges
    got(server, tmp_path / "model.bin")
    assert (tmp_path / "model.bin").read_bytes() == DATA[::-1]


def test_a_whole_part_is_not_loaded_again(server: Server, tmp_path: Path) -> None:
    server.drops = [len(DATA)]
    (tmp_path / "model.bin.part").write_bytes(DATA)
    (tmp_path / "model.bin.part.json").write_text('{"tag": "\\"one\\""}')
    assert got(server, tmp_path / "model.bin") == DIGEST and server.asked == [f"bytes={len(DATA)}-"]


def test_a_source_without_a_length(server: Server, tmp_path: Path) -> None:
    server.length = False
    assert got(server, tmp_path / "model.bin") == DIGEST


def test_other_bytes_than_the_locked_ones_are_not_kept(server: Server, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=f"has sha256 {DIGEST}, but assets.lock says {'0' * 64}; nothing of it is kept"):
        got(server, tmp_path / "model.bin", "0" * 64)
    assert left(tmp_path) == []


@pytest.mark.parametrize(("status", "asked"), [(404, 1), (403, 1), (503, 5)])
def test_a_refusal_names_the_address_and_the_answer(server: Server, tmp_path: Path, status: int, asked: int) -> None:
    server.status = status
    with pytest.raises(DataError, match=rf"{server.url}: cannot be loaded: the server answers {status}"):
        got(server, tmp_path / "model.bin")
    assert len(server.asked) == asked and left(tmp_path) == []


def test_a_server_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with pytest.raises(DataError, match="cannot be loaded: .*refused"):
        fetch(Download("http://127.0.0.1:9/x", tmp_path / "x"), wait=0)


def test_a_folder_that_cannot_be_written(server: Server, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="file: "):
        got(server, tmp_path / "file" / "model.bin")


def test_two_downloads_of_one_file_do_not_mix(server: Server, tmp_path: Path) -> None:
    import fcntl

    with open(tmp_path / "model.bin.part", "ab") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(OutputError, match="another process loads this file"):
            got(server, tmp_path / "model.bin")
