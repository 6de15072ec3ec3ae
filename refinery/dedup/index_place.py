"""Where an index is: what it lists, its files of marks, and how it is kept for one run while that extends it."""

from __future__ import annotations

import errno
import os
import shutil
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path

LIST = "index.json"


class Place(ABC):
    """A folder, or a URL. Raises OSError, and OutputError where another run is in the way."""

    name: str  # as its user wrote it
    key: str  # the same for the same place
    folder: Path  # of this machine, that DuckDB reads the marks from

    @abstractmethod
    def listed(self) -> tuple[int, str] | None:
        """The list and its number; None where there is none."""

    @abstractmethod
    def is_free(self) -> bool:
        """Whether an index can be made there: nothing is there, or only what a killed run has not got to list."""

    @abstractmethod
    def has(self, file: str) -> bool:
        """Whether there is such a file of marks."""

    @abstractmethod
    def local(self, file: str) -> str:
        """A file of marks, on this machine."""

    def require(self) -> None:  # noqa: B027  # a folder needs nothing
        """See that the place can hold an index."""

    def busy(self, run: str, number: int) -> str | None:
        """For a person: the run, other than `run`, that is about to extend the list of that number and need not be waited for."""
        return None

    @abstractmethod
    def alone(self, run: str, number: int) -> AbstractContextManager[None]:
        """Keep other runs from extending the list of that number."""

    @abstractmethod
    def beside(self, written: Path, number: int) -> AbstractContextManager[str]:
        """The name of a copy of the marks at the place, the one of that number; gone if it is not listed."""

    @abstractmethod
    def extend(self, aside: str, name: str, number: int, listing: Callable[[str], str]) -> None:
        """List the marks in one step. name: suggested; listing: the text of the list, given the name that they have.

        number: of the list that is extended.
        """


def is_marks(name: str) -> bool:
    """Whether a name is that of a file of marks."""
    return Path(name).match("marks-*.parquet")


def _require_parent(folder: Path) -> None:
    """See that a folder which is not there can be made. Raises OSError."""
    there = Path(os.path.abspath(folder))
    while True:
        try:
            there.lstat()
            break
        except (FileNotFoundError, NotADirectoryError):
            there = there.parent
    if there.is_symlink() and not there.exists():
        raise OSError(errno.ENOENT, f"{there} is a link that leads nowhere")
    if not there.is_dir():
        raise OSError(errno.ENOTDIR, f"{there} is a file")
    if not os.access(there, os.W_OK | os.X_OK):
        raise OSError(errno.EACCES, f"{there} cannot be written")


class Folder(Place):
    """A folder of this machine, with one list that is replaced while the folder is locked."""

    def __init__(self, path: str) -> None:
        self.folder = Path(os.path.expanduser(path))
        self.name, self.key = path, os.path.realpath(self.folder)

    def listed(self) -> tuple[int, str] | None:
        """The text of its list; the number is always 0."""
        try:
            return 0, (self.folder / LIST).read_text(encoding="utf-8")
        except (FileNotFoundError, NotADirectoryError):
            return None

    def is_free(self) -> bool:
        """Whether there is no file but hidden ones, and marks. Raises OSError for a folder that cannot be made."""
        if not self.folder.exists():
            _require_parent(self.folder)
            return True
        return self.folder.is_dir() and all(p.name.startswith(".") or is_marks(p.name) for p in self.folder.iterdir())

    def has(self, file: str) -> bool:
        """Whether the file is there."""
        return (self.folder / file).is_file()

    def local(self, file: str) -> str:
        """The file itself."""
        return str(self.folder / file)

    @contextmanager
    def alone(self, run: str, number: int) -> Iterator[None]:
        """Wait for other runs that extend the index; the lock of a killed one is none."""
        import fcntl

        self.folder.mkdir(parents=True, exist_ok=True)
        held = os.open(self.folder, os.O_RDONLY)
        try:
            fcntl.flock(held, fcntl.LOCK_EX)
            yield
        finally:
            os.close(held)

    @contextmanager
    def beside(self, written: Path, number: int) -> Iterator[str]:
        """A hidden file."""
        with ExitStack() as held:
            aside = self.folder / f".marks-{number:05d}.parquet"
            held.callback(aside.unlink, missing_ok=True)
            shutil.copyfile(written, aside)
            yield aside.name

    def extend(self, aside: str, name: str, number: int, listing: Callable[[str], str]) -> None:
        """Rename the marks, then the list."""
        os.replace(self.folder / aside, self.folder / name)
        unlisted = self.folder / f".{LIST}"
        unlisted.write_text(listing(name), encoding="utf-8")
        os.replace(unlisted, self.folder / LIST)
