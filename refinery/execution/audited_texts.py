"""Texts for the audit of a run that has just ended, or of a deduplicator that has just found its clusters."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any

from refinery.dedup.audit.measure import ComparedText, Measure
from refinery.dedup.audit.parts import AuditedStep, TextParts
from refinery.dedup.audit.readings import Reading, WholeTexts
from refinery.dedup.model import DedupResult
from refinery.execution.stage_tasks import left_of
from refinery.planning.plan import CompiledStage
from refinery.results.audit.texts import read_texts
from refinery.results.stage_result import StageResult
from refinery.storage.store import Store
from refinery.workers.executor import Executor
from refinery.workers.match_keys import SHARD_BITS


def audited_steps(stages: Sequence[CompiledStage], operators: Mapping[str, Any]) -> list[AuditedStep]:
    """The deduplicators of samples among the steps, and those whose removed parts can be compared. operators: by name."""
    steps = [planned.stage.after for planned in stages if planned.stage.after is not None]
    audited = [AuditedStep(step, TextParts.of(operators[step.name], step.params)) for step in steps]
    return [one for one in audited if one.parts or not operators[one.step.name].matcher.takes_units]


def text_key_of(stages: Sequence[CompiledStage]) -> tuple[str, ...]:
    """The place of the text in a sample."""
    return tuple(stages[0].program.text_key)


@dataclass(frozen=True)
class StageTexts:
    """Texts from the files that stages have left. executor: runs tasks. store: of the files."""

    done: Sequence[StageResult]
    executor: Executor
    store: Store

    def each(self, step: Any, reading: Reading, wanted: Mapping[int, Any]) -> dict[int, Any]:
        """See `results.audit.texts.Texts`."""
        firsts = [0, *accumulate(result.rows for result in self.done[0].results)]
        shards = {row: bisect_right(firsts, row) - 1 for row in wanted}
        codes = {row: (shard << SHARD_BITS) + row - firsts[shard] for row, shard in shards.items()}
        taken = self._each_code(step, reading, {codes[row]: asked for row, asked in wanted.items()})
        return {row: taken[code] for row, code in codes.items() if code in taken}

    def of_codes(self, step: Any, measure: Measure, codes: Iterable[int]) -> dict[int, ComparedText]:
        """The texts that reached a deduplicator, by codes of shard and number in it."""
        taken = self._each_code(step, WholeTexts(measure), dict.fromkeys(codes))
        return {code: ComparedText(**plain) for code, plain in taken.items()}

    def _each_code(self, step: Any, reading: Reading, wanted: Mapping[int, Any]) -> dict[int, Any]:
        [last] = [at for at, stage in enumerate(self.done) if stage.planned.stage.after is step]
        before = [*self.done[:last], replace(self.done[last], findings=DedupResult(step.index))]
        return read_texts(self.executor, self.store, left_of(before), reading, wanted)
