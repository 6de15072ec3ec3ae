"""Samples that a step removed or changed, from the table `trace`, or recomputed from the input."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from refinery.compiler.templates import ident, lit
from refinery.inspect.report.facts import ReportStep
from refinery.inspect.report.replayed import Replay
from refinery.inspect.report.tables import Row, RunTables

# Examples to show of each step, and examples to recompute.
MOST = 5
_RECOMPUTED = 3
# Most steps with recomputed examples.
_STEPS = 20
# A traced text of more than `_LONG` bytes is cut to `_WINDOW` characters first.
_LONG, _WINDOW = 1_000_000, 10_000


@dataclass(frozen=True)
class Example:
    """One sample at one step.

    before: the text before the step. after: the text after a mapper, or for a duplicate the text of the sample kept
    instead. reason, value, bound, kept_instead: from the ledger.
    """

    row: int
    before: str
    after: str | None = None
    reason: str | None = None
    value: float | None = None
    bound: float | None = None
    kept_instead: int | None = None


@dataclass
class Examples:
    """Examples by step. unseen: steps that removed or changed samples but have no example."""

    removed: dict[int, list[Example]] = field(default_factory=lambda: defaultdict(list))
    changed: dict[int, list[Example]] = field(default_factory=lambda: defaultdict(list))
    recomputed: bool = False
    unseen: list[ReportStep] = field(default_factory=list)


def read_examples(tables: RunTables, steps: Sequence[ReportStep], again: Replay) -> Examples:
    """Read examples of every step that removed or changed samples."""
    examples = Examples()
    for row in tables.query("traced", limit=MOST, long=_LONG, window=_WINDOW):
        into = examples.removed if row["removed"] else examples.changed
        into[row["step"]].append(_traced(row))
    if again.possible:
        _recompute(tables, steps, again, examples)
    examples.unseen = list(_missing(steps, examples))
    return examples


def _traced(row: Row) -> Example:
    known = {name: row[name] for name in ("reason", "value", "bound", "kept_instead")}
    return Example(row["_row"], row["original_text"] or "", row["processed_text"], **known)


def _missing(steps: Sequence[ReportStep], examples: Examples) -> Iterator[ReportStep]:
    """Steps without examples that removed or changed samples."""
    for step in steps:
        if (step.removed and step.step not in examples.removed) or (step.changed and step.step not in examples.changed):
            yield step


def _recompute(tables: RunTables, steps: Sequence[ReportStep], again: Replay, examples: Examples) -> None:
    """Add recomputed examples for steps without a trace."""
    removed = _without_example(tables, examples)
    missing = [step.step for step in steps if step.changed and not examples.changed.get(step.step)][:_STEPS]
    changed = [(row, step) for step in missing for row in _changed_by(tables, step)]
    again.prepare([row["_row"] for row in removed] + [row for row, _ in changed])
    for row in removed:
        replayed = again.example(row["_row"], row["step"], row["kept_instead"])
        known = {name: row[name] for name in ("reason", "value", "bound", "kept_instead")}
        examples.removed[row["step"]].append(Example(row["_row"], replayed.text, replayed.kept, **known))
    for number, step in changed:
        texts = again.example(number, step).changes.get(step)
        if texts is not None:
            examples.changed[step].append(Example(number, *texts))
    examples.recomputed = bool(removed or changed)


def _changed_by(tables: RunTables, step: int) -> list[int]:
    """The first rows that a step changed."""
    flag = f"_changed_{step}"
    known = tables.rows(
        f"SELECT 1 FROM duckdb_columns() WHERE table_name = 'row_outcomes' AND column_name = {lit(flag)}"
    )
    if not known:
        return []
    rows = tables.rows(f"SELECT _row FROM row_outcomes WHERE {ident(flag)} ORDER BY _row LIMIT {_RECOMPUTED}")
    return [row["_row"] for row in rows]


def _without_example(tables: RunTables, listed: Examples) -> list[Row]:
    """Removed samples for each step and reason without examples yet."""
    shown = {(step, _kind(example.reason)) for step, examples in listed.removed.items() for example in examples}
    rows = [
        row for row in tables.query("removed", limit=_RECOMPUTED) if (row["step"], _kind(row["reason"])) not in shown
    ]
    return rows[: _STEPS * _RECOMPUTED]


def _kind(reason: str | None) -> str:
    """A reason without its numbers."""
    return re.sub(r"\d+", "", reason or "")
