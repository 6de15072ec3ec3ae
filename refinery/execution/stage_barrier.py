"""The end of a stage with a deduplicator: its findings are computed by the backend, or are stored results."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from refinery.common.in_thread import InThread
from refinery.common.paths import shorter
from refinery.dedup.audit.measure import ComparedText, Measure
from refinery.dedup.barrier import Barrier
from refinery.dedup.index import Index, open_index, require
from refinery.dedup.index_runs import IndexRun
from refinery.dedup.match_keys import SqlLimits
from refinery.dedup.model import DedupInput, DedupResult
from refinery.dedup.verify import Comparison
from refinery.errors import Problem, RecipeError
from refinery.execution import index_run
from refinery.execution.audited_texts import StageTexts, text_key_of
from refinery.execution.backend import Backend
from refinery.execution.export_sink import Note
from refinery.execution.result_store import ResultStore
from refinery.execution.stage_tasks import folder_of, left_of
from refinery.io.model import Shard
from refinery.io.readers.registry import reader_of
from refinery.planning.compilation import compile_comparison
from refinery.planning.plan import CompiledStage
from refinery.results.stage_result import StageResult
from refinery.storage.open import open_store
from refinery.storage.store import Store


@dataclass(frozen=True)
class BarrierRoom:
    """Resources of deduplicators. memory: of all workers, in bytes; None: no limit. batch: most bytes of a batch."""

    workers: int
    memory: int | None
    batch: int


@dataclass(frozen=True)
class StageBarrier:
    """Findings of the deduplicators of a run. begin: begins the run for its indexes. export: the place of its export.

    note: gets notes for the user. kept: results of earlier runs. backend: its executor runs the tasks.

    As a context, it ends when all files of the findings are written.
    """

    stages: Sequence[CompiledStage]
    room: BarrierRoom
    begin: Callable[[], IndexRun]
    export: str
    note: Note
    store: Store
    kept: ResultStore
    backend: Backend
    _unfinished: list[InThread[None]] = field(default_factory=list)

    def __enter__(self) -> StageBarrier:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        with suppress(Exception) if kind is not None else nullcontext():
            self._finish()

    def _finish(self) -> None:
        """Wait for the files of findings. Raises the errors of their writing."""
        while self._unfinished:
            self._unfinished.pop().result()

    def require_indexes(self) -> None:
        """Check that the indexes can be used, before anything is processed. Raises RecipeError."""
        seen: dict[str, Any] = {}
        for step in [planned.stage.after for planned in self.stages if planned.stage.after is not None]:
            if (used := self._index(step)) is not None:
                other = seen.setdefault(used.place.key, step)
                if other is not step:
                    what = f"{step.name} and {other.name} of step {other.index} have the same index {used.place.name}"
                    raise RecipeError([Problem(step.where, what, "Give each a folder of its own.")])
                require(used, step)
                for note in index_run.notes(used, self.export):
                    self.note(note)

    def findings(self, done: Sequence[StageResult]) -> DedupResult:
        """Findings of the deduplicator at the end of the last stage. Raises OperatorError at a safety limit."""
        current = done[-1]
        step, folder = current.planned.stage.after, folder_of(current.planned)
        assert step is not None
        index = self._index(step)
        inputs = [_input_of(shard) for shard in current.shards]
        key = self.kept.barrier(current.planned, current.results, inputs, index)
        if (known := self.kept.findings(folder, key, step.where)) is not None:
            return replace(known, index=index)
        self._finish()
        findings = self.published(current.planned, self._found(self._inputs_of(done, inputs), current))
        if findings.writing is not None:
            self._unfinished.append(InThread(partial(self._end, folder, key, step.where, findings)))
        else:
            self.kept.keep_findings(folder, key, step.where, findings)
        return findings

    def _found(self, inputs: DedupInput, current: StageResult) -> DedupResult:
        """Find what a deduplicator removes. Tasks read match keys from their store: the run's own, or copies on this machine."""
        executor, tasks = self.backend.executor, self.store
        files = [result.match_keys for result in current.results if result.match_keys]
        if executor.place.store != tasks.url:
            tasks, files = open_store(executor.place.store), current.files("match_keys")
        barrier = Barrier(executor, tasks, self.store, folder_of(current.planned))
        return barrier.find(replace(inputs, files=files))

    def _end(self, folder: str, key: str, where: str, findings: DedupResult) -> None:
        """Store findings whose files are written beside the next stage."""
        assert findings.writing is not None
        findings.seconds += findings.writing.result()
        self.kept.keep_findings(folder, key, where, findings)

    def _inputs_of(self, done: Sequence[StageResult], inputs: list[str]) -> DedupInput:
        current = done[-1]
        step = current.planned.stage.after
        assert step is not None
        starts = [0, *np.cumsum([result.rows for result in done[0].results]).tolist()]
        return DedupInput(
            step=step,
            operator=current.planned.inputs.library.operators[step.name],
            files=[],
            order=current.program.order,
            sources=inputs,
            alive=[result.kept for result in current.results],
            first_rows=starts[:-1],
            folder=scratch_of(self.store, current.planned),
            room=self._limits,
            compare=self._comparison(done),
            run=self._run if step.params.get("index") else None,
            texts=partial(self._texts, done, step),
            memory=self.room.memory // self.room.workers if self.room.memory else None,
            batch=self.room.batch,
        )

    def _texts(
        self, done: Sequence[StageResult], step: Any, codes: Sequence[int]
    ) -> tuple[Measure, Mapping[int, ComparedText]]:
        """The texts of some samples that a deduplicator compares."""
        measure = Measure.of(step, text_key_of(self.stages))
        return measure, StageTexts(done, self.backend.executor, self.store).of_codes(step, measure, codes)

    def _index(self, step: Any) -> Index | None:
        """The index of a deduplicator; None without one."""
        named, operator = step.params.get("index"), self.stages[0].inputs.library.operators[step.name]
        return open_index(named, step, operator, self._run) if named else None

    @cached_property
    def _run(self) -> IndexRun:
        """This run as its indexes know it."""
        return self.begin()

    def published(self, planned: CompiledStage, findings: DedupResult) -> DedupResult:
        """Publish the files of removed units to the store, under names that shards use; tasks may have done so."""
        if findings.extends is not None:
            findings.extends = self.store.fetch(str(findings.extends))
        names = {shard: f"{folder_of(planned)}/{Path(path).name}" for shard, path in findings.units.items()}
        for shard, path in findings.units.items():
            if path != names[shard]:
                self.store.publish(Path(path), names[shard])
        return replace(findings, units=names)

    def _comparison(self, done: Sequence[StageResult]) -> Comparison:
        """Comparison of the samples after a stage, before the deduplicator removes any."""
        current = done[-1]
        step = current.planned.stage.after
        unchanged = [*done[:-1], replace(current, findings=DedupResult(0))]
        return Comparison(
            cache(lambda: compile_comparison(self.stages[0], step)),
            lambda: left_of(unchanged),
            self.store,
            f"{folder_of(current.planned)}/compared",
            self._limits,
        )

    @property
    def _limits(self) -> SqlLimits:
        """Resources of set SQL: all threads, and the recipe's memory."""
        limit = self.room.memory
        return SqlLimits(self.room.workers, f"{max(1, limit // 1000)}KB" if limit else None, self.backend.spill)


def scratch_of(store: Store, planned: CompiledStage) -> Path:
    """Folder for temporary files of a stage."""
    folder = store.scratch() / folder_of(planned)
    folder.mkdir(exist_ok=True)
    return folder


def _input_of(shard: Shard) -> str:
    """The input file of a shard, as messages name it; for text files, each of which is one sample, their folder.

    The path is relative to the current folder, because it is part of a key and the folder may have been moved.
    """
    path = shard.source.path
    return shorter(os.path.dirname(path) or "." if reader_of(shard.source).one_sample else path)
