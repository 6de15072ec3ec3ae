"""Removes the temporary folder of a run whose driver was killed: an actor that outlives the driver for some seconds."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

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
