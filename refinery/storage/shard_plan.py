"""A run's own note in its store: how it has cut its input, and whether it has ended well."""

from __future__ import annotations

import json
from typing import Any

from refinery.storage.store import Store

NAME = "run.json"
# An earlier size is kept if it is at most so many times too large or too small for the present input.
_AS_GOOD = 4


def noted(store: Store) -> dict[str, Any]:
    """The note of the last run: asked, size (bytes), ended. Empty without a note."""
    try:
        plain = json.loads(store.read_text(NAME))
        return {"asked": int(plain["asked"]), "size": int(plain["size"]), "ended": bool(plain["ended"])}
    except (OSError, ValueError, TypeError, KeyError):
        return {}


def remembered(store: Store, asked: int, wanted: int) -> int:
    """The shard size of an earlier run where it still fits, else `wanted`; other cuts make other results.

    asked: the recipe's shard size.
    """
    note = noted(store)
    if not note or note["asked"] != asked:
        return wanted
    size: int = note["size"]
    return size if wanted <= size * _AS_GOOD and size <= wanted * _AS_GOOD else wanted


def remember(store: Store, asked: int, size: int, ended: bool) -> None:
    """Write the note."""
    store.write_text(NAME, json.dumps({"asked": asked, "size": size, "ended": ended}))
