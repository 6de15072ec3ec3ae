"""The parts of a view: its place in the navigation, its endpoints, and the values that a request brings."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from refinery.errors import Problem, RecipeError

if TYPE_CHECKING:
    from refinery.explore.run import ExploredRun

# The largest integer that JavaScript keeps exactly; larger ones are sent as texts.
_EXACT = 2**53 - 1


class Query:
    """Values of one request: parts of its path, its query string, and the JSON object that a POST brings.

    Each method raises RecipeError, which the page shows, for a value that is missing or of another type.
    """

    def __init__(self, values: Mapping[str, str], body: Mapping[str, Any] | None = None) -> None:
        self.values, self.body = values, body or {}

    def text(self, name: str, default: str | None = None) -> str:
        """The text of a value."""
        value = self.values.get(name, default)
        if value is None:
            raise RecipeError([Problem(name, "the address lacks this value")])
        return value

    def integer(self, name: str, default: int | None = None, least: int | None = None, most: int | None = None) -> int:
        """A whole number within limits."""
        text = self.text(name, None if default is None else str(default))
        try:
            value = int(text)
        except ValueError:
            raise RecipeError([Problem(name, f"{text!r} is no whole number")]) from None
        if (least is not None and value < least) or (most is not None and value > most):
            raise RecipeError([Problem(name, f"{value} is out of range")])
        return value

    def number(self, name: str, default: float | None = None) -> float:
        """A finite number."""
        text = self.text(name, None if default is None else str(default))
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise RecipeError([Problem(name, f"{text!r} is no number")])
        return value

    def choice(self, name: str, known: tuple[str, ...]) -> str:
        """One of some words; the first of them by default."""
        text = self.text(name, known[0])
        if text not in known:
            raise RecipeError([Problem(name, f"{text!r} is unknown", f"It is one of {', '.join(known)}.")])
        return text

    def object(self, name: str) -> dict[str, Any]:
        """A JSON object, from the body or as text in the query string; empty if there is none."""
        value = self.body.get(name)
        if value is None:
            try:
                value = json.loads(self.values.get(name) or "{}")
            except ValueError:
                raise RecipeError([Problem(name, "is no JSON")]) from None
        if not isinstance(value, dict):
            raise RecipeError([Problem(name, "is no JSON object")])
        return value


@dataclass(frozen=True)
class Endpoint:
    """JSON at `/api/<view>/<path>`.

    path: with places as Starlette writes them, `rows/{row}`. answer: is called in a thread of its own; what it returns
    is sent through `jsonable`. method: POST for what writes.
    """

    path: str
    answer: Callable[[ExploredRun, Query], Any]
    method: str = "GET"


@dataclass(frozen=True)
class View:
    """One entry of the navigation. order: its place there. Its script is `static/views/<name>.js`."""

    name: str
    title: str
    order: int
    endpoints: tuple[Endpoint, ...] = field(default_factory=tuple)


def jsonable(value: Any) -> Any:
    """A value of Python or DuckDB as JSON has it: large integers and infinities become texts, NaN the text `NaN`."""
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int):
        return value if abs(value) <= _EXACT else str(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else {math.inf: "Infinity", -math.inf: "-Infinity"}.get(value, "NaN")
    if isinstance(value, Mapping):
        return {str(key): jsonable(part) for key, part in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [jsonable(part) for part in value]
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    return str(value)
