"""The temporary folder of a run on a cluster; that of a run that was killed goes with the next one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from refinery.storage.workplace import Workplace


@contextmanager
def temporary(work_dir: str, job: str) -> Iterator[Path]:
    """A folder of this run: `{work_dir}/.tmp/{job}` where work_dir is a path. job: Ray's name for the run.

    It is noted in the run's own folder, which the run holds alone, so that the next one knows what it may remove.
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
