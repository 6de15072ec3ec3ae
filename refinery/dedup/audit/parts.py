"""Parts of texts that a deduplicator takes out: how it cuts a text into them, and how an audit compares them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from refinery.dedup.audit.measure import Measure
from refinery.dedup.matchers.substrings import SubstringMatcher
from refinery.operators import Operator
from refinery.operators.home import is_shipped
from refinery.operators.user_code import called

# Parts are compared by their words: a line has too few for longer shingles.
_WORDS: dict[str, Any] = {
    "normalize": "none",
    "tokenization": "word",
    "lowercase": True,
    "ignore_pattern": None,
    "tokenizer_model": None,
}


@dataclass(frozen=True)
class TextParts:
    """The parts of a text by their places.

    basis: name of what is compared, as in the table `audit`. path, split, params: of the function that lists all parts, whose places are
    numbers; without a function, parts are passages, whose places are start and length in bytes, or in tokens.
    """

    basis: str
    path: Path | None = None
    split: str = ""
    params: Mapping[str, Any] | None = None
    tokens: bool = False

    @staticmethod
    def of(operator: Operator, params: Mapping[str, Any]) -> TextParts | None:
        """The parts that a deduplicator takes out; None if it removes whole samples, or if its file is the user's.

        A user's file may be missing where tasks read texts.
        """
        if isinstance(operator.matcher, SubstringMatcher):
            return TextParts("passages", tokens=params["unit"] == "token")
        if not operator.matcher.takes_units or "split" not in operator.units or not is_shipped(operator.path):
            return None
        return TextParts(_plural(operator.units["name"]), operator.path, operator.units["split"], dict(params))

    @property
    def are_passages(self) -> bool:
        """True if each part has a copy at a known place."""
        return self.path is None

    def every(self, text: str) -> list[str]:
        """All parts of a text, in order; of a deduplicator that numbers them."""
        return list(called(self.path, self.split, text, self.params)) if self.path is not None else []

    def at(self, text: str, places: Sequence[Any]) -> list[str | None]:
        """Parts at some places; None beyond the end of the text."""
        if not self.are_passages:
            parts = self.every(text)
            return [parts[place] if place < len(parts) else None for place in places]
        from refinery.kernels.dedup.substring_cuts import bounds_in_bytes

        data, ends = text.encode(), [end for start, length in places for end in (start, start + length)]
        return [data[start:end].decode(errors="ignore") for start, end in bounds_in_bytes(text, ends, self.tokens)]

    def measure(self, text_key: Sequence[str], params: Mapping[str, Any]) -> Measure:
        """The measure of parts. text_key: of the recipe."""
        return Measure.of_words(params, text_key, _WORDS, 1)

    def plain(self) -> dict[str, Any]:
        """The parts as plain values, of which `path` is one for other machines."""
        return dict(vars(self))


@dataclass(frozen=True)
class AuditedStep:
    """A deduplicator that is audited. parts: those that it takes out; None if it removes whole samples."""

    step: Any
    parts: TextParts | None = None

    def measure(self, text_key: Sequence[str]) -> Measure:
        """The way of comparing. text_key: of the recipe."""
        return self.parts.measure(text_key, self.step.params) if self.parts else Measure.of(self.step, text_key)


def _plural(name: str) -> str:
    return name if name.endswith("s") else f"{name}s"
