"""Output of `refinery diff`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from refinery.cli.render import console
from refinery.cli.render.analyze import short
from refinery.common.fitted import Fitted, broken_label, broken_name, narrower
from refinery.inspect.diff.diff import ComparedRun, Difference, Fate, StatisticChange, StatisticPair
from refinery.inspect.diff.outputs import DifferentTexts
from refinery.inspect.diff.recipes import StepChange
from refinery.recipe.values import describe_value

_SIGNS = {"added": "+", "removed": "-", "changed": "~", "moved": ">", "same": " "}
_STYLES = {"added": "green", "removed": "red", "changed": "yellow", "moved": "yellow", "same": "dim"}
# Characters to show of a text around its first difference.
_WIDTH = 300
# Widest column of fates: two of them leave room for numbers of rows at 80 columns.
_FATE = 28


def show(difference: Difference, limit: int) -> Iterator[Any]:
    """Yield the output for a terminal, part by part; limit: lines of each list."""
    yield _side("A", difference.a)
    yield _side("B", difference.b)
    yield from (f"note: {note}" for note in difference.notes)
    yield ""
    yield from _recipes(difference)
    if difference.apart is not None:
        yield ""
        yield f"The runs have not read the same input: {difference.apart}."
        yield "Rows and texts were not compared; statistics are those of different samples."
    else:
        yield ""
        yield from _fates(difference.fates, limit)
    yield ""
    yield from _stats(difference.stats, difference.rows, limit)
    if difference.texts is not None:
        yield ""
        yield from _texts(difference.texts)


def _side(name: str, side: ComparedRun) -> str:
    began = side.began.partition(".")[0].replace("T", " ")
    counts = f"{side.read:,} read = {side.kept:,} kept + {side.removed:,} removed + {side.quarantined:,} quarantined"
    return f"{name}  {side.folder}, {began} UTC: {counts}"


# Recipes


def _recipes(difference: Difference) -> Iterator[Any]:
    from rich.text import Text

    if not difference.keys and all(change.change == "same" for change in difference.steps):
        renamed = [change for change in difference.steps if change.renamed]
        yield "The recipes do the same; steps have other names." if renamed else "The recipes do the same."
        yield from (Text(_step(change)) for change in renamed)
        return
    yield "Recipes (- only in A, + only in B, ~ other parameters, > moved)"
    for key in difference.keys:
        yield Text(f"  ~ {key.key}: {_value(key.a)} → {_value(key.b)}", style=_STYLES["changed"])
    for change in difference.steps:
        yield Text(_step(change), style=_STYLES[change.change])


def _step(change: StepChange) -> str:
    places = "/".join("–" if step is None else str(step) for step in (change.step_a, change.step_b))
    changed = ", ".join(f"{name}: {_value(a)} → {_value(b)}" for name, (a, b) in change.parameters.items())
    return f"  {_SIGNS[change.change]} {places:>7}  {console.shown(change.label)}" + (f"  {changed}" if changed else "")


def _value(value: Any) -> str:
    plain = tuple(value) if isinstance(value, list) else value
    return console.beginning(describe_value(plain) if not isinstance(plain, dict) else str(plain), 80)


# Rows


def _fates(fates: Sequence[Fate], limit: int) -> Iterator[Any]:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    same = sum(fate.rows for fate in fates if fate.a == fate.b)
    other = [fate for fate in fates if fate.a != fate.b]
    both = sum(fate.rows for fate in fates if fate.a == fate.b == "kept")
    lost = sum(fate.rows for fate in other if fate.a == "kept")
    gained = sum(fate.rows for fate in other if fate.b == "kept")
    yield (
        f"Rows: {both:,} kept by both, {lost:,} only by A, {gained:,} only by B; "
        f"{sum(fate.rows for fate in other):,} of {same + sum(fate.rows for fate in other):,} have another fate"
    )
    if not other:
        return
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    for name in ("in A", "in B"):
        table.add_column(name, no_wrap=True)
    table.add_column("rows", justify="right", no_wrap=True)
    table.add_column("such as _row", overflow="fold")
    for fate in other[:limit]:
        cells = (Text(broken_label(console.shown(name), _FATE)) for name in (fate.a, fate.b))
        table.add_row(*cells, f"{fate.rows:,}", ", ".join(map(str, fate.examples)))
    yield table
    if len(other) > limit:
        yield f"and {len(other) - limit:,} more pairs of fates; --limit shows them"
    yield "refinery why ROW --run FOLDER shows a row's way through one of the runs"


# Statistics


def _stats(stats: Sequence[StatisticPair], rows: Sequence[StatisticChange], limit: int) -> Iterator[Any]:
    moved = [stat for stat in stats if (stat.n_a, stat.mean_a, stat.std_a) != (stat.n_b, stat.mean_b, stat.std_b)]
    if not moved:
        yield "Statistics: none moved" if stats else "Statistics: the runs have none in common"
        return
    moved.sort(key=lambda stat: -abs(stat.d or 0.0))
    yield f"Statistics: {len(moved):,} of {len(stats):,} moved; d is the difference of means in standard deviations (Cohen)"
    yield Fitted(*(partial(_moved, moved[:limit], deviations) for deviations in (True, False)))
    if len(moved) > limit:
        yield f"and {len(moved) - limit:,} more; --limit shows them"
    yield from (_changed(row) for row in rows if row.changed)


def _moved(stats: Sequence[StatisticPair], deviations: bool, excess: int) -> Any:
    """The table of statistics with other moments. deviations: with standard deviations."""
    from rich import box
    from rich.table import Table

    width = narrower([stat.stat for stat in stats], excess, 12)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    table.add_column("statistic", overflow="fold")
    table.add_column("of rows", no_wrap=True)
    for name in ("n A", "n B", "mean A", "mean B", *(("std A", "std B") if deviations else ()), "d"):
        table.add_column(name, justify="right", no_wrap=True)
    for stat in stats:
        spread = (stat.std_a, stat.std_b) if deviations else ()
        numbers = [short(value) for value in (stat.mean_a, stat.mean_b, *spread)]
        effect = "" if stat.d is None else f"{stat.d:+.3f}"
        table.add_row(broken_name(stat.stat, width), stat.over, f"{stat.n_a:,}", f"{stat.n_b:,}", *numbers, effect)
    return table


def _changed(row: StatisticChange) -> str:
    sizes = f"by {short(row.mean_change)} in the mean, {short(row.largest_change)} at most"
    return f"{row.stat} of {row.changed:,} of {row.both:,} rows differs, {sizes}; such as _row {', '.join(map(str, row.examples))}"


# Texts


def _texts(texts: DifferentTexts) -> Iterator[Any]:
    from rich.text import Text

    least = "" if texts.exact else "at least "
    yield f"Texts: {least}{texts.differing:,} of the {texts.compared:,} that both kept differ"
    if texts.note:
        yield f"note: {texts.note}"
    for pair in texts.examples:
        before, after = console.around_difference(pair.a or "", pair.b or "", _WIDTH)
        yield f"  row {pair.row}"
        yield Text(f"    - {before}", style="red")
        yield Text(f"    + {after}", style="green")
