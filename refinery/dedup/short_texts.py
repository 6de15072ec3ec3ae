"""Texts of fewer tokens than a shingle has: some deduplicators take all of them for duplicates of each other."""

from __future__ import annotations

from typing import Any

from refinery.operators import Operator


def key_of_short(operator: Operator, step: Any) -> tuple[str, int] | None:
    """The match key that every text without a shingle has: column and value; None where such texts are no duplicates."""
    known = getattr(operator.matcher, "key_of_short", None)
    key: tuple[str, int] | None = known(step.params) if known is not None else None
    return key


def note_on_short(step: Any, removed: int) -> list[str]:
    """The note on a number of removed texts without a shingle; none without such texts."""
    if not removed:
        return []
    window = step.params.get("n_grams") or step.params.get("window_size")
    kept = "hash: fast" if "hash" in step.params else "short: keep"
    cures = [kept, *(["tokenization: character"] if step.params.get("tokenization") != "character" else [])]
    texts = "1 removed text has" if removed == 1 else f"{removed:,} removed texts have"
    return [
        f"{step.where}: {step.name}: {texts} fewer tokens than window_size, which is {window}: all such texts are duplicates of "
        f"each other, whatever they say. Set {', '.join(cures)} or a smaller window_size to keep those that differ"
    ]
