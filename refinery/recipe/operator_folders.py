"""Folders of operators that a recipe names: relative ones are beside the recipe's file."""

from __future__ import annotations

import os
from collections.abc import Sequence

from refinery.common.paths import absolute
from refinery.recipe.tree import Entry, Problems, SourcePlace

Notes = list[tuple[SourcePlace, str]]


def operator_folders(entry: Entry | None, names: Sequence[str], problems: Problems, notes: Notes) -> tuple[str, ...]:
    """Absolute paths of the folders. Those of an option, or of a recipe that is no file, are below the current folder.

    Earlier versions of refinery looked below the current folder only. A folder that is there and not beside the recipe is
    still taken, with a note; where there are two, neither is.
    """
    if entry is None or entry.node.place.line is None:
        return tuple(map(absolute, names))
    place = entry.node.place
    return tuple(_located(name, place, problems, notes) for name in names)


def _located(name: str, place: SourcePlace, problems: Problems, notes: Notes) -> str:
    here = absolute(name)
    if os.path.isabs(os.path.expanduser(name)):
        return here
    beside = os.path.normpath(os.path.join(os.path.dirname(absolute(place.source)), name))
    if not os.path.isdir(here) or os.path.realpath(here) == os.path.realpath(beside):
        return beside
    if not os.path.isdir(beside):
        text = f"operators: {name} is taken from the current folder, as it is not beside the recipe. Write its path from the recipe"
        notes.append((place, text))
        return here
    what = f"operators: there are two folders {name}, {beside} beside the recipe and {here} below the current folder"
    problems.add(
        place,
        what,
        "A folder is looked for beside the recipe; earlier versions took the other. Write an absolute path.",
    )
    return beside
