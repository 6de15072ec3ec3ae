"""Output of `refinery forecast`."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from refinery.cli.render import console
from refinery.common.fitted import Fitted, broken_label

_TOO_WIDE = (("tokens",), ("tokens", "bytes"), ("tokens", "bytes", "seconds"))


def parts(forecast: Any) -> Iterator[Any]:
    """Yield the output for a terminal, part by part."""
    about = "" if forecast.rows.low == forecast.rows.high else "about "
    yield f"a sample of {forecast.sampled:,} of {about}{forecast.rows.value:,.0f} rows, {100 * forecast.share:.2g} %"
    yield Fitted(partial(_steps, forecast, ()), *(partial(_steps, forecast, names) for names in _TOO_WIDE))
    yield from _totals(forecast)
    for step in forecast.steps:
        if step.law:
            yield f"step {step.step}: {step.law}"
    yield from (f"note: {note}" for note in forecast.notes)


def _steps(forecast: Any, without: tuple[str, ...], excess: int) -> Any:
    """The table of steps. without: names of columns to leave out."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    table.add_column("step", justify="right", no_wrap=True)
    table.add_column("operator", min_width=16, no_wrap=True)
    names = [name for name in ("rows out", "95 %", "bytes", "tokens", "seconds") if name not in without]
    for name in names:
        table.add_column(name, justify="right", no_wrap=True)
    labels = [console.label_of(step.operator, step.name) for step in forecast.steps]
    width = max(16, max(map(len, labels), default=16) - excess)
    for label, step in zip(labels, forecast.steps, strict=True):
        cells = {
            "rows out": f"{step.rows.value:,.0f}",
            "95 %": f"{step.rows.low:,.0f} to {step.rows.high:,.0f}",
            "bytes": console.size(step.bytes.value),
            "tokens": _many(step.tokens.value),
            "seconds": f"{step.seconds:,.2f}",
        }
        table.add_row(str(step.step), Text(broken_label(label, width)), *(cells[name] for name in names))
    return table


def _totals(forecast: Any) -> Iterator[str]:
    """Lines about the whole run."""
    where = (
        f"{_counted(forecast.workers, 'core')} of a cluster"
        if forecast.cluster
        else f"{_counted(forecast.workers, 'worker')} of this machine"
    )
    seconds = forecast.seconds
    yield f"time    {_time(seconds.value)} ({_time(seconds.low)} to {_time(seconds.high)}) on {where}"
    if forecast.cluster:
        names = ("start", "shards", "moving", "barriers", "tables")
        tasks = f"{_counted(forecast.cluster.tasks, 'shard')} in each stage"
        yield f"        {', '.join(f'{name} {_time(getattr(forecast.cluster, name))}' for name in names)}; {tasks}"
    yield f"        {_time(forecast.processor)} of processor time; seconds above are those of all cores"
    yield f"memory  {_between(forecast.memory)}{' of the largest process' if forecast.cluster else ''}"
    each = forecast.disk_parts
    kinds = {"export": each.export, "stored results": each.results, "tables": each.database}
    listed = ", ".join(f"{name} {console.size(value)}" for name, value in kinds.items() if value)
    yield f"disk    {_between(forecast.disk)}: {listed}"
    if forecast.steps:
        last = forecast.steps[-1]
        yield f"kept    {last.rows.value:,.0f} rows, {_between(last.bytes)} of text, {_many(last.tokens.value)} tokens"


def _between(estimate: Any) -> str:
    """Bytes with their bounds."""
    return f"{console.size(estimate.value)} ({console.size(estimate.low)} to {console.size(estimate.high)})"


def _counted(count: int, name: str) -> str:
    """A number of things: 1 core, 640 cores."""
    return f"{count:,} {name}{'' if count == 1 else 's'}"


def _many(count: float) -> str:
    """A number of tokens: 512, 4.2 million."""
    for unit, name in ((1e12, "trillion"), (1e9, "billion"), (1e6, "million")):
        if count >= unit:
            return f"{count / unit:,.1f} {name}"
    return f"{count:,.0f}"


def _time(seconds: float) -> str:
    """A duration: 3.4 s, 12 min, 5.1 h."""
    if seconds < 120:
        return f"{seconds:.1f} s"
    return f"{seconds / 60:,.0f} min" if seconds < 7200 else f"{seconds / 3600:,.1f} h"
