"""An index at a URL, where nothing can be locked: lists are numbered, and only one run can create the next list.

Objects: `index-00003.json`, a list for each extension, of which the highest number is valid; `marks-....parquet`, which
lists name; `claim-00004.json`, of the run that is about to create the list of that number. A claim keeps other runs from
publishing results that they could not list. Exclusive creation of the next list alone ensures that two runs never extend
the same list.
"""

from __future__ import annotations

import json
import os
import re
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

from refinery.dedup.index_place import LIST, IndexPlace, is_match_keys
from refinery.errors import OutputError
from refinery.storage.open import open_store
from refinery.storage.remote import RemoteStore

_NUMBERED = re.compile(r"index-(\d{5,})\.json")


class IndexBucket(IndexPlace):
    """A URL whose storage creates an object only if there is none (S3, Google Cloud Storage, Azure)."""

    def __init__(self, url: str) -> None:
        store = open_store(url.rstrip("/"))
        assert isinstance(store, RemoteStore)
        self._store = store
        self.name, self.key = url, store.url
        self.folder = store.place(LIST).parent

    def require(self) -> None:
        """Check that the storage keeps two runs apart, and that it can be written to. Raises OSError."""
        probe = f"probe-{uuid4().hex}.json"
        try:
            self._store.create(probe, "first")
            if self._store.create(probe, "second") or self._store.read_text(probe) != "first":
                raise OSError(
                    f"the storage does not follow conditions (If-None-Match), by which two runs are kept apart: use {_CURE}"
                )
        finally:
            with suppress(OSError):
                self._store.discard(probe)

    def listed(self) -> tuple[int, str] | None:
        """The list with the highest number. A list copied from a folder has the number 0."""
        names = self._store.names()
        numbers = [int(match[1]) for match in map(_NUMBERED.fullmatch, names) if match]
        if numbers and LIST in names:
            last = _numbered(max(numbers))
            raise OSError(f"both {LIST} and {last} are there: remove {LIST}, if no newer index was copied there")
        if not numbers and LIST not in names:
            return None
        number = max(numbers, default=0)
        return number, self._store.read_text(_numbered(number) if numbers else LIST)

    def is_free(self) -> bool:
        """Return whether there are no objects except marks, claims and probes."""
        return all(is_match_keys(name) or name.startswith(("claim-", "probe-")) for name in self._store.names())

    def has_lost_list(self) -> bool:
        """Return whether there are match keys without a list, and without the claim of a killed run that had put them."""
        names = self._store.names()
        return _claim(0) not in names and any(map(is_match_keys, names))

    def has(self, file: str) -> bool:
        """Return whether the object exists."""
        return self._store.exists(file)

    def sound(self, file: str, size: int, digest: str) -> bool:
        """Return whether the object has that size; tasks compare its contents (`index_pieces`)."""
        return self._store.sound(file, size, digest)

    def local(self, file: str) -> str:
        """Path of a copy of the object, which is removed when the process ends."""
        return str(self._store.fetch(file))

    def busy(self, run: str, number: int) -> str | None:
        """Message about another run's claim on extending the list of this number; None if there is no claim."""
        claim = _claim(number)
        try:
            held = json.loads(self._store.read_text(claim))
            if run and held["run"] == run:
                return None
            by = f"process {held['process']} on {held['host']}, since {held['since']}"
        except FileNotFoundError:
            return None
        except (ValueError, TypeError, KeyError):
            by = "unknown"
        return (
            f"{self.name}: another run is about to extend the index ({by}). Run this one again when that has ended; "
            f"if it was killed, repeat it, or remove {self._store.url}/{claim}"
        )

    @contextmanager
    def alone(self, run: str, number: int) -> Iterator[None]:
        """Hold the claim. A repetition of a killed run takes over that run's claim."""
        claim, mine = _claim(number), _mine(run)
        if not self._store.create(claim, mine):
            if busy := self.busy(run, number):
                raise OutputError(busy)
            self._store.write_text(claim, mine)
        try:
            yield
        finally:
            with suppress(OSError):  # a claim on a list that exists has no effect
                if self._store.read_text(claim) == mine:
                    self._store.discard(claim)

    @contextmanager
    def beside(self, written: Path, number: int) -> Iterator[str]:
        """Copy the match keys to an object with a unique name."""
        name = f"marks-{number:05d}-{uuid4().hex[:12]}.parquet"
        try:
            self._store.put(written, name)
            yield name
        except BaseException:
            with suppress(OSError):
                if not self._lists(name):  # the marks may have been listed before the failure
                    self._store.discard(name)
            raise

    def _lists(self, name: str) -> bool:
        listed = self.listed()
        return listed is not None and json.dumps(name) in listed[1]

    def extend(
        self, aside: str, name: str, number: int, listing: Callable[[str], str], before: Sequence[str] = ()
    ) -> None:
        """Create the next list, and remove the marks that it replaces. The copy keeps its name.

        Raises OutputError if another run has created that list.
        """
        if not self._store.create(_numbered(number + 1), listing(aside)):
            what = "another run has extended the index meanwhile; this one is published, but not in the index"
            raise OutputError(f"{self.name}: {what}. Run it again")
        for old in before:
            with suppress(OSError):
                self._store.discard(old)
        if number == 0:
            self._store.discard(LIST)


_CURE = "a bucket of S3, Google Cloud Storage or Azure, or a folder of this machine"


def opened(url: str) -> IndexBucket:
    """The place at a URL. Raises OSError if its driver cannot keep two runs apart."""
    place = IndexBucket(url)
    if not place._store.exclusive:
        raise OSError(f"its driver cannot create an object only if there is none, to keep two runs apart: use {_CURE}")
    return place


def _numbered(number: int) -> str:
    return f"index-{number:05d}.json"


def _claim(number: int) -> str:
    """Name of the claim on extending the list of this number."""
    return f"claim-{number + 1:05d}.json"


def _mine(run: str) -> str:
    since = datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    claim = {"run": run, "host": socket.gethostname(), "process": os.getpid(), "since": since, "token": uuid4().hex}
    return json.dumps(claim)
