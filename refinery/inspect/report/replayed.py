"""Replay of single samples of a run, as in `refinery why`, if the input is unchanged."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from refinery.common.lazy import duckdb
from refinery.errors import RefineryError
from refinery.inspect.why.query import RowHistories
from refinery.inspect.why.row_replay import RowInStage, RowPosition
from refinery.planning.sizes import BATCH
from refinery.workers.replay import replay, versions_before
from refinery.workers.worker import Task, Worker


@dataclass
class ReplayedExample:
    """A replayed sample. text: its text before the requested step. kept: the text of the sample kept instead.

    changes: by step, the text before and after.
    """

    text: str = ""
    kept: str | None = None
    changes: dict[int, tuple[str, str]] = field(default_factory=dict)


class Replay:
    """Replay of samples of one run. why_not: the reason why replay is impossible, in a sentence; empty if possible."""

    def __init__(self, work_dir: Path) -> None:
        self.why_not = ""
        self.histories: RowHistories | None = None
        self._first: dict[int, RowInStage] = {}  # rows that were prepared, in the first stage
        try:
            self.histories = RowHistories(work_dir)
        except (RefineryError, duckdb.Error) as error:
            self.why_not = str(error).splitlines()[0].removeprefix(f"{work_dir}: ")

    def __enter__(self) -> Replay:
        return self

    def __exit__(self, *_: object) -> None:
        if self.histories is not None:
            self.histories.__exit__()

    @property
    def possible(self) -> bool:
        """True if samples can be recomputed."""
        return self.histories is not None

    def within(self, rows: Sequence[tuple[int, int]], budget: int) -> list[tuple[int, int]]:
        """The rows, each with its step, whose shards can be read within a budget of bytes; the first of every step first."""
        if self.histories is None:
            return []
        shards: dict[int, int] = {}
        turns: dict[int, int] = defaultdict(int)
        chosen: list[tuple[int, int]] = []
        ordered: list[tuple[int, int, int, int]] = []
        for row, step in rows:
            ordered.append((turns[step], len(ordered), row, step))
            turns[step] += 1
        for _, _, row, step in sorted(ordered):
            shard = self.histories.replay.place(row).shard
            if shard.index in shards or sum(shards.values()) + shard.size <= budget:
                shards[shard.index] = shard.size
                chosen.append((row, step))
        return chosen

    def prepare(self, rows: Iterable[int]) -> None:
        """Recompute the first stage of rows for later calls, all rows of a shard together, which is much faster."""
        if self.histories is None or self.histories.prepared.stages[0].program.copies:
            return
        by_shard: dict[int, list[RowPosition]] = defaultdict(list)
        for place in map(self.histories.replay.place, sorted(set(rows))):
            by_shard[place.shard.index].append(place)
        planned = self.histories.prepared.stages[0]
        worker = Worker(planned.program)
        try:
            for places in by_shard.values():
                task = Task("", BATCH, first_row=places[0].first)
                inside = [place.inside for place in places]
                for row in replay(worker, places[0].shard, inside, task):
                    self._first[row.row + places[0].first] = RowInStage(planned, planned.program, row, False)
        finally:
            worker.close()

    def example(self, row: int, step: int, kept: int | None = None) -> ReplayedExample:
        """Replay a row up to `step`. kept: the row that a deduplicator kept instead."""
        example = ReplayedExample()
        for seen in self._seen(row, step):
            example.changes |= _changes(seen)
            if _is_in(seen, step):
                example.text = self._text(seen, step)
                if kept is not None:
                    example.kept = self.text_at(kept, step)
                break
        return example

    def sample(self, row: int) -> dict[str, Any] | None:
        """The sample as it was read, if the row was prepared."""
        seen = self._first.get(row)
        return None if seen is None else seen.row.sample

    def text_at(self, row: int, step: int) -> str | None:
        """The text of a row before `step`."""
        for seen in self._seen(row, step):
            if _is_in(seen, step):
                return self._text(seen, step)
        return None

    def _seen(self, row: int, step: int) -> Iterator[RowInStage]:
        """The row in the stages up to that of `step`."""
        if self.histories is None:
            return
        first = self._first.get(row)
        if first is not None and _is_in(first, step):
            yield first
            return
        yield from self.histories.replay.walk(self.histories.replay.place(row))

    def _text(self, seen: RowInStage, step: int) -> str:
        assert self.histories is not None
        [known] = [known for known in self.histories.prepared.recipe.steps if known.index == step]
        return seen.text_given_to(known) or ""


def _is_in(seen: RowInStage, step: int) -> bool:
    """Return whether a step belongs to a stage or is the deduplicator at its end."""
    after = seen.planned.stage.after
    return any(info.index == step for info in seen.program.steps) or (after is not None and after.index == step)


def _changes(seen: RowInStage) -> dict[int, tuple[str, str]]:
    """The texts that the steps of a stage changed."""
    texts: dict[int, tuple[str, str]] = {}
    values: dict[str, Any] = seen.row.values
    for change in seen.program.changes:
        before = values[versions_before(seen.program, change.step)[change.field]]
        if values[change.changed] and before is not None and values[change.after] is not None:
            texts[change.step] = (str(before), str(values[change.after]))
    return texts
