"""Texts of the first samples of an input, for a look before a run."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import Any

from refinery.common.fields import keys_of
from refinery.io.batch import LINE
from refinery.io.model import Keys, Shard
from refinery.io.readers.read import read

# Bytes read at once, samples of a batch, bytes of the longest line; see `first_samples`.
_BYTES, _SAMPLES, _LINE = 64 << 10, 200, 4 << 20
# Shards that are looked at.
_SHARDS = 3


def first_texts(shards: Sequence[Shard], field: str) -> list[str]:
    """Texts of a field, of the first samples of the first, a middle and the last file. Samples without a text are left out.

    Costs a read of 64 KiB each. Raises DataError for a file that cannot be read.
    """
    readable = [shard for shard in shards if shard.start == 0 or not shard.source.compression]
    places = sorted({place * (len(readable) - 1) // (_SHARDS - 1) for place in range(_SHARDS)}) if readable else []
    return [text for place in places for text in _texts(readable[place], keys_of(field))]


def _texts(shard: Shard, keys: Keys) -> Iterator[str]:
    with closing(read(shard, _BYTES, _SAMPLES, _LINE)) as batches:  # type: ignore[type-var]
        batch = next((batch for batch in batches if len(batch)), None)
    if batch is None:
        return
    if batch.lines:
        values = [_member(json.loads(line), keys) for line in batch.table[LINE].to_pylist()]
    elif keys[0] in batch.table.column_names:
        values = [_member({keys[0]: value}, keys) for value in batch.table[keys[0]].to_pylist()]
    else:
        values = []
    yield from (value for value in values[:_SAMPLES] if isinstance(value, str))


def _member(sample: Any, keys: Keys) -> Any:
    for key in keys:
        sample = sample.get(key) if isinstance(sample, dict) else None
    return sample
