"""Output of `refinery tune`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from refinery.cli.render import console
from refinery.common.fitted import Fitted
from refinery.operators.bounds import is_unlimited

_BAR = 24


def show(tried: Any, recipe: str) -> Iterator[Any]:
    """Yield the output for a terminal, part by part. recipe: the recipe whose run stores missing statistics."""
    yield f"step {tried.step} {console.label_of(tried.operator, tried.name)}, {', '.join(tried.statistics)}, in {tried.run}"
    yield Fitted(lambda excess: _trials(tried, max(0, _BAR - excess)))
    yield from _lines(tried, recipe)


def _trials(tried: Any, width: int) -> Any:
    """The table of trials: the values, samples kept alone and together, and a bar of the rows kept together.

    width: columns of the bar.
    """
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    table.add_column("")
    for name in tried.trials[0].params:
        table.add_column(name, justify="right", no_wrap=True)
    unsure = any(trial.unsure.rows for trial in tried.trials)
    for name in ("alone", "bytes", "together", "bytes", *(["not known"] if unsure else []), "of all"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    for trial in tried.trials:
        share = trial.together.rows / max(tried.rows, 1)
        cells = [f"{trial.alone.rows:,}", console.size(trial.alone.bytes)]
        cells += [f"{trial.together.rows:,}", console.size(trial.together.bytes)]
        cells += [f"{trial.unsure.rows:,}" if trial.unsure.rows else ""] if unsure else []
        values = [_written(value) for value in trial.params.values()]
        mark, style = ("→", "bold") if trial.in_force else ("", "")
        table.add_row(mark, *values, *cells, f"{100 * share:.1f} %", bar(share, width), style=style)
    return table


def _written(value: Any) -> str:
    """A parameter's value."""
    if isinstance(value, bool):
        return str(value)
    return "no limit" if is_unlimited(value) else console.number(value)


def bar(share: float, width: int) -> str:
    """A share of 1 as a bar of blocks, to an eighth of a character."""
    eighths = round(max(0.0, min(1.0, share)) * width * 8)
    return "█" * (eighths // 8) + (" ▏▎▍▌▋▊▉"[eighths % 8].strip())


def _lines(tried: Any, recipe: str) -> Iterator[str]:
    """Yield notes below the table: the columns' meaning and missing statistics."""
    mark = "→: the values of the run. " if any(trial.in_force for trial in tried.trials) else ""
    yield f"{mark}alone: kept by this filter, of the samples that reach it; together: kept by all steps"
    missing = tried.rows - tried.stored
    if missing:
        why = [f"{tried.removed_before:,} removed before it was computed"] if tried.removed_before else []
        why += [f"{missing - tried.removed_before:,} in quarantine"] if missing > tried.removed_before else []
        yield f"for {missing:,} of {tried.rows:,} rows the statistic is not stored: {', '.join(why)}"
    if any(trial.unsure.rows for trial in tried.trials):
        yield "not known: removed by this filter in the run, so decisions of later steps about them are not stored"
    if tried.removed_before or any(trial.unsure.rows for trial in tried.trials):
        yield f"refinery analyze {recipe} stores every statistic for all rows"
    yield from (f"note: {note}" for note in tried.notes)
