"""Names of all files in a corpus folder, its lock, and the pointer to its current snapshot."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from refinery.errors import DataError, OutputError
from refinery.storage.run_folder import hold, let_go

FORMAT = 1


@dataclass(frozen=True)
class CorpusFolder:
    """The folder of a corpus; nothing else spells these names."""

    root: Path

    @property
    def mark(self) -> Path:
        """The file that shows that the folder is a corpus, with the version of its format. points: `current` was there before it."""
        return self.root / "corpus.json"

    @property
    def current(self) -> Path:
        """The number of the current snapshot, which is replaced when a snapshot is complete."""
        return self.root / "current"

    @property
    def snapshots(self) -> Path:
        """The folder of all snapshots."""
        return self.root / "snapshots"

    @property
    def inputs(self) -> Path:
        """The folder of copied input files."""
        return self.root / "inputs"

    @property
    def states(self) -> Path:
        """The folder of the engines' states, one for each snapshot."""
        return self.root / "state"

    @property
    def work(self) -> Path:
        """The folder of caches: the run folder of the reference engine, and unfinished files."""
        return self.root / "work"

    def snapshot(self, number: int) -> Path:
        """The folder of a snapshot."""
        return self.snapshots / f"{number:05d}"

    def state(self, number: int) -> Path:
        """The folder of the engine's state of a snapshot."""
        return self.states / f"{number:05d}"

    def copies(self, part: int) -> Path:
        """The folder of the copied files of a part."""
        return self.inputs / f"{part:05d}"

    def name(self, path: Path) -> str:
        """A path in the folder as manifests have it: relative, with slashes."""
        return path.relative_to(self.root).as_posix()

    def path(self, name: str) -> Path:
        """The path of a name in a manifest."""
        return self.root / name

    def require(self) -> dict[str, Any]:
        """The mark of the folder, which is a corpus of this format. Raises DataError."""
        try:
            mark = json.loads(self.mark.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            what = "is no corpus" if self.root.is_dir() else "there is no such folder"
            raise DataError(
                f"{self.root}: {what} (no {self.mark.name}). Make one with refinery add RECIPE --corpus"
            ) from error
        if mark.get("format") != FORMAT:
            raise DataError(f"{self.root}: the corpus has format {mark.get('format')}, this refinery reads {FORMAT}")
        return dict(mark)

    def current_number(self) -> int:
        """Number of the current snapshot; 0 if there is none yet. Raises DataError."""
        mark = self.require()
        try:
            number = self._pointer()
            if self._published(number + 1).exists() and self._pointer() == number:  # else a change has just ended
                cure = "Write the number of the last one into it; to go back, remove the folders of later ones first"
                raise DataError(f"{self.current}: names snapshot {number}, but there are later ones. {cure}")
            return number
        except FileNotFoundError:
            if not mark.get("points"):
                return 0
            cure = f"Write the number of the last snapshot into it, that of a folder in {self.snapshots.name}/"
            raise DataError(f"{self.current}: is gone. {cure}") from None
        except (OSError, ValueError) as error:
            raise DataError(f"{self.current}: holds no number of a snapshot ({error})") from error

    def _pointer(self) -> int:
        return int(self.current.read_text(encoding="utf-8"))

    def _published(self, number: int) -> Path:
        """The file that shows that a snapshot has been the current one, so it is no rest of a stopped command."""
        return self.snapshot(number) / "published"

    def numbers(self) -> list[int]:
        """Numbers of the snapshots that are there, up to the current one."""
        last = self.current_number()
        names = os.listdir(self.snapshots) if self.snapshots.is_dir() else []
        return sorted(
            int(name)
            for name in names
            if name.isdigit() and int(name) <= last and (self.snapshots / name / "manifest.json").is_file()
        )

    def create(self) -> None:
        """Make the corpus where there is none. Raises OutputError where the folder has other files."""
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            if self.mark.is_file():
                self.require()
                return
            own = (self.current, self.mark)  # a stopped command may have left these
            if set(os.listdir(self.root)) - {self.current.name, *map(_unfinished, own)}:
                raise OutputError(f"{self.root}: holds files that are no corpus. Name an empty or a new folder")
            self.point(0)
            write(self.mark, json.dumps({"format": FORMAT, "corpus_id": uuid.uuid4().hex, "points": True}) + "\n")
        except OSError as error:
            raise OutputError(f"{self.root}: {error.strerror or error}") from error

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep other changes out of the corpus. Raises OutputError if one is under way."""
        folder = os.open(self.root, os.O_RDONLY)
        try:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(folder)
            if error.errno in (errno.EAGAIN, errno.EACCES):
                raise OutputError(f"{self.root}: another command changes the corpus. Wait for it") from None
            raise
        hold(folder)
        try:
            yield
        finally:
            let_go(folder)

    def tidy(self) -> None:
        """Remove what a stopped command has left that published no snapshot, and states of earlier snapshots; the corpus is held."""
        last = self.current_number()
        if self.snapshot(last).is_dir():
            with suppress(OSError):  # on a full disk the next change does it
                self._published(last).touch()
        for folder in (self.snapshots, self.states, self.inputs):
            for name in os.listdir(folder) if folder.is_dir() else []:
                unfinished = name.startswith(".unfinished-")
                later = name.isdigit() and int(name) > last and folder != self.inputs
                used_up = name.isdigit() and int(name) < last and folder == self.states
                if unfinished or later or used_up:
                    shutil.rmtree(folder / name)
        with suppress(FileNotFoundError):
            shutil.rmtree(self.work / "change")

    def point(self, number: int) -> None:
        """Make a snapshot the current one, in one step."""
        write(self.current, f"{number}\n")


def write(path: Path, text: str) -> None:
    """Write a text file in one step that lasts: under another name, synced, and renamed."""
    unfinished = path.with_name(_unfinished(path))
    with open(unfinished, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.replace(unfinished, path)
    sync_folder(path.parent)


def _unfinished(path: Path) -> str:
    return f".unfinished-{path.name}"


def sync_folder(folder: Path) -> None:
    """Make the names in a folder last."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
