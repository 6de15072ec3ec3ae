"""The result of a stage: data that tables, traces and the next stage are made of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from refinery.dedup.model import DedupResult
from refinery.io.model import Shard
from refinery.planning.plan import CompiledStage
from refinery.storage.store import Store
from refinery.workers.threads import WorkerThreads
from refinery.workers.worker import ShardResult, Task


@dataclass(frozen=True)
class StageResult:
    """A finished stage. shards: its input. findings: of the deduplicator at its end, if there is one.

    store: has the files that the results name.
    """

    planned: CompiledStage
    pool: WorkerThreads
    shards: list[Shard]
    results: list[ShardResult]
    task: Callable[[Shard], Task]
    findings: DedupResult | None = None
    takes_units: bool = False
    store: Store | None = None

    def files(self, kind: str, shards: slice = slice(None)) -> list[str]:
        """The files of one kind (a field of ShardResult) of the shards that have one, in order."""
        names = [getattr(result, kind) for result in self.results[shards]]
        return [str(self.store.fetch(name)) for name in names if name] if self.store is not None else []

    def local_findings(self) -> DedupResult | None:
        """The findings with paths of this machine in place of names in the store."""
        if self.findings is None or self.store is None:
            return self.findings
        duplicates, clusters = (
            tuple(str(self.store.fetch(name)) for name in names)
            for names in (self.findings.duplicates, self.findings.clusters)
        )
        return replace(self.findings, duplicates=duplicates, clusters=clusters)

    @property
    def units(self) -> bool:
        """True if the deduplicator at the stage's end removes units from texts, not samples."""
        return self.findings is not None and self.takes_units

    @property
    def program(self) -> Any:
        """The program that the workers ran."""
        return self.planned.program
