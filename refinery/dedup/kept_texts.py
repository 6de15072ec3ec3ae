"""Notes on an order of `keep` by texts that stand for numbers: as texts, 9 is greater than 10."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from refinery.compiler.bounds import order_terms
from refinery.compiler.kept_order import order_of


def notes_on_texts(step: Any, columns: Sequence[str], seen: Sequence[Sequence[Any]]) -> list[str]:
    """A note for each term of the order whose texts are all numbers, of several lengths: with one length, both orders are the same.

    columns: of the terms. seen: of parts of them, as of `tasks.order_texts`.
    """
    notes = []
    for column, (term, _) in zip(columns, order_terms(order_of(step.params)), strict=True):
        parts = [part[1:] for part in seen if part[0] == column]
        texts, numbers = (sum(part[at] for part in parts) for at in (0, 1))
        if texts == numbers and len({size for part in parts for size in part[2]}) > 1:
            notes.append(
                f"{step.where}: {step.name}: keep: all values of {term} are numbers written as texts, and were compared as texts: "
                f"'9' is greater than '10'. CAST({term} AS DOUBLE) compares numbers"
            )
    return notes
