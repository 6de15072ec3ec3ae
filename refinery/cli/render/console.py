"""Terminal output with rich: the waterfall, examples from the trace, progress. Nothing here computes."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, redirect_stdout, suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from refinery.cli.render.layout import NARROWEST, hanging_text
from refinery.common.fitted import Fitted, broken_label, broken_name, narrower
from refinery.common.numbers import number as number
from refinery.common.numbers import rate, size
from refinery.common.printable import printable
from refinery.common.step_label import step_label
from refinery.results.step_names import name_column

if TYPE_CHECKING:
    from rich.console import Console

_WATERFALL = """
SELECT step, operator, kind, rows_in, removed, changed, quarantined, rows_out, seconds, {name}
FROM steps ORDER BY rows_in DESC, step  -- as they ran: a filter that was moved is given what the one before has left
"""
# Traced changes and removals, the first `most` of each step.
EXAMPLES = """
SELECT t._row, t.operator, t.original_text, t.processed_text, l.reason
FROM trace t LEFT JOIN ledger l ON l._row = t._row AND l.step = t.step
QUALIFY row_number() OVER (PARTITION BY t.step ORDER BY t._row) <= {most}
ORDER BY t.step, t._row
"""
# Columns of the waterfall after the operator.
_NUMBERS = ("rows in", "removed", "changed", "quarantined", "rows out", "seconds")
# Without a terminal: the width of tables, and the seconds between lines of progress.
_WIDTH = 120
_EVERY = 10
# Columns of the progress bar, and of all that stands beside the text on a run's progress.
_BAR = 16
_BESIDE = _BAR + len("⠋ writing tables  0:00:00") + 3


def console(stderr: bool = False) -> Console:
    """Make a rich console, as wide as the terminal or 120 columns without one. stderr: for progress."""
    from rich.console import Console

    class Ours(Console):
        def on_broken_pipe(self) -> None:
            """Leave a closed pipe to the command line: it is no failure."""
            raise BrokenPipeError

    stream = sys.stderr if stderr else sys.stdout
    narrowest = 0 if stderr else NARROWEST
    width = max(shutil.get_terminal_size().columns, narrowest) if stream.isatty() else _WIDTH
    return Ours(file=stream, width=width, highlight=False, soft_wrap=not stream.isatty())


def print_lines(out: Console, part: Any) -> None:
    """Print a table, or lines: on a terminal they are broken at words, and continued below their second column."""
    from rich.text import Text

    text = Text(part) if isinstance(part, str) else part
    if isinstance(text, Text) and out.is_terminal:
        text = hanging_text(text, out)
    out.print(text, markup=False)


def waterfall_rows(con: Any) -> list[tuple[Any, ...]]:
    """The rows of the waterfall, from the database of a run."""
    rows: list[tuple[Any, ...]] = con.execute(_WATERFALL.format(name=name_column(con))).fetchall()
    return rows


def label_of(operator: str, name: str | None) -> str:
    """A step's operator and name on one line, with invisible characters as escapes."""
    return shown(step_label(operator, name))


def waterfall(rows: Sequence[tuple[Any, ...]]) -> Any:
    """The table of steps. It has no column `quarantined` if no step has put a row aside.

    Where large numbers leave no room, `rows out`, the next step's `rows in`, is left out, and then `seconds`.
    """
    empty = () if any(row[6] for row in rows) else ("quarantined",)
    without: tuple[tuple[str, ...], ...] = (empty, (*empty, "rows out"), (*empty, "rows out", "seconds"))
    return Fitted(*(partial(_waterfall, rows, names) for names in without))


def _waterfall(rows: Sequence[tuple[Any, ...]], without: tuple[str, ...], excess: int) -> Any:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    numbers = [name for name in _NUMBERS if name not in without]
    labels = [label_of(row[1], row[9]) for row in rows]
    width = narrower(labels, excess)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    table.add_column("step", justify="right", no_wrap=True)
    table.add_column("operator", min_width=16, no_wrap=True)
    for name in numbers:
        table.add_column(name, justify="right", no_wrap=True)
    for label, row in zip(labels, rows, strict=True):
        step, _, _, rows_in, removed, changed, quarantined, rows_out, seconds, given = row
        broken = broken_name(label, width) if given is None else broken_label(label, width)
        some = [f"{n:,}" if n else "" for n in (removed, changed, quarantined)]
        cells = dict(zip(_NUMBERS, (f"{rows_in:,}", *some, f"{rows_out:,}", f"{seconds:.2f}"), strict=True))
        table.add_row(str(step), Text(broken), *(cells[name] for name in numbers))
    return table


@contextmanager
def progress(quiet: bool) -> Iterator[Any]:
    """Yield a progress function of (bytes done, bytes in all): a bar on a terminal, else a line every ten seconds.

    Output of operators meanwhile goes to standard error, as in worker processes: standard output is for the command.
    """
    with _apart(), _shown(quiet) as report:
        yield report


@contextmanager
def _apart() -> Iterator[None]:
    """Redirect standard output to standard error, for Python and for libraries that write to the file descriptor."""
    with redirect_stdout(sys.stderr), ExitStack() as stack:
        with suppress(OSError):  # one of the two is closed
            kept = os.dup(1)
            stack.callback(os.close, kept)
            os.dup2(2, 1)
            stack.callback(os.dup2, kept, 1)
        yield


@contextmanager
def _shown(quiet: bool) -> Iterator[Any]:
    if quiet:
        yield None
        return
    if not sys.stderr.isatty():
        yield _lines()
        return
    with terminal_bar() as bar:
        yield bar


@contextmanager
def terminal_bar() -> Iterator[Bar]:
    """The progress bar on standard error."""
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
    from rich.table import Column

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(bar_width=_BAR),
        TextColumn("{task.fields[shown]}", table_column=Column(no_wrap=True)),
        TimeElapsedColumn(),
    )
    out = console(stderr=True)
    with Progress(*columns, console=out, transient=True) as bar:
        yield Bar(bar, out.width - _BESIDE)


class Bar:
    """The progress bar on a terminal, called with (bytes done, bytes in all).

    `uses` adds the use of the machine.

    width: columns for the text beside the bar. What does not fit is left out, the use of the machine first.
    """

    def __init__(self, bar: Any, width: int) -> None:
        self._bar, self._task, self._width = bar, bar.add_task("preparing", total=None, shown=""), width
        self._started, self._shown, self._used = time.monotonic(), list[str](), ""

    def __call__(self, done: int, total: int) -> None:
        what = "refining" if done < total else "writing tables"
        self._shown = _progress_parts(done, total, time.monotonic() - self._started)
        self._bar.update(self._task, completed=done, total=total, description=what)
        self._show()

    def uses(self, text: str) -> None:
        """Set the text on the use of the machine. Another thread calls this once a second."""
        self._used = text
        self._show()

    def print(self, text: str) -> None:
        """Print a line above the bar."""
        self._bar.console.print(text, markup=False, highlight=False)

    def _show(self) -> None:
        self._bar.update(self._task, shown=fitting([*self._shown, self._used], self._width))


def _lines() -> Any:
    started = last = time.monotonic()

    def report(done: int, total: int) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last < _EVERY or done >= total:
            return
        last = now
        print(
            f"refining: {100 * done / max(total, 1):.0f} %, {', '.join(_progress_parts(done, total, now - started))}",
            file=sys.stderr,
            flush=True,
        )

    return report


def _progress_parts(done: int, total: int, elapsed: float) -> list[str]:
    """Progress of a run in words: `14.9 MB of 127.0 MB`, `18.8 MB/s`, `6 s left`."""
    left = (total - done) / max(done, 1) * elapsed
    remaining = f"{left:.0f} s" if left < 100 else f"{left / 60:.0f} min" if left < 6000 else f"{left / 3600:.1f} h"
    parts = [f"{size(done)} of {size(total)}", rate(done, elapsed)]
    return [*parts, f"{remaining} left"] if done < total else parts


def progress_line(done: int, total: int, elapsed: float) -> str:
    """Progress of a run on one line."""
    what = "refining" if done < total else "writing tables"
    return ", ".join([what, *_progress_parts(done, total, elapsed)])


def fitting(parts: Sequence[str], width: int) -> str:
    """The parts joined by commas, without the last ones where there is no room for them."""
    filled = [part for part in parts if part]
    while len(filled) > 1 and len(", ".join(filled)) > width:
        filled.pop()
    return ", ".join(filled)


def examples(rows: Sequence[tuple[Any, ...]], limit: int = 200) -> Any:
    """A table of a few traced changes and removals; texts are cut around the differences."""
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, show_lines=True, pad_edge=False)
    table.add_column("row", justify="right")
    table.add_column("operator", no_wrap=True)
    table.add_column("what happened", overflow="fold")
    for row, operator, original, processed, reason in rows:
        if reason is None and processed is not None:
            before, after = around_difference(original, processed, limit // 2)
            text = f"[red]- {escape(before)}[/red]\n[green]+ {escape(after)}[/green]"
        else:
            text = f"removed: {escape(reason or '')}\n{escape(beginning(original or '', limit))}"
        table.add_row(str(row), operator, text)
    return table


def around_difference(before: str, after: str, width: int) -> tuple[str, str]:
    """The parts of two texts between the first and the last difference, with a little of the surrounding text.

    Each part is one line of about `width` characters; text left out in the middle is marked as well.
    """
    start = len(os.path.commonprefix((before, after)))
    end = len(os.path.commonprefix((before[start:][::-1], after[start:][::-1])))
    margin = 20
    first = max(0, start - margin)
    return _between(before, first, len(before) - end, margin, width), _between(
        after, first, len(after) - end, margin, width
    )


def _between(text: str, first: int, last: int, margin: int, width: int) -> str:
    last = min(len(text), last + margin)
    part = text[first:last]
    if len(part) > width:
        part = part[: width - margin] + "…" + part[-margin:]
    return ("…" if first else "") + shown(part) + ("…" if last < len(text) else "")


def beginning(text: str, width: int) -> str:
    """The start of a text on one line."""
    return shown(text[:width]) + ("…" if len(text) > width else "")


def shown(text: str) -> str:
    """A text on one line, with invisible characters as escapes."""
    return printable(text)
