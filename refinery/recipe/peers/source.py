"""Reading a configuration as its own tool does, with the lines of its list items."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from refinery.recipe.peers.model import FindFile, Source

_PARENTS = 4  # folders above a configuration in which the files that it names are looked for


def read_source(text: str, path: str) -> Source | None:
    """Read a configuration's text; None if it is no YAML."""
    try:
        content = yaml.safe_load(text)
        tree = yaml.compose(text, yaml.SafeLoader)
    except (yaml.YAMLError, RecursionError, ValueError):
        return None
    return Source(path, content, dict(_lines(tree, ())) if tree is not None else {})


def _lines(node: Any, keys: tuple[Any, ...]) -> Iterator[tuple[tuple[Any, ...], int]]:
    yield keys, node.start_mark.line + 1
    if isinstance(node, yaml.SequenceNode):
        for number, item in enumerate(node.value):
            yield from _lines(item, (*keys, number))
    elif isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            yield from _lines(value, (*keys, getattr(key, "value", "")))


def finder(path: str) -> FindFile:
    """A function that finds files of a configuration.

    Tools name files relative to the folder in which they run, often the root of their repository: the current folder
    comes first, then the folder of the configuration and those above it.
    """
    own = Path(os.path.abspath(path)).parent
    folders = [Path.cwd(), own, *list(own.parents)[:_PARENTS]]

    def find(name: str) -> str:
        if "://" in name or os.path.isabs(name):
            return name
        for folder in folders:
            for ending in ("", ".gz"):
                if (folder / (name + ending)).exists():
                    return os.fspath(folder / (name + ending))
        return name

    return find
