"""Samples from all over an input, and the texts of their fields: grounds of the recipe that `refinery init` writes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from itertools import islice
from statistics import median
from typing import Any

import regex

from refinery.common.fields import keys_of
from refinery.io.batch import LINE
from refinery.io.model import Shard
from refinery.io.readers.read import read

# Most shards that are looked at, samples of all of them, and batches without a sample before a shard is left.
_SHARDS, _SAMPLES, _BATCHES = 16, 1600, 8
_BYTES, _BATCH, _LINE = 256 << 10, 200, 4 << 20
# A field is that of the texts only if it is text in this share of the samples, where there is such a field.
NEARLY_ALL = 0.9
_KINDS = {int: "a number", float: "a number", bool: "a boolean", list: "a list", dict: "an object"}
# Scripts that put no space between words.
_UNSPACED = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]")
_LETTER = regex.compile(r"\p{L}")


@dataclass
class FieldTexts:
    """Texts of a field. samples: the number of all samples. kinds: kinds of its other values."""

    samples: int
    texts: list[str] = field(default_factory=list)
    kinds: set[str] = field(default_factory=set)

    @property
    def share(self) -> float:
        """Share of the samples in which the field is a text."""
        return len(self.texts) / max(1, self.samples)

    @property
    def length(self) -> float:
        """Characters of an average text."""
        return sum(map(len, self.texts)) / max(1, len(self.texts))

    @property
    def rank(self) -> tuple[bool, float, float]:
        """Order of fields: words rather than names and addresses, text in nearly all samples, then the longest texts."""
        return self._has_words, min(self.share, NEARLY_ALL), self.length

    @property
    def _has_words(self) -> bool:
        words = sum(len(text.split()) for text in self.texts)
        return words >= 2 * len(self.texts) or self.unspaced() > 0.5

    def unspaced(self) -> float:
        """Share of the texts whose script has no spaces between words."""
        return sum(map(_is_unspaced, self.texts)) / max(1, len(self.texts))

    def alphanumeric(self) -> float:
        """Share of letters and digits in a usual text (the median)."""
        return median([sum(map(str.isalnum, text)) / len(text) for text in self.texts if text] or [1.0])


def _is_unspaced(text: str) -> bool:
    return 2 * len(_UNSPACED.findall(text)) > len(_LETTER.findall(text)) > 0


def texts_by_field(shards: Sequence[Shard], names: Sequence[str]) -> dict[str, FieldTexts]:
    """The texts of each field, from samples all over the input."""
    samples = [sample for sample in spread_samples(shards) if isinstance(sample, dict)]
    fields = {name: FieldTexts(len(samples)) for name in names}
    for sample in samples:
        for name, texts in fields.items():
            value = _member(sample, name)
            if isinstance(value, str):
                texts.texts.append(value)
            elif value is not None:
                texts.kinds.add(_KINDS.get(type(value), type(value).__name__))
    return fields


def spread_samples(shards: Sequence[Shard]) -> Iterator[Any]:
    """Samples of up to 16 shards from all over the input; None for a line that is no JSON."""
    readable = [shard for shard in shards if shard.start == 0 or not shard.source.compression]
    most = min(len(readable), _SHARDS)
    places = sorted({place * (len(readable) - 1) // max(1, most - 1) for place in range(most)})
    for place in places:
        yield from islice(_samples(readable[place]), max(_BATCH // 2, _SAMPLES // len(places)))


def _samples(shard: Shard) -> Iterator[Any]:
    with closing(read(shard, _BYTES, _BATCH, _LINE)) as batches:  # type: ignore[type-var]
        for batch in islice(batches, _BATCHES):
            table = batch.table
            if LINE in table.column_names:
                yield from map(_parsed, table[LINE].to_pylist())
            else:
                yield from table.to_pylist()


def _parsed(line: str) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def _member(sample: Any, name: str) -> Any:
    for key in keys_of(name):
        sample = sample.get(key) if isinstance(sample, dict) else None
    return sample
