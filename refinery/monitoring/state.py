"""The public state of a run: a small file that the run writes while it works, and the lock that it holds."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from refinery.common.redaction import hide
from refinery.storage.run_folder import RunDir, aside

RUNNING, FINISHED, FAILED, INTERRUPTED, NONE = "running", "finished", "failed", "interrupted", "none"


def write(path: Path, state: dict[str, Any]) -> None:
    """Replace the file atomically; a full disk costs the state, never the run."""
    unfinished = aside(path)
    try:
        unfinished.write_text(hide(json.dumps(state, ensure_ascii=False)), encoding="utf-8")
        os.replace(unfinished, path)
    except OSError:
        unfinished.unlink(missing_ok=True)


def read(path: Path) -> dict[str, Any]:
    """Content of the file; empty if the file is missing or no state."""
    try:
        status = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return status if isinstance(status, dict) else {}


def look(run_dir: RunDir) -> dict[str, Any]:
    """The state of the run in a folder: `state` is one of the constants above, the other fields come from the file.

    A run that no longer holds its folder and has not recorded its end was killed: `interrupted`.
    """
    status = read(run_dir.status)
    state = status.get("state")
    if state is None:
        return {"state": FINISHED if run_dir.database.exists() else NONE}
    if state == RUNNING and not run_dir.is_held():
        state = INTERRUPTED
    return {**status, "state": state}
