"""Profile of a field: all that was seen of its JSON values and that decides one exact type for them.

Profiles of parts of an input add up to that of the whole, whatever the parts are: kinds are united, bounds widened, and
members keep the order in which the input first has them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from decimal import Decimal, InvalidOperation
from typing import Any

# An object with more different members is no STRUCT: its keys are data.
MOST_MEMBERS = 1000


@dataclass
class FieldProfile:
    """Kinds and bounds of the values of a field.

    low, high: least and greatest of the integers. inexact: an integer among them is no DOUBLE. decimal: a number has a
    fraction or an exponent. whole, scale, digits: most digits of such a number before the point, behind it, and in all. special:
    NaN, or an infinite number. items: of the elements of arrays. members: of the members of objects. wide: objects
    have more than MOST_MEMBERS different members, which are not all listed.
    """

    null: bool = False
    boolean: bool = False
    text: bool = False
    low: int | None = None
    high: int | None = None
    inexact: bool = False
    decimal: bool = False
    whole: int = 0
    scale: int = 0
    digits: int = 0
    special: bool = False
    items: FieldProfile | None = None
    members: dict[str, FieldProfile] | None = None
    wide: bool = False

    @property
    def number(self) -> bool:
        """True if a value is a number."""
        return self.low is not None or self.decimal or self.special

    def add(self, value: Any) -> None:
        """See one value, as Python reads it from JSON; decimal numbers are floats or of the class Decimal."""
        if value is None:
            self.null = True
        elif isinstance(value, bool):
            self.boolean = True
        elif isinstance(value, int):
            self.add_integer(value)
        elif isinstance(value, (float, Decimal)):
            self.add_decimal(str(value))
        elif isinstance(value, Mapping):
            self.add_members(value)
        elif isinstance(value, (list, tuple)):
            self.items = self.items or FieldProfile()
            for item in value:
                self.items.add(item)
        else:
            self.text = True

    def add_integer(self, value: int) -> None:
        """See an integer, however large."""
        self.low = value if self.low is None else min(self.low, value)
        self.high = value if self.high is None else max(self.high, value)
        self.inexact = self.inexact or not _is_double(value)

    def add_decimal(self, text: str) -> None:
        """See a number with a fraction or an exponent, as it is written."""
        try:
            value = Decimal(text)
        except InvalidOperation:
            value = Decimal("nan")
        if not value.is_finite():
            self.special = True
            return
        self.decimal = True
        if value:
            digits, exponent = value.normalize().as_tuple()[1:]
            assert isinstance(exponent, int)
            self.digits = max(self.digits, len(digits))
            self.whole, self.scale = max(self.whole, len(digits) + exponent), max(self.scale, -exponent)

    def add_members(self, value: Mapping[str, Any]) -> None:
        """See an object."""
        self.members = {} if self.members is None else self.members
        for name, item in value.items():
            self.member(name).add(item)

    def member(self, name: str) -> FieldProfile:
        """Profile of a member, made if the objects had none of the name; of a wide object, one that is not kept."""
        self.members = {} if self.members is None else self.members
        profile = self.members.get(name)
        if profile is None:
            profile = FieldProfile()
            self.wide = self.wide or len(self.members) == MOST_MEMBERS
            if not self.wide:
                self.members[name] = profile
        return profile

    def merge(self, other: FieldProfile) -> None:
        """See all that a profile of later values has seen."""
        for name in ("null", "boolean", "text", "inexact", "decimal", "special", "wide"):
            setattr(self, name, getattr(self, name) or getattr(other, name))
        for name in ("whole", "scale", "digits"):
            setattr(self, name, max(getattr(self, name), getattr(other, name)))
        for value in (other.low, other.high):
            if value is not None:
                self.low = value if self.low is None else min(self.low, value)
                self.high = value if self.high is None else max(self.high, value)
        if other.items is not None:
            self.items = self.items or FieldProfile()
            self.items.merge(other.items)
        if other.members is not None:
            self.members = {} if self.members is None else self.members
            for name, member in other.members.items():
                self.member(name).merge(member)

    def plain(self) -> dict[str, Any]:
        """The profile as data for JSON."""
        return asdict(self)

    @staticmethod
    def of_plain(data: Mapping[str, Any]) -> FieldProfile:
        """The profile of `plain`."""
        items, members = data["items"], data["members"]
        nested = {
            "items": None if items is None else FieldProfile.of_plain(items),
            "members": None
            if members is None
            else {name: FieldProfile.of_plain(member) for name, member in members.items()},
        }
        return FieldProfile(**{**data, **nested})

    @staticmethod
    def of(values: Iterable[Any]) -> FieldProfile:
        """Profile of some values."""
        profile = FieldProfile()
        for value in values:
            profile.add(value)
        return profile


@dataclass
class InputProfile:
    """Profiles of the fields of an input that are looked at, and the names of all its fields in their order."""

    fields: dict[str, FieldProfile] = field(default_factory=dict)
    names: dict[str, None] = field(default_factory=dict)

    def merge(self, other: InputProfile) -> None:
        """Add what later samples have."""
        self.names.update(other.names)
        for name, profile in other.fields.items():
            self.fields.setdefault(name, FieldProfile()).merge(profile)

    def plain(self) -> dict[str, Any]:
        """The profile as data for JSON."""
        return {"fields": {name: profile.plain() for name, profile in self.fields.items()}, "names": [*self.names]}

    @staticmethod
    def of_plain(data: Mapping[str, Any]) -> InputProfile:
        """The profile of `plain`."""
        fields = {name: FieldProfile.of_plain(profile) for name, profile in data["fields"].items()}
        return InputProfile(fields, dict.fromkeys(data["names"]))


def _is_double(value: int) -> bool:
    try:
        return math.isfinite(float(value)) and int(float(value)) == value
    except OverflowError:
        return False
