"""One row's way through a finished run, recomputed from its input."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from refinery.compiler.program import build
from refinery.errors import DataError
from refinery.execution.assets import require_same_side_files
from refinery.inspect.finished_run import require_same_inputs
from refinery.inspect.why.duplicates import Duplicate, DuplicateEvidence, RemovedUnit, SampleCluster
from refinery.inspect.why.row_replay import RowInStage, RowReplay
from refinery.io.model import handed_over
from refinery.planning.filter_costs import orders_of_run
from refinery.planning.input_schema import input_schema
from refinery.planning.pipeline import prepare
from refinery.planning.plan import Plan
from refinery.planning.settings import PlanSettings
from refinery.planning.sizes import BATCH
from refinery.recipe.stat_summary import StatSummary
from refinery.results.open_tables import open_tables
from refinery.storage.run_folder import RunDir
from refinery.workers.replay import versions_before
from refinery.workers.worker import Task, Worker

# Most rows that `--where` may find.
_MOST = 20
# Rows of a cluster that are listed in a sentence.
_SHOWN = 10


@dataclass(frozen=True)
class Event:
    """The effect of one step on the row.

    fate: "changed", "unchanged", "kept", "removed", "quarantined" or "not reached". before, after: texts of a mapper
    that changed it. stats: statistics of a filter. reason: of the removal, with value and bound if any, or of a
    deduplicator that kept the row. duplicate, cluster: those of the row, if any. units: parts taken out of its text. name: the
    step's in the recipe, if any.
    """

    step: int
    operator: str
    where: str
    fate: str
    before: str | None = None
    after: str | None = None
    stats: dict[str, Any] | None = None
    reason: str | None = None
    value: float | None = None
    bound: float | None = None
    duplicate: Duplicate | None = None
    cluster: SampleCluster | None = None
    units: tuple[RemovedUnit, ...] | None = None
    name: str | None = None


@dataclass(frozen=True)
class RowHistory:
    """A row's events. file: its input file, with its line. fate: "kept", "removed" or "quarantined"."""

    row: int
    file: str
    sample: Any
    fate: str
    events: tuple[Event, ...]
    error: str | None = None

    def json(self) -> str:
        """The history as one JSON object."""
        return json.dumps(asdict(self), ensure_ascii=False, default=str)


def _too_many(where: str, rows: Sequence[int]) -> str:
    first = ", ".join(map(str, rows[:_SHOWN]))
    return f"--where {where!r} holds for more than {_MOST} rows: {first} and others. Name one of them, or make it more precise"


class RowHistories:
    """Histories of the rows of one run folder."""

    def __init__(self, work_dir: Path) -> None:
        self.run_dir = RunDir.of_finished(work_dir)
        if not self.run_dir.manifest.is_file():
            raise DataError(f"{work_dir}: no run here (no {self.run_dir.manifest.name}); name its folder with --run")
        self.manifest = json.loads(self.run_dir.manifest.read_text(encoding="utf-8"))
        if handed_over(self.manifest["inputs"]):
            raise DataError(f"{work_dir}: the run's samples were passed in from Python, so rows cannot be recomputed")
        self.prepared = self._prepare()
        self.con = open_tables(self.run_dir.database)
        self.places = dict(self.con.execute("SELECT step, recipe_line FROM steps").fetchall())
        self.replay = RowReplay(self.prepared, self.con)
        self.evidence = DuplicateEvidence(self.replay)

    def __enter__(self) -> RowHistories:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self.replay.close()
        self.con.close()

    def _prepare(self) -> Plan:
        from refinery.execution.open import open_recipe

        recipe, library = open_recipe(self.run_dir.recipe)
        cut, orderings = self.manifest["shard_size"], orders_of_run(self.run_dir)
        prepared = prepare(recipe, library, shard_size=cut, orderings=orderings, looks=False)
        # First, since the fingerprint has their contents, but cannot name them.
        require_same_side_files(self.manifest, recipe.assets_of_steps)
        if prepared.fingerprint != self.manifest["fingerprint"]:
            raise DataError("the operators have changed since the run, so rows cannot be recomputed; run it again")
        require_same_inputs(self.manifest, prepared, "rows cannot be recomputed")
        return prepared

    def find(self, where: str) -> list[int]:
        """Numbers of the rows that match a predicate over the input's columns. Raises DataError for more than 20."""
        prepared = self.prepared
        library = prepared.library
        params = {"where": where}
        step: Any = SimpleNamespace(index=1, name="sql_filter", params=params, given={"where"}, where="--where")
        recipe = replace(prepared.recipe, steps=(step,), stat_summary=StatSummary())
        schema = input_schema(PlanSettings.of(recipe, library).schema, prepared.lines, prepared.shards)
        program, _ = build([step], library, schema, prepared.stages[0].program.text_key)
        rows: list[int] = []
        firsts = [row for (row,) in self.con.execute("SELECT first_row FROM shards ORDER BY shard").fetchall()]
        worker = Worker(program)
        try:
            for shard, first in zip(prepared.shards, firsts, strict=True):
                rows += [first + row for row in worker.matching(shard, Task("", BATCH, first_row=first))]
                if len(rows) > _MOST:
                    raise DataError(_too_many(where, rows))
        finally:
            worker.close()
        if not rows:
            raise DataError(
                f"--where {where!r} holds for no row that could be read; others are in the table quarantine"
            )
        return rows

    def of(self, row: int) -> RowHistory:
        """Return the history of row number `row`. Raises DataError when the run had no such row."""
        place = self.replay.place(row)
        broken = self.con.execute("SELECT step, error, line, file FROM quarantine WHERE _row = ?", [row]).fetchall()
        removed = self.con.execute("SELECT step, reason, value, bound FROM ledger WHERE _row = ?", [row]).fetchall()
        if broken and not broken[0][0]:
            _, error, line, path = broken[0]
            return RowHistory(row, f"{path}:{line}", None, "quarantined", (), error)
        raising, error = broken[0][:2] if broken else (None, None)
        end = removed[0] if removed else None
        events: dict[int, Event] = {}
        as_read: Any = None
        for seen in self.replay.walk(place, raising):
            as_read = as_read or seen.row
            events |= self._events(row, seen, end)
            if end and end[0] in events:
                break
        if raising is not None:
            events[raising] = Event(*self._place(raising), "quarantined", reason=error)
        stages = [planned.stage for planned in self.prepared.stages]
        steps = [number for stage in stages for number in stage.numbers()]
        names = {step.index: step.title for step in self.prepared.recipe.steps}
        by_step = {step: events.get(step) or Event(*self._place(step), "not reached") for step in steps}
        listed = tuple(replace(event, name=names[step]) for step, event in by_step.items())
        fate = "quarantined" if broken else "removed" if end else "kept"
        return RowHistory(row, place.file(as_read.line), as_read.sample, fate, listed, error)

    def _place(self, step: int) -> tuple[int, str, str]:
        """A step's number, operator and place in the recipe."""
        [name] = [known.name for known in self.prepared.recipe.steps if known.index == step]
        return step, name, str(self.places.get(step, ""))

    def _events(self, row: int, seen: RowInStage, end: Sequence[Any] | None) -> dict[int, Event]:
        """Events of the steps of one stage that the row reached, and of the deduplicator after them."""
        last = end[0] if end else None
        ran = [info.index for info in seen.program.steps]
        steps = ran[: ran.index(last) + 1] if last in ran else ran
        events = {step: self._event(row, step, seen, end if step == last else None) for step in steps}
        after = seen.planned.stage.after
        if after is None or seen.ended or self.prepared.library.operators[after.name].matcher.takes_units:
            return events
        return events | {after.index: self._decision(row, after, seen, end if after.index == last else None)}

    def _event(self, row: int, step: int, seen: RowInStage, end: Sequence[Any] | None) -> Event:
        """Event of a mapper, filter or deduplicator of text units. end: ledger entry if this step removed the row."""
        program, values = seen.program, seen.row.values
        place, why = self._place(step), _why(end)
        stats = {s.column: values[s.column] for s in program.stats if s.step == step}
        change = next((change for change in program.changes if change.step == step), None)
        if change is None or (end and not values[change.changed]):
            return Event(*place, "removed" if end else "kept", stats=stats, **why)
        before = values[versions_before(program, step)[change.field]]
        units = self._units(row, step, seen, before)
        if not values[change.changed]:
            return Event(*place, "unchanged", units=units, stats=stats or None)
        fate = "removed" if end else "changed"
        return Event(*place, fate, before, values[change.after], units=units, stats=stats or None, **why)

    def _units(self, row: int, step: int, seen: RowInStage, text: str | None) -> tuple[RemovedUnit, ...] | None:
        """Units that a deduplicator took out of the text; None for other steps."""
        before = seen.planned.stage.before
        return self.evidence.units(before, row, text) if before is not None and before.index == step else None

    def _decision(self, row: int, step: Any, seen: RowInStage, end: Sequence[Any] | None) -> Event:
        """Event of a deduplicator that keeps or removes the whole row."""
        place, cluster = self._place(step.index), self.evidence.cluster(step, row)
        if end:
            duplicate = self.evidence.duplicate(step, row, seen)
            return Event(*place, "removed", duplicate=duplicate, cluster=cluster, **_why(end))
        if cluster is not None:
            others = ", ".join(str(other) for other in cluster.rows[:_SHOWN]) + (", …" if cluster.rows[_SHOWN:] else "")
            reason = f"survivor of a cluster of {cluster.size} (rows {others})"
        else:
            order = {term.column for term in seen.program.order}
            keys = [seen.row.values[name] for name in seen.program.match_keys if name not in order]
            reason = "no duplicate" if any(key is not None for key in keys) else "nothing to compare it by"
        return Event(*place, "kept", reason=reason, cluster=cluster)


def _why(end: Sequence[Any] | None) -> dict[str, Any]:
    """Reason, value and bound of a removal, from the ledger."""
    return dict(zip(("reason", "value", "bound"), end[1:], strict=True)) if end else {}
