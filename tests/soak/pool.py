"""Steps to make recipes of: those of the operators' own examples, and some that read files beside the recipe.

Paths in parameters are relative; `placed` makes them those of a folder.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from refinery.operators import Library, Operator

FILES = ("file", "folder")
# Values that bounds are changed to; an int where the parameter takes no fraction.
NUMBERS = {"int": (0, 1, 3, 8, 20, 60, 200, 1000), "float": (0.0, 0.05, 0.2, 0.4, 0.7, 1.0)}


@dataclass(frozen=True)
class Item:
    """One step. numbers: parameters that may be changed, with their types. files: what they name, by relative path."""

    operator: str
    params: Mapping[str, Any]
    numbers: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    deduplicator: bool = False


OWN = (
    Item("sql_filter", {"where": "k IN (SELECT k FROM '{folder}/side/allowed.csv')"}),
    Item("sql_filter", {"where": "length(text) > 30 AND k % 7 <> 3"}),
    Item("sql_mapper", {"text": "text || (SELECT max(word) FROM read_csv('{folder}/side/*.words', header = true))"}),
    Item("marking_mapper", {}),
    Item(
        "flagged_words_filter", {"flagged_words_dir": "{folder}/side/lists", "max_ratio": 0.1}, {"max_ratio": "float"}
    ),
    Item("key_deduplicator", {"key": "k % 41", "keep": "length(text) DESC"}, deduplicator=True),
    Item(
        "document_deduplicator",
        {"keep": "(SELECT count(*) FROM '{folder}/side/allowed.csv' a WHERE a.k = k) DESC"},
        deduplicator=True,
    ),
)


def _usable(operator: Operator, example: Mapping[str, Any]) -> bool:
    """Return whether an example is a step for any sample: it fails for none, and loads no model."""
    params = example.get("params") or {}
    loads = any(operator.params[name].type == "file" and params[name] for name in params)
    slow = "spacy" in (params.get("words"), params.get("words_from"), params.get("sentences")) or "index" in params
    return not (loads or slow or example.get("error") or example.get("quarantined"))


@cache
def pool() -> tuple[Item, ...]:
    """All steps, in a fixed order."""
    found = list(OWN)
    for operator in Library().operators.values():
        if operator.name == "stats_merger" or operator.kind not in ("mapper", "filter", "stats", "deduplicator"):
            continue
        for number, example in enumerate(operator.examples):
            if _usable(operator, example):
                found.append(_item(operator, example, f"side/{operator.name}-{number}"))
    return tuple(found)


def _item(operator: Operator, example: Mapping[str, Any], below: str) -> Item:
    params = dict(example.get("params") or {})
    for name in params:
        if operator.params[name].type in FILES and params[name]:
            params[name] = f"{{folder}}/{below}/{params[name]}"
    files = {
        f"{below}/{name}": content if isinstance(content, str) else json.dumps(content)
        for name, content in (example.get("files") or {}).items()
    }
    bounds = {name for ends in operator.bounds.values() for name in ends}
    numbers = {name: operator.params[name].type for name in sorted(bounds & {*operator.params})}
    numbers = {name: kind for name, kind in numbers.items() if kind in NUMBERS}
    return Item(operator.name, params, numbers, files, operator.kind == "deduplicator")


def placed(value: Any, folder: Path) -> Any:
    """A parameter with its paths in a folder."""
    return value.replace("{folder}", str(folder)) if isinstance(value, str) else value
