"""The fields of the first samples of an input: a few hundred samples, of every kind of file that the input holds."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import groupby, islice
from typing import Any

import pyarrow as pa

from refinery.recipe.fields import field_name, keys_of
from refinery.samples.batch import LINE
from refinery.samples.read import read
from refinery.samples.schema import schema_of
from refinery.samples.sources import Shard
from refinery.store.urls import is_url

# Looked at in each file: so many bytes and samples; a line that is longer than this is left out.
_BYTES = 64 << 10
_SAMPLES = 200
_LINE = 4 << 20
# Batches without any sample are passed over, so many of them.
_BATCHES = 8
# Members of members are named down to here: `meta.source.url`.
_DEPTH = 6


@dataclass(frozen=True)
class Glimpse:
    """Fields of the first samples of one file, as `field_name` spells them. samples: how many were looked at.

    typed: the file says itself which columns its samples have.
    """

    path: str
    names: frozenset[str]
    top: tuple[str, ...]
    samples: int = 0
    typed: bool = False

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
        names = frozenset(_columns(schema))
        return Glimpse(shard.source.path, names, tuple(schema.names), typed=True) if names else None
    samples = list(islice(_first_samples(shard), _SAMPLES))
    if not samples:
        return None
    names = frozenset(name for sample in samples for name in _members(sample))
    top = tuple(dict.fromkeys(name for sample in samples for name in sample))
    return Glimpse(shard.source.path, names, top, len(samples))


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
        sample = json.loads(line, parse_int=str)
    except (ValueError, RecursionError):
        return None
    return sample if isinstance(sample, dict) else None


def _members(sample: dict[str, Any], above: str = "", depth: int = 0) -> Iterator[str]:
    for name, value in sample.items():
        spelled = above + field_name((name,))
        yield spelled
        if isinstance(value, dict) and depth < _DEPTH:
            yield from _members(value, f"{spelled}.", depth + 1)


def _columns(fields: Any, above: str = "") -> Iterator[str]:
    for field in fields:
        spelled = above + field_name((field.name,))
        yield spelled
        if pa.types.is_struct(field.type):
            yield from _columns(field.type, f"{spelled}.")
