"""Samples that a step removed or changed, from the table `trace`, or recomputed from the input.

Of the removed samples, those nearest to their bound come first, of all reasons and sources in turn.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from refinery.compiler.templates import ident, lit, template
from refinery.inspect.report.facts import ReportStep
from refinery.inspect.report.replayed import Replay
from refinery.inspect.report.sample_names import names_in_record, names_of, places_of
from refinery.inspect.report.tables import Row, RunTables
from refinery.operators import read_sql

# Examples to show of each step, and examples to recompute.
MOST = 5
_RECOMPUTED = 3
# Most steps with recomputed examples, and bytes of input to read for them.
_STEPS = 20
_READ = 1_000_000_000
# A traced text of more than `_LONG` bytes is cut to `_WINDOW` characters first.
_LONG, _WINDOW = 1_000_000, 10_000


@dataclass(frozen=True)
class Example:
    """One sample at one step.

    before: the text before the step. after: the text after a mapper, or for a duplicate the text of the sample kept
    instead. reason, value, bound, kept_instead: from the ledger. place: file and line. names: fields that name the sample,
    such as its id and address.
    """

    row: int
    before: str
    after: str | None = None
    reason: str | None = None
    value: float | None = None
    bound: float | None = None
    kept_instead: int | None = None
    place: str = ""
    names: tuple[tuple[str, str], ...] = ()


@dataclass
class Examples:
    """Examples by step. unseen: steps that removed or changed samples but have no example."""

    removed: dict[int, list[Example]] = field(default_factory=lambda: defaultdict(list))
    changed: dict[int, list[Example]] = field(default_factory=lambda: defaultdict(list))
    recomputed: bool = False
    unseen: list[ReportStep] = field(default_factory=list)


def read_examples(tables: RunTables, steps: Sequence[ReportStep], again: Replay, by_column: bool = False) -> Examples:
    """Read examples of every step that removed or changed samples. by_column: sources are values of a column."""
    origins = partial(_origins, by_column=by_column)
    nearest = tables.query("removed", limit=MOST, origins=origins)
    wanted = [f"({row['_row']}, {row['step']})" for row in nearest]
    traced = tables.query("traced", limit=MOST, long=_LONG, window=_WINDOW, origins=origins, rows=wanted)
    examples = Examples()
    if again.possible:
        _recompute(tables, steps, again, examples, (nearest, traced), origins)
    for row in traced:
        _add(examples, row["step"], row["removed"], _traced(row))
    _put_in_order(examples, nearest)
    examples.unseen = list(_missing(steps, examples))
    identify(tables, again, examples)
    return examples


def _origins(rows: str, by_column: bool) -> str:
    """SQL for rows with their sources."""
    return template(read_sql("report/_origins.sql")).render(rows=rows, by_column=by_column).strip()


def _add(examples: Examples, step: int, removed: bool, example: Example) -> None:
    """Add an example that a step does not have yet."""
    listed = (examples.removed if removed else examples.changed)[step]
    if all(other.row != example.row for other in listed):
        listed.append(example)


def _put_in_order(examples: Examples, nearest: Sequence[Row]) -> None:
    """Order the removed samples of each step as `nearest` has them, others last, and keep the first."""
    places = {(row["step"], row["_row"]): at for at, row in enumerate(nearest)}
    for step, listed in examples.removed.items():
        listed.sort(key=lambda example: places.get((step, example.row), len(places)))
    for found in (examples.removed, examples.changed):
        for listed in found.values():
            del listed[MOST:]


def _traced(row: Row) -> Example:
    known = {name: row[name] for name in ("reason", "value", "bound", "kept_instead")}
    names = names_in_record(row["record"])
    return Example(row["_row"], row["original_text"] or "", row["processed_text"], **known, names=names)


def _missing(steps: Sequence[ReportStep], examples: Examples) -> Iterator[ReportStep]:
    """Steps without examples that removed or changed samples."""
    for step in steps:
        if (step.removed and not examples.removed.get(step.step)) or (
            step.changed and not examples.changed.get(step.step)
        ):
            yield step


def _recompute(
    tables: RunTables,
    steps: Sequence[ReportStep],
    again: Replay,
    examples: Examples,
    chosen: tuple[Sequence[Row], Sequence[Row]],
    origins: Callable[[str], str],
) -> None:
    """Add recomputed examples of what is not traced. chosen: samples nearest to their bounds, and traced ones."""
    nearest, traced = chosen
    removed = _without_trace(nearest, {(row["step"], row["_row"]) for row in traced})
    seen = {row["step"] for row in traced if not row["removed"]}
    missing = [step.step for step in steps if step.changed and step.step not in seen][:_STEPS]
    changed = [(row, step) for step in missing for row in _changed_by(tables, step, origins)]
    affordable = set(again.within([*((row["_row"], row["step"]) for row in removed), *changed], _READ))
    removed = [row for row in removed if (row["_row"], row["step"]) in affordable]
    removed += _first_removed(tables, steps, {row["step"] for row in (*removed, *traced) if row.get("removed", True)})
    changed = [item for item in changed if item in affordable]
    again.prepare([row["_row"] for row in removed] + [row for row, _ in changed])
    for row in removed:
        replayed = again.example(row["_row"], row["step"], row["kept_instead"])
        known = {name: row[name] for name in ("reason", "value", "bound", "kept_instead")}
        _add(examples, row["step"], True, Example(row["_row"], replayed.text, replayed.kept, **known))
    for number, step in changed:
        texts = again.example(number, step).changes.get(step)
        if texts is not None:
            _add(examples, step, False, Example(number, *texts))
    examples.recomputed = bool(removed or changed)


def _first_removed(tables: RunTables, steps: Sequence[ReportStep], shown: set[int]) -> list[Row]:
    """The first removed sample of each step that has no example within the budget."""
    left = [step.step for step in steps if step.removed and step.step not in shown][:_STEPS]
    if not left:
        return []
    columns = "step, _row, reason, value, bound, kept_instead"
    query = f"SELECT {columns} FROM ledger WHERE step IN ({', '.join(map(str, left))})"
    return tables.rows(f"{query} QUALIFY row_number() OVER (PARTITION BY step ORDER BY _row) = 1 ORDER BY step")


def _changed_by(tables: RunTables, step: int, origins: Callable[[str], str]) -> list[int]:
    """Rows that a step changed, the first of each source in turn."""
    flag = f"_changed_{step}"
    known = tables.rows(
        f"SELECT 1 FROM duckdb_columns() WHERE table_name = 'row_outcomes' AND column_name = {lit(flag)}"
    )
    if not known:
        return []
    return [row["_row"] for row in tables.query("changed", flag=ident(flag), limit=_RECOMPUTED, origins=origins)]


def _without_trace(nearest: Sequence[Row], traced: set[tuple[int, int]]) -> list[Row]:
    """The first removed samples of each step that are not traced, of a limited number of steps."""
    by_step: dict[int, list[Row]] = defaultdict(list)
    for row in nearest:
        if (row["step"], row["_row"]) not in traced and len(by_step[row["step"]]) < _RECOMPUTED:
            by_step[row["step"]].append(row)
    return [row for rows in list(by_step.values())[:_STEPS] for row in rows]


def identify(tables: RunTables, again: Replay, examples: Examples) -> None:
    """Add to each example its place, and the fields that name the sample."""
    lists = [*examples.removed.values(), *examples.changed.values()]
    rows = sorted({example.row for listed in lists for example in listed})
    places, names = places_of(tables, rows), {row: names_of(again.sample(row)) for row in rows}
    for listed in lists:
        listed[:] = [
            replace(example, place=places.get(example.row, ""), names=names[example.row] or example.names)
            for example in listed
        ]
