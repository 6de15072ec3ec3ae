"""Folders that all machines of a cluster must share: each machine reads there what the driver has written, and writes itself.

Without this check a folder of the same path on a machine's own disk takes the files of tasks, and the run fails after its first stage.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import NamedTuple

from refinery.errors import OutputError
from refinery.storage.open import open_store
from refinery.storage.urls import is_url

_CURE = (
    "Put it on a file system that all machines have mounted under the same path, or use a URL such as s3://bucket/run"
)
# Seconds in which a file of another machine must appear, and between two looks: network file systems remember what was not there.
PATIENCE, _PAUSE = 5.0, 0.2
# First part of the names of the files; runs tidy the folder that they are in.
_NAME = ".scratch/shared"


class SharedPlace(NamedTuple):
    """A folder or URL. key: of the recipe, for messages. nonce: what the driver has written there."""

    key: str
    url: str
    nonce: str

    @property
    def own_file(self) -> str:
        """Name of the driver's file."""
        return f"{_NAME}-{self.nonce}"

    def file_of(self, machine: str) -> str:
        """Name of the file of a machine."""
        return f"{_NAME}-{self.nonce}-{machine}"


@contextmanager
def shared_place(key: str, url: str, nonce: str) -> Iterator[SharedPlace]:
    """Write the driver's file to a place; it is removed at the end. Raises OSError."""
    place = SharedPlace(key, url, nonce)
    store = open_store(url)
    store.write_text(place.own_file, nonce)
    try:
        yield place
    finally:
        with suppress(OSError):
            store.discard(place.own_file)


@contextmanager
def shared_folder(key: str, folder: str, nonce: str) -> Iterator[SharedPlace]:
    """As `shared_place`, for a folder in which nothing may be left; it is removed if it was not there before."""
    there = os.path.isdir(folder)
    try:
        with shared_place(key, folder, nonce) as place:
            yield place
    finally:
        open_store(folder).tidy()
        if not there:
            with suppress(OSError):
                os.rmdir(folder)


def require_shared(place: SharedPlace) -> None:
    """Check that this machine sees the driver's file. Raises OutputError."""
    if _appears(place.url, place.own_file, place.nonce):
        return
    there = is_url(place.url) or os.path.isdir(place.url)
    what = "has another folder there than the machine of the driver" if there else "has no such folder"
    raise OutputError(f"{place.key}: {place.url}: the machine {socket.gethostname()} {what}. {_CURE}")


def write_here(place: SharedPlace, machine: str) -> None:
    """Write a file of this machine. Raises OutputError if that is impossible."""
    try:
        open_store(place.url).write_text(place.file_of(machine), place.nonce)
    except OSError as error:
        what = f"the machine {socket.gethostname()} cannot write there: {error.strerror or error}"
        raise OutputError(f"{place.key}: {place.url}: {what}") from error


def has_arrived(place: SharedPlace, machine: str) -> bool:
    """Return whether the file of a machine is seen here, and remove it."""
    name = place.file_of(machine)
    arrived = _appears(place.url, name, place.nonce)
    with suppress(OSError):
        open_store(place.url).discard(name)
    return arrived


def lost(place: SharedPlace, machine: str) -> OutputError:
    """The error for a machine whose file the driver does not see."""
    return OutputError(f"{place.key}: {place.url}: what the machine {machine} writes there is not seen here. {_CURE}")


def _appears(url: str, name: str, text: str) -> bool:
    """Return whether a file has the text, now or within PATIENCE."""
    end = time.monotonic() + PATIENCE
    while not _reads(lambda: open_store(url).read_text(name), text):
        if time.monotonic() >= end:
            return False
        time.sleep(_PAUSE)
    return True


def _reads(read: Callable[[], str], text: str) -> bool:
    try:
        return read() == text
    except (OSError, UnicodeDecodeError):
        return False
