"""Texts for the audit of a run that has just ended, or of a deduplicator that has just found its clusters."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any

from refinery.dedup.audit.measure import ComparedText, Measure
from refinery.dedup.model import DedupResult
from refinery.execution.stage_tasks import left_of
from refinery.planning.plan import Plan
from refinery.results.audit.texts import Every, read_texts
from refinery.results.stage_result import StageResult
from refinery.storage.store import Store
from refinery.workers.match_keys import SHARD_BITS


def audited_steps(prepared: Plan) -> list[Any]:
    """The deduplicators of samples among the steps; those of units compare equal units."""
    operators, ends = prepared.library.operators, [planned.stage.after for planned in prepared.stages]
    return [step for step in ends if step is not None and not operators[step.name].matcher.takes_units]


def text_key_of(prepared: Plan) -> tuple[str, ...]:
    """The place of the text in a sample."""
    return tuple(prepared.stages[0].program.text_key)


@dataclass(frozen=True)
class StageTexts:
    """Texts from the files that stages have left. every: runs tasks. store: of the files."""

    done: Sequence[StageResult]
    every: Every
    store: Store

    def of(self, step: Any, measure: Measure, rows: Sequence[int]) -> dict[int, ComparedText]:
        """The texts that reached a deduplicator, by number in the whole input."""
        firsts = [0, *accumulate(result.rows for result in self.done[0].results)]
        shards = [bisect_right(firsts, row) - 1 for row in rows]
        codes = [(shard << SHARD_BITS) + row - firsts[shard] for shard, row in zip(shards, rows, strict=True)]
        texts = self.of_codes(step, measure, codes)
        return {row: texts[code] for row, code in zip(rows, codes, strict=True) if code in texts}

    def of_codes(self, step: Any, measure: Measure, codes: Iterable[int]) -> dict[int, ComparedText]:
        """The same by codes of shard and number in it."""
        [last] = [at for at, stage in enumerate(self.done) if stage.planned.stage.after is step]
        before = [*self.done[:last], replace(self.done[last], findings=DedupResult(step.index))]
        return read_texts(self.every, self.store, left_of(before), measure, codes)
