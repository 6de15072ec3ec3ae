"""Sources of a run's facts: its stages are computed, or an earlier run has stored some of their results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from refinery.dedup.model import DedupResult
from refinery.planning.plan import CompiledStage
from refinery.results.stage_result import StageResult
from refinery.storage.store import Store
from refinery.workers.facts import ComputedFacts, FactSource
from refinery.workers.tasks import ShardResult


class EarlierTables(Protocol):
    """Tables of an earlier run, from which this run's tables are made."""

    @property
    def database(self) -> Path:
        """The database with the tables."""

    def fill(self, db: Any, done: Sequence[StageResult], statements: Sequence[Any]) -> None:
        """Turn a copy of that database into the tables that `statements` would make from the facts of the stages."""


@dataclass(frozen=True)
class StageFacts:
    """Stored facts of a stage, which threads of this process use.

    source: makes the fact source of a worker. batch_rows: least rows of a batch, for DuckDB plans a statement for each
    batch, and few of its rows must be computed.
    """

    source: Callable[[ComputedFacts], FactSource]
    batch_rows: int


class RunFacts(Protocol):
    """Facts of the stages of a run."""

    def begin(self, store: Store) -> None:
        """Find out what is known, before the first stage. store: of this run."""

    @property
    def tables(self) -> EarlierTables | None:
        """Tables from which those of the run are made; None: from the facts of the shards."""

    def of_stage(self, stage: CompiledStage) -> StageFacts | None:
        """Stored facts of a stage; None: the backend runs its shards."""

    def results(self, stage: CompiledStage) -> list[ShardResult] | None:
        """Results of all shards of a stage, where no shard needs to run; else None."""

    def findings(self, stage: CompiledStage, store: Store) -> DedupResult | None:
        """Stored findings of the deduplicator at the end of a stage, with files in the store's scratch folder."""

    def end(self, done: Sequence[StageResult]) -> None:
        """Note that all stages have ended."""


class ComputedRunFacts:
    """All stages are computed."""

    tables: EarlierTables | None = None

    def begin(self, store: Store) -> None:
        """Do nothing."""

    def of_stage(self, stage: CompiledStage) -> StageFacts | None:
        """Nothing is stored."""
        return None

    def results(self, stage: CompiledStage) -> list[ShardResult] | None:
        """No results are stored."""
        return None

    def findings(self, stage: CompiledStage, store: Store) -> DedupResult | None:
        """No findings are stored."""
        return None

    def end(self, done: Sequence[StageResult]) -> None:
        """Do nothing."""
