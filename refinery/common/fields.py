"""Names of sample fields in recipes: `meta.body` is nested, `"te.xt"` is one name with a dot in it."""

from __future__ import annotations

import re

# The name that stands for all fields that are not named.
OTHERS = "*"
# Fields, and the name of each in the export; None leaves the field out.
NamedFields = tuple[tuple[str, str | None], ...]

_PART = re.compile(r'"((?:[^"]|"")*)"(?=\.|\Z)|([^.]*)')


def keys_of(field: str) -> tuple[str, ...]:
    """The keys of a field, outermost first. Quotes around a whole key make it one name; `""` inside is one quote."""
    keys, at = [], 0
    while at <= len(field):
        match = _PART.match(field, at)
        assert match is not None  # the second half matches anything
        keys.append(match[2] if match[1] is None else match[1].replace('""', '"'))
        at = match.end() + 1
    return tuple(keys)


def field_name(keys: tuple[str, ...]) -> str:
    """The name of a field in a recipe."""
    return ".".join(quoted(key) if "." in key or key.startswith('"') else key for key in keys)


def quoted(key: str) -> str:
    """A name in double quotes, as recipes and SQL write it."""
    return '"' + key.replace('"', '""') + '"'
