"""An HTTP proxy before an S3 server that lets some of the requests fail, always the same ones."""

from __future__ import annotations

import hashlib
import http.client
import os
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

# A request that is refused twice, one whose connection ends before or after it has taken effect, and half an answer.
KINDS = ("500", "503", "dropped", "lost", "cut")
_BODY = "<Error><Code>{code}</Code><Message>try again</Message></Error>"
_CODES = {"500": "InternalError", "503": "SlowDown"}
_HOPS = {"connection", "transfer-encoding", "content-length", "keep-alive"}


class Faults:
    """The faults of a proxy.

    A request fails if the digest of the seed, the request and the number of its attempt says so: in whatever order threads and
    processes send requests, the same ones fail. only: part of a path without which requests succeed.
    """

    def __init__(self, rate: float, seed: int = 0, only: str = "", kinds: tuple[str, ...] = KINDS) -> None:
        self.rate, self.seed, self.only, self.kinds = rate, seed, only, kinds
        self.requests, self.failed = 0, Counter[str]()
        self._attempts, self._lock = Counter[str](), threading.Lock()

    def of(self, method: str, path: str, part: str) -> str:
        """The kind of fault of a request, "" for none. part: the range of bytes that it asks for."""
        request = f"{method} {path} {part}"
        with self._lock:
            self.requests += 1
            self._attempts[request] += 1
            digest = hashlib.sha256(f"{self.seed} {request} {self._attempts[request]}".encode()).digest()
            if self.only not in path or int.from_bytes(digest[:4]) >= self.rate * 2**32:
                return ""
            kind = self.kinds[digest[4] % len(self.kinds)]
            self.failed[kind] += 1
            return kind


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm, wbufsize = True, 1 << 16  # an answer in two packets would wait for 40 ms between them
    faults: Faults
    target: str

    def handle_one_request(self) -> None:
        try:
            super().handle_one_request()
        except ConnectionError:
            self.close_connection = True

    def _pass_on(self) -> None:
        body = self._body()
        kind = self.faults.of(self.command, self.path, self.headers.get("Range", ""))
        if kind == "dropped":
            self.close_connection = True
            return
        if kind in _CODES:
            self._answer(int(kind), [("Content-Type", "application/xml")], _BODY.format(code=_CODES[kind]).encode())
            return
        status, headers, content = self._asked(body)
        if kind == "lost":
            self.close_connection = True
            return
        self._answer(status, headers, content, half=kind == "cut")

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = _pass_on

    def _body(self) -> bytes:
        """The body of a request, also in chunks."""
        self.wfile.flush()  # a client may wait for "100 Continue"
        if "chunked" not in self.headers.get("Transfer-Encoding", ""):
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        found = b""
        while size := int(self.rfile.readline().split(b";")[0], 16):
            found += self.rfile.read(size)
            self.rfile.readline()
        while self.rfile.readline().strip():
            pass
        return found

    def _asked(self, body: bytes) -> tuple[int, list[tuple[str, str]], bytes]:
        connection = http.client.HTTPConnection(self.target)
        try:
            headers = {name: value for name, value in self.headers.items() if name.lower() not in _HOPS}
            connection.request(self.command, self.path, body, headers | {"Content-Length": str(len(body))})
            answer = connection.getresponse()
            return answer.status, answer.getheaders(), answer.read()
        finally:
            connection.close()

    def _answer(self, status: int, headers: list[tuple[str, str]], content: bytes, half: bool = False) -> None:
        self.send_response_only(status)
        told = {name.lower(): value for name, value in headers}
        for name, value in headers:
            if name.lower() not in _HOPS:
                self.send_header(name, value)
        size = told.get("content-length", "0") if self.command == "HEAD" else str(len(content))
        self.send_header("Content-Length", size)
        self.end_headers()
        if self.command == "HEAD":
            return
        self.wfile.write(content[: len(content) // 2] if half else content)
        if half:
            self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@contextmanager
def faulty(address: str, faults: Faults) -> Iterator[str]:
    """The address of a proxy before the server at `address`; meanwhile the environment leads drivers to it."""
    from tests.s3 import forget_drivers

    handler = type("Handler", (_Handler,), {"faults": faults, "target": urlsplit(address).netloc})
    proxy = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    proxy.daemon_threads = True
    threading.Thread(target=proxy.serve_forever, daemon=True).start()
    before = os.environ.get("AWS_ENDPOINT_URL", "")
    os.environ["AWS_ENDPOINT_URL"] = f"http://127.0.0.1:{proxy.server_address[1]}"
    forget_drivers()
    try:
        yield os.environ["AWS_ENDPOINT_URL"]
    finally:
        os.environ["AWS_ENDPOINT_URL"] = before
        proxy.shutdown()
        proxy.server_close()
        forget_drivers()
