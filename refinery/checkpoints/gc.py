"""Free the stored results of finished runs: the longest unused first, and never those of a run in progress."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from refinery.checkpoints.results import OF_RUNS, forget
from refinery.errors import OutputError
from refinery.storage.open import open_store
from refinery.storage.run_folder import RunDir
from refinery.storage.shard_plan import NAME, noted

_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}


@dataclass(frozen=True)
class StoredResults:
    """Stored results of a run folder.

    used: the last begin or end of a run with it (seconds since 1970). live: a run is in it now. ended: the last run ended
    well. flat: `parts/` of a run of refinery 0.1.0.
    """

    folder: Path
    bytes: int
    used: float
    live: bool
    ended: bool
    flat: bool = False


def seconds(age: str) -> float:
    """Seconds of `7d`, `12h`, `30m`. Raises ValueError."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([smhdw])\s*", age.lower())
    if match is None:
        raise ValueError(f"{age!r} is no age, such as 7d, 12h or 30m")
    return float(match[1]) * _SECONDS[match[2]]


def find(folders: Iterable[Path]) -> list[StoredResults]:
    """Stored results of run folders, these and all below them; the longest unused first."""
    results: dict[tuple[Path, bool], StoredResults] = {}
    for top in folders:
        for root, below, _ in os.walk(top):
            below[:] = sorted(name for name in below if not name.startswith("."))
            for flat in (False, True):
                if (RunDir(Path(root), flat).parts / NAME).is_file() and not (flat and why_not_flat(Path(root))):
                    results.setdefault((Path(root).resolve(), flat), _kept(Path(root), flat))
    return sorted(results.values(), key=lambda kept: (kept.used, str(kept.folder)))


def strange(folders: Iterable[Path]) -> list[tuple[Path, str]]:
    """Folders `parts/` below these that look like those of refinery 0.1.0 but are not, each with the reason."""
    reasons = {}
    for top in folders:
        for root, below, _ in os.walk(top):
            below[:] = sorted(name for name in below if not name.startswith("."))
            parts = RunDir(Path(root), flat=True).parts
            if (parts / NAME).is_file() and noted(open_store(str(parts))) and (reason := why_not_flat(Path(root))):
                reasons[parts] = reason
    return sorted(reasons.items())


def why_not_flat(folder: Path) -> str:
    """The reason why `parts/` in a folder is not a run of refinery 0.1.0; "" where it is one."""
    run_dir = RunDir(folder, flat=True)
    if not noted(open_store(str(run_dir.parts))):
        return "its run.json is not that of a run"
    try:
        made = "refinery" in json.loads(run_dir.manifest.read_text(encoding="utf-8"))["versions"]
    except (OSError, ValueError, KeyError, TypeError):
        made = False
    if not made or not run_dir.database.is_file():
        return "there is no finished run beside it"
    others = sorted(name for name in os.listdir(run_dir.parts) if not OF_RUNS.fullmatch(name))
    return f"it also holds {others[0]!r}" if others else ""


def _kept(folder: Path, flat: bool) -> StoredResults:
    run_dir = RunDir(folder, flat)
    store = open_store(str(run_dir.parts))
    used = (run_dir.parts / NAME).stat().st_mtime
    return StoredResults(folder, store.size(), used, run_dir.is_held(), bool(noted(store).get("ended")), flat)


def choose(stored: Sequence[StoredResults], budget: int | None, age: float | None, now: float) -> list[StoredResults]:
    """The stored results to free, of `find`'s result.

    budget: bytes that may stay, of all folders together. age: seconds since the last use of all results to free.
    With neither, all results of runs which ended well; results of an interrupted run need one of them.
    """
    left = sum(kept.bytes for kept in stored)
    chosen = []
    for kept in stored:
        old = age is not None and now - kept.used > age
        over = budget is not None and left > budget
        if not kept.live and (old or over or (age is None and budget is None and kept.ended)):
            chosen.append(kept)
            left -= kept.bytes
    return chosen


def free(kept: StoredResults) -> bool:
    """Remove stored results; False (nothing is removed) when a run has come in between."""
    run_dir = RunDir(kept.folder, kept.flat)
    try:
        with run_dir.held():
            forget(open_store(str(run_dir.parts)))
    except OutputError:
        return False
    return True
