"""Lines for the width of the terminal, broken at words and indented. Imports nothing heavy."""

from __future__ import annotations

import shutil
import sys
import textwrap
from typing import Any

# Least width of output; a narrower terminal breaks the lines.
NARROWEST = 80


def terminal_width(without: int) -> int:
    """Columns of the terminal that standard output goes to; `without` if it is none."""
    if not sys.stdout.isatty():
        return without
    return max(shutil.get_terminal_size().columns, NARROWEST)


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
