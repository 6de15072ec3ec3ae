"""Tables that fit the terminal: names break after underscores, columns are left out, numbers stay whole."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

_WIDER_THAN_ANY = 10_000


class Fitted:
    """A table for rich that is made again, narrower, where the terminal has too few columns.

    choices: functions that return the table, given the number of columns by which it must be narrower than at first,
    which is 0 the first time. The first table that fits is printed, else the last one.
    """

    def __init__(self, *choices: Callable[[int], Any]) -> None:
        self._choices = choices

    def whole(self) -> Any:
        """The table at its full width."""
        return self._choices[0](0)

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


def broken_label(label: str, width: int) -> str:
    """A label that holds any text, in lines of at most `width` columns; a longer word is cut."""
    lines = broken_name(label, width).split("\n")
    return "\n".join(part for line in lines for part in _pieces(line, width))


def _pieces(line: str, width: int) -> list[str]:
    from rich.cells import cell_len

    pieces, used = [""], 0
    for character in line:
        columns = cell_len(character)
        if pieces[-1] and used + columns > width:
            pieces.append("")
            used = 0
        pieces[-1] += character
        used += columns
    return pieces


def narrower(names: Sequence[str], excess: int, least: int = 16) -> int:
    """Width of a column of names that is to be `excess` columns narrower than the widest of them."""
    from rich.cells import cell_len

    return max(max(map(cell_len, names), default=0) - excess, least)
