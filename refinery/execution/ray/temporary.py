"""The temporary folder of a run on a cluster.

The next run removes the folder of a killed run. If the driver is killed, an actor that outlives it for some seconds does so at once.
"""

from __future__ import annotations

import json
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

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


# Ray's space of names for actors that outlive a driver, and seconds between the end of a driver and the removal.
NAMESPACE = "refinery"
_GRACE = 5.0


class Presence:
    """An actor that Ray starts again wherever it dies, as long as its driver lives."""

    def last(self) -> None:
        """Never return: who waits gets an error when the driver has ended."""
        threading.Event().wait()


class Cleaner:
    """The actor: waits for the end of a driver, and then removes its folder."""

    def wait(self, presence: Any, folder: str) -> None:
        """Return when the driver with this presence has ended and the folder is gone."""
        import ray

        with suppress(ray.exceptions.RayActorError):
            ray.get(presence.last.remote())
        time.sleep(_GRACE)  # tasks of the driver end meanwhile
        shutil.rmtree(folder, ignore_errors=True)
        with suppress(OSError):
            Path(folder).parent.rmdir()  # if no other run uses it


@contextmanager
def cleaned_after(ray: Any, folder: Path) -> Iterator[None]:
    """Have the folder removed if this process is killed. Without an answer of the cluster, the next run removes it."""
    actors = []
    with suppress(Exception):
        options = {"num_cpus": 0, "max_restarts": 0, "lifetime": "detached", "namespace": NAMESPACE}
        actors.append(ray.remote(Cleaner).options(name=f"cleaner of {folder}", **options).remote())
        actors.append(ray.remote(num_cpus=0, max_restarts=-1, max_task_retries=-1)(Presence).remote())
        cleaner, presence = actors
        cleaner.wait.remote(presence, str(folder))
    try:
        yield
    finally:
        for actor in actors:
            with suppress(Exception):
                ray.kill(actor)
