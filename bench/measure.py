"""Run a command and measure its wall time, processor time and the memory of its process tree."""

from __future__ import annotations

import os
import platform
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

PAGE = os.sysconf("SC_PAGE_SIZE")
TICKS = os.sysconf("SC_CLK_TCK")
SAMPLE_SECONDS = 0.5


@dataclass(frozen=True)
class Run:
    """One command from start to exit.

    `largest_rss` is the peak of the largest single process, as the kernel reports it. `tree_rss` is the highest sum
    over all processes of the command at one moment (sampled twice a second; pages shared between processes count in
    each), None where there is no /proc. The kernel counts no processor time of processes that nobody waits for, such as
    those of datatrove's extractors; for them `cpu_seconds` is what the samples show.
    """

    seconds: float
    cpu_seconds: float
    largest_rss: int
    tree_rss: int | None
    exit_code: int

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def measured(
    command: Sequence[str], log: Path, *, cwd: Path, env: Mapping[str, str] | None = None, timeout: float = 7200
) -> Run:
    """Run the command with its output in `log`, in a session of its own, which identifies its process tree.

    The kernel lets a child inherit its parent's peak at exec: callers must stay small, or `largest_rss` is theirs.
    Python may cache compiled modules, as it does in a shell by default.
    """
    env = dict(os.environ if env is None else env)
    env.pop("PYTHONDONTWRITEBYTECODE", None)
    with log.open("wb") as output:
        started = time.perf_counter()
        process = subprocess.Popen(
            command, cwd=cwd, env=env, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
        )
        watch = TreeWatch(process.pid, timeout)
        watch.start()
        try:
            _, status, usage = os.wait4(process.pid, 0)
        except BaseException:  # without this process its session would go on
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            raise
        seconds = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
    watch.finished.set()
    watch.join()
    return Run(
        seconds=seconds,
        cpu_seconds=max(usage.ru_utime + usage.ru_stime, sum(watch.spent.values())),
        largest_rss=usage.ru_maxrss * 1024,
        tree_rss=watch.peak or None,
        exit_code=process.returncode,
    )


def quiet_environment(folder: Path) -> dict[str, str]:
    """Environment of a peer: caches and temporary files in its own folder, no network, no installation of packages.

    Models and word lists are those of this machine, which are only read.
    """
    cache = folder / "cache"
    cache.mkdir(exist_ok=True)
    juicer = Path.home() / ".cache" / "data_juicer"
    own = {
        "HF_HOME": os.environ.get("HF_HOME", cache / "hf"),
        "DATA_JUICER_MODELS_CACHE": os.environ.get("DATA_JUICER_MODELS_CACHE", juicer / "models"),
        "DATA_JUICER_ASSETS_CACHE": os.environ.get("DATA_JUICER_ASSETS_CACHE", juicer / "assets"),
        "HF_DATASETS_CACHE": cache / "hf" / "datasets",
        "CACHE_HOME": cache,
        "DATA_JUICER_CACHE_HOME": cache / "data_juicer",
        "TMPDIR": cache,
        "HF_HUB_OFFLINE": 1,
        "HF_DATASETS_OFFLINE": 1,
        "TRANSFORMERS_OFFLINE": 1,
        "UV_OFFLINE": 1,
        "PIP_NO_INDEX": 1,
    }
    kept = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    return kept | {key: str(value) for key, value in own.items()}


class TreeWatch(threading.Thread):
    """Samples memory and processor time of a session, and ends the session when its time is over.

    peak: largest sum of resident bytes. spent: processor seconds of each process.
    """

    def __init__(self, session: int, timeout: float) -> None:
        super().__init__(daemon=True)
        self.session = session
        self.deadline = time.monotonic() + timeout
        self.finished = threading.Event()
        self.peak = 0
        self.spent: dict[str, float] = {}

    def run(self) -> None:
        while not self.finished.wait(SAMPLE_SECONDS):
            processes = session_processes(self.session)
            self.peak = max(self.peak, sum(int(fields[21]) * PAGE for fields in processes.values()))
            self.spent |= {
                process: (int(fields[11]) + int(fields[12])) / TICKS for process, fields in processes.items()
            }
            if time.monotonic() > self.deadline:
                with suppress(ProcessLookupError):
                    os.killpg(self.session, signal.SIGTERM)
                return


def session_processes(number: int) -> dict[str, list[str]]:
    """Processes of a session, and the fields of their /proc/.../stat behind the name."""
    processes = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            # The command's name may have blanks and brackets; the fields after it do not.
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # the process has ended meanwhile
        if int(fields[3]) == number:
            processes[stat.parent.name] = fields
    return processes


def machine() -> dict[str, Any]:
    """Conditions of the figures: the machine, its software, and its load."""
    model = platform.processor()
    memory = os.sysconf("SC_PHYS_PAGES") * PAGE
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        names = [line.partition(":")[2].strip() for line in cpuinfo.read_text().splitlines() if "model name" in line]
        model = names[0] if names else model
    return {
        "cpu": model,
        "cores": os.cpu_count(),
        "memory_gib": round(memory / 2**30, 1),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "load_before": round(os.getloadavg()[0], 1),
    }
