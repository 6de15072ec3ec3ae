"""Cut a text out between positions or marks."""

from __future__ import annotations

from functools import partial
from typing import Any

import pyarrow as pa

from refinery.kernels.core.arrow import each

OPERATOR = {
    "doc": (
        "Keep the text from `left` to `right`. A number is a position as in a slice of Python, negative from the end. A text "
        "is a mark: the first occurrence for `left`, the last one for `right`; a text without the mark becomes empty."
    ),
    "version": 1,
    "peer": "Slicer of NeMo Curator",
    "params": {
        "left": {"type": "any", "default": 0, "nullable": True, "doc": "Position or mark of the start."},
        "right": {
            "type": "any",
            "default": None,
            "nullable": True,
            "doc": "Position or mark of the end; null: the end.",
        },
        "include_left": {"type": "bool", "default": True, "doc": "Keep the mark of the start."},
        "include_right": {"type": "bool", "default": True, "doc": "Keep the mark of the end."},
        "strip": {"type": "bool", "default": True, "doc": "Remove white space at both ends of the result."},
    },
    "checks": "check",
    "functions": {
        "slicer_delta": {
            "columns": ["VARCHAR"],
            "constants": ["BIGINT", "VARCHAR", "BIGINT", "VARCHAR", "BOOLEAN", "BOOLEAN", "BOOLEAN"],
            "returns": "VARCHAR",
            "runs": "python",
            "call": "sliced",
        }
    },
    "sql": """
        SELECT slicer_delta({{ text }},
            {% if left is string %}0, {{ left | lit }}{% else %}{{ left or 0 }}, NULL{% endif %},
            {% if right is string %}0, {{ right | lit }}{% else %}{{ 9223372036854775807 if right is none else right }}, NULL{% endif %},
            {{ include_left | lit }}, {{ include_right | lit }}, {{ strip | lit }}) AS delta
    """,
    "examples": [
        {"text": "0123456789", "params": {"left": 2, "right": -2}, "out": "234567"},
        {"text": "0123456789", "params": {"left": -3}, "out": "789"},
        {"text": "a [b] c [d] e", "params": {"left": "[", "right": "]"}, "out": "[b] c [d]"},
        {
            "text": "a [b] c [d] e",
            "params": {"left": "[", "right": "]", "include_left": False, "include_right": False},
            "out": "b] c [d",
        },
        {"text": " été ", "params": {"strip": False, "right": 3}, "out": " ét"},
        {"text": "]a[", "params": {"left": "[", "right": "]"}, "out": ""},
        {"text": "no mark", "params": {"left": "["}, "out": ""},
        {"text": "", "out": ""},
    ],
}


def check(params: dict[str, Any]) -> list[str]:
    """Ends that are neither a whole number nor a text, as sentences."""
    return [
        f"{name} is {params[name]!r}; it must be a whole number, a text, or null"
        for name in ("left", "right")
        if isinstance(params[name], bool) or not isinstance(params[name], (int, str, type(None)))
    ]


def sliced(
    column: pa.Array, left: int, left_mark: str | None, right: int, right_mark: str | None, *include: bool
) -> pa.Array:
    """Each text between its ends; NULL where that is the text itself."""
    marks = (left if left_mark is None else left_mark, right if right_mark is None else right_mark)
    return each(column, partial(_sliced, *marks, *include))


def _sliced(left: int | str, right: int | str, with_left: bool, with_right: bool, strip: bool, text: str) -> str:
    start = _place(left, text.find, not with_left)
    end = _place(right, text.rfind, with_right)
    if start is None or end is None:
        return ""
    return text[start:end].strip() if strip else text[start:end]


def _place(end: int | str, find: Any, behind: bool) -> int | None:
    """The position that an end of the slice stands for; None for a mark that is not in the text."""
    if isinstance(end, int):
        return end
    place: int = find(end)
    return None if place < 0 else place + len(end) * behind
