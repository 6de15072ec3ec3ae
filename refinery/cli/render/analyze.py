"""Output of `refinery analyze`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from functools import partial
from itertools import groupby
from typing import Any

from refinery.cli.render import console
from refinery.common.fitted import Fitted, broken_name, narrower
from refinery.common.paths import shorter
from refinery.inspect.analyze.analyze import Analysis, StatisticDescription
from refinery.inspect.analyze.sketch import ERROR, PERCENTS
from refinery.inspect.analyze.suggest import METHODS

_Described = Sequence[tuple[str, StatisticDescription]]

# Most keys of a group, and most pairs of statistics, to list; the tables have all.
_KEYS = 20
_PAIRS = 10


def as_data(analysis: Analysis) -> dict[str, Any]:
    """The analysis as plain data; quantiles by percent."""
    outcome = analysis.outcome
    described = [
        asdict(d) | {"quantiles": {f"{100 * q:g}": v for q, v in d.quantiles.items()}} for d in analysis.descriptions
    ]
    return {
        "work_dir": shorter(str(outcome.run_dir.root)),
        "database": shorter(str(outcome.run_dir.database)),
        "rows": asdict(outcome.counts),
        "warnings": list(map(shorter, outcome.notes)),
        "statistics": described,
        "correlations": list(analysis.correlations),
        "suggestions": list(analysis.suggestions),
        "recipes": dict(analysis.fragments),
    }


def show(analysis: Analysis) -> Iterator[Any]:
    """Yield the output for a terminal, part by part."""
    counts, outcome = analysis.outcome.counts, analysis.outcome
    yield f"{counts.read:,} rows read, {counts.kept:,} measured, {counts.quarantined:,} quarantined; nothing was removed"
    yield from (f"note: {note}" for note in outcome.notes)
    if not analysis.descriptions:
        yield "no sample could be measured, so there is nothing to describe"
        return
    yield _table("statistic", ((d.stat, d) for d in analysis.descriptions if d.group == "summary"))
    without = (
        "missing: rows without a finite value" if any(d.missing for d in analysis.descriptions) else "none is missing"
    )
    yield f"quantiles are within {100 * ERROR:g} % of the true values; {without}"
    yield from _by_group([d for d in analysis.descriptions if d.group != "summary"])
    some = [row for row in analysis.correlations if row["pearson"] is not None or row["spearman"] is not None]
    if some:
        yield ""
        yield _correlations(some)
    for method in METHODS if analysis.suggestions else ():
        yield ""
        yield analysis.fragments[method].rstrip("\n")
    yield ""
    yield f"tables         {outcome.run_dir.database} (stats, sketches, quantiles, correlations, suggestions)"
    yield f"try bounds     refinery tune {shorter(str(outcome.run_dir.root))} FILTER --param NAME=FROM..TO"


def _by_group(descriptions: Sequence[StatisticDescription]) -> Iterator[Any]:
    """Yield a table of keys per statistic and group."""
    for (stat, group), members in groupby(descriptions, key=lambda d: (d.stat, d.group)):
        listed = list(members)
        yield ""
        yield f"{stat} by {group}"
        yield _table(group, ((d.key, d) for d in listed[:_KEYS]))
        if len(listed) > _KEYS:
            yield f"and {len(listed) - _KEYS:,} more keys, in the table quantiles"


def _table(first: str, rows: Iterable[tuple[str, StatisticDescription]]) -> Any:
    """The table of statistics; quantiles are in one or two tables of their own where one is too wide."""
    listed = list(rows)
    moments, quantiles = _moments(listed), _quantiles(listed)
    names = list(quantiles)
    halves = [{name: quantiles[name] for name in part} for part in (names[:5], names[5:])]
    groups = ([moments | quantiles], [moments, quantiles], [moments, *halves])
    return Fitted(*(partial(_figures, first, listed, group) for group in groups))


_Figures = dict[str, list[str]]


def _moments(rows: _Described) -> _Figures:
    """Cells of the columns before the quantiles. The column of missing rows is left out if none is missing."""
    cells = {"n": [f"{d.n:,}" for _, d in rows]}
    cells |= {"missing": [f"{d.missing:,}" for _, d in rows]} if any(d.missing for _, d in rows) else {}
    return cells | {"mean": [short(d.mean) for _, d in rows], "std": [short(d.std) for _, d in rows]}


def _quantiles(rows: _Described) -> _Figures:
    """Cells of the columns from the least to the greatest value."""
    between = {f"{p} %": [short(d.quantiles.get(p / 100)) for _, d in rows] for p in PERCENTS}
    return {"min": [short(d.min) for _, d in rows], **between, "max": [short(d.max) for _, d in rows]}


def _figures(first: str, rows: _Described, groups: Sequence[_Figures], excess: int) -> Any:
    """A table of each group of columns. The rows' labels take the room that numbers leave."""
    from rich.console import Group

    return Group(*(_figures_table(first, rows, columns, excess) for columns in groups))


def _figures_table(first: str, rows: _Described, columns: _Figures, excess: int) -> Any:
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    labels = [console.beginning(label, 60) or "(empty)" for label, _ in rows]
    width = narrower(labels, excess, 10)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    table.add_column(escape(console.beginning(first, 30)), min_width=10, overflow="fold")
    for name in columns:
        table.add_column(name, justify="right", no_wrap=True)
    for at, label in enumerate(labels):
        table.add_row(escape(broken_name(label, width)), *(cells[at] for cells in columns.values()))
    return table


def _correlations(correlations: Sequence[dict[str, Any]]) -> Any:
    from rich import box
    from rich.table import Table

    title = f"strongest correlations, {min(_PAIRS, len(correlations))} of {len(correlations):,} pairs"
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, title=title, title_justify="left", title_style="")
    table.add_column("statistic")
    table.add_column("statistic")
    for name in ("Pearson", "Spearman", "n"):
        table.add_column(name, justify="right")
    for row in correlations[:_PAIRS]:
        both = [f"{value:+.3f}" if value is not None else "" for value in (row["pearson"], row["spearman"])]
        table.add_row(row["stat_a"], row["stat_b"], *both, f"{row['n']:,}")
    return table


def short(value: float | None) -> str:
    """A number in a narrow column: four digits."""
    if value is None:
        return ""
    if value.is_integer() and abs(value) < 1e7:
        return f"{value:,.0f}"
    return f"{value:.4g}" if abs(value) < 1e3 or abs(value) >= 1e7 else f"{value:,.0f}"
