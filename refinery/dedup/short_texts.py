"""Texts of fewer tokens than a shingle has: how many a deduplicator meets, and what becomes of them.

By default, MinHash and SimHash take all of them for duplicates of each other, as Data-Juicer does. The notes of a run say so.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from refinery.operators import Operator

# A match key: the column, and the value that it has for texts without a shingle.
Key = tuple[str, Any]


@dataclass(frozen=True)
class ShortTexts:
    """Numbers of samples of a run. short: of fewer tokens than the window. removed: of these, for being short. alive: of all."""

    short: int
    removed: int
    alive: int


def key_of_short(operator: Operator, step: Any) -> Key | None:
    """The match key that every text without a shingle has; None where such texts are no duplicates."""
    known = getattr(operator.matcher, "key_of_short", None)
    key: Key | None = known(step.params) if known is not None else None
    return key


def mark_of_short(operator: Operator, step: Any) -> Key | None:
    """The match key by which texts without a shingle are counted; None where they cannot be told from others."""
    known = getattr(operator.matcher, "mark_of_short", None)
    key: Key | None = known(step.params) if known is not None else None
    return key


def leaves_out_short(step: Any) -> bool:
    """Return whether the samples without a match key are texts of too few tokens."""
    return step.params.get("short") != "data_juicer"


def note_on_short(step: Any, texts: ShortTexts, alike: bool) -> list[str]:
    """The note of a run on texts without a shingle; none without such texts. alike: they all are duplicates of each other."""
    few = _few(step)
    share = f"{texts.short:,} of {texts.alive:,} texts {'has' if texts.short == 1 else 'have'}"
    if not alike:
        return [f"{share} {few}: {_fate(step, alike)}"] if texts.short else []
    removed = "1 removed text has" if texts.removed == 1 else f"{texts.removed:,} removed texts have"
    return [f"{removed} {few} ({share} so few): {_fate(step, alike)}"] if texts.removed else []


def note_before(step: Any, short: int, texts: int, alike: bool) -> str:
    """The note before a run on texts without a shingle among the first texts of the input."""
    are = "is" if short == 1 else "are"
    examined = f"{short:,} of the {texts:,} examined texts of the input {are}"
    return f"{examined} shorter than window_size, which is {_window(step)} tokens: {_fate(step, alike)}"


def _few(step: Any) -> str:
    return f"fewer tokens than window_size, which is {_window(step)}"


def _window(step: Any) -> int:
    return step.params.get("n_grams") or step.params["window_size"]


def _fate(step: Any, alike: bool) -> str:
    """The fate of texts without a shingle, and how to change it."""
    fixed = step.params.get("hash") == "datatrove" or step.params.get("tokenization") == "character"
    cures = [] if fixed else ["tokenization: character"]
    cures.append("a smaller window_size")
    if alike:
        kept = "short: compare" if "hash" in step.params else "short: keep"
        cure = f"Set {_choice([kept, *cures])} to keep those that differ"
        return f"all such texts are duplicates of each other, whatever they say. {cure}"
    kept = step.params.get("short") == "keep" or step.params.get("hash") == "datatrove"
    fate = "is compared with nothing" if kept else "matches only the same text"
    return f"such a text {fate}. Set {_choice(cures)} to find similar ones"


def _choice(cures: list[str]) -> str:
    return f"{', '.join(cures[:-1])} or {cures[-1]}" if len(cures) > 1 else cures[0]
