"""The tool that a configuration belongs to, and its translation."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from refinery.errors import suggestion
from refinery.recipe.peers import datamap, dclm, dolma, fineweb2, nemo
from refinery.recipe.peers.model import Item, Translation
from refinery.recipe.peers.source import finder, read_source

_TOOLS = (
    (dclm.is_dclm, dclm.translate),
    (datamap.is_datamap, datamap.translate),
    (fineweb2.is_fineweb2, fineweb2.translate),
    (nemo.is_nemo, nemo.translate),
    (dolma.is_dolma, dolma.translate),
)
# Words of which a configuration of each tool has one; a file without any of them is not read as YAML twice.
_WORDS = (
    "func:",
    "pipeline:",
    "group_keys:",
    "language_score:",
    "_target_:",
    "streams:",
    "taggers:",
    "dedupe:",
    "tokenizer_name_or_path:",
)


def translate(text: str, path: str, operators: Collection[str] | None = None) -> Translation | None:
    """Translate a configuration of another tool; None for any other file, such as a recipe.

    operators: names that recipes can use; a step with another name has no translation.
    """
    if not any(word in text for word in _WORDS) or "\nprocess:" in f"\n{text}":
        return None
    source = read_source(text, path)
    if source is None:
        return None
    for belongs, translated in _TOOLS:
        if belongs(source.content):
            result = translated(source, finder(path))
            if operators is not None:
                result.items = [_known(item, operators) for item in result.items]
            return result
    return None


def _known(item: Item, operators: Collection[str]) -> Item:
    unknown = [name for step in item.steps for name in step if name != "name" and name not in operators]
    if not unknown:
        return item
    near = suggestion(unknown[0], operators)
    return replace(item, steps=(), missing=" ".join(filter(None, [f"there is no operator {unknown[0]}.", near])))
