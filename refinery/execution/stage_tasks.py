"""Parameters of a stage's shards, and what a finished stage leaves of them as input of the next one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

import numpy as np

from refinery.io.model import Part, Shard
from refinery.io.readers.parts import source_of_part
from refinery.io.readers.read import count_rows
from refinery.io.readers.registry import reader_of
from refinery.io.writers.registry import writer_of
from refinery.io.writers.shared_file import SharedFile
from refinery.planning.plan import CompiledStage
from refinery.planning.sizes import Sizes
from refinery.recipe.export import PartForm
from refinery.results.stage_result import StageResult
from refinery.workers.tasks import ShardResult, Task


@dataclass(frozen=True)
class StageTasks:
    """Maker of the tasks of one stage.

    first_rows: each shard's first row number in the whole input, or 0. output: the export, if shards write it together.
    batch_rows: least rows of a batch.
    """

    stage: CompiledStage
    is_last: bool
    form: PartForm
    sizes: Sizes
    store: str
    first_rows: Sequence[int]
    output: SharedFile | None = None
    batch_rows: int = 0

    def of(self, shard: Shard) -> Task:
        """The task of a shard."""
        form, last = self.form, self.is_last
        writer = writer_of(form.kind)
        exported = writer.compression if self.stage.program.lines else None
        return Task(
            folder_of(self.stage),
            self.sizes.bytes,
            exported if last else form.compression,
            self.first_rows[shard.index],
            form.suffix and last,
            last,
            writer.writes if last else _must_write(self.stage, shard),
            self.output if last else None,
            self.store,
            batch_rows=max(self.sizes.rows, self.batch_rows),
            fields=form.fields if last else (),
            removed=form.removed,
        )


def first_rows(stages: Sequence[CompiledStage], shards: Sequence[Shard]) -> list[int]:
    """Each shard's first row number, counted beforehand only if a step's SQL names `_row`; else zeros. Raises DataError."""
    if not any(planned.program.uses_row for planned in stages):
        return [0] * len(shards)
    return [0, *accumulate(map(count_rows, shards[:-1]))] if shards else []


def folder_of(planned: CompiledStage) -> str:
    """Folder of a stage's files in the store."""
    return f"stage_{planned.stage.number}"


def _must_write(planned: CompiledStage, shard: Shard) -> bool:
    """Return whether the next stage needs a new file: texts have changed, or reading the input again costs more."""
    if planned.program.outs:
        return True
    source = shard.source
    return not reader_of(source).cheap or source.compression is not None


def left_of(done: Sequence[StageResult]) -> list[Shard]:
    """The shards of the last finished stage as input of the next one."""
    return [_left(done, *pair) for pair in zip(done[-1].shards, done[-1].results, strict=True)]


def _left(done: Sequence[StageResult], shard: Shard, result: ShardResult) -> Shard:
    """A shard as input of the next stage."""
    findings = done[-1].findings
    shard = replace(shard, rows_of=result.rows_of or shard.rows_of)
    nothing = np.zeros(0, np.int64)  # where only resources end the stage
    stored = findings.removed_in.get(shard.index) if findings is not None else None
    removed = findings.of_shard(shard.index) if findings is not None and stored is None else nothing
    tables = tuple(d.results[shard.index].facts for d in done if d.results[shard.index].facts)
    beside = {**findings.units, **findings.sizes}.get(shard.index) if findings is not None else None
    tables += (beside,) if beside else ()
    removed_here = removed if stored is None else None
    part = Part(
        None, tables=tables, rows=result.rows_left, removed=removed_here, removed_in=stored, verbatim=result.verbatim
    )
    if result.part:
        source = source_of_part(result.part, shard.lines, result.part_bytes)
        part = replace(part, source=source, of_file=result.rows_left)
    elif shard.part is not None and shard.part.source is not None:  # the stage has not changed the earlier file
        kept = shard.part
        part = replace(
            part, source=kept.source, of_file=kept.of_file, numbers=kept.numbers, line_numbers=kept.line_numbers
        )
    return replace(shard, part=part)
