"""The tree of a recipe from a translated configuration, with the configuration's lines as places."""

from __future__ import annotations

from typing import Any

from refinery.recipe.model import Note
from refinery.recipe.peers.model import Translation
from refinery.recipe.tree import Entry, Mapping, Node, Problems, Scalar, Sequence, SourcePlace, from_python


def recipe_tree(translation: Translation, path: str, problems: Problems) -> Mapping:
    """Make the tree of the recipe. Steps without a translation become problems at their lines."""
    cure = f"`refinery import {path} --to recipe.yaml` writes the recipe without it, with a comment in its place."
    for item in translation.missing:
        place = SourcePlace(path, item.line)
        problems.add(place, f"{item.name} of {translation.peer} has no translation: {item.missing}", cure)
    steps: list[Node] = []
    for item in translation.items:
        place = SourcePlace(path, item.line)
        steps += [_placed(from_python(step, "process", problems), place) for step in item.steps]
    top = SourcePlace(path, 1)
    keys: dict[str, Any] = {
        name: _placed(from_python(value, name, problems), top) for name, value in translation.keys.items()
    }
    entries = {name: Entry(top, node) for name, node in keys.items()}
    return Mapping({**entries, "process": Entry(top, Sequence(steps, top))}, SourcePlace(path))


def translated_notes(translation: Translation, path: str) -> list[Note]:
    """Notes on what differs from the tool, each with its place."""
    whole = [Note(path, text) for text in translation.notes]
    return whole + [
        Note(f"{path}:{item.line}", f"{item.name}: {text}") for item in translation.items for text in item.notes
    ]


def _placed(node: Node, place: SourcePlace) -> Node:
    """Set the place of a node and of all in it."""
    node.place = place
    if isinstance(node, Sequence):
        for item in node.items:
            _placed(item, place)
    elif isinstance(node, Mapping):
        node.entries = {key: Entry(place, _placed(entry.node, place)) for key, entry in node.entries.items()}
    elif isinstance(node, Scalar) and node.collection is not None:
        _placed(node.collection, place)
    return node
