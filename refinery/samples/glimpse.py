"""The fields of the first samples of an input: a few hundred samples, of every kind of file that the input holds."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from itertools import groupby, islice
from typing import Any

from refinery.recipe.fields import field_name, keys_of
from refinery.samples.batch import LINE
from refinery.samples.read import read
from refinery.samples.schema import schema_of
from refinery.samples.sources import Shard
from refinery.samples.texts import is_bytes, is_text, kinds_of
from refinery.store.urls import is_url

# Looked at in each file: so many bytes and samples; a line that is longer than this is left out.
_BYTES = 64 << 10
_SAMPLES = 200
_LINE = 4 << 20
# Batches without any sample are passed over, so many of them.
_BATCHES = 8
# Members of members are named down to here: `meta.source.url`.
_DEPTH = 6
_JSON_TYPES = {str: "text", float: "a number", bool: "a boolean", list: "a list", dict: "an object", type(None): "null"}


@dataclass(frozen=True)
class Glimpse:
    """Fields of the first samples of one file, as `field_name` spells them. samples: how many were looked at.

    typed: the file says itself which columns its samples have. others: types of the fields that hold neither text nor
    null in any of the samples. texts: fields of text, or of bytes, which are read as it.
    """

    path: str
    names: frozenset[str]
    top: tuple[str, ...]
    samples: int = 0
    typed: bool = False
    others: Mapping[str, str] = field(default_factory=dict, compare=False)
    texts: tuple[str, ...] = ()

    def kind_of(self, name: str) -> str | None:
        """The type of a field, as a recipe names it, that holds no text."""
        return self.others.get(field_name(keys_of(name)))

    def has(self, field: str) -> bool:
        """Look for a field, as a recipe names it, in the samples."""
        return field_name(keys_of(field)) in self.names


def glimpses(shards: Sequence[Shard]) -> list[Glimpse]:
    """The first samples of up to three files of each kind, and of the middle of large ones; at URLs of one file.

    Costs a read of 64 KiB each. Files without any readable sample are left out. Raises DataError for a file that cannot be read.
    """
    found = []
    for _, group in groupby(sorted(shards, key=_kind), _kind):
        found += [glimpse for shard in _picked(list(group)) if (glimpse := _of_shard(shard)) is not None]
    return found


def _kind(shard: Shard) -> tuple[int, str, str, str]:
    source = shard.source
    return source.dataset, source.format, source.compression or "", source.suffix


def _picked(shards: list[Shard]) -> list[Shard]:
    """The first, the middle and the last of the shards that can be read by themselves."""
    apart = [
        replace(shard, sources=(source,), rows_of=(), end=shard.end if len(shard.sources) == 1 else -1)
        for shard in shards
        if shard.start == 0 or not shard.source.compression
        for source in shard.sources
    ]
    places = {0, len(apart) // 2, len(apart) - 1} if not is_url(shards[0].source.path) else {0}
    return [apart[place] for place in sorted(places) if apart]


def _of_shard(shard: Shard) -> Glimpse | None:
    if shard.source.format not in ("jsonl", "json"):
        schema = shard.schema if shard.schema is not None else schema_of(shard.source)
        kinds = kinds_of(schema)
        others = {name: str(kind) for name, kind in kinds.items() if not is_text(kind)}
        texts = tuple(name for name, kind in kinds.items() if is_text(kind) or is_bytes(kind))
        top = tuple(schema.names)
        return Glimpse(shard.source.path, frozenset(kinds), top, 0, True, others, texts) if kinds else None
    samples = list(islice(_first_samples(shard), _SAMPLES))
    if not samples:
        return None
    seen: dict[str, set[str]] = {}
    for name, value in (pair for sample in samples for pair in _members(sample)):
        seen.setdefault(name, set()).add(_JSON_TYPES.get(type(value), ""))
    top = tuple(dict.fromkeys(name for sample in samples for name in sample))
    others = {name: " or ".join(sorted(found)) for name, found in seen.items() if not found & {"text", "null"}}
    texts = tuple(name for name, found in seen.items() if found - {"null"} == {"text"})
    return Glimpse(shard.source.path, frozenset(seen), top, len(samples), False, others, texts)


def _first_samples(shard: Shard) -> Iterator[dict[str, Any]]:
    with closing(read(shard, _BYTES, _SAMPLES, _LINE)) as batches:  # type: ignore[type-var]
        for batch in islice(batches, _BATCHES):
            for line in batch.table[LINE].to_pylist():
                sample = _sample(line)
                if sample is not None:
                    yield sample
            if len(batch):
                return


def _sample(line: str) -> dict[str, Any] | None:
    try:
        sample = json.loads(line, parse_int=_number)
    except (ValueError, RecursionError):
        return None
    return sample if isinstance(sample, dict) else None


def _number(_digits: str) -> float:
    """Any number stands for an integer: its type is all that is wanted, and Python limits the digits."""
    return 0.0


def _members(sample: dict[str, Any], above: str = "", depth: int = 0) -> Iterator[tuple[str, Any]]:
    for name, value in sample.items():
        spelled = above + field_name((name,))
        yield spelled, value
        if isinstance(value, dict) and depth < _DEPTH:
            yield from _members(value, f"{spelled}.", depth + 1)
