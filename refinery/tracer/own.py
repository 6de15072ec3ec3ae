"""Ownership of trace files: only files of runs and tracers are appended to, replaced or removed."""

from __future__ import annotations

import json
from pathlib import Path

from refinery.errors import OutputError
from refinery.storage.file_marks import is_growing, marked, state_of
from refinery.storage.run_folder import RunDir


def require_own(run: RunDir, path: Path) -> None:
    """Check that a trace file was written by a run or a tracer, is empty, or does not exist. Raises OutputError."""
    state = state_of(path)
    if state is None or not state[0] or is_growing(path) or state in (marked(path), _listed(run, path)):
        return
    what = f"{path}: was not written by a run or a tracer, or has changed since, so it is left as it is"
    raise OutputError(f"{what}. Move or remove it, or trace to another work_dir")


def _listed(run: RunDir, path: Path) -> tuple[int, int] | None:
    """Size and time of change in the run's list of its files, which a copy of the folder has, too."""
    try:
        files = json.loads(run.written.read_text(encoding="utf-8"))["files"]
        size, time = files[path.relative_to(run.root).as_posix()]
        return int(size), int(time)
    except (OSError, ValueError, KeyError, TypeError):
        return None
