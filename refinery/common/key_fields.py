"""The fields of dataclasses as plain data for keys: every field counts unless it is marked."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from collections.abc import Set as AnySet
from dataclasses import Field, fields, is_dataclass
from functools import cache
from typing import Any

_MARK = "left out of keys"

# Makes plain data of a value of another type. Raises TypeError for a type that it does not know.
Plain = Callable[[Any], Any]


def left_out(reason: str) -> dict[str, str]:
    """Metadata of a dataclass field that decides no result, and the reason."""
    return {_MARK: reason}


def reason_left_out(declared: Field[Any]) -> str:
    """The reason why a field is in no key; empty for a field that is."""
    return str(declared.metadata.get(_MARK, ""))


def canonical(value: Any, plain: Plain) -> Any:
    """A value as data for JSON, the same in every process: dataclasses by their fields, sets and mappings sorted.

    plain: for values that are neither dataclasses, collections, texts, numbers nor None.
    """
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if is_dataclass(value) and not isinstance(value, type):
        return {name: canonical(getattr(value, name), plain) for name in _counted(type(value))}
    if isinstance(value, Mapping):
        return _sorted([canonical(key, plain), canonical(item, plain)] for key, item in value.items())
    if isinstance(value, AnySet):
        return _sorted(canonical(item, plain) for item in value)
    if isinstance(value, (list, tuple)):
        return [canonical(item, plain) for item in value]
    return plain(value)


@cache
def _counted(kind: type) -> tuple[str, ...]:
    """Names of the fields of a dataclass that count."""
    return tuple(declared.name for declared in fields(kind) if not reason_left_out(declared))


def _sorted(items: Any) -> list[Any]:
    return sorted(items, key=lambda item: json.dumps(item, sort_keys=True))
