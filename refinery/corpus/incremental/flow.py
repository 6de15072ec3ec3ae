"""Brings a change through the stages of a recipe, as rows that leave each of them and rows that enter."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa

from refinery.corpus.engine import KEPT, WITHDRAWN
from refinery.corpus.incremental.dates import Dates
from refinery.corpus.incremental.delta import Outcomes, RowDelta
from refinery.corpus.incremental.passage_groups import PassageGroups
from refinery.corpus.incremental.passes import Passed, StagePass
from refinery.corpus.incremental.sample_groups import SampleGroups
from refinery.corpus.incremental.samples import samples_of
from refinery.corpus.incremental.shards import Samples, shards_of
from refinery.corpus.incremental.state import State
from refinery.corpus.incremental.unit_groups import UnitGroups
from refinery.dedup.match_keys import SqlLimits
from refinery.dedup.matchers.substrings import SubstringMatcher
from refinery.kernels.core.arrow import ints, numbers
from refinery.planning.plan import CompiledStage, Plan
from refinery.storage.local import LocalStore


@dataclass
class Flow:
    """Stages of one change. scratch: folder for files of the change. outcomes: of the rows that the change decides about."""

    plan: Plan
    state: State
    passes: StagePass
    store: LocalStore
    scratch: Path
    outcomes: Outcomes = field(default_factory=Outcomes)

    def run(self, delta: RowDelta, passed: Passed | None) -> tuple[RowDelta, Samples]:
        """The delta of the export, and the samples that enter it.

        delta: of the input. passed: the entering rows after the first stage; None if there are none.
        """
        if len(delta.leave):
            self.outcomes.add(delta.leave, WITHDRAWN)
        for planned in self.plan.stages:
            if passed is None:
                passed = self._pass(planned, delta)
            self.outcomes.add(passed.gone, passed.step)
            samples, delta = passed.samples, RowDelta(delta.leave, passed.samples.rows)
            delta = (
                self._export(planned, delta) if planned.stage.after is None else self._compared(planned, delta, passed)
            )
            passed = None
        return delta, samples

    def _pass(self, planned: CompiledStage, delta: RowDelta) -> Passed:
        """The entering rows after a stage that reads what the stage before has left."""
        if planned.stage.first or not len(delta.enter):
            return self.passes.gathered(planned, [], [], None)
        before = planned.stage.number - 1
        samples, column = samples_of(self.state.stage(before), delta.enter, self.plan.lines), planned.program.removed
        removed = (column, self._units(before, delta.enter)) if column else None
        shards = list(shards_of(samples, self.scratch / f"input_{planned.stage.number}", removed))
        results = self.passes.run(planned, [one.shard for one in shards])
        return self.passes.gathered(planned, results, [one.rows for one in shards], samples.carried)

    def _units(self, stage: int, rows: np.ndarray) -> pa.Array:
        """The units that the deduplicator after a stage removes of rows; NULL for none."""
        table = self.state.stage(stage).units.take(rows)
        if not len(table):
            return pa.nulls(len(rows), pa.list_(pa.int64()))
        row = numbers(table["_row"])
        at = np.minimum(np.searchsorted(row, rows), len(row) - 1)
        return table["units"].combine_chunks().take(ints(at, row[at] == rows))

    def _compared(self, planned: CompiledStage, delta: RowDelta, passed: Passed) -> RowDelta:
        """The delta of the rows that the deduplicator after a stage leaves."""
        state, change, step = self.state.stage(planned.stage.number), self.state.change, planned.stage.after
        assert step is not None
        state.samples.append(change, passed.samples.carried, values=passed.samples.values)
        matcher = self.plan.library.operators[step.name].matcher
        if isinstance(matcher, SubstringMatcher):
            passages = PassageGroups(self.plan, planned, state, change, self.store, self._room)
            left = passages.apply(delta, passed.keys)
        elif matcher.takes_units:
            left = UnitGroups(self.plan, planned, state, change, self._room).apply(delta, passed.keys)
        else:
            dates = Dates(step, planned.stage.number, self.state.dates)
            groups = SampleGroups(self.plan, planned, state, change, self.store, self._room, dates)
            left = groups.apply(delta, passed.keys, self.outcomes)
        if passed.keys is not None:
            names = [name for name in passed.keys.column_names if name != "_row"]
            stamped = passed.keys.append_column("change", ints(np.full(len(passed.keys), change, np.int32)))
            state.keys.append(change, stamped.select(["_row", "change", *names]))
        return left

    def _export(self, planned: CompiledStage, delta: RowDelta) -> RowDelta:
        """The delta of the export."""
        state, change = self.state.stage(planned.stage.number), self.state.change
        left, _, _ = state.status_of(delta.leave)
        state.settle(change, left, delta.enter)
        self.outcomes.add(delta.enter, KEPT)
        return RowDelta(left, delta.enter)

    @property
    def _room(self) -> SqlLimits:
        limit, spill = self.plan.recipe.memory_limit, self.plan.recipe.temp_dir or str(self.scratch / "spill")
        return SqlLimits(self.plan.workers, f"{max(1, limit // 1000)}KB" if limit else None, spill)
