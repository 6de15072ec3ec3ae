"""Facts of a finished run, from its folder."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from refinery.errors import DataError
from refinery.io.model import handed_over
from refinery.results.database import Counts
from refinery.storage.run_folder import RunDir
from refinery.storage.urls import is_url


@dataclass(frozen=True)
class RunFacts:
    """Manifest of a run folder, and lines that a user should read."""

    run_dir: RunDir
    manifest: dict[str, Any]
    warnings: tuple[str, ...]

    @property
    def outputs(self) -> tuple[Path | str, ...]:
        """Files of kept samples, URLs as texts."""
        paths = [item["path"] for item in self.manifest["outputs"]]
        return tuple(path if is_url(path) else Path(path) for path in paths)

    @property
    def counts(self) -> Counts:
        """Rows read, kept, removed and quarantined."""
        return Counts(**self.manifest["rows"])


def read_facts(folder: str | os.PathLike[str]) -> RunFacts:
    """The facts of the finished run in a folder. Raises DataError where there is none."""
    name = os.fspath(folder)
    if is_url(name):
        raise DataError(
            f"{name}: a run at a URL cannot be opened there. Copy its folder to this machine, and open that"
        )
    run_dir = _folder(Path(name))
    held = run_dir.is_held()
    if not run_dir.manifest.is_file() or not run_dir.database.is_file():
        raise DataError(f"{name}: {_why_not(run_dir, held)}")
    manifest = json.loads(run_dir.manifest.read_text(encoding="utf-8"))
    if held:
        note = f"a later run is under way in {run_dir.root}; it replaces these results when it ends"
        return RunFacts(run_dir, manifest, (note,))
    return RunFacts(run_dir, manifest, ())


def _folder(path: Path) -> RunDir:
    """The run folder of a path, which may also name the database in it. Raises DataError."""
    if path.is_file() and path.name == RunDir(path.parent).database.name:
        path = path.parent
    if path.is_file():
        raise DataError(f"{path}: is a file. Name the folder of a run, its work_dir")
    if not path.is_dir():
        raise DataError(f"{path}: there is no such folder")
    return RunDir.of_finished(path.absolute())


def _why_not(run_dir: RunDir, held: bool) -> str:
    """The reason why a folder cannot be opened, with the cure."""
    if held:
        return f"its first run is not finished. Wait for it: refinery status {run_dir.root} --watch"
    if run_dir.manifest.is_file():
        return f"{run_dir.database.name} is missing. Bring it back, or run the recipe again"
    if run_dir.own.is_dir():
        return "its run did not end. Run the recipe again, which goes on from where it ended"
    below = sorted(path.parent.name for path in run_dir.root.glob(f"*/{run_dir.database.name}"))
    hint = f". Below it are runs: {', '.join(below[:5])}" if below else ""
    return f"no run has ended here (it has no {run_dir.database.name}){hint}"


def require_recomputable(manifest: dict[str, Any], what: str) -> None:
    """Raise DataError for samples that a program has passed in, which no later command can read."""
    if handed_over(manifest["inputs"]):
        raise DataError(
            f"the run's samples were passed in from Python as a table, so {what} is not possible: run with the table again"
        )
