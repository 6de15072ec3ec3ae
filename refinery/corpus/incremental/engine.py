"""The incremental engine: brings a corpus from one state to the next by what a change adds and takes away."""

from __future__ import annotations

import base64
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from refinery.corpus.engine import ANEW, WITHDRAWN, Change, Delta, EngineRefusal, PartInput
from refinery.corpus.incremental import plans, results
from refinery.corpus.incremental.delta import RowDelta, tally
from refinery.corpus.incremental.flow import Flow
from refinery.corpus.incremental.passes import StagePass
from refinery.corpus.incremental.rows import NONE, number
from refinery.corpus.incremental.seals import DamagedState
from refinery.corpus.incremental.shards import Samples
from refinery.corpus.incremental.state import PartState, State
from refinery.corpus.incremental.supports import plan_refusals, refusals
from refinery.errors import ConservationError
from refinery.execution.local_backend import LocalBackend
from refinery.io.readers.shared_decompression import relayed
from refinery.io.unchanged import same_files
from refinery.kernels.core.arrow import numbers
from refinery.operators import Library
from refinery.operators.processes import using_processes
from refinery.planning.plan import Plan
from refinery.recipe import Recipe
from refinery.storage.local import LocalStore
from refinery.workers.tasks import ShardResult


class IncrementalEngine:
    """The engine that computes what a change touches. Its state has the match keys and the texts between stages of all rows."""

    name = "incremental"

    def refusals(self, recipe: Recipe, library: Library) -> list[str]:
        """Reasons why a change of one sample may change others in other ways than by deduplicators that can be followed."""
        return refusals(recipe, library)

    def apply(self, change: Change) -> Delta:
        """Compute a change; without a state before, all parts are added anew.

        Raises EngineRefusal if types of fields differ among parts, or a limit of rounds is reached.
        """
        if change.state is not None and not State.is_whole(change.state):
            return self._anew(change)
        try:
            return self._applied(change)
        except DamagedState:
            for folder in (change.output, change.new_state):
                shutil.rmtree(folder)
            change.output.mkdir()
            return self._anew(change)

    def differences(self, state: Path) -> list[str]:
        """Reasons why a state is not as a change has left it."""
        return State.differences(state)

    def _anew(self, change: Change) -> Delta:
        """Compute a change without the state before it, which is damaged."""
        delta = self._applied(replace(change, state=None))
        return replace(delta, notes=(*delta.notes, ANEW))

    def _applied(self, change: Change) -> Delta:
        work = _Work(change)
        try:
            return work.add() if change.added or change.state is None else work.withdraw()
        finally:
            shutil.rmtree(work.scratch, ignore_errors=True)


class _Work:
    """One change."""

    def __init__(self, change: Change) -> None:
        self.change, self.scratch = change, change.output / "scratch"
        self.scratch.mkdir()
        self.state = State.begin(change.state, change.new_state)

    def add(self) -> Delta:
        """Add the new parts, or all parts where there is no state."""
        change = self.change
        parts = [part for part in change.parts if change.state is None or part.number in change.added]
        if not parts:
            return self._emptied()
        plan = plans.plan_of_parts(change, parts, self.scratch)
        self._require_same(plan)
        with self._flow(plan) as flow, same_files(plan.stamps, plan.notes):
            done = flow.passes.run(plan.stages[0], plan.shards)
            rows = self._numbers(parts, done)
            passed = flow.passes.gathered(plan.stages[0], done, rows, None)
            delta, samples = flow.run(RowDelta(self._gone(), np.concatenate([NONE, *rows])), passed)
            return self._finish(flow, delta, samples)

    def withdraw(self) -> Delta:
        """Withdraw rows; the new state has nothing of their texts."""
        state, gone = self.state, self._gone()
        self._require_there(gone)
        for part, rows in self.change.withdrawn.items():
            state.parts[part] = replace(state.parts[part], withdrawn=state.parts[part].withdrawn + len(rows))
        plan = plans.plan_without_data(self.change, self.scratch, state.schema)
        self._require_same(plan)
        self._require_types(plan)
        with self._flow(plan) as flow:
            delta, samples = flow.run(RowDelta(gone, NONE), None)
            for planned in plan.stages:
                state.stage(planned.stage.number).forget(gone)
            return self._finish(flow, delta, samples)

    def _gone(self) -> np.ndarray:
        """Numbers of the rows that the change withdraws."""
        withdrawn = sorted(self.change.withdrawn.items())
        return np.concatenate([NONE, *(number(part, rows) for part, rows in withdrawn)])

    def _numbers(self, parts: Sequence[PartInput], done: Sequence[ShardResult]) -> list[np.ndarray]:
        """Numbers of the rows of each shard. Notes the rows of the parts."""
        read = sum(result.rows for result in done)
        new = [part for part in parts if part.rows is None]
        if len(new) > 1:
            raise EngineRefusal("several parts are added at once")
        known = sum(part.rows - len(part.withdrawn) for part in parts if part.rows is not None)
        if not new and known != read:
            raise ConservationError(f"{read:,} samples were read, the corpus has {known:,} left")
        every = []
        for part in parts:
            count = read - known if part.rows is None else part.rows
            self.state.parts[part.number] = PartState(count, len(part.withdrawn), len(parts) == 1)
            every.append(number(part.number, np.setdiff1d(np.arange(count), part.withdrawn, assume_unique=True)))
        return np.split(np.concatenate(every), np.cumsum([result.rows for result in done])[:-1]) if done else []

    def _require_there(self, rows: np.ndarray) -> None:
        known = self.state.outcomes.take(rows, ["_row", "step"])
        if len(known) < len(rows) or (len(known) and (numbers(known["step"]) == WITHDRAWN).any()):
            raise ValueError("samples to withdraw are not in the corpus")

    def _require_same(self, plan: Plan) -> None:
        """Check that the plan computes what that of the parts before does."""
        if reasons := plan_refusals(plan):
            raise EngineRefusal("; ".join(reasons))
        if self.state.programs and not plans.same_columns(plan.schema, self.state.schema):
            raise EngineRefusal("tables have other columns than before, or samples were JSON lines before")
        keys = plans.program_keys(plan)
        if self.state.programs and keys != self.state.programs:
            raise EngineRefusal("fields have other types than before, so the steps compute something else")
        if not self.state.programs:
            self.state.programs, self.state.schema = keys, plans.schema_as_json(plan.schema)

    def _require_types(self, plan: Plan) -> None:
        """Check that fields still have the types that statements are made for: those of all values that are left.

        A part of which nothing is withdrawn, and that had these types by itself, shows it.
        """
        intact = any(part.rows and not part.withdrawn and part.alone for part in self.state.parts.values())
        if plans.depends_on_types(plan) and not intact and self.change.parts:
            self._require_same(plans.plan_of_parts(self.change, self.change.parts, self.scratch))

    @contextmanager
    def _flow(self, plan: Plan) -> Iterator[Flow]:
        """The stages of a plan, with workers."""
        store = LocalStore(self.scratch / "work")
        backend = LocalBackend(plan, store)
        with using_processes(), relayed():
            backend.open()
            try:
                backend.start()
                yield Flow(plan, self.state, StagePass(plan, store, backend), store, self.scratch)
            finally:
                backend.close()

    def _finish(self, flow: Flow, delta: RowDelta, samples: Samples) -> Delta:
        """Write the files of the change, and the state."""
        outcomes, state = flow.outcomes.table(), self.state
        self._count(outcomes)
        self._require_columns(samples)
        state.outcomes.append(state.change, outcomes)
        files = results.written(self.change.output, self._published(delta), samples, outcomes)
        rows = {part: state.parts[part].rows for part in self.change.added}
        self._merge(flow.plan)
        state.end()
        return results.delta_of(files, samples, rows, state.counts, flow.plan.notes)

    def _merge(self, plan: Plan) -> None:
        """Merge small files of the state."""
        self.state.outcomes.merge(self.state.change)
        for planned in plan.stages:
            self.state.stage(planned.stage.number).merge(self.state.change)

    def _published(self, delta: RowDelta) -> RowDelta:
        """The delta with the retractions of all that another engine has kept, where the state is new."""
        if self.change.state is not None:
            return delta
        return RowDelta(results.living(self.change), delta.enter)

    def _emptied(self) -> Delta:
        """The delta of a change that leaves no data, where the state is new."""
        raise EngineRefusal("nothing is left of the corpus, and it has no state of this engine")

    def _require_columns(self, samples: Samples) -> None:
        """Check that tables have the columns of those before."""
        if samples.lines or not len(samples.rows):
            return
        schema = base64.b64encode(samples.values.schema.remove_metadata().serialize().to_pybytes()).decode()
        if self.state.exported and schema != self.state.exported:
            raise EngineRefusal("tables have other columns than before")
        self.state.exported = schema

    def _count(self, outcomes: pa.Table) -> None:
        """Count the rows by outcome anew, from those whose outcome changes."""
        state = self.state
        before, after = tally(state.outcomes.take(numbers(outcomes["_row"]))), tally(outcomes)
        counts = {name: state.counts[name] + after[name] - before[name] for name in state.counts}
        state.counts = counts
        left = sum(part.rows - part.withdrawn for part in state.parts.values())
        if sum(counts.values()) - counts["withdrawn"] != left:
            raise ConservationError(f"{left:,} samples are left of the corpus, and {counts} have an outcome")
