"""Names of all files in a run folder."""

from __future__ import annotations

import errno
import hashlib
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from refinery.errors import OutputError

# Open files whose locks this process holds: a copy of the process that an operator forks must not keep them.
_HELD: set[int] = set()


_OWN = ".refinery"


@dataclass(frozen=True)
class RunDir:
    """The folder of one run; nothing else in the project spells these names.

    Results for a person stand in the folder itself. All other files stand in a folder of their own below it, where they
    cannot meet files of the user. flat: a run of refinery 0.1.0, which has all of them in one folder.
    """

    root: Path
    flat: bool = False

    @staticmethod
    def of_finished(root: Path) -> RunDir:
        """The folder of a finished run, to be read only; also one that refinery 0.1.0 has made."""
        new = RunDir(root)
        old = RunDir(root, flat=True)
        return old if not new.own.is_dir() and old.database.is_file() and old.manifest.is_file() else new

    @staticmethod
    def around(recipe: str) -> str:
        """The folder of a recipe; for a recipe that a run has kept, the folder of the run."""
        folder = os.path.dirname(os.path.abspath(recipe))
        return os.path.dirname(folder) if os.path.basename(folder) == _OWN else folder

    @property
    def own(self) -> Path:
        """The folder of files that only runs and commands need."""
        return self.root if self.flat else self.root / _OWN

    @property
    def database(self) -> Path:
        """The tables, for any DuckDB 2.x."""
        return self.root / "refinery.duckdb"

    @property
    def recipe(self) -> Path:
        """The effective recipe, every parameter filled in."""
        return self.own / "recipe.yaml"

    @property
    def plan(self) -> Path:
        """Compiled SQL per stage."""
        return self.own / "plan.json"

    @property
    def order(self) -> Path:
        """The order in which `fusion_strategy` has put the filters, known before they run."""
        return self.own / "order.json"

    @property
    def manifest(self) -> Path:
        """Versions, inputs, outputs, counts."""
        return self.own / "manifest.json"

    @property
    def digests(self) -> Path:
        """SHA-256 of inputs, models, recipe and outputs, if they were recorded."""
        return self.own / "digests.json"

    @property
    def written(self) -> Path:
        """The list of files that runs have written outside of the run's own folder (see results.owned_files)."""
        return self.own / "written.json"

    @property
    def published(self) -> Path:
        """The list of objects that a run at a URL has put there."""
        return self.own / "published.json"

    @property
    def indexed(self) -> Path:
        """The id of the run folder in indexes, and the export that an unfinished run is about to replace."""
        return self.own / "indexed.json"

    @property
    def trace(self) -> Path:
        """JSONL views of the trace table."""
        return self.root / "trace"

    @property
    def running(self) -> Path:
        """Marker that is there while operators run in threads (see workers.crash_marker)."""
        return self.own / ".running"

    @property
    def report(self) -> Path:
        """The page that `refinery report` writes."""
        return self.root / "report.html"

    @property
    def cards(self) -> Path:
        """The folder of the cards that `refinery card` writes."""
        return self.root / "card"

    @property
    def status(self) -> Path:
        """Progress of the run, for others; there while it runs, and after it has failed or was killed."""
        return self.own / "status.json"

    @property
    def log(self) -> Path:
        """The folder of the logs."""
        return self.own / "log"

    @property
    def parts(self) -> Path:
        """Results of the shards: a store (see refinery.storage)."""
        return self.own / "parts"

    @property
    def input(self) -> Path:
        """Samples that a program has handed over as a stream: a store."""
        return self.own / "input"

    @property
    def spooled(self) -> Path:
        """The list of the files of `input`."""
        return self.own / "input.json"

    @property
    def tables(self) -> Path:
        """Parts of the tables of many samples, which the database has views over: a store with a folder for each run."""
        return self.own / "tables"

    @property
    def export(self) -> Path:
        """Local copies of the files of an export at a URL."""
        return self.parts / "export"

    @property
    def stdout(self) -> Path:
        """The export to standard output, when the tables account for it."""
        return self.own / "stdout.jsonl"

    @property
    def exported(self) -> Path:
        """Files that are exports of runs on a cluster, by folder; the list outlives the parts."""
        return self.own / "exported.json"

    @property
    def temporary(self) -> Path:
        """Folders for temporary files that a run on a cluster has made; there while it runs."""
        return self.own / "temporary.json"

    def unfinished(self) -> list[Path]:
        """Files that a killed run left unfinished; all of them are in the run's own folder."""
        names = (
            self.database,
            self.recipe,
            self.plan,
            self.order,
            self.manifest,
            self.digests,
            self.status,
            self.written,
            self.report,
        )
        return [old for path in names for old in self.own.glob(f".{path.name}.*")]

    def aside(self, path: Path) -> Path:
        """The name, in the run's own folder, of a file of the run folder while it is being written."""
        return aside(self.own / path.name)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep other runs out of the folder, which is made when missing. Raises OutputError if a run is in it."""

        for mark in "?\\":
            if mark in str(self.root):
                raise OutputError(
                    f"{self.root}: DuckDB cannot open a file in a folder with {mark} in its name. Set another work_dir"
                )
        self._see_that_it_is_ours()
        self.own.mkdir(parents=True, exist_ok=True)
        folder = os.open(self.own, os.O_RDONLY)
        try:
            _lock(folder)
        except OSError as error:
            if error.errno in (errno.EAGAIN, errno.EACCES):
                os.close(folder)
                raise OutputError(
                    f"{self.root}: another run is writing here. Wait for it, or set another work_dir"
                ) from None
        hold(folder)
        try:
            yield
        finally:
            let_go(folder)

    def _see_that_it_is_ours(self) -> None:
        """Check that the run's own folder is one. Raises OutputError when something else has its name."""
        if self.own.is_symlink() or (self.own.exists() and not self.own.is_dir()):
            raise OutputError(f"{self.own}: is no folder, but runs need one of that name. Set another work_dir")
        marks = (
            self.status,
            self.log,
            self.parts,
            self.written,
            self.input,
        )  # a run that was killed early has left one of them
        if self.own.is_dir() and any(self.own.iterdir()) and not any(path.exists() for path in marks):
            raise OutputError(f"{self.own}: holds files that no run has written. Set another work_dir")

    def is_held(self) -> bool:
        """True if a run is in the folder now."""
        import fcntl

        try:
            folder = os.open(self.own, os.O_RDONLY)
        except OSError:
            return False
        try:
            fcntl.flock(folder, fcntl.LOCK_SH | fcntl.LOCK_NB)
            return False
        except OSError:
            return True
        finally:
            os.close(folder)

    def trace_file(self, operator: str, step: int, first: bool, pairs: bool = False) -> Path:
        """`sample_trace-<operator>.jsonl`; with the step when an earlier step runs the same operator.

        pairs: the records are pairs of duplicates, in `duplicate-<operator>.jsonl`.
        """
        name = "duplicate" if pairs else "sample_trace"
        return self.trace / f"{name}-{operator}{'' if first else f'_{step}'}.jsonl"

    def traces(self) -> list[Path]:
        """The trace files that are there."""
        return [*self.trace.glob("sample_trace-*.jsonl"), *self.trace.glob("duplicate-*.jsonl")]


def _lock(folder: int) -> None:
    """Lock a folder. `is_held` holds the lock for a moment, so a refused lock is tried once more."""
    import fcntl

    try:
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        time.sleep(0.2)
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)


def hold(file: int) -> None:
    """Note an open file whose lock a forked copy of this process must not keep."""
    _HELD.add(file)


def let_go(folder: int) -> None:
    """Close a file of `hold`."""
    if folder in _HELD:  # a copy of the process has closed it already
        _HELD.discard(folder)
        os.close(folder)


def _let_go_of_all() -> None:
    for folder in tuple(_HELD):
        let_go(folder)


os.register_at_fork(after_in_child=_let_go_of_all)


def aside(path: Path) -> Path:
    """The temporary name of a file while it is being written."""
    return path.with_name(f".{path.name}.{seal(path)}.{os.getpid()}")


def seal(path: str | Path) -> str:
    """A digest of a path, the same through all links; in a temporary name it shows that no user has chosen the name."""
    folder, name = os.path.split(os.path.abspath(path))
    return hashlib.sha256(os.fsencode(os.path.join(os.path.realpath(folder), name))).hexdigest()[:16]
