"""`refinery diff`: compare two runs by their tables and by their exported texts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from refinery.common.connections import file_name
from refinery.common.duckdb_facts import settings
from refinery.common.lazy import duckdb
from refinery.compiler.templates import ident, lit, template
from refinery.errors import DataError
from refinery.inspect.analyze.describe import NUMBERS
from refinery.inspect.diff.inputs import why_not_the_same
from refinery.inspect.diff.outputs import DifferentTexts, compare_texts
from refinery.inspect.diff.recipes import (
    KeyChange,
    StepChange,
    StepRow,
    compare_keys,
    compare_steps,
    compare_versions,
    steps_of,
)
from refinery.inspect.finished_run import FinishedRun
from refinery.io.model import handed_over
from refinery.operators import read_sql
from refinery.results.open_tables import parts_of, reach, recipe_of
from refinery.results.reading_memory import limit_memory
from refinery.results.step_names import name_column


@dataclass(frozen=True)
class ComparedRun:
    """One of the runs: its folder, start time (UTC) and row counts."""

    folder: str
    run_id: str
    began: str
    read: int
    kept: int
    removed: int
    quarantined: int


@dataclass(frozen=True)
class Fate:
    """Number of rows with fate `a` in the first run and `b` in the second, with the first such rows."""

    a: str
    b: str
    rows: int
    examples: tuple[int, ...]


@dataclass(frozen=True)
class StatisticPair:
    """A statistic in both runs.

    over: "measured", all rows that it was computed for, or "kept". d: Cohen's effect size, None where nothing varies.
    """

    stat: str
    over: str
    n_a: int
    n_b: int
    mean_a: float | None
    mean_b: float | None
    std_a: float | None
    std_b: float | None
    d: float | None


@dataclass(frozen=True)
class StatisticChange:
    """A statistic that both runs measured for the same rows: the number of rows, and the size of the changes."""

    stat: str
    both: int
    changed: int
    mean_change: float | None
    largest_change: float | None
    examples: tuple[int, ...]


@dataclass(frozen=True)
class Difference:
    """Differences of two runs. apart: the reason why rows cannot be compared; then fates, rows and texts are empty."""

    a: ComparedRun
    b: ComparedRun
    apart: str | None
    notes: tuple[str, ...]
    keys: tuple[KeyChange, ...]
    steps: tuple[StepChange, ...]
    fates: tuple[Fate, ...]
    stats: tuple[StatisticPair, ...]
    rows: tuple[StatisticChange, ...]
    texts: DifferentTexts | None


def compare(folder_a: Path, folder_b: Path, limit: int = 10) -> Difference:
    """Compare two runs. limit: examples of each kind. Raises DataError for a folder without a run or equal folders."""
    if folder_a.resolve() == folder_b.resolve():
        raise DataError(f"{folder_a} and {folder_b} are the same run; name two")
    with _opened(folder_a, folder_b) as (con, a, b):
        return _compared(con, a, b, limit)


def rows_with(folder_a: Path, folder_b: Path, fate_a: str, fate_b: str) -> np.ndarray:
    """Numbers of the rows with a fate in each of two runs, as `Difference.fates` names them; ascending.

    Raises DataError if rows of the runs cannot be compared.
    """
    with _opened(folder_a, folder_b) as (con, a, b):
        if (apart := why_not_the_same(a.manifest, b.manifest, a.recipe, b.recipe)) is not None:
            raise DataError(f"rows of {folder_a} and {folder_b} cannot be compared: {apart}")
        names = _names(compare_steps(*(_steps(con, name) for name in "ab")))
        query = template(read_sql("analysis/diff_outcomes.sql")).render(names=names, limit=0, pair=[fate_a, fate_b])
        rows: np.ndarray = con.execute(query).fetchnumpy()["_row"]
        return rows


@contextmanager
def _opened(folder_a: Path, folder_b: Path) -> Iterator[tuple[duckdb.DuckDBPyConnection, FinishedRun, FinishedRun]]:
    """Both runs, and a connection that has their databases as `a` and `b`."""
    with ExitStack() as stack:
        a, b = (stack.enter_context(FinishedRun.open(folder)) for folder in (folder_a, folder_b))
        con = stack.enter_context(duckdb.connect())
        limit_memory(con, "\n".join(recipe_of(stored.con) for stored in (a, b)))
        con.execute(settings.ONE_THREAD).fetchall()  # sums of floating-point numbers depend on their order
        for name, stored in (("a", a), ("b", b)):
            reach(con, parts_of(stored.con))
            con.execute(f"ATTACH {lit(file_name(stored.run_dir.database))} AS {name} (READ_ONLY)").fetchall()
        yield con, a, b


def _compared(con: duckdb.DuckDBPyConnection, a: FinishedRun, b: FinishedRun, limit: int) -> Difference:
    apart = why_not_the_same(a.manifest, b.manifest, a.recipe, b.recipe)
    steps = compare_steps(*(_steps(con, name) for name in "ab"))
    columns = _common(a, b, steps)
    [(recipe_a, versions_a)], [(recipe_b, versions_b)] = (
        _rows(con, f"SELECT recipe, versions FROM {name}.runs") for name in "ab"
    )
    keys = [*compare_keys(recipe_a, recipe_b), *compare_versions(versions_a, versions_b)]
    return Difference(
        a=_side(a),
        b=_side(b),
        apart=apart,
        notes=tuple(_notes(a, b, steps)),
        keys=tuple(keys),
        steps=tuple(steps),
        fates=tuple(_fates(con, steps, limit)) if apart is None else (),
        stats=tuple(StatisticPair(*row) for row in _rendered(con, "diff_stats", columns=columns)) if columns else (),
        rows=tuple(_changed(con, columns, limit)) if columns and apart is None else (),
        texts=compare_texts(con, a, b, limit) if apart is None else None,
    )


def _steps(con: duckdb.DuckDBPyConnection, run: str) -> list[StepRow]:
    """The steps of one of the runs."""
    columns = f"step, operator, parameters, {name_column(con, f'{run}.steps')}"
    return steps_of(_rows(con, f"SELECT {columns} FROM {run}.steps ORDER BY step"))


def _side(stored: FinishedRun) -> ComparedRun:
    manifest = stored.manifest
    rows: Mapping[str, int] = manifest["rows"]
    counts = [rows[name] for name in ("read", "kept", "removed", "quarantined")]
    return ComparedRun(str(stored.run_dir.root), manifest["run_id"], manifest["began"], *counts)


def _notes(a: FinishedRun, b: FinishedRun, steps: Sequence[StepChange]) -> list[str]:
    notes = []
    if handed_over(a.manifest["inputs"]) and handed_over(b.manifest["inputs"]):
        notes.append(
            "the samples of both runs were passed in from Python: assumed to be the same, as they have the same number of bytes"
        )
    if all(change.change == "same" for change in steps) and a.manifest["fingerprint"] != b.manifest["fingerprint"]:
        notes.append("the recipes are the same, but the files of their operators were not")
    return notes


def _common(a: FinishedRun, b: FinishedRun, steps: Sequence[StepChange]) -> list[tuple[str, str, str]]:
    """SQL for (name, column in a, column in b) of the numeric statistics of both runs, by aligned steps."""
    step_b = {change.step_a: change.step_b for change in steps if change.step_a and change.step_b}
    stats_a, stats_b = ([stat for chain in stored.compiled() for stat in chain.stats] for stored in (a, b))
    known_b = {(stat.name, stat.step): stat for stat in stats_b}
    by_name_b = {stat.column: stat for stat in stats_b}
    columns = []
    for stat in stats_a:
        other = known_b.get((stat.name, step_b.get(stat.step) or 0)) or _same_name(stat, by_name_b, step_b)
        if other is None or not {stat.type.upper(), other.type.upper()} <= NUMBERS:
            continue
        label = stat.column if stat.column == other.column else f"{stat.column} / {other.column}"
        columns.append((lit(label), ident(stat.column), ident(other.column)))
    return columns


def _same_name(stat: Any, by_name: Mapping[str, Any], step_b: Mapping[int, int]) -> Any:
    """The statistic with the same column name, unless the step of either is aligned with another step."""
    other = by_name.get(stat.column)
    return None if other is None or other.step in step_b.values() or stat.step in step_b else other


def _fates(con: duckdb.DuckDBPyConnection, steps: Sequence[StepChange], limit: int) -> list[Fate]:
    rows = _rendered(con, "diff_outcomes", names=list(_names(steps)), limit=limit, pair=None)
    return [Fate(a or "not read", b or "not read", count, tuple(examples)) for a, b, count, examples in rows]


def _names(steps: Sequence[StepChange]) -> list[tuple[str, int, str]]:
    """SQL for (run, step, name): aligned steps share one name; one that stands twice has its step numbers in it."""
    times = Counter(change.label for change in steps)
    names = []
    for change in steps:
        numbers = [str(step) for step in (change.step_a, change.step_b) if step is not None]
        place = "/".join(dict.fromkeys(numbers))
        name = change.label if times[change.label] == 1 else f"{change.label} (step {place})"
        for run, step in (("a", change.step_a), ("b", change.step_b)):
            if step is not None:
                names.append((lit(run), step, lit(name)))
    return names


def _changed(
    con: duckdb.DuckDBPyConnection, columns: Sequence[tuple[str, str, str]], limit: int
) -> list[StatisticChange]:
    rows = _rendered(con, "diff_rows", columns=columns, limit=limit)
    return [StatisticChange(stat, both, n, mean, most, tuple(first)) for stat, both, n, mean, most, first in rows]


def _rendered(con: duckdb.DuckDBPyConnection, name: str, **values: Any) -> list[tuple[Any, ...]]:
    return _rows(con, template(read_sql(f"analysis/{name}.sql")).render(values))


def _rows(con: duckdb.DuckDBPyConnection, query: str) -> list[tuple[Any, ...]]:
    return con.execute(query).fetchall()
