"""Client of `forked`: runs and commands in forks of one warm process, killed at a chosen time or file operation."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.conftest import ROOT


class Forks:
    """The process that forks runs.

    Bytecode is written as on any machine, whatever the environment of the tests says: a stale one must be met.
    """

    def __init__(self) -> None:
        command = [sys.executable, "-m", "tests.checkpoints.forked"]
        environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(command, cwd=ROOT, env=environment, stdin=pipe, stdout=pipe, text=True)

    def run(
        self,
        recipe: dict[str, Any],
        kill: float | None = None,
        at: int | None = None,
        folder: Path | None = None,
        interrupts: int = 0,
    ) -> dict[str, Any]:
        """Run a recipe in a current folder.

        kill: it is killed after so many seconds. at: right before the file operation of this number, from 1. interrupts: Ctrl-C
        in place of the kill, pressed so many times.
        """
        return self._ask(recipe=recipe, kill=kill, at=at, folder=folder and str(folder), interrupts=interrupts)

    def command(self, arguments: Sequence[str], at: int | None = None) -> dict[str, Any]:
        """Run the command line with these arguments; at: as for `run`."""
        return self._ask(command=list(arguments), at=at)

    def _ask(self, **asked: Any) -> dict[str, Any]:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps(asked) + "\n")
        self._process.stdin.flush()
        answer: dict[str, Any] = json.loads(self._process.stdout.readline())
        return answer

    def close(self) -> None:
        """Let it end."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(300)
