"""The one exact DuckDB type of all values of a field.

No value is rounded, and no value is NULL but a missing one or null: where no other type holds all values exactly, the
type is JSON.

A structure describes a type as DuckDB's `from_json` takes it: a name, a list of one structure, or a mapping of members.
"""

from __future__ import annotations

from typing import TypeAlias

from refinery.common.field_profile import FieldProfile
from refinery.common.fields import quoted

Structure: TypeAlias = "str | list[Structure] | dict[str, Structure]"

# The type of a value that is always NULL. All functions take it; SQL needs its name in quotes.
NOTHING = "NULL"
# Decimal digits that every DOUBLE keeps, and DuckDB reads decimal numbers of JSON as DOUBLE first.
_DOUBLE_DIGITS = 15
_DECIMAL_DIGITS = 38
# STRUCTs and lists within each other; deeper values are JSON.
_DEEPEST = 40


def type_of(profile: FieldProfile) -> str:
    """The type of a field as SQL."""
    return sql_of(structure_of(profile))


def sql_of(structure: Structure) -> str:
    """A type as SQL."""
    if isinstance(structure, list):
        return f"{sql_of(structure[0])}[]"
    if isinstance(structure, dict):
        return f"STRUCT({', '.join(f'{quoted(name)} {sql_of(inner)}' for name, inner in structure.items())})"
    return '"NULL"' if structure == NOTHING else structure


def structure_of(profile: FieldProfile, depth: int = 0, unsigned: bool = False) -> Structure:
    """The type of a field; `NOTHING` if all values are null. unsigned: UBIGINT for HUGEINT where it is enough."""
    lists, objects = profile.items is not None, profile.members is not None
    kinds = profile.boolean + profile.text + profile.number + lists + objects
    if kinds == 0:
        return NOTHING
    if kinds > 1 or ((lists or objects) and depth == _DEEPEST):
        return "JSON"
    if profile.items is not None:
        return [structure_of(profile.items, depth + 1, unsigned)]
    if profile.members is not None:
        return _struct(profile, depth, unsigned)
    if profile.number:
        return number_type(profile, unsigned)
    return "VARCHAR" if profile.text else "BOOLEAN"


def number_type(profile: FieldProfile, unsigned: bool = False) -> str:
    """The type of numbers: BIGINT, HUGEINT (or UBIGINT, if `unsigned`), DOUBLE, DECIMAL, or JSON."""
    low, high = profile.low or 0, profile.high or 0
    whole = max(profile.whole, _digits(low), _digits(high))
    if not profile.decimal and not profile.special:
        if -(2**63) <= low and high < 2**63:
            return "BIGINT"
        if unsigned and 0 <= low and high < 2**64:
            return "UBIGINT"
        return "HUGEINT" if whole <= _DECIMAL_DIGITS else "JSON"
    if not profile.inexact:
        return "DOUBLE"
    width = whole + profile.scale
    if profile.special or profile.digits > _DOUBLE_DIGITS or width > _DECIMAL_DIGITS:
        return "JSON"
    return f"DECIMAL({width}, {profile.scale})" if profile.scale else "HUGEINT"


def _digits(value: int) -> int:
    """Number of decimal digits of an integer; Python refuses to print very long ones."""
    return len(str(abs(value))) if abs(value) < 10**_DECIMAL_DIGITS else _DECIMAL_DIGITS + 1


def _struct(profile: FieldProfile, depth: int, unsigned: bool) -> Structure:
    """A STRUCT; JSON where no STRUCT can have the names, or objects have none."""
    members = profile.members or {}
    alike = len({name.lower() for name in members}) < len(members)
    if profile.wide or not members or alike or any(not name or "\0" in name for name in members):
        return "JSON"
    return {name: structure_of(member, depth + 1, unsigned) for name, member in members.items()}
