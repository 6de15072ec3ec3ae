"""Lists of paths, as Common Crawl publishes them: `warc.paths.gz`, `wet.paths`. Each line is a file below a prefix."""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Iterator

from refinery.errors import DataError
from refinery.storage.urls import is_url

PREFIX = "https://data.commoncrawl.org/"
_SUFFIXES = (".paths", ".paths.gz")
_MOST = 256 << 20


def is_list(path: str) -> bool:
    """Return whether a file or URL is a list of paths, by its name."""
    return path.lower().endswith(_SUFFIXES) and not os.path.isdir(path)


def paths_in(path: str, prefix: str) -> list[str]:
    """The files that a list names, in its order. prefix: before all that are neither URLs nor absolute. Raises DataError."""
    named = list(_named(path, _content(path), prefix))
    if not named:
        raise DataError(f"{path}: the list names no file")
    return named


def _content(path: str) -> bytes:
    if is_url(path):
        from refinery.io.url_listing import objects_of
        from refinery.storage.object_stream import read_exactly

        [found] = objects_of(path)[0].values()
        data = read_exactly(found.url, found.size, found.version)
    else:
        try:
            with open(path, "rb") as file:
                data = file.read(_MOST)
        except OSError as error:
            raise DataError(f"{path}: {error.strerror or error}") from error
    if not data.startswith(b"\x1f\x8b"):
        return data
    try:
        return gzip.decompress(data)
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{path}: the list is damaged ({error}). Download it again") from error


def _named(path: str, content: bytes, prefix: str) -> Iterator[str]:
    try:
        lines = content.decode().splitlines()
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: the list is not UTF-8") from error
    for number, line in enumerate(lines, 1):
        name = line.strip()
        if any(ord(character) < 32 for character in name):
            raise DataError(f"{path}:{number}: {name[:80]!r} is no path")
        if name:
            yield name if is_url(name) or os.path.isabs(name) else prefix + name
