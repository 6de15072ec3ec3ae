"""A run as a notebook and a terminal show it: its rows by step, examples of what steps did, and where results are."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import jinja2

from refinery.cli.render import console
from refinery.inspect.report.differences import difference
from refinery.inspect.report.visible import beginning, visible
from refinery.python.answers import text_of

# Examples of each step; characters and lines of a text; quarantined samples.
_EACH, _TEXT, _LINES, _BROKEN = 2, 240, 6, 3
_QUARANTINE = "SELECT file, line, error, coalesce(raw, '') AS raw FROM quarantine ORDER BY _row LIMIT ?"


def text(run: Any) -> str:
    """The waterfall and the sum of rows."""
    return text_of([console.waterfall(console.waterfall_rows(run.connection())), repr(run)])


def html(run: Any) -> str:
    """The waterfall, examples and quarantined samples; no text of a document is markup."""
    con = run.connection()
    steps = [row[:9] + (console.label_of(row[1], row[9]),) for row in console.waterfall_rows(con)]
    examples = [_example(row) for row in con.execute(console.EXAMPLES.format(most=_EACH)).fetchall()]
    broken = con.execute(_QUARANTINE, [_BROKEN]).fetchall()
    shown = {"steps": steps, "examples": examples, "broken": broken, "run": run}
    return _environment().get_template("run.html").render(shown)


def _example(row: tuple[Any, ...]) -> dict[str, Any]:
    """A traced change as the parts of a difference, or a removal with the beginning of its text."""
    number, operator, before, after, reason = row
    changed = reason is None and after is not None
    return {
        "row": number,
        "operator": operator,
        "reason": reason,
        "text": None if changed else beginning(before or "", _TEXT, _LINES),
        "parts": difference(before or "", after) if changed else [],
    }


@cache
def _environment() -> jinja2.Environment:
    """Jinja environment that escapes all values."""
    env = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    env.filters["visible"] = visible
    return env
