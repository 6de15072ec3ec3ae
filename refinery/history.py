"""One row's way through a finished run, recomputed from its input."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import duckdb

from refinery.compiler.program import Program, StepInfo, build
from refinery.engine import schema as schemas
from refinery.engine.replay import Replayed, replay, versions_before
from refinery.engine.worker import Task, Worker
from refinery.errors import DataError
from refinery.preparing import Prepared, prepare
from refinery.rundir import RunDir
from refinery.samples.sources import Shard
from refinery.staging import BATCH

# Rows that `--where` may find before it is told to be more precise.
_MOST = 20


@dataclass(frozen=True)
class Event:
    """What one step did to the row.

    fate: "changed", "unchanged", "kept", "removed", "quarantined" or "not reached". before, after: texts of a mapper
    that changed it. stats: what a filter measured. reason: why it was removed, with value and bound where there are.
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


@dataclass(frozen=True)
class History:
    """A row's events. file: where it was read, with its line. fate: "kept", "removed" or "quarantined"."""

    row: int
    file: str
    sample: Any
    fate: str
    events: tuple[Event, ...]
    error: str | None = None

    def json(self) -> str:
        """The history as one JSON object."""
        return json.dumps(asdict(self), ensure_ascii=False, default=str)


class Histories:
    """Answers for one run folder."""

    def __init__(self, work_dir: Path) -> None:
        self.run_dir = RunDir(work_dir)
        if not self.run_dir.manifest.is_file():
            raise DataError(f"{work_dir}: no run here (no {self.run_dir.manifest.name}); name its folder with --run")
        self.manifest = json.loads(self.run_dir.manifest.read_text(encoding="utf-8"))
        if any(item["format"] == "arrow" and item["path"] == "dataset" for item in self.manifest["inputs"]):
            raise DataError(f"{work_dir}: the run's samples were handed over in Python, so rows cannot be recomputed")
        self.prepared = self._prepare()
        self.con = duckdb.connect(str(self.run_dir.database), read_only=True)
        self.places = dict(self.con.execute("SELECT step, recipe_line FROM steps").fetchall())

    def __enter__(self) -> Histories:
        return self

    def __exit__(self, *_: object) -> None:
        self.con.close()

    def _prepare(self) -> Prepared:
        from refinery.opening import open_recipe

        recipe, library = open_recipe(self.run_dir.recipe)
        prepared = prepare(recipe, library, shard_size=self.manifest["shard_size"])
        if prepared.fingerprint != self.manifest["fingerprint"]:
            raise DataError("the operators have changed since the run, so rows cannot be recomputed; run it again")
        before = [(item["path"], item["size"], item["modified"]) for item in self.manifest["inputs"]]
        now = [(item["path"], item["size"], item["modified"]) for item in prepared.inputs()]
        if before != now:
            changed = sorted({path for path, *_ in set(before) ^ set(now)})
            raise DataError(
                f"the input has changed since the run ({', '.join(changed[:3])}), so rows cannot be recomputed"
            )
        return prepared

    def find(self, where: str) -> list[int]:
        """Numbers of the rows for which a predicate over the input's columns holds. Raises DataError beyond 20."""
        prepared = self.prepared
        library = prepared.library
        params = {"where": where}
        step = SimpleNamespace(index=1, name="sql_filter", params=params, given={"where"}, where="--where")
        schema = schemas.infer(prepared.stages[0].program.lines, prepared.shards, [step], library)
        program, _ = build([step], library, schema, prepared.stages[0].program.text_key)
        found: list[int] = []
        worker = Worker(program)
        try:
            for shard, first in zip(prepared.shards, self._first_rows(), strict=True):
                found += [first + row for row in worker.matching(shard, Task("", BATCH, first_row=first))]
                if len(found) > _MOST:
                    raise DataError(f"--where {where!r} holds for more than {_MOST} rows; make it more precise")
        finally:
            worker.close()
        if not found:
            raise DataError(
                f"--where {where!r} holds for no row that could be read; others are in the table quarantine"
            )
        return found

    def _first_rows(self) -> list[int]:
        return [row for (row,) in self.con.execute("SELECT first_row FROM shards ORDER BY shard").fetchall()]

    def tell(self, row: int) -> History:
        """The history of row number `row`. Raises DataError when the run had no such row."""
        shard, first, first_line = self._shard(row)
        broken = self.con.execute("SELECT step, error, line, file FROM quarantine WHERE _row = ?", [row]).fetchall()
        removed = self.con.execute("SELECT step, reason, value, bound FROM ledger WHERE _row = ?", [row]).fetchall()
        if broken and not broken[0][0]:
            _, error, line, path = broken[0]
            return History(row, f"{path}:{line}", None, "quarantined", (), error)
        # A row that a step raised on goes through the steps before that one only.
        program = self._before(broken[0][0]) if broken else self.prepared.stages[0].program
        found = self._replayed(program, shard, row - first, first)
        if found is None:
            raise DataError(f"row {row} is not in {shard.source.path} any more")
        file = shard.path_of(row - first) + ("" if shard.source.format == "text" else f":{first_line + found.line}")
        if broken:
            step, error, *_ = broken[0]
            told = tuple(self._raised(known, program, found, step, error) for known in self.prepared.stages[0].program.steps)
            return History(row, file, found.sample, "quarantined", told, error)
        end = removed[0] if removed else None
        told = tuple(self._event(known, program, found, end) for known in program.steps)
        return History(row, file, found.sample, "removed" if end else "kept", told)

    def _replayed(self, program: Program, shard: Shard, row: int, first: int) -> Replayed | None:
        worker = Worker(program)
        try:
            return next(replay(worker, shard, [row], Task("", BATCH, first_row=first)), None)
        finally:
            worker.close()

    def _before(self, step: int) -> Program:
        """The steps before `step`."""
        prepared = self.prepared
        steps = [known for known in prepared.recipe.steps if known.index < step]
        program = prepared.stages[0].program
        schema = schemas.infer(program.lines, prepared.shards, steps, prepared.library)
        return build(steps, prepared.library, schema, program.text_key, share=prepared.recipe.op_fusion)[0]

    def _where(self, step: int) -> str:
        return str(self.places.get(step, ""))

    def _shard(self, row: int) -> tuple[Shard, int, int]:
        """The shard of a row, the number of its first row, and the lines before it."""
        query = "SELECT shard, first_row, first_line FROM shards WHERE first_row <= ? AND ? < first_row + rows"
        found = self.con.execute(query, [row, row]).fetchall()
        if not found:
            (rows,) = self.con.execute("SELECT coalesce(max(first_row + rows), 0) FROM shards").fetchall()[0]
            raise DataError(f"no row {row}: the run read " + (f"rows 0 to {rows - 1}" if rows else "none"))
        shard, first, first_line = found[0]
        return self.prepared.shards[shard], first, first_line

    def _raised(self, step: StepInfo, program: Program, found: Replayed, raising: int, error: str) -> Event:
        place = (step.index, step.name, self._where(step.index))
        if step.index == raising:
            return Event(*place, "quarantined", reason=error)
        return self._event(step, program, found, None) if step.index < raising else Event(*place, "not reached")

    def _event(self, step: StepInfo, program: Program, found: Replayed, end: Any) -> Event:
        values = found.values
        place = (step.index, step.name, self._where(step.index))
        if end and step.index > end[0]:
            return Event(*place, "not reached")
        change = next((change for change in program.changes if change.step == step.index), None)
        if change:
            if not values[change.changed]:
                return Event(*place, "unchanged")
            before = values[versions_before(program, step.index)[change.field]]
            return Event(*place, "changed", before, values[change.after])
        stats = {s.column: values[s.column] for s in program.stats if s.step == step.index}
        if end and step.index == end[0]:
            return Event(*place, "removed", stats=stats, reason=end[1], value=end[2], bound=end[3])
        return Event(*place, "kept", stats=stats)
