"""Interface of result stores, which keep results of shards and deduplicators for later runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from refinery.dedup.index import Index
from refinery.dedup.model import DedupResult
from refinery.io.model import Shard
from refinery.io.writers.earlier_export import EarlierExport, WrittenRange
from refinery.planning.plan import CompiledStage
from refinery.workers.done_marks import DoneMark
from refinery.workers.tasks import ShardResult, Task

Tasks = Callable[[Shard], Task]


class ResultStore(Protocol):
    """Stored results of a run. `refinery.checkpoints.results.Checkpoints` keeps them in the run folder."""

    @property
    def note_export(self) -> Callable[[str], None] | None:
        """Stores the facts of the export that another attempt needs; None: no attempt follows."""

    def begin(self) -> None:
        """Note that a run has begun."""

    def end(self, folders: dict[str, Sequence[ShardResult]]) -> None:
        """Note that the run has ended well. folders: the stages' results, by folder."""

    @property
    def lasting(self) -> bool:
        """True if a later run can use the results."""

    def count(self) -> int:
        """Number of stored results of shards, at least."""

    def keyed(self, planned: CompiledStage, task: Tasks, before: Sequence[ShardResult] | None) -> Tasks:
        """The tasks of a stage with their keys. before: results of the previous stage."""

    def finished(self, folder: str, shards: Sequence[Shard], task: Tasks) -> dict[int, DoneMark]:
        """The valid done marks, by shard number."""

    def export(self) -> EarlierExport | None:
        """The export file that an earlier run or attempt has written together; None without one."""

    def placed(self, folder: str, marks: dict[int, DoneMark], shard: int, place: WrittenRange) -> None:
        """Store the new place of a shard in the export."""

    def barrier(
        self, planned: CompiledStage, results: Sequence[ShardResult], sources: Sequence[str], index: Index | None
    ) -> str:
        """The key of a deduplicator's findings."""

    def findings(self, folder: str, key: str, where: str) -> DedupResult | None:
        """The stored findings, if they have this key; else None."""

    def keep_findings(self, folder: str, key: str, where: str, findings: DedupResult) -> None:
        """Store findings."""


class NoResultStore:
    """Nothing is used again, and nothing kept."""

    note_export: Callable[[str], None] | None = None
    lasting = False

    def begin(self) -> None:
        """Do nothing."""

    def end(self, folders: dict[str, Sequence[ShardResult]]) -> None:
        """Do nothing."""

    def count(self) -> int:
        """None at all."""
        return 0

    def keyed(self, planned: CompiledStage, task: Tasks, before: Sequence[ShardResult] | None) -> Tasks:
        """The tasks without keys."""
        return task

    def finished(self, folder: str, shards: Sequence[Shard], task: Tasks) -> dict[int, DoneMark]:
        """No marks."""
        return {}

    def export(self) -> EarlierExport | None:
        """No export."""
        return None

    def placed(self, folder: str, marks: dict[int, DoneMark], shard: int, place: WrittenRange) -> None:
        """Do nothing."""

    def barrier(
        self, planned: CompiledStage, results: Sequence[ShardResult], sources: Sequence[str], index: Index | None
    ) -> str:
        """No key."""
        return ""

    def findings(self, folder: str, key: str, where: str) -> DedupResult | None:
        """No findings."""
        return None

    def keep_findings(self, folder: str, key: str, where: str, findings: DedupResult) -> None:
        """Do nothing."""
