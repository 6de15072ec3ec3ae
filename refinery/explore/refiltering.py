"""`refinery refilter` on request: a process of its own, one at a time, into a new folder beside the run."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from refinery.common.paths import shorter
from refinery.errors import OutputError
from refinery.explore.run import ExploredRun
from refinery.inspect.refilter.refilter import folder_beside
from refinery.monitoring import state
from refinery.storage.run_folder import RunDir


@dataclass
class Refiltering:
    """One refilter. result: its figures once it has succeeded; error: its message if it has failed."""

    sets: tuple[str, ...]
    run: Path
    folder: Path
    process: subprocess.Popen[str]
    result: dict[str, Any] | None = None
    error: str = ""
    ended: threading.Event = field(default_factory=threading.Event)

    def wait(self) -> None:
        """Wait for the end, and keep what the command prints."""
        out, err = self.process.communicate()
        if self.process.returncode == 0:
            self.result = json.loads(out.strip().splitlines()[-1])
        else:
            self.error = err.strip() or f"refinery refilter has ended with exit code {self.process.returncode}"
            _remove_if_empty(self.folder)
        self.ended.set()

    def shown(self) -> dict[str, Any]:
        """State, progress and result as plain data."""
        running = not self.ended.is_set()
        progress = state.look(RunDir(self.folder)) if running else {}
        return {
            "state": "running" if running else "failed" if self.error else "finished",
            "sets": list(self.sets),
            "run": shorter(str(self.run)),
            "folder": shorter(str(self.folder)),
            "progress": progress,
            "error": shorter(self.error),
            "result": self.result,
        }


class Refilters:
    """The refilters of one page."""

    def __init__(self, run: ExploredRun) -> None:
        self._run, self._lock = run, threading.Lock()
        self._latest: Refiltering | None = None

    @staticmethod
    def of(run: ExploredRun) -> Refilters:
        """The refilters of a run."""
        return run.remember("refilters", lambda: Refilters(run))

    def start(self, sets: Sequence[str]) -> dict[str, Any]:
        """Start a refilter with some `PATH=VALUE`. Raises OutputError while another one runs, or without a place for it."""
        with self._lock:
            if self._latest is not None and not self._latest.ended.is_set():
                raise OutputError("a refilter is running already; wait for its end")
            folder = _new_folder(self._run.folder)
            self._latest = Refiltering(tuple(sets), self._run.folder, folder, _process(self._run.folder, folder, sets))
            threading.Thread(target=self._latest.wait, daemon=True, name="refilter").start()
            return self._latest.shown()

    def latest(self) -> dict[str, Any]:
        """The latest one, or a state `none`."""
        return self._latest.shown() if self._latest is not None else {"state": "none"}


def _new_folder(run: Path) -> Path:
    """A new, empty folder by refilter's own rule for names: made here, so that nobody else takes the name."""
    while True:
        folder = Path(folder_beside(run))
        try:
            folder.mkdir()
        except FileExistsError:
            continue
        except OSError as error:
            raise OutputError(f"{folder}: cannot be made: {error.strerror}") from None
        return folder


def _process(run: Path, folder: Path, sets: Sequence[str]) -> subprocess.Popen[str]:
    changes = [part for text in sets for part in ("--set", text)]
    command = [sys.executable, "-m", "refinery", "refilter", str(run), *changes, "--work-dir", str(folder), "--json"]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe, text=True, encoding="utf-8")


def _remove_if_empty(folder: Path) -> None:
    try:
        folder.rmdir()
    except OSError:
        return  # it has what the run left
