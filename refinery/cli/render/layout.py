"""Layout for the width of the terminal: tables that fit, lines that wrap at words with an indent. Imports nothing heavy."""

from __future__ import annotations

import re
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from typing import Any

# Least width of output; a narrower terminal breaks the lines.
NARROWEST = 80
_WIDER_THAN_ANY = 10_000


def terminal_width(without: int) -> int:
    """Columns of the terminal that standard output goes to; `without` if it is none."""
    if not sys.stdout.isatty():
        return without
    return max(shutil.get_terminal_size().columns, NARROWEST)


class Fitted:
    """A table for rich that is made again, narrower, where the terminal has too few columns.

    choices: functions that return the table, given the number of columns by which it must be narrower than at first,
    which is 0 the first time. The first table that fits is printed, else the last one.
    """

    def __init__(self, *choices: Callable[[int], Any]) -> None:
        self._choices = choices

    def __rich_console__(self, console: Any, options: Any) -> Iterator[Any]:
        """Yield the table that fits. rich calls this."""
        for make in self._choices:
            table = make(0)
            if excess := _excess(table, console, options):
                table = make(excess)
            if not _excess(table, console, options):
                break
        yield table


def _excess(table: Any, console: Any, options: Any) -> int:
    """Number of columns by which a table is too wide."""
    from rich.measure import Measurement

    wanted = Measurement.get(console, options.update(width=_WIDER_THAN_ANY), table).maximum
    return max(0, wanted - int(options.max_width))


def broken_name(name: str, width: int) -> str:
    """A name in lines of at most `width` characters, broken after underscores and spaces; longer words stay whole."""
    lines = [""]
    for word in re.findall(r"[^_ ]*[_ ]|[^_ ]+", name):
        if lines[-1] and len(lines[-1]) + len(word) > width:
            lines.append("")
        lines[-1] += word
    return "\n".join(line.rstrip(" ") for line in lines)


def narrower(names: Sequence[str], excess: int, least: int = 16) -> int:
    """Width of a column of names that is to be `excess` characters narrower than the longest of them."""
    return max(max(map(len, names), default=0) - excess, least)


def hanging(text: str, width: int, indent: int) -> list[str]:
    """Lines of at most `width` characters, broken at words; all but the first are indented. Longer words stay whole."""
    wrapped = textwrap.wrap(
        text,
        width,
        subsequent_indent=" " * indent,
        break_long_words=False,
        break_on_hyphens=False,
        replace_whitespace=False,
        drop_whitespace=True,
    )
    return wrapped or [text]


def hanging_text(text: Any, out: Any) -> Any:
    """Return rich's text for a console, with every line that is too long broken at words, and continued below its second column.

    The second column begins after the first run of two spaces within the line; a line without one hangs by four.
    """
    from rich.text import Text

    lines: list[Any] = []
    for line in text.split("\n"):
        lines += _hung(line, out, _second_column(line.plain, out.width)) if line.cell_len > out.width else [line]
    return Text("\n").join(lines)


def _hung(line: Any, out: Any, indent: int) -> list[Any]:
    """A line broken at words. Its first part is as wide as the others with their indent."""
    from rich.text import Text

    start, rest = line[:indent], line[indent:]
    parts = rest.wrap(out, out.width - indent)
    return [Text.assemble(start if at == 0 else " " * indent, part) for at, part in enumerate(parts)]


def _second_column(line: str, width: int) -> int:
    start = len(line) - len(line.lstrip(" "))
    gap = line.find("  ", start)
    if gap < 0:
        return start + 2 if line[start : start + 2] in ("- ", "+ ") else start
    column = gap + len(line[gap:]) - len(line[gap:].lstrip(" "))
    return column if column <= width // 2 else start + 4
