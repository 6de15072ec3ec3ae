"""The text of a recipe from a translated configuration: every step with its origin, and what is missing as comments."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Iterator
from typing import Any

import yaml

from refinery.recipe.peers.model import Item, Translation

_WIDTH = 110


def recipe_text(translation: Translation, path: str, keys: dict[str, Any]) -> str:
    """Write the recipe. keys: `dataset_path` and others of the command line, in place of the configuration's."""
    name = os.path.basename(path)
    lines = [f"# {name} of {translation.peer}, as a recipe of refinery."]
    missing = translation.missing
    if missing:
        lines.append(f"# {len(missing)} of {len(translation.items)} steps have no translation: look for MISSING.")
    for note in translation.notes:
        lines += _comment(note, "")
    lines.append("")
    own = {**translation.keys, **{key: value for key, value in keys.items() if value}}
    for key, example in (("dataset_path", "in.jsonl"), ("export_path", "out/kept.jsonl")):
        if key not in own:
            lines.append(f"# {key}: {example}")
    if own:
        lines += _yaml(own).splitlines()
    lines += ["", "process:"]
    for item in translation.items:
        lines += _item(item, name)
    if not any(item.steps for item in translation.items):
        lines[-1:] = [*lines[-1:], "  []"] if lines[-1] != "process:" else ["process: []"]
    return "\n".join(lines) + "\n"


def _item(item: Item, name: str) -> Iterator[str]:
    yield f"  # {name}:{item.line} {item.name}"
    for note in item.notes:
        yield from _comment(note, "  ")
    if item.missing:
        yield from _comment(f"MISSING: {item.missing}", "  ")
    for step in item.steps:
        yield from textwrap.indent(_yaml([step]), "  ").splitlines()


def _comment(text: str, indent: str) -> list[str]:
    return [f"{indent}# {line}" for line in textwrap.wrap(text, _WIDTH)]


class _Dumper(yaml.SafeDumper):
    """YAML with lists of lists on one line, and texts as they are."""


def _yaml(value: Any) -> str:
    return yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=_WIDTH, default_flow_style=False)
