"""Texts and paths that are not UTF-8: file systems allow such names; tables, messages and SQL do not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from refinery.common.paths import printable
from refinery.recipe.model import Recipe

_HINT = "Rename the file or folder, or write the text as UTF-8."
# Input names are checked on discovery; the other fields are no values.
_OTHERS = {"inputs", "steps", "source", "path", "places", "ignored", "given", "export_aws_credentials"}


def not_utf8(recipe: Recipe) -> Iterator[tuple[str, str, str]]:
    """Yield place, problem and hint of each value of a checked recipe that is not UTF-8."""
    for field in fields(recipe):
        if field.name not in _OTHERS:
            place = recipe.places.get(field.name, recipe.path or "")
            yield from ((place, what, _HINT) for what in _odd(field.name, getattr(recipe, field.name)))
    for step in recipe.steps:
        for name, value in step.params.items():
            yield from ((step.where, what, _HINT) for what in _odd(f"{step.name}: {name}", value))


def why_not_named(path: str) -> str | None:
    """Return the reason why a recipe's path is not usable; None if it is."""
    return next(_odd("", path), None)


def _odd(name: str, value: Any) -> Iterator[str]:
    if isinstance(value, str):
        if (shown := printable(value)) != value:
            yield f"{name}{': ' if name else ''}{shown!r} is not UTF-8, so no table can hold it"
    elif isinstance(value, Mapping):
        for item in (*value.keys(), *value.values()):
            yield from _odd(name, item)
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from _odd(name, item)
    elif is_dataclass(value):
        for field in fields(value):
            yield from _odd(f"{name}.{field.name}", getattr(value, field.name))
