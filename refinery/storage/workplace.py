"""The place of a run: a folder or a URL.

A URL holds the run's parts while it runs, and its tables once it has ended well.
DuckDB and logs need files, so the run folder of a URL is made on this machine first. It stays there as a copy.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from refinery.common.cache_folder import temporary_root
from refinery.storage.holdings import OwnedObjects
from refinery.storage.open import open_store
from refinery.storage.run_folder import RunDir
from refinery.storage.store import Store
from refinery.storage.urls import is_stdout, is_url


@dataclass(frozen=True)
class Workplace:
    """run_dir: the folder on this machine. url: the URL to put it at; empty for a run in a folder."""

    run_dir: RunDir
    url: str = ""

    @staticmethod
    def of(work_dir: str) -> Workplace:
        """The place that a recipe names; a URL always has the same folder of this machine."""
        if not is_url(work_dir):
            return Workplace(RunDir(Path(work_dir)))
        url = work_dir.rstrip("/")
        digest = hashlib.sha256(url.encode()).hexdigest()[:16]
        return Workplace(RunDir(temporary_root("runs") / digest), url)

    @property
    def name(self) -> str:
        """The place as the user wrote it."""
        return self.url or str(self.run_dir.root)

    def parts(self) -> Store:
        """The store of the shards' results. Raises DataError when there is no driver for the URL."""
        return open_store(f"{self.url}/{self._below(self.run_dir.parts)}" if self.url else str(self.run_dir.parts))

    def input(self) -> Store:
        """The store of samples that a program has handed over. Raises DataError when there is no driver for the URL."""
        return open_store(f"{self.url}/{self._below(self.run_dir.input)}" if self.url else str(self.run_dir.input))

    def tables(self) -> Store:
        """The store of parts of tables. Raises DataError when there is no driver for the URL."""
        return open_store(f"{self.url}/{self._below(self.run_dir.tables)}" if self.url else str(self.run_dir.tables))

    def own(self) -> Store:
        """The store of files that only runs need. Raises DataError when there is no driver for the URL."""
        return open_store(f"{self.url}/{self._below(self.run_dir.own)}" if self.url else str(self.run_dir.own))

    @property
    def temporary(self) -> Path:
        """The parent folder of the temporary folders of runs on a cluster, on every machine."""
        return temporary_root("nodes") if self.url else self.run_dir.root / ".tmp"

    def tidy(self) -> None:
        """Remove the temporary folders that a run has noted; only for the run that holds the run folder."""
        note = self.run_dir.temporary
        try:
            names = [str(name) for name in json.loads(note.read_text(encoding="utf-8"))]
        except (OSError, ValueError, TypeError):
            return
        for name in names:
            if re.fullmatch(r"\w+", name):
                shutil.rmtree(self.temporary / name, ignore_errors=True)
        with suppress(OSError):
            self.temporary.rmdir()  # unless another run has something there
        note.unlink(missing_ok=True)

    def file_of_export(self, export_path: str) -> str:
        """The local file that an export is written to: its path, or a file that is then sent to a URL or stream."""
        if is_stdout(export_path):
            return str(self.run_dir.stdout)
        if not is_url(export_path):
            return export_path
        return str(self.run_dir.export / export_path.rstrip("/").rpartition("/")[2])

    def _below(self, path: Path) -> str:
        """A file's name relative to the run folder."""
        return path.relative_to(self.run_dir.root).as_posix()

    def holdings(self, overwrite: bool = False) -> OwnedObjects:
        """The list of the objects that runs of this place have put. overwrite: also replace objects of others."""
        return OwnedObjects(self.own(), self.run_dir.published.name, overwrite)

    def require(self, holdings: OwnedObjects) -> None:
        """Check that the URL's names are free of objects that no run has put there. Raises OutputError."""
        if self.url:
            traces = open_store(self.url).names(f"{self.run_dir.trace.name}/")
            holdings.require(f"{self.url}/{name}" for name in (self._below(self.run_dir.database), *traces))

    def publish(self, overwrite: bool = False) -> list[str]:
        """Put the run folder at its URL; returns a line for the person. Raises OSError, OutputError.

        The manifest is removed first and put last, so a manifest at the URL means that all files it lists are there.
        """
        if not self.url:
            return []
        place, manifest, here = open_store(self.url), self.run_dir.manifest, self.run_dir
        digests = [here.digests] if here.digests.is_file() else []
        files = (here.database, here.recipe, here.plan, *digests, *here.traces(), manifest)
        holdings, urls = self.holdings(overwrite), [f"{self.url}/{self._below(path)}" for path in files]
        holdings.begin(self.url, urls)
        place.discard(self._below(manifest))
        holdings.keep(self.url, urls)
        for path in files:
            copy = place.scratch() / path.name
            shutil.copyfile(path, copy)  # publishing removes the local file
            place.publish(copy, self._below(path))
        holdings.note(self.url, urls)
        return [f"tables, traces and manifest are in {self.url}; {self.run_dir.root} is a copy of them"]
