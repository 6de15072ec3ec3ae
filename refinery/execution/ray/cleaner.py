"""Removes the temporary folder of a run whose driver was killed: an actor that outlives the driver for some seconds."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

# Ray's space of names for actors that outlive a driver, and seconds between two looks.
NAMESPACE = "refinery"
_EVERY = 5.0


class Cleaner:
    """The actor: waits for the end of a driver, and then removes its folder."""

    def wait(self, job: str, folder: str) -> None:
        """Return when the driver's job has ended and the folder is gone."""
        from ray._private import state

        while not any(known["JobID"] == job and known["IsDead"] for known in state.jobs()):
            time.sleep(_EVERY)
        time.sleep(_EVERY)  # tasks of the driver end meanwhile
        shutil.rmtree(folder, ignore_errors=True)
        with suppress(OSError):
            Path(folder).parent.rmdir()  # if no other run uses it


@contextmanager
def cleaned_after(ray: Any, folder: Path) -> Iterator[None]:
    """Have the folder removed if this process is killed. Without an answer of the cluster, the next run removes it."""
    job, cleaner = ray.get_runtime_context().get_job_id(), None
    with suppress(Exception):
        options = {"num_cpus": 0, "max_restarts": 0, "lifetime": "detached", "namespace": NAMESPACE}
        cleaner = ray.remote(Cleaner).options(name=f"cleaner of {folder}", **options).remote()
        cleaner.wait.remote(job, str(folder))
    try:
        yield
    finally:
        with suppress(Exception):
            ray.kill(cleaner)
