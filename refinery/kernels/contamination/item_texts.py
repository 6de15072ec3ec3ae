"""Texts of the items of evaluation sets, equal ones once, with the items that have them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from refinery.kernels.contamination.items import PARTS, PASSAGE, EvaluationSet, Item, items_of

WHOLE = "item"  # name of the unit with all parts
UNITS = (*PARTS, PASSAGE, WHOLE)  # names of units, by their numbers


class Owners(NamedTuple):
    """Items that have a text: of each set with such items the first one.

    firsts: int64, the first owner of each text, one more than texts. sets: int32, the number of the set. alike: int32, further items
    of the set with the text. ends: int64, where the name of each item begins in `names`, one more than owners. names: uint8, UTF-8.
    """

    firsts: np.ndarray
    sets: np.ndarray
    alike: np.ndarray
    ends: np.ndarray
    names: np.ndarray

    def of(self, text: int) -> list[tuple[int, str, int]]:
        """Set, item and number of further items of each owner of a text."""
        places = range(int(self.firsts[text]), int(self.firsts[text + 1]))
        return [(int(self.sets[at]), self._name(at), int(self.alike[at])) for at in places]

    def _name(self, at: int) -> str:
        return self.names[self.ends[at] : self.ends[at + 1]].tobytes().decode()


class ItemTexts:
    """Collects the texts of all items, the parts of each, and its owners."""

    def __init__(self) -> None:
        self.parts: list[tuple[tuple[str, str], ...]] = []
        self.of_items: list[tuple[int, list[int]]] = []  # number of the set and numbers of the texts, by item
        self._places: dict[str, int] = {}
        self._owners: list[list[tuple[int, str, int]]] = []

    @staticmethod
    def of(sets: Sequence[EvaluationSet]) -> ItemTexts:
        """The texts of some sets, set by set. Raises SetError."""
        collected = ItemTexts()
        for number, one in enumerate(sets):
            for item in items_of(one):
                collected.add(number, item)
        return collected

    def add(self, number: int, item: Item) -> None:
        """Add an item of the set of a number."""
        pieces = [((PASSAGE, passage),) for passage in item.passages] + ([item.parts] if item.parts else [])
        own = []
        for parts in pieces:
            place = self._places.setdefault("\n".join(text for _, text in parts), len(self.parts))
            if place == len(self.parts):
                self.parts.append(parts)
                self._owners.append([])
            if place not in own:
                self._own(self._owners[place], number, item.place)
                own.append(place)
        self.of_items.append((number, own))

    @staticmethod
    def _own(owners: list[tuple[int, str, int]], number: int, name: str) -> None:
        if owners and owners[-1][0] == number:
            _, first, alike = owners[-1]
            owners[-1] = number, first, alike + 1
        else:
            owners.append((number, name, 0))

    def owners(self, texts: Sequence[int]) -> Owners:
        """The owners of some texts, in their order."""
        chosen = [self._owners[text] for text in texts]
        flat = [owner for owners in chosen for owner in owners]
        names = [name.encode() for _, name, _ in flat]
        return Owners(
            np.cumsum([0, *map(len, chosen)]).astype(np.int64),
            np.array([number for number, _, _ in flat], np.int32),
            np.array([alike for _, _, alike in flat], np.int32),
            np.cumsum([0, *map(len, names)]).astype(np.int64),
            np.frombuffer(b"".join(names), np.uint8),
        )
