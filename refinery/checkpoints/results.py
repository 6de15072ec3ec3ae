"""Stored results of a run's shards and deduplicators: find, check, and keep them for the next run."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import astuple, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from refinery.checkpoints.keys import barrier_key, program_key, shard_key
from refinery.common.digest import size_and_digest
from refinery.dedup.index import Index
from refinery.dedup.model import DedupResult
from refinery.io.model import RemovedIn, Shard
from refinery.io.writers.earlier_export import EarlierExport, WrittenRange
from refinery.operators import Library
from refinery.planning.plan import CompiledStage
from refinery.storage.shard_plan import remember
from refinery.storage.store import Store
from refinery.workers import done_marks
from refinery.workers.done_marks import DoneMark
from refinery.workers.tasks import ShardResult, Task

EXPORT = "export.json"
# What a run keeps in its store, by first names; whatever else is there is a user's.
OF_RUNS = re.compile(r"stage_\d+|run\.json|export\.json|export|\.scratch")
_BARRIER = "barrier.json"

Tasks = Callable[[Shard], Task]


@dataclass(frozen=True)
class CutSizes:
    """Bytes of a shard. asked: most bytes, by the recipe. used: those of this run."""

    asked: int
    used: int


class Checkpoints:
    """Stored results of a run, in its store. row_timeout: seconds for a row. workers: threads that look at results.

    lasting: later runs can use them.
    """

    lasting = True

    def __init__(self, store: Store, library: Library, cut: CutSizes, row_timeout: float | None, workers: int) -> None:
        self.store, self._library, self._cut, self._workers = store, library, cut, workers
        self._limits = {} if row_timeout is None else {"row_timeout": row_timeout}
        self._before: dict[str, set[str]] = {}  # by folder: done marks at the beginning of the stage
        self._held: dict[str, int] = {}  # by folder: number of them that are valid

    def begin(self) -> None:
        """Note that a run has begun."""
        remember(self.store, self._cut.asked, self._cut.used, ended=False)

    def end(self, folders: dict[str, Sequence[ShardResult]]) -> None:
        """Note that the run has ended well, and remove unused results. folders: the stages' results, by folder."""
        self._prune(folders)
        remember(self.store, self._cut.asked, self._cut.used, ended=True)

    # Shards

    def keyed(self, planned: CompiledStage, task: Tasks, before: Sequence[ShardResult] | None) -> Tasks:
        """The tasks of a stage with their keys. before: results of the previous stage."""
        program = program_key(planned, self._library, self._limits)

        def made(shard: Shard) -> Task:
            plain = task(shard)
            return replace(plain, key=shard_key(program, plain, shard, before[shard.index] if before else None))

        return made

    def finished(self, folder: str, shards: Sequence[Shard], task: Tasks) -> dict[int, DoneMark]:
        """The valid done marks, by shard number; inputs that look unchanged are not read."""
        known = self._before[folder] = self._marks(folder)
        look = [shard for shard in shards if done_marks.name_of(folder, shard.index) in known]
        if not look:
            return {}
        with ThreadPoolExecutor(self._workers) as pool:
            marks = list(pool.map(partial(self._look, folder, task), look))
        finished = {shard.index: mark for shard, mark in zip(look, marks, strict=True) if mark is not None}
        self._held[folder] = len(finished)
        return finished

    def _marks(self, folder: str) -> set[str]:
        return {name for name in self.store.names(f"{folder}/") if name.endswith(".done.json")}

    def count(self) -> int:
        """Number of done shards of all stages, at least: shards found done, and shards with a mark since."""
        new = sum(len(self._marks(folder) - before) for folder, before in self._before.items())
        return new + sum(self._held.values())

    def _look(self, folder: str, task: Tasks, shard: Shard) -> DoneMark | None:
        mark = done_marks.read(self.store, folder, shard.index)
        return None if mark is None else done_marks.holds(self.store, mark, shard, task(shard))

    # The export

    def export(self) -> EarlierExport | None:
        """The export file that an earlier run or attempt has written together; None without one."""
        try:
            return EarlierExport.read(self.store.read_text(EXPORT))
        except OSError:
            return None

    def note_export(self, text: str) -> None:
        """Store the facts of the export that another attempt needs."""
        self.store.write_text(EXPORT, text)

    def placed(self, folder: str, marks: dict[int, DoneMark], shard: int, place: WrittenRange) -> None:
        """Store the new place of a shard in the export."""
        done_marks.write(self.store, folder, replace(marks[shard], placed=place))

    # Deduplicators

    def barrier(
        self, planned: CompiledStage, results: Sequence[ShardResult], sources: Sequence[str], index: Index | None
    ) -> str:
        """The key of a deduplicator's findings."""
        step = planned.stage.after
        assert step is not None
        limited = step.params.get("max_removed_share") is not None
        generations = None if index is None else [index.made_by, index.generations]
        return barrier_key(planned, self._library, results, [list(sources) if limited else [], generations])

    def findings(self, folder: str, key: str, where: str) -> DedupResult | None:
        """The stored findings, if they have this key; else None. where: the step's place in the recipe."""
        try:
            plain = json.loads(self.store.read_text(f"{folder}/{_BARRIER}"))
            if plain["key"] != key or not all(self.store.sound(name, *known) for name, known in plain["files"].items()):
                return None
            findings = DedupResult(plain["step"], seconds=plain["seconds"])
            findings.removed_in = {shard: RemovedIn(*place) for shard, *place in plain["removed_in"]}
            for kind in ("duplicates", "clusters"):
                setattr(findings, kind, tuple(plain[kind]))
            findings.units = {int(shard): name for shard, name in plain["units"]}
            findings.sizes = {int(shard): name for shard, name in plain["sizes"]}
            findings.notes = [f"{where}{note}" for note in plain["notes"]]
            findings.extends = self.store.fetch(plain["extends"]) if plain["extends"] else None
            return findings
        except (OSError, ValueError, TypeError, KeyError):
            return None

    def keep_findings(self, folder: str, key: str, where: str, findings: DedupResult) -> None:
        """Store findings, whose files are in the store already."""
        named: dict[str, Any] = {"duplicates": findings.duplicates, "clusters": findings.clusters}
        named["extends"] = _named(folder, findings.extends)
        ended = [named["extends"]] if named["extends"] else []
        stored = dict.fromkeys(place.name for place in findings.removed_in.values())
        names = [
            *stored,
            *findings.duplicates,
            *findings.clusters,
            *ended,
            *findings.units.values(),
            *findings.sizes.values(),
        ]
        files = {name: findings.seen.get(name) or size_and_digest(self.store.fetch(name)) for name in names}
        plain = {"key": key, "step": findings.step, "seconds": findings.seconds, "files": files, **named}
        places = [[shard, *astuple(place)] for shard, place in findings.removed_in.items()]
        plain |= {
            "removed_in": places,
            "units": list(findings.units.items()),
            "sizes": list(findings.sizes.items()),
            "notes": [note.removeprefix(where) for note in findings.notes],
        }
        self.store.write_text(f"{folder}/{_BARRIER}", json.dumps(plain, ensure_ascii=False))

    def _prune(self, folders: dict[str, Sequence[ShardResult]]) -> None:
        used = {name for results in folders.values() for result in results for name in result.files()}
        used |= {done_marks.name_of(folder, result.shard) for folder, results in folders.items() for result in results}
        used |= {name for folder in folders for name in self._files_of_barrier(folder)}
        for name in self.store.names("stage_"):
            if name not in used and not name.endswith((".units.parquet", "/index.parquet")):
                self.store.remove(name)

    def _files_of_barrier(self, folder: str) -> list[str]:
        """Names of the files of stored findings, with that of the list of these files."""
        try:
            return [f"{folder}/{_BARRIER}", *json.loads(self.store.read_text(f"{folder}/{_BARRIER}"))["files"]]
        except (OSError, ValueError, TypeError, KeyError):
            return []


def forget(store: Store) -> None:
    """Remove all stored results, with an unfinished export."""
    try:
        known = EarlierExport.read(store.read_text(EXPORT))
    except OSError:
        known = None
    if known is not None:
        Path(known.aside).unlink(missing_ok=True)
    clear(store)


def clear(store: Store) -> None:
    """Remove what runs keep in a store, and the store's folder where nothing else is in it."""
    store.vacate(OF_RUNS)


def _named(folder: str, path: str | Path | None) -> str:
    """The name in the store of an existing file; "" without one."""
    return f"{folder}/{Path(path).name}" if path else ""
