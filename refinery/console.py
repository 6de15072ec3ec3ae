"""What commands print: the waterfall, examples from the trace, progress. rich draws; nothing here computes."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

WATERFALL = """
SELECT step, operator, kind, rows_in, removed, changed, quarantined, rows_out, seconds
FROM steps ORDER BY step
"""


def console(stderr: bool = False) -> Console:
    """A rich console; as wide as the terminal, or 120 columns where there is none."""
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    return Console(file=stream, width=None if stream.isatty() else 120, highlight=False, soft_wrap=not stream.isatty())


def waterfall(rows: Sequence[tuple[Any, ...]]) -> Any:
    """The table of steps."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in ("step", "operator"):
        table.add_column(name, justify="right" if name == "step" else "left", no_wrap=True)
    for name in ("rows in", "removed", "changed", "quarantined", "rows out", "seconds"):
        table.add_column(name, justify="right", no_wrap=True)
    for step, operator, _, rows_in, removed, changed, quarantined, rows_out, seconds in rows:
        cells = [f"{n:,}" if n else "" for n in (removed, changed, quarantined)]
        table.add_row(str(step), operator, f"{rows_in:,}", *cells, f"{rows_out:,}", f"{seconds:.2f}")
    return table


def rate(size: float, seconds: float) -> str:
    """Megabytes a second."""
    return f"{size / 1e6 / max(seconds, 1e-9):.1f} MB/s"


@contextmanager
def progress(quiet: bool) -> Iterator[Any]:
    """A function to be called with (bytes done, bytes in all): a bar on a terminal, a line every ten seconds elsewhere."""
    if quiet:
        yield None
        return
    if not sys.stderr.isatty():
        yield _lines()
        return
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

    columns = (TextColumn("refining"), BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console(stderr=True), transient=True) as bar:
        task = bar.add_task("refining", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _lines() -> Any:
    started = last = time.monotonic()

    def report(done: int, total: int) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last < 10:
            return
        last = now
        left = (total - done) / max(done, 1) * (now - started)
        share = 100 * done / max(total, 1)
        print(f"refining: {share:.0f} %, {rate(done, now - started)}, {left:.0f} s left", file=sys.stderr, flush=True)

    return report


def examples(work_dir: Path, rows: Sequence[tuple[Any, ...]], limit: int = 200) -> Any:
    """A few traced changes and removals as a table; texts are cut around what differs."""
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, show_lines=True, pad_edge=False)
    table.add_column("row", justify="right")
    table.add_column("operator", no_wrap=True)
    table.add_column("what happened", overflow="fold")
    for row, operator, kind, original, processed, reason in rows:
        if kind == "mapper":
            before, after = around_difference(original, processed, limit // 2)
            text = f"[red]- {escape(before)}[/red]\n[green]+ {escape(after)}[/green]"
        else:
            text = f"removed: {escape(reason or '')}\n{escape(shown((original or '')[:limit]))}"
        table.add_row(str(row), operator, text)
    return table


def around_difference(before: str, after: str, width: int) -> tuple[str, str]:
    """The parts of two texts that differ, with some of what surrounds them, on one line each."""
    start = 0
    for start, (a, b) in enumerate(zip(before, after, strict=False)):  # noqa: B007
        if a != b:
            break
    else:
        start = min(len(before), len(after))
    start = max(0, start - 20)
    lead = "…" if start else ""
    return tuple(lead + shown(t[start : start + width]) + ("…" if len(t) > start + width else "") for t in (before, after))  # type: ignore[return-value]


def shown(text: str) -> str:
    """A text on one line, what cannot be seen spelled out."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def number(value: object) -> str:
    """A statistic as a person reads it: up to six significant digits."""
    if isinstance(value, float):
        return f"{value:.6g}"
    return str(value)
