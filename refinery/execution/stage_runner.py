"""Runs a recipe's stages one after another: shards, then the deduplicator, then the rest of the shards."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from refinery.checkpoints.results import Checkpoints
from refinery.common.paths import shorter
from refinery.dedup.barrier import DedupInput, DedupResult, find_duplicates
from refinery.dedup.index import name_of_run, open_index, require
from refinery.dedup.match_keys import SqlLimits
from refinery.dedup.verify import Comparison
from refinery.errors import Problem, RecipeError
from refinery.execution.quarantine_limit import QuarantineLimit
from refinery.io.model import Part, Shard, Written
from refinery.io.readers.parts import source_of_part
from refinery.io.readers.registry import reader_of
from refinery.io.readers.shared_decompression import relayed
from refinery.io.writers.registry import writer_of
from refinery.io.writers.shared_file import SharedFile, share
from refinery.monitoring.log import event
from refinery.planning.plan import CompiledStage, Plan, compile_comparison
from refinery.planning.sizes import BATCH as BATCH
from refinery.results.stage_result import StageResult
from refinery.storage.store import Store
from refinery.storage.workplace import Workplace
from refinery.workers.backends import BackendChoice
from refinery.workers.runner import Runner
from refinery.workers.threads import WorkerThreads
from refinery.workers.worker import ShardResult, Task, Worker


class EarlierTables(Protocol):
    """Tables of an earlier run, from which this run's tables are made."""

    @property
    def database(self) -> Path:
        """The database with the tables."""

    def fill(self, db: Any, done: Sequence[StageResult], statements: Sequence[Any]) -> None:
        """Turn a copy of that database into the tables that `statements` would make from the facts of the stages."""


def _unwatched(stage: int, phase: str, shards: Sequence[Shard]) -> None:
    """Ignore the beginning of a phase."""


class StageRunner:
    """Runs stages; the workers stay until the end, because traces are made by running chosen rows again."""

    def __init__(self, prepared: Plan, store: Store, first_rows: Sequence[int], exports: bool = False) -> None:
        """store: for parts. exports: the last stage's shards write the export themselves if they can, not parts."""
        self.prepared, self.store, self.first_rows, self.exports = prepared, store, first_rows, exports
        recipe = prepared.recipe
        self.kept: Checkpoints | None = None
        self.finished = 0  # shards of all stages that are done
        self.output: SharedFile | None = None  # the export, if shards write it themselves
        self.tables: EarlierTables | None = None  # tables that need no facts of the shards
        self.spill = recipe.temp_dir or str(store.scratch() / "spill")
        self.began: Callable[[int, str, Sequence[Shard]], None] = _unwatched  # called when a phase of a stage begins
        self._before: list[ShardResult] | None = None  # results of the stage before
        self._pools = ExitStack()
        self._pools.enter_context(relayed())
        crew = BackendChoice(
            recipe, prepared.workers, self.spill, store.scratch, Workplace.of(recipe.work_dir).run_dir.running
        )
        self._crew = self._pools.enter_context(closing(crew))
        if crew.not_threads and recipe.workers == "auto":
            prepared.notes.append(f"the last run here {crew.not_threads}: workers are processes this time")

    def __enter__(self) -> StageRunner:
        return self

    def __exit__(self, *error: Any) -> None:
        self._pools.__exit__(*error)
        if self.output is not None:
            self.output.close()

    def keep(self) -> None:
        """Reuse valid results in the store, and keep the results of this run for the next one."""
        self.kept = Checkpoints(self.prepared, self.store)
        self.kept.begin()

    def run(self, report: Callable[[ShardResult], None] | None) -> list[StageResult]:
        """Run all stages.

        Raises OperatorError if a deduplicator's safety limit is broken or its index is unfit, QuarantineError if too
        many rows are in quarantine.
        """
        self._look_at_indexes()
        self._crew.start([planned.program for planned in self.prepared.stages], self.prepared.shards)
        allowance = QuarantineLimit(self.prepared.recipe.max_quarantined, self.prepared.shards, self.store.fetch)
        done: list[StageResult] = []
        shards = self.prepared.shards
        for planned in self.prepared.stages:
            self._before = done[-1].results if done else None
            done.append(self._stage(planned, shards, partial(_ended, allowance, report)))
            if planned.stage.after is not None:
                findings = self._barrier(done)
                matcher = self.prepared.library.operators[planned.stage.after.name].matcher
                done[-1] = replace(done[-1], findings=findings, takes_units=matcher.takes_units)
                shards = [
                    self._left(done, shard, result) for shard, result in zip(shards, done[-1].results, strict=True)
                ]
        allowance.end()
        return done

    def _look_at_indexes(self) -> None:
        """Check that the indexes can be used, before anything is processed."""
        seen: dict[str, Any] = {}
        for step in [planned.stage.after for planned in self.prepared.stages if planned.stage.after is not None]:
            if step.params.get("index"):
                found = open_index(step.params["index"], step, self.prepared.library.operators[step.name], self._run)
                other = seen.setdefault(found.place.key, step)
                if other is not step:
                    what = f"{step.name} and {other.name} of step {other.index} have the same index {found.place.name}"
                    raise RecipeError([Problem(step.where, what, "Give each a folder of its own.")])
                require(found, step)

    def _stage(
        self, planned: CompiledStage, shards: list[Shard], report: Callable[[ShardResult], None] | None
    ) -> StageResult:
        recipe, workers = self.prepared.recipe, self.prepared.workers
        self.began(planned.stage.number, "shards", shards)
        memory = f"{max(1, recipe.memory_limit // workers // 1000)}KB" if recipe.memory_limit else None
        pool = self._pools.enter_context(self._pool(planned, workers, memory))
        last = planned is self.prepared.stages[-1]
        if last and self.exports and not self._apart(planned, shards):
            size = recipe.export_shard_size
            note = self.kept.note_export if self.kept else None
            scratch = self.store.scratch()
            target = Workplace.of(recipe.work_dir).file_of_export(recipe.export_path)
            self.output = share(target, recipe.export_format, size, self.prepared.lines, scratch, note)
        task, report = self._tasks(planned, last), self._counted(report)
        results = {result.shard: result for result in self._reused(planned, last, shards, task)}
        for result in results.values():
            report(result)
        left = [shard for shard in shards if shard.index not in results]
        if left:
            with closing(self._runner(planned, left, pool)) as runner:
                results |= {result.shard: result for result in runner.run(left, task, report)}
        self._warn_of_undeclared(list(results.values()))
        return StageResult(planned, pool, shards, [results[shard.index] for shard in shards], task, store=self.store)

    def _warn_of_undeclared(self, results: Sequence[ShardResult]) -> None:
        """Add a note for each undeclared file: operators read it, but results are not known to depend on it."""
        for note in sorted({note for result in results for note in result.undeclared}):
            if note not in self.prepared.notes:
                self.prepared.notes.append(note)
                event("undeclared", note, logging.WARNING)

    def _counted(self, report: Callable[[ShardResult], None] | None) -> Callable[[ShardResult], None]:
        """A report function that counts finished shards and passes their results on."""

        def counted(result: ShardResult) -> None:
            self.finished += 1
            if report is not None:
                report(result)

        return counted

    def _tasks(self, planned: CompiledStage, last: bool) -> Callable[[Shard], Task]:
        """Per-shard task parameters; with the shard's key if results are kept."""
        task = partial(self._task, planned, last)
        return self.kept.keyed(planned, task, self._before) if self.kept else task

    def _reused(
        self, planned: CompiledStage, last: bool, shards: list[Shard], task: Callable[[Shard], Task]
    ) -> list[ShardResult]:
        """Valid results of an earlier run or attempt; the export is opened with the samples that it already has."""
        if self.kept is None:
            return []
        folder = folder_of(planned)
        marks = self.kept.found(folder, shards, task)
        if last and self.output is not None:
            places = {shard: mark.placed for shard, mark in marks.items() if mark.placed is not None}
            on_placed = partial(self.kept.placed, folder, marks)
            there = self.output.resume(self.kept.export(), places, len(shards), on_placed)
            marks = {shard: mark for shard, mark in marks.items() if shard in there}
        return [mark.result for mark in marks.values()]

    def _pool(self, planned: CompiledStage, workers: int, memory: str | None) -> WorkerThreads:
        """The workers of a stage."""
        # Only one thread reads a file's rows in order, and a subquery may take the first row.
        threads = 1 if planned.program.files else self.prepared.recipe.threads or 1
        make = partial(Worker, threads=threads)
        return WorkerThreads(planned.program, workers, memory, self.spill, make)

    def _apart(self, planned: CompiledStage, shards: Sequence[Shard]) -> bool:
        """Return whether a stage's shards run in other processes, which share no open file with this one."""
        return self._crew.apart(planned.program, shards)

    def _runner(self, planned: CompiledStage, shards: Sequence[Shard], pool: WorkerThreads) -> Runner:
        """Runner of a stage's shards. pool: runs everything else."""
        return self._crew.runner(planned.program, shards, pool)

    def _task(self, planned: CompiledStage, last: bool, shard: Shard) -> Task:
        recipe = self.prepared.recipe
        writer = writer_of(recipe.export_format)
        exported = writer.compression if planned.program.lines else None
        compression = exported if last else recipe.cache_compress
        first, suffix = self.first_rows[shard.index], recipe.add_suffix and last
        write = writer.writes if last else _must_write(planned, shard)
        output, folder = self.output if last else None, folder_of(planned)
        sizes = self.prepared.sizes
        task = Task(folder, sizes.bytes, compression, first, suffix, last, write, output, self.store.url)
        return replace(task, batch_rows=sizes.rows)

    def exported(self, last: StageResult) -> list[Written] | None:
        """The files of the export, if the runner of the shards writes them; None: the parts must still be joined."""
        return self.output.finish() if self.output is not None else None

    def exported_stats(self) -> Written | None:
        """The file of the exported samples' statistics, if `exported` has written it; None: still to be written."""
        return None

    def _barrier(self, done: Sequence[StageResult]) -> DedupResult:
        current, prepared = done[-1], self.prepared
        step = current.planned.stage.after
        assert step is not None
        self.began(current.planned.stage.number, "deduplicator", ())
        known, key = self._known(current)
        if known is not None:
            return known
        starts = [0, *np.cumsum([result.rows for result in done[0].results]).tolist()]
        folder = self.store.scratch() / folder_of(current.planned)
        folder.mkdir(exist_ok=True)
        given = DedupInput(
            step=step,
            operator=prepared.library.operators[step.name],
            files=self._marks(current),
            order=current.program.order,
            sources=[_input_of(shard) for shard in current.shards],
            alive=[result.kept for result in current.results],
            first_rows=starts[:-1],
            folder=folder,
            room=self.room,
            compare=self._comparison(done),
            run=self._run if step.params.get("index") else "",
        )
        findings = self._published(current.planned, self._find(given))
        if self.kept is not None:
            self.kept.keep_findings(folder_of(current.planned), key, step.where, findings)
        return findings

    @property
    def _run(self) -> str:
        """Name of this run in an index; '' for samples in memory, which may be others the next time."""
        recipe, sources = self.prepared.recipe, self.prepared.sources
        if any(source.table is not None for source in sources):
            return ""
        return name_of_run(Workplace.of(recipe.work_dir).name, recipe.export_path, self.prepared.inputs())

    def _known(self, current: StageResult) -> tuple[DedupResult | None, str]:
        """The deduplicator's findings of an earlier run or attempt, if valid; and the key of its findings."""
        step = current.planned.stage.after
        if self.kept is None or step is None:
            return None, ""
        named, operator = step.params.get("index"), self.prepared.library.operators[step.name]
        index = open_index(named, step, operator, self._run) if named else None
        key = self.kept.barrier(current.planned, current.results, [_input_of(shard) for shard in current.shards], index)
        found = self.kept.findings(folder_of(current.planned), key, step.where)
        return (None if found is None else replace(found, index=index)), key

    def _marks(self, done: StageResult) -> list[str]:
        """The files of match keys for `_find`."""
        return done.files("match_keys")

    def _find(self, given: DedupInput) -> DedupResult:
        """Find the samples or units to remove, and the reasons."""
        return find_duplicates(given)

    def _published(self, planned: CompiledStage, findings: DedupResult) -> DedupResult:
        """Publish the files of findings to the store; `units` gets the names in the store, which shards use."""
        for kind in ("duplicates", "clusters"):
            if path := getattr(findings, kind):
                setattr(findings, kind, self._publish(planned, Path(path)))
        if findings.extends is not None:
            findings.extends = Path(self._publish(planned, findings.extends))
        names = {shard: f"{folder_of(planned)}/{Path(path).name}" for shard, path in findings.units.items()}
        for shard, path in findings.units.items():
            self.store.publish(Path(path), names[shard])
        return replace(findings, units=names)

    def _publish(self, planned: CompiledStage, path: Path) -> str:
        name = f"{folder_of(planned)}/{path.name}"
        self.store.publish(path, name)
        return str(self.store.fetch(name))

    def _comparison(self, done: Sequence[StageResult]) -> Comparison:
        """Comparison of the samples after a stage, before the deduplicator removes any."""
        current = done[-1]
        step = current.planned.stage.after
        unchanged = [*done[:-1], replace(current, findings=DedupResult(0))]
        return Comparison(
            cache(lambda: compile_comparison(self.prepared, step)),
            lambda: [self._left(unchanged, s, r) for s, r in zip(current.shards, current.results, strict=True)],
            self.store,
            f"{folder_of(current.planned)}/compared",
            self.room,
        )

    @property
    def room(self) -> SqlLimits:
        """Resources of set SQL: all threads, and the recipe's memory."""
        limit = self.prepared.recipe.memory_limit
        return SqlLimits(self.prepared.workers, f"{max(1, limit // 1000)}KB" if limit else None, self.spill)

    def _left(self, done: Sequence[StageResult], shard: Shard, result: ShardResult) -> Shard:
        """A shard as input of the next stage."""
        shard = replace(shard, rows_of=result.rows_of or shard.rows_of)
        numbers, lines = np.load(self.store.fetch(result.rows_left))
        findings = done[-1].findings
        assert findings is not None
        stays = ~np.isin(numbers, findings.of_shard(shard.index), assume_unique=True)
        tables = tuple(d.results[shard.index].facts for d in done if d.results[shard.index].facts)
        units = findings.units.get(shard.index)
        tables += (units,) if units else ()
        if result.part:
            source = source_of_part(result.part, shard.lines, result.part_bytes)
            return replace(shard, part=Part(source, np.flatnonzero(stays), numbers, lines, tables))
        if shard.part is not None and shard.part.source is not None:  # the stage has not changed the earlier file
            before = shard.part
            assert before.numbers is not None
            picked = np.flatnonzero(np.isin(before.numbers, numbers[stays], assume_unique=True))
            return replace(shard, part=replace(before, picked=picked, tables=tables))
        return replace(shard, part=Part(None, numbers[stays], tables=tables))


def _ended(allowance: QuarantineLimit, report: Callable[[ShardResult], None] | None, result: ShardResult) -> None:
    """Report and count a finished shard."""
    if report is not None:
        report(result)
    allowance.take(result)


def folder_of(planned: CompiledStage) -> str:
    """Folder of a stage's files in the store."""
    return f"stage_{planned.stage.number}"


def _input_of(shard: Shard) -> str:
    """The input file of a shard, as messages name it; for text files, each of which is one sample, their folder.

    The path is relative to the current folder, because it is part of a key and the folder may have been moved.
    """
    path = shard.source.path
    return shorter(os.path.dirname(path) or "." if reader_of(shard.source).one_sample else path)


def _must_write(planned: CompiledStage, shard: Shard) -> bool:
    """Return whether the next stage needs a new file: texts have changed, or reading the input again costs more."""
    if planned.program.outs:
        return True
    source = shard.source
    return not reader_of(source).cheap or source.compression is not None
