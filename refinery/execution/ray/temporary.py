"""The temporary folder of a run on a cluster; the next run removes the folder of a killed run."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from refinery.storage.workplace import Workplace


@contextmanager
def temporary(work_dir: str, job: str) -> Iterator[Path]:
    """Temporary folder of this run: `{work_dir}/.tmp/{job}` if work_dir is a path. job: Ray's name for the run.

    Its name is recorded in the run folder, which the run holds alone, so that the next run knows what to remove.
    """
    place = Workplace.of(work_dir)
    place.tidy()
    note = place.run_dir.temporary
    note.parent.mkdir(parents=True, exist_ok=True)
    note.write_text(json.dumps([job]), encoding="utf-8")
    folder = place.temporary / job
    folder.mkdir(parents=True, exist_ok=True)
    try:
        yield folder
    finally:
        place.tidy()
