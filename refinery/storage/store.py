"""Interface of the place that holds a run's parts."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from refinery.common.digest import digest_of_file


class Store(ABC):
    """Files under names such as `stage_1/00000.facts.parquet`; a reader finds a whole file or none.

    A name that is an absolute path is that file of this machine. Safe for threads. Raises OSError when the place cannot
    be read or written, FileNotFoundError for a missing name.
    """

    url: str  # `open_store` makes the same store of it in any process and on any machine
    on_this_machine: bool  # `fetch` copies nothing

    @abstractmethod
    def scratch(self) -> Path:
        """A folder of this process to write files in; files left there when the process ends are removed sometime."""

    @abstractmethod
    def publish(self, local: Path, name: str) -> None:
        """Give a file's contents a name, in place of an older file; the local file is gone afterwards."""

    @abstractmethod
    def put(self, local: Path, name: str) -> None:
        """As `publish`, but the local file stays."""

    @abstractmethod
    def fetch(self, name: str) -> Path:
        """A file of this machine with the contents, to be read only. It stays until the name is published anew."""

    @abstractmethod
    def place(self, name: str) -> Path:
        """The path that `fetch` returns, also before there is a file."""

    @abstractmethod
    def reading(self, name: str) -> AbstractContextManager[Any]:
        """A file for Arrow: its path, or a stream of which only the bytes that are read are fetched."""

    @abstractmethod
    def bytes_at(self, name: str, start: int, size: int = -1) -> bytes:
        """`size` bytes of a file from `start` on, or all that follow."""

    def forget(self) -> None:  # noqa: B027  # a folder has no copies
        """Remove the copies that `fetch` has made."""

    @abstractmethod
    def exists(self, name: str) -> bool:
        """Check whether a file has the name."""

    @abstractmethod
    def version(self, name: str) -> str:
        """A text that changes with the contents, as far as the place can know; "" without a file of the name."""

    @abstractmethod
    def names(self, prefix: str = "") -> list[str]:
        """The names that begin with `prefix`, sorted; without files that are still being written."""

    def names_in(self) -> list[str]:
        """As `names`, without files in folders below."""
        return [name for name in self.names() if "/" not in name]

    @abstractmethod
    def size(self, prefix: str = "") -> int:
        """Bytes of the files whose names begin with `prefix`."""

    def sound(self, name: str, size: int, digest: str) -> bool:
        """Check the contents against the size and digest that were noted at publishing."""
        try:
            content = digest_of_file(self.fetch(name))
        except OSError:
            return False
        return content.size == size and content.hexdigest() == digest

    @abstractmethod
    def read_text(self, name: str) -> str:
        """A small file's contents, as UTF-8."""

    @abstractmethod
    def write_text(self, name: str, text: str) -> None:
        """Publish a small file."""

    @abstractmethod
    def remove(self, prefix: str = "") -> None:
        """Remove the files whose names begin with `prefix`; without a prefix all files, scratch files included."""

    def vacate(self, own: re.Pattern[str]) -> None:
        """Remove the files whose first names (`stage_1` of `stage_1/a`) match, and what holds nothing else then."""
        names = self.names()
        for folder in sorted({name.partition("/")[0] for name in names if "/" in name}):
            if own.fullmatch(folder):
                self.remove(f"{folder}/")
        for name in names:
            if "/" not in name and own.fullmatch(name):
                self.discard(name)

    @abstractmethod
    def discard(self, name: str) -> None:
        """Remove the file of this name and no other; a missing file is no error."""

    @abstractmethod
    def tidy(self) -> None:
        """Remove the scratch files of killed processes. Only for the run that holds the run folder."""
