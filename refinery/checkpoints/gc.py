"""Frees what finished runs have kept for the next one: the longest unused first, and never what a run is using."""

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
class Kept:
    """What a run folder keeps. used: when a run last began or ended with it (seconds since 1970). live: one is in it now.

    flat: it is `parts/` of a run of refinery 0.1.0.
    """

    folder: Path
    bytes: int
    used: float
    live: bool
    ended: bool
    flat: bool = False


def seconds(age: str) -> float:
    """Seconds of `7d`, `12h`, `30m`. Raises ValueError."""
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([smhdw])\s*", age.lower())
    if found is None:
        raise ValueError(f"{age!r} is no age, such as 7d, 12h or 30m")
    return float(found[1]) * _SECONDS[found[2]]


def find(folders: Iterable[Path]) -> list[Kept]:
    """What run folders keep, these and all below them; the longest unused first."""
    found: dict[tuple[Path, bool], Kept] = {}
    for top in folders:
        for root, below, _ in os.walk(top):
            below[:] = sorted(name for name in below if not name.startswith("."))
            for flat in (False, True):
                if (RunDir(Path(root), flat).parts / NAME).is_file() and not (flat and why_not_flat(Path(root))):
                    found.setdefault((Path(root).resolve(), flat), _kept(Path(root), flat))
    return sorted(found.values(), key=lambda kept: (kept.used, str(kept.folder)))


def strange(folders: Iterable[Path]) -> list[tuple[Path, str]]:
    """Folders `parts/` below these that look like those of refinery 0.1.0, but hold or lack something; with what it is."""
    found = {}
    for top in folders:
        for root, below, _ in os.walk(top):
            below[:] = sorted(name for name in below if not name.startswith("."))
            parts = RunDir(Path(root), flat=True).parts
            if (parts / NAME).is_file() and noted(open_store(str(parts))) and (reason := why_not_flat(Path(root))):
                found[parts] = reason
    return sorted(found.items())


def why_not_flat(folder: Path) -> str:
    """Why `parts/` in a folder is not taken for what a run of refinery 0.1.0 has kept; "" where it is."""
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


def _kept(folder: Path, flat: bool) -> Kept:
    run_dir = RunDir(folder, flat)
    store = open_store(str(run_dir.parts))
    used = (run_dir.parts / NAME).stat().st_mtime
    return Kept(folder, store.size(), used, run_dir.is_held(), bool(noted(store).get("ended")), flat)


def choose(found: Sequence[Kept], budget: int | None, age: float | None, now: float) -> list[Kept]:
    """What to free, of `find`'s answer.

    budget: bytes that may stay, of all folders together. age: seconds for which what is freed must not have been used.
    With neither, all that runs which ended well have kept; an interrupted run is only freed by one of them.
    """
    left = sum(kept.bytes for kept in found)
    chosen = []
    for kept in found:
        old = age is not None and now - kept.used > age
        over = budget is not None and left > budget
        if not kept.live and (old or over or (age is None and budget is None and kept.ended)):
            chosen.append(kept)
            left -= kept.bytes
    return chosen


def free(kept: Kept) -> bool:
    """Remove it; not done (False) when a run has come in between."""
    run_dir = RunDir(kept.folder, kept.flat)
    try:
        with run_dir.held():
            forget(open_store(str(run_dir.parts)))
    except OutputError:
        return False
    return True
