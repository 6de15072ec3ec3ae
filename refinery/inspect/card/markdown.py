"""Cards as Markdown, from templates: every figure with its query, and what was not measured."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

import jinja2

from refinery.common.printable import printable
from refinery.inspect.card.card import Card
from refinery.inspect.card.figures import Entry, Figure

_TEMPLATES = Path(__file__).parent / "templates"
# Characters that Markdown or HTML within it would read as marks.
_MARKS = re.compile(r"([\\`*\[\]|~$]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9]))")


def markdown(name: str, card: Card, **values: Any) -> str:
    """A page of the card. name: of its template."""
    return (
        _environment().get_template(f"{name}.md").render(card=card, sections=card.sections, **values).rstrip("\n")
        + "\n"
    )


@cache
def _environment() -> jinja2.Environment:
    env = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES),
        autoescape=False,  # the output is Markdown: `escaped` escapes values
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    env.filters |= {"escaped": escaped, "cell": cell, "sql": fenced}
    env.tests |= {"figure": _is_figure}
    return env


def _is_figure(entry: Entry) -> bool:
    return isinstance(entry, Figure)


def cell(value: object) -> str:
    """A value in a table of Markdown: numbers as they are, texts with marks escaped, NULL as `NULL`."""
    if value is None:
        return "NULL"
    return str(value) if isinstance(value, (int, float)) else escaped(str(value))


def escaped(text: str) -> str:
    """A text of strangers on one line of Markdown."""
    line = printable(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _MARKS.sub(r"\\\1", line)


def fenced(sql: str) -> str:
    """A query as a block of code, whose fence is longer than any run of backticks within."""
    ticks = max((len(run) for run in re.findall("`+", sql)), default=0)
    fence = "`" * max(3, ticks + 1)
    return f"{fence}sql\n{sql}\n{fence}"
