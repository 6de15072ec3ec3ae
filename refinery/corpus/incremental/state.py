"""State of the incremental engine: what a change needs to know of the rows before it."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from refinery.common.digest import digest_of_json
from refinery.corpus.incremental.rows import inside
from refinery.corpus.incremental.seals import Seal, Seals
from refinery.corpus.incremental.segments import Segments
from refinery.kernels.core.arrow import ints, numbers

_FORMAT = 3
_FILE, _DIGEST = "state.json", "digest"
# Number of a cluster whose row is no longer in the stage.
GONE = -1


@dataclass(frozen=True)
class StageState:
    """Rows that the steps of a stage keep.

    samples: what the stage has left of them. keys: their match keys, with the number of the `change` they came with. status: `kept`, the
    row that stays of its cluster (itself, if it does) or GONE, and `at`, the change with which it came. units: removed ones of each row.
    cells: of items that share a key, of a deduplicator of substrings, see `passage_items`.
    """

    samples: Segments
    keys: Segments
    status: Segments
    units: Segments
    cells: Segments

    def status_of(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The rows that are in the stage, of some rows (ascending); of each, the row that stays, and the change."""
        table = self.status.take(rows)
        row, kept, at = (numbers(table[name]) for name in ("_row", "kept", "at")) if len(table) else [rows[:0]] * 3
        there = kept != GONE
        return row[there], kept[there], at[there]

    def set_status(self, change: int, rows: np.ndarray, kept: np.ndarray, at: np.ndarray) -> None:
        """Record the status of rows, which ascend."""
        self.status.append(change, pa.table({"_row": ints(rows), "kept": ints(kept), "at": ints(at.astype(np.int32))}))

    def settle(self, change: int, left: np.ndarray, entered: np.ndarray) -> None:
        """Record that rows (ascending) have left the stage, and that others, or some of them again, have entered it and stay."""
        only = left[~inside(left, entered)]
        rows = np.concatenate((only, entered))
        kept = np.concatenate((np.full(len(only), GONE, np.int64), entered))
        order = np.argsort(rows)
        self.set_status(change, rows[order], kept[order], np.full(len(rows), change))

    def merge(self, change: int) -> None:
        """Merge small files, with some changes."""
        for table in (self.samples, self.keys, self.status, self.units, self.cells):
            table.merge(change)

    def forget(self, rows: np.ndarray) -> None:
        """Remove samples and match keys of rows that are withdrawn."""
        for table in (self.samples, self.keys, self.cells):
            table.forget(rows)


@dataclass(frozen=True)
class PartState:
    """Numbers of a part's rows and withdrawn ones. alone: a plan over this part alone has the programs of the state."""

    rows: int
    withdrawn: int
    alone: bool


@dataclass
class State:
    """State after a change. Files of the change before are shared by hard links.

    change: its number. files: seals of the files of tables, by name. parts: by number. programs: keys of the stages' programs. schema: of the samples, as
    JSON. exported: Arrow schema of exported tables, or "". counts: of rows by outcome. dates: of compared samples, by stage (`dates`).
    """

    folder: Path
    change: int = 0
    files: dict[str, Seal] = field(default_factory=dict)
    parts: dict[int, PartState] = field(default_factory=dict)
    programs: list[str] = field(default_factory=list)
    schema: dict[str, Any] = field(default_factory=dict)
    exported: str = ""
    counts: dict[str, int] = field(
        default_factory=lambda: dict.fromkeys(("kept", "removed", "quarantined", "withdrawn"), 0)
    )
    dates: dict[str, list[int]] = field(default_factory=dict)

    @staticmethod
    def is_whole(folder: Path) -> bool:
        """Return whether a state has all files that it had at its end, with their sizes. Contents are checked when they are read."""
        try:
            known = _read(folder)
            return known["format"] == _FORMAT and {
                name: seal.size for name, seal in _seals_of(known).items()
            } == _present(folder)
        except (OSError, ValueError, LookupError, TypeError):
            return False

    @staticmethod
    def differences(folder: Path) -> list[str]:
        """Reasons why a state is not as it was at its end, by the contents of all files; none if it is."""
        if not State.is_whole(folder):
            return [f"{folder}: files of the engine's state are missing, or have changed"]
        files = _seals_of(_read(folder))
        return [*Seals(folder, files).differences()]

    @staticmethod
    def begin(before: Path | None, after: Path) -> State:
        """The state before a change, which is whole, in a folder of its own."""
        after.mkdir(parents=True)
        if before is None:
            return State(after)
        known = _read(before)
        del known["format"]
        known["files"] = _seals_of(known)
        for file in before.rglob("*.parquet"):
            _share(file, after / file.relative_to(before))
        known["parts"] = {int(part): PartState(**of_part) for part, of_part in known["parts"].items()}
        return State(after, **{**known, "change": known["change"] + 1})

    def end(self) -> None:
        """Write what is in memory, last of all."""
        assert _present(self.folder) == {name: seal.size for name, seal in self.files.items()}
        known = {name: value for name, value in asdict(self).items() if name != "folder"}
        known = json.loads(json.dumps({**known, "format": _FORMAT}))
        aside = self.folder / f"{_FILE}.tmp"
        aside.write_text(json.dumps({**known, _DIGEST: digest_of_json(known)}), encoding="utf-8")
        os.replace(aside, self.folder / _FILE)

    def stage(self, number: int) -> StageState:
        """Tables of a stage."""
        folder = self.folder / f"stage_{number}"
        samples = Segments(folder / "samples", self.seals, ("values",), turn=1)
        keys, cells = (
            Segments(folder / "keys", self.seals, turn=3),
            Segments(folder / "cells", self.seals, turn=5, every=True),
        )
        status, units = (Segments(folder / name, self.seals) for name in ("status", "units"))
        return StageState(samples, keys, status, units, cells)

    @cached_property
    def seals(self) -> Seals:
        """Seals of the files."""
        return Seals(self.folder, self.files)

    @property
    def outcomes(self) -> Segments:
        """Outcome of each row, and the row that stays in its place."""
        return Segments(self.folder / "outcomes", self.seals)


def _read(folder: Path) -> dict[str, Any]:
    """Entries of the file of a state. Raises OSError; ValueError for a file that has changed."""
    known: dict[str, Any] = json.loads((folder / _FILE).read_text(encoding="utf-8"))
    if known.pop(_DIGEST, None) != digest_of_json(known):
        raise ValueError(f"{folder / _FILE}: has changed")
    return known


def _seals_of(known: dict[str, Any]) -> dict[str, Seal]:
    """Seals of the files of tables. known: see `_read`."""
    return {name: Seal(tuple(seal["ends"]), tuple(seal["digests"])) for name, seal in known["files"].items()}


def _present(folder: Path) -> dict[str, int]:
    """Names and bytes of the files of tables."""
    return {str(file.relative_to(folder)): file.stat().st_size for file in sorted(folder.rglob("*.parquet"))}


def _share(file: Path, target: Path) -> None:
    """Give a file that is never changed a second name; a copy where file systems differ."""
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(file, target)
    except OSError:
        shutil.copyfile(file, target)
