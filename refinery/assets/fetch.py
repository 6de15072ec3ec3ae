"""Downloads of assets, on demand alone: resumed where they were interrupted, checked, put in place when whole."""

from __future__ import annotations

import fcntl
import http.client
import json
import os
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from refinery.assets.download import Download
from refinery.assets.soundness import problem_of
from refinery.common.version import __version__
from refinery.errors import DataError, OutputError
from refinery.storage.file_digests import sha256_of

_PIECE = 1 << 20
_TRIES = 5
_TIMEOUT = 60.0
# Answers of a server after which the same question may succeed.
_PASSING = (429, 500, 502, 503, 504)
_DROPPED = (urllib.error.URLError, http.client.HTTPException, ConnectionError, TimeoutError)

# Bytes that are there and bytes in all, None where the server does not say.
Progress = Callable[[int, int | None], None]


def fetch(download: Download, progress: Progress = lambda done, total: None, wait: float = 1.0) -> str:
    """Load a file; return its SHA-256. Raises DataError if the source does not give it, OutputError if it cannot be stored.

    An interrupted download leaves `NAME.part`, which the next one continues if the source still has the same bytes.
    wait: seconds before the connection is tried again, longer each time.
    """
    part = download.target.with_name(f"{download.target.name}.part")
    try:
        part.parent.mkdir(parents=True, exist_ok=True)
        with _alone(part):
            _load(download.url, part, progress, wait)
            return _placed(download, part)
    except _DROPPED as error:  # before OSError, of which it is one
        raise DataError(_failed(download.url, error, part)) from None
    except OSError as error:
        raise OutputError(f"{error.filename or part}: {error.strerror or error}") from None


def _load(url: str, part: Path, progress: Progress, wait: float) -> None:
    """Load what is missing of a file; a connection that drops is opened again as long as bytes arrive."""
    tries = 0
    while True:
        before = _size(part)
        try:
            if _append(url, part, progress):
                return
            reason: Exception = http.client.IncompleteRead(b"")
        except urllib.error.HTTPError as error:
            if error.code == 416 and str(error.headers.get("Content-Range", "")).endswith(f"/{before}"):
                return
            if error.code not in _PASSING and not (error.code == 416 and before):
                raise
            if error.code == 416:
                _forget(part)  # the source has fewer bytes than are here
            reason = error
        except _DROPPED as error:
            reason = error
        tries = 0 if _size(part) > before else tries + 1
        if tries >= _TRIES:
            raise reason
        time.sleep(wait * tries)


def _append(url: str, part: Path, progress: Progress) -> bool:
    """Load from where the file ends; returns whether it is whole."""
    start, tag = _size(part), _tag(part)
    request = urllib.request.Request(url, headers={"User-Agent": f"refinery/{__version__}"})
    if start and tag:
        request.add_header("Range", f"bytes={start}-")
        request.add_header("If-Range", tag)
    with urllib.request.urlopen(request, timeout=_TIMEOUT) as answer:
        goes_on = answer.status == 206 and str(answer.headers.get("Content-Range", "")).startswith(f"bytes {start}-")
        if answer.status == 206 and not goes_on:
            raise http.client.HTTPException("the answer is another range than was asked for")
        start = start if goes_on else 0
        length = _length(url, answer.headers)
        total = start + length if length is not None else None
        _note_tag(part, answer.headers)
        with open(part, "ab" if goes_on else "wb") as file:
            while piece := answer.read(_PIECE):
                file.write(piece)
                progress(file.tell(), total)
    return total is None or _size(part) == total


def _length(url: str, headers: Any) -> int | None:
    """Bytes of an answer; None if the server does not say. Raises DataError for what is no number."""
    length = headers.get("Content-Length")
    if length is not None and not (length.isascii() and length.isdigit()):
        raise DataError(
            f"{url}: cannot be loaded: the server names {length!r} as the number of bytes (Content-Length). Try another "
            "source with --from, or load the file by hand"
        )
    return None if length is None else int(length)


def _placed(download: Download, part: Path) -> str:
    """Check a loaded file and give it its name. Without a digest, its contents must be those of such an asset."""
    digest = sha256_of(str(part))
    if download.sha256 and digest != download.sha256:
        _forget(part)
        raise DataError(
            f"{download.url}: has sha256 {digest}, but assets.lock says {download.sha256}; nothing of it is kept. If the "
            "new file is the right one, take its entry out of assets.lock"
        )
    if not download.sha256 and (problem := problem_of(part, download.target.name)):
        _forget(part)
        raise DataError(
            f"{download.url}: what the server has sent {problem}; nothing of it is kept. Look at the address in a "
            "browser, or name another source with --from"
        )
    os.replace(part, download.target)
    _forget(part)
    return digest


def _tag(part: Path) -> str:
    """The source's version of a begun file: a strong ETag or a date."""
    with suppress(OSError, ValueError, AttributeError):
        return str(json.loads(_beside(part).read_text("utf-8")).get("tag", ""))
    return ""


def _note_tag(part: Path, headers: Any) -> None:
    tag = headers.get("ETag") or ""
    tag = headers.get("Last-Modified") or "" if not tag or tag.startswith("W/") else tag
    _beside(part).write_text(json.dumps({"tag": tag}), "utf-8")


def _beside(part: Path) -> Path:
    return part.with_name(f"{part.name}.json")


def _forget(part: Path) -> None:
    for path in (part, _beside(part)):
        path.unlink(missing_ok=True)


def _size(part: Path) -> int:
    return part.stat().st_size if part.exists() else 0


@contextmanager
def _alone(part: Path) -> Iterator[None]:
    """Keep two processes from loading the same file at once; the second one says so. Raises OutputError."""
    with open(part, "ab") as held:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise OutputError(f"{part}: another process loads this file; wait for it") from None
        try:
            yield
        finally:
            if not _size(part):
                _forget(part)


def _failed(url: str, error: Exception, part: Path) -> str:
    if isinstance(error, urllib.error.HTTPError):
        reason = f"the server answers {error.code} {error.reason}"
    else:
        reason = str(getattr(error, "reason", "") or error) or type(error).__name__
    there = _size(part)
    rest = f"; {there:,} bytes are there, and the same command continues" if there else ""
    return f"{url}: cannot be loaded: {reason}{rest}"
