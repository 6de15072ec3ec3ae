"""Readings of an audit: the plain values that a task takes of samples, so that whole texts do not leave it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from refinery.dedup.audit.measure import ComparedText, Measure, jaccard
from refinery.dedup.audit.parts import TextParts


class Reading(Protocol):
    """Request for samples. measure: the place of their texts, and how these are compared."""

    @property
    def measure(self) -> Measure: ...

    def plain(self) -> dict[str, Any]:
        """The reading as plain values."""

    def taken(self, samples: Sequence[Any], wanted: Sequence[Any]) -> Iterator[Any]:
        """A plain value of each sample. wanted: what is asked of each."""


@dataclass(frozen=True)
class WholeTexts:
    """The whole text of each sample, in the form that is compared; nothing more is asked."""

    measure: Measure

    def plain(self) -> dict[str, Any]:
        """The reading as plain values."""
        return {"kind": "whole", "measure": self.measure.plain()}

    def taken(self, samples: Sequence[Any], wanted: Sequence[Any]) -> Iterator[Any]:
        """The values of `ComparedText`."""
        yield from (vars(text) for text in self.measure.compared(samples))


@dataclass(frozen=True)
class PartTexts:
    """Parts of each sample's text in the form that is compared; asked is the list of their places."""

    measure: Measure
    parts: TextParts

    def plain(self) -> dict[str, Any]:
        """The reading as plain values."""
        return {"kind": "parts", "measure": self.measure.plain(), "parts": self.parts.plain()}

    def taken(self, samples: Sequence[Any], wanted: Sequence[Any]) -> Iterator[Any]:
        """Values of `ComparedText` for each place; None for a place that the text does not have."""
        for sample, places in zip(samples, wanted, strict=True):
            found = self.parts.at(self.measure.text_of(sample), places)
            compared = self.measure.of_texts([part for part in found if part is not None])
            yield [None if part is None else vars(next(compared)) for part in found]


@dataclass(frozen=True)
class NearestParts:
    """The likeness of each sample's most similar part to some given parts.

    Asked is a list of values of `ComparedText`, each with the number before which parts count, or None for all.
    """

    measure: Measure
    parts: TextParts

    def plain(self) -> dict[str, Any]:
        """The reading as plain values."""
        return {"kind": "nearest", "measure": self.measure.plain(), "parts": self.parts.plain()}

    def taken(self, samples: Sequence[Any], wanted: Sequence[Any]) -> Iterator[Any]:
        """The similarity for each given part; 0 if the sample has no part."""
        for sample, given in zip(samples, wanted, strict=True):
            own = list(self.measure.of_texts(self.parts.every(self.measure.text_of(sample))))
            yield [nearest(ComparedText(**values), own[:before]) for values, before in given]


def nearest(part: ComparedText, others: Sequence[ComparedText]) -> float:
    """The similarity of a part to the one of others that is most like it; 0 without others."""
    digests = {other.digest for other in others}
    return 1.0 if part.digest in digests else max((jaccard(part, other) for other in others), default=0.0)


_KINDS: dict[str, type] = {"whole": WholeTexts, "parts": PartTexts, "nearest": NearestParts}


def reading_of(plain: Mapping[str, Any]) -> Reading:
    """The reading of `plain`."""
    parts = {"parts": TextParts(**plain["parts"])} if "parts" in plain else {}
    reading: Reading = _KINDS[plain["kind"]](Measure.from_plain(plain["measure"]), **parts)
    return reading
