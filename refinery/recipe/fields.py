"""How a recipe names a field of a sample: `meta.body` is nested, `"te.xt"` one name with a dot in it."""

from __future__ import annotations

import re

_PART = re.compile(r'"((?:[^"]|"")*)"(?=\.|\Z)|([^.]*)')


def keys_of(field: str) -> tuple[str, ...]:
    """The keys of a field, outermost first. Quotes around a whole key make it one name; `""` in them is one quote."""
    keys, at = [], 0
    while at <= len(field):
        found = _PART.match(field, at)
        assert found is not None  # the second half matches anything
        keys.append(found[2] if found[1] is None else found[1].replace('""', '"'))
        at = found.end() + 1
    return tuple(keys)


def field_name(keys: tuple[str, ...]) -> str:
    """A field as a recipe names it."""
    return ".".join(_quoted(key) if "." in key or key.startswith('"') else key for key in keys)


def _quoted(key: str) -> str:
    return '"' + key.replace('"', '""') + '"'
