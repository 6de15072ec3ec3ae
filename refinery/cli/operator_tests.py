"""The command `refinery test`."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Any

import click

from refinery.common.paths import shorter
from refinery.inspect.examples.expectations import Difference
from refinery.inspect.examples.folder import LIMIT, FileExamples, WrongExample, run_examples, total

# Exit code for examples that do not hold.
WRONG = 1
_LONGEST = 300


def test(folders: Sequence[str], safe: bool, as_json: bool, limit: float | None = None) -> None:
    """Run the examples of folders, print what does not hold, and exit with 1 if there is any."""
    reports = [report for folder in folders for report in run_examples(folder, safe, limit or LIMIT)]
    numbers = total(reports)
    click.echo(
        json.dumps(_plain(reports, numbers), ensure_ascii=False) if as_json else "\n".join(_lines(reports, numbers))
    )
    if numbers["wrong"]:
        sys.exit(WRONG)


def _lines(reports: Sequence[FileExamples], numbers: dict[str, Any]) -> list[str]:
    lines: list[str] = []
    for report in reports:
        path = shorter(str(report.path))
        for wrong in report.wrong:
            lines += _described(path, wrong)
        if not report.count and not report.wrong:
            lines.append(f"{path}: has no example")
        elif not report.wrong:
            lines.append(f"{path}: {_count(report.count, 'example')} right")
    end = f"{numbers['wrong']:,} wrong" if numbers["wrong"] else "all right"
    return [*lines, f"{_count(numbers['examples'], 'example')} of {_count(numbers['operators'], 'operator')}: {end}"]


def _described(path: str, wrong: WrongExample) -> list[str]:
    """Lines on a wrong example: its place, and each difference."""
    where = f"{path}:{wrong.line}"
    if wrong.problem:
        return [f"{where}: {wrong.problem}"]
    head = f"{where}: wrong" if not wrong.form else f"{where}: not the same in {wrong.form} as alone"
    return [head, *(line for one in wrong.differences for line in _difference(one, bool(wrong.form)))]


def _difference(one: Difference, by_form: bool) -> list[str]:
    expected, actual = ("alone", "there") if by_form else ("expected", "actual")
    return [f"  {one.what}", f"    {expected:<8}  {_value(one.expected)}", f"    {actual:<8}  {_value(one.actual)}"]


def _value(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _plain(reports: Sequence[FileExamples], numbers: dict[str, Any]) -> dict[str, Any]:
    files = [
        {
            "file": shorter(str(report.path)),
            "examples": report.count,
            "wrong": [
                {
                    "line": wrong.line,
                    "problem": wrong.problem or None,
                    "form": wrong.form or "alone",
                    "differences": [
                        {"what": one.what, "expected": one.expected, "actual": one.actual} for one in wrong.differences
                    ],
                }
                for wrong in report.wrong
            ],
        }
        for report in reports
    ]
    return {**numbers, "files": files}
