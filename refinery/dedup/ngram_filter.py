"""The size of a Bloom filter of n-grams, its false positives, and units decided one after the other."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from refinery.kernels.dedup import bloom

# Bits of a part: at least so many, for parts to be filled evenly, and at most so many, which is 256 MiB.
_LEAST_BITS, _MOST_BITS = 1 << 17, 1 << 31
# Parts of a filter that could be one: so many tasks can share the work.
_PARTS = 16
# N-grams of the sample whose answers are compared with exact ones, about.
_SAMPLED = 1 << 20


@dataclass(frozen=True)
class FilterSize:
    """Size of a filter, which depends on parameters and the number of n-grams alone. bits: of each part. hashes: bits of an n-gram."""

    parts: int
    bits: int
    hashes: int

    @staticmethod
    def of(ngrams: int, rate: float) -> FilterSize:
        """The smallest filter with a false-positive rate of `rate` when it contains `ngrams` n-grams."""
        bits = max(1024, math.ceil(-ngrams * math.log(rate) / math.log(2) ** 2))
        parts = max(min(_PARTS, bits // _LEAST_BITS), -(-bits // _MOST_BITS), 1)
        hashes = max(1, round(-math.log2(rate)))
        return FilterSize(parts, -(-bits // parts // 64) * 64 + 64, hashes)

    @property
    def bytes(self) -> int:
        """Bytes of all parts."""
        return self.parts * self.bits // 8

    def content(self, bits_set: int) -> int:
        """Number of n-grams that set so many bits, about."""
        bits = self.parts * self.bits
        return round(-bits / self.hashes * math.log(max(1, bits - bits_set) / bits))

    def empty(self, parts: int = 1) -> np.ndarray:
        """Bits of some parts, none set: uint64, a row for each part."""
        return np.zeros((parts, self.bits // 64), np.uint64)

    def rate(self, bits_set: int) -> float:
        """False-positive rate of a filter with so many bits set in all parts."""
        return float((bits_set / (self.parts * self.bits)) ** self.hashes)


@dataclass(frozen=True)
class Decision:
    """Rule for a unit: removed if more than `threshold` of its n-grams are in the filter. remember_all: enter those of removed units, too.

    level: "both" also removes texts of which more than `threshold` of all n-grams were in the filter.
    """

    threshold: float
    remember_all: bool
    level: str

    @staticmethod
    def of(params: Any) -> Decision:
        """The rule that the parameters of a deduplicator give."""
        return Decision(float(params["duplicate_threshold"]), params["remember"] == "all", params["level"])

    def kept(self, contained: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        """Flag of each unit that stays. contained: n-grams that were in the filter. sizes: all n-grams."""
        return ~(contained / np.maximum(sizes, 1) > self.threshold)

    def removed(
        self, contained: np.ndarray, sizes: np.ndarray, rows: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Places of units to remove, and for each of them n-grams that were in the filter, and all: of the unit or of its text.

        rows: of each unit's text, ascending.
        """
        gone = ~self.kept(contained, sizes)
        if self.level == "both" and len(rows):
            firsts = np.flatnonzero(np.diff(rows, prepend=rows[0] - 1))
            text = np.repeat(np.arange(len(firsts)), np.diff(firsts, append=len(rows)))
            seen, all_ = np.add.reduceat(contained, firsts), np.add.reduceat(sizes.astype(np.int64), firsts)
            whole = ~self.kept(seen, all_)[text]
            contained, sizes = np.where(whole, seen[text], contained), np.where(whole, all_[text], sizes)
            gone |= whole
        places = np.flatnonzero(gone)
        return places, contained[places], sizes[places]


def in_sample(keys: np.ndarray, ngrams: int) -> np.ndarray:
    """Flag of each n-gram whose answers are compared with exact ones; all occurrences of an n-gram are, or none."""
    share = max(0, math.ceil(math.log2(max(1, ngrams) / _SAMPLED)))
    return (keys & np.uint64((1 << share) - 1)) == np.uint64(0)


def false_positives(keys: np.ndarray, units: np.ndarray, kept: np.ndarray, contained: np.ndarray) -> tuple[int, int]:
    """Number of answers about n-grams that no earlier unit has entered, and of those that said otherwise.

    units: of each n-gram, ascending. kept: flag of each n-gram whose unit enters it.
    """
    order = np.argsort(keys, kind="stable")
    keys, units, kept, contained = keys[order], units[order], kept[order], contained[order]
    if not len(keys):
        return 0, 0
    starts = np.flatnonzero(np.diff(keys, prepend=keys[:1] ^ np.uint64(1)))
    never = np.iinfo(np.int64).max
    first = np.minimum.reduceat(np.where(kept, units, never), starts)
    new = units <= np.repeat(first, np.diff(starts, append=len(keys)))
    return int(new.sum()), int((new & contained).sum())


@dataclass
class Measure:
    """Content of a filter: bits set, answers about new n-grams of a sample, and wrong ones among them."""

    bits: int = 0
    new: int = 0
    wrong: int = 0


def in_order(keys: np.ndarray, sizes: np.ndarray, size: FilterSize, rule: Decision) -> tuple[np.ndarray, Measure]:
    """Decide units one after the other; returns the n-grams of each that were in the filter, and the measure of the filter.

    keys: n-grams, unit by unit (uint64). sizes: n-grams of each unit (int32).
    """
    contained, kept = np.zeros(len(keys), np.bool_), np.zeros(len(sizes), np.bool_)
    words, parts = size.empty(size.parts), bloom.part_of(keys, size.parts)
    bits = bloom.decide(
        keys, parts, sizes, words, size.bits, size.hashes, rule.threshold, rule.remember_all, contained, kept
    )
    unit = np.repeat(np.arange(len(sizes)), sizes)
    at = np.flatnonzero(in_sample(keys, len(keys)))
    answers = false_positives(keys[at], unit[at], kept[unit[at]] | rule.remember_all, contained[at])
    return np.bincount(unit[contained], minlength=len(sizes)), Measure(bits, *answers)
