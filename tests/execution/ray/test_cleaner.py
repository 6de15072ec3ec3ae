"""The temporary folder of a driver is removed when the driver is killed, and stays as long as it lives."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from tests.execution.ray.gates import until

DRIVER = """
import sys, time
from pathlib import Path
import ray
from refinery.execution.ray.temporary import cleaned_after
ray.init(address=sys.argv[1], logging_level="ERROR", log_to_driver=False)
with cleaned_after(ray, Path(sys.argv[2])):
    print("ready", flush=True)
    time.sleep(1000)
"""


def test_the_folder_of_a_killed_driver(cluster: Any, tmp_path: Path) -> None:
    folder = tmp_path / "run" / "temporary"
    folder.mkdir(parents=True)
    command = [sys.executable, "-c", DRIVER, cluster.address, str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as driver:
        try:
            assert driver.stdout is not None and driver.stdout.readline() == "ready\n"
            time.sleep(2)  # the cleaner waits meanwhile
            assert folder.exists()
        finally:
            driver.kill()
    until(lambda: not folder.exists())
    assert not folder.parent.exists()
