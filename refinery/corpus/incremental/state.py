"""State of the incremental engine: what a change needs to know of the rows before it."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from refinery.corpus.incremental.rows import inside
from refinery.corpus.incremental.segments import Segments
from refinery.kernels.core.arrow import ints, numbers

_FORMAT = 2
_FILE = "state.json"
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

    change: its number. files: names and bytes of the files of tables. parts: by number. programs: keys of the stages' programs. schema: of the samples, as
    JSON. exported: Arrow schema of exported tables, or "". counts: of rows by outcome.
    """

    folder: Path
    change: int = 0
    files: dict[str, int] = field(default_factory=dict)
    parts: dict[int, PartState] = field(default_factory=dict)
    programs: list[str] = field(default_factory=list)
    schema: dict[str, Any] = field(default_factory=dict)
    exported: str = ""
    counts: dict[str, int] = field(
        default_factory=lambda: dict.fromkeys(("kept", "removed", "quarantined", "withdrawn"), 0)
    )

    @staticmethod
    def is_whole(folder: Path) -> bool:
        """Return whether a state has all files that it had at its end, so that a change can begin with it."""
        try:
            known = json.loads((folder / _FILE).read_text(encoding="utf-8"))
            return bool(known["format"] == _FORMAT and known["files"] == _sizes(folder))
        except (OSError, ValueError, LookupError, TypeError):
            return False

    @staticmethod
    def begin(before: Path | None, after: Path) -> State:
        """The state before a change, which is whole, in a folder of its own."""
        after.mkdir(parents=True)
        if before is None:
            return State(after)
        known = json.loads((before / _FILE).read_text(encoding="utf-8"))
        del known["format"]
        for file in before.rglob("*.parquet"):
            _share(file, after / file.relative_to(before))
        known["parts"] = {int(part): PartState(**of_part) for part, of_part in known["parts"].items()}
        return State(after, **{**known, "change": known["change"] + 1})

    def end(self) -> None:
        """Write what is in memory, last of all."""
        self.files = _sizes(self.folder)
        known = {name: value for name, value in asdict(self).items() if name != "folder"}
        aside = self.folder / f"{_FILE}.tmp"
        aside.write_text(json.dumps({**known, "format": _FORMAT}), encoding="utf-8")
        os.replace(aside, self.folder / _FILE)

    def stage(self, number: int) -> StageState:
        """Tables of a stage."""
        folder = self.folder / f"stage_{number}"
        samples = Segments(folder / "samples", ("values",))
        keys, status, units = (Segments(folder / name) for name in ("keys", "status", "units"))
        return StageState(samples, keys, status, units, Segments(folder / "cells", every=True))

    @property
    def outcomes(self) -> Segments:
        """Outcome of each row, and the row that stays in its place."""
        return Segments(self.folder / "outcomes")


def _sizes(folder: Path) -> dict[str, int]:
    """Names and bytes of the files of tables."""
    return {str(file.relative_to(folder)): file.stat().st_size for file in sorted(folder.rglob("*.parquet"))}


def _share(file: Path, target: Path) -> None:
    """Give a file that is never changed a second name; a copy where file systems differ."""
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(file, target)
    except OSError:
        shutil.copyfile(file, target)
