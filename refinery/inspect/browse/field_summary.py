"""Summary of the values of one field: kinds, lengths, categories and examples."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass, field
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

from refinery.common.field_profile import FieldProfile
from refinery.common.field_types import sql_of, structure_of

# Most different values that are counted as categories, characters of one, and values and examples that are shown.
CATEGORIES, _WIDTH, _SHOWN, _EXAMPLES = 1000, 100, 20, 3
_ADDRESS = re.compile(r"^https?://(?:[^/?#@]*@)?(\[[^\]]*\]|[^/?#:]+)", re.IGNORECASE)


@dataclass
class Counted:
    """Rows with a value, and those of them that the run did not keep."""

    rows: int = 0
    lost: int = 0


class Categories:
    """Rows by value. many: there are more than CATEGORIES values, so they are not counted."""

    def __init__(self) -> None:
        self.values: dict[str, Counted] = {}
        self.many = False

    def add(self, value: str, lost: bool) -> None:
        """Count a row."""
        if self.many:
            return
        counted = self.values.get(value)
        if counted is None:
            if len(self.values) == CATEGORIES:
                self.many, self.values = True, {}
                return
            counted = self.values[value] = Counted()
        counted.rows += 1
        counted.lost += lost

    def most(self, number: int = _SHOWN) -> list[tuple[str, Counted]]:
        """The most frequent values."""
        return sorted(self.values.items(), key=lambda item: (-item[1].rows, item[0]))[:number]


@dataclass
class FieldSummary:
    """Summary of the values of a field. lengths: characters of texts, or items of lists, by their number to two digits.

    declared: the type of the column in a table; "" for fields of JSON lines.
    """

    name: str
    rows: int = 0
    nulls: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    profile: FieldProfile = field(default_factory=FieldProfile)
    lengths: Counter[int] = field(default_factory=Counter)
    shortest: tuple[int, int] | None = None
    longest: tuple[int, int] | None = None
    least: Any = None
    greatest: Any = None
    categories: Categories = field(default_factory=Categories)
    hosts: Categories = field(default_factory=Categories)
    examples: list[tuple[int, str]] = field(default_factory=list)
    declared: str = ""

    def add(self, row: int, value: Any, lost: bool) -> None:
        """See the value of a row."""
        self.rows += 1
        if value is None:
            self.nulls += 1
            return
        json_type = _kind(value)
        if json_type == "text":
            self.profile.text = True
        else:
            self.profile.add(value)
        self.kinds[json_type] += 1
        shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
        if isinstance(value, (str, list)):
            self._measure(row, len(value))
        elif json_type in _ORDERED and value == value:  # NaN has no order
            self.least = value if self.least is None else min(self.least, value)
            self.greatest = value if self.greatest is None else max(self.greatest, value)
        if len(shown) <= _WIDTH:
            self.categories.add(shown, lost)
        else:
            self.categories.many, self.categories.values = True, {}
        if json_type == "text" and value[:4].lower() == "http" and (host := _ADDRESS.match(value)):
            self.hosts.add(host[1].lower(), lost)
        if len(self.examples) < _EXAMPLES and shown[:_WIDTH] not in dict(self.examples).values():
            self.examples.append((row, shown[:_WIDTH]))

    def _measure(self, row: int, length: int) -> None:
        unit = 10 ** max(0, len(str(length)) - 2)
        self.lengths[length // unit * unit] += 1
        if self.shortest is None or length < self.shortest[0]:
            self.shortest = length, row
        if self.longest is None or length > self.longest[0]:
            self.longest = length, row

    @property
    def type(self) -> str:
        """The DuckDB type of the column, or the one type of all values seen."""
        return self.declared or sql_of(structure_of(self.profile, unsigned=True))

    @property
    def comparable(self) -> bool:
        """True if a condition on the field can name its values: texts, booleans and integers are written in one way only."""
        return self.kinds.keys() <= {"text", "boolean", "number"} and not self.profile.decimal

    @property
    def present(self) -> int:
        """Rows in which the field has a value."""
        return self.rows - self.nulls

    def median_length(self) -> int | None:
        """The median of the lengths, to two digits."""
        left = sum(self.lengths.values()) / 2
        for length, rows in sorted(self.lengths.items()):
            left -= rows
            if left <= 0:
                return length
        return None


# Kinds of values that have a range; those of one column can be compared with each other.
_ORDERED = ("number", "timestamp", "date", "time")
_KINDS: dict[type, str] = {
    str: "text",
    list: "list",
    tuple: "list",
    dict: "object",
    bytes: "bytes",
    Decimal: "number",
    datetime: "timestamp",
    date: "date",
    time: "time",
}


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, (int, float)):
        return "number"
    return _KINDS.get(type(value), type(value).__name__)
